"""StepPeriodicity: slow steps that come back every n-th step or every t seconds, and why."""

from __future__ import annotations

from reportgen.results import RuleId, Section
from reportgen.rules.base import About, Need, Rule
from reportgen.rules.step_periodicity.judge import judge
from reportgen.rules.step_periodicity.measure import Params, measure

ABOUT = About(
    checks="Whether slow steps, or long pauses between steps, come back in a rhythm.",
    reading=(
        "A cycle is a step and the pause behind it. Slow cycles that recur every nth step or "
        "every t seconds are told with what they cost and with what ran in them but not in the "
        "others; random slow steps are not."
    ),
    advice=(
        "Find what the script does in that rhythm (callback, checkpoint, logging, validation); "
        "run it in a thread of its own, less often, or on the GPU."
    ),
    section=Section(id="step-periodicity", title="Periodic slow steps", order=150),
)

RULE = Rule(
    id=RuleId("StepPeriodicity"),
    title="Periodic slow steps",
    about=ABOUT,
    needs=(Need.FRAMEWORK, Need.SYSTEM),
    params=Params,
    measure=measure,
    judge=judge,
    folded=("intervals",),
)
