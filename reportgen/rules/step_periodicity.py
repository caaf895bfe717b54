"""StepPeriodicity: slow steps that come back every n-th step or every t seconds, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.facts.parts import merge
from reportgen.facts.steps import Loop, loop_of
from reportgen.profile import NodeProfile
from reportgen.results import Counters, Details, Reason, ReasonCode, RuleId, RuleResult, Section
from reportgen.rules.base import About, Need, Presentation, Rule, param
from reportgen.rules.kit import reason_without_steps
from reportgen.rules.periods import words
from reportgen.rules.periods.groups import group_periods
from reportgen.rules.periods.measured import SeriesPeriods, series_periods
from reportgen.rules.saying.verdict import conclude
from reportgen.units import say_count

ID = RuleId("StepPeriodicity")

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters of ours; AWS has no such rule."""

    min_share_pct: float = param(
        0.5,
        unit="%",
        meaning="a rhythm that costs this share of the loop or more is told",
        source="ours",
        minimum=0,
        maximum=100,
    )
    min_steps: int = param(
        20,
        unit="steps",
        meaning="a worker's phase is searched once it has so many steps",
        source="ours",
        minimum=4,
        is_whole=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One node: its loop and the rhythms of its workers."""

    loop: Loop
    series: tuple[SeriesPeriods, ...]


def measure(part: NodeProfile, params: Params) -> Measurement:  # noqa: ARG001 - a rule's shape
    """Search the steps of every worker and phase of a node."""
    return Measurement(loop=loop_of(part.spans), series=tuple(series_periods(part)))


def judge(measurements: Sequence[Measurement], params: Params) -> RuleResult:
    """Join the rhythms that workers share; those of series that are too short do not count."""
    loop = merge([Loop(), *(item.loop for item in measurements)])
    series = tuple(item for node in measurements for item in node.series)
    enough = [item for item in series if item.n_steps >= params.min_steps]
    context = words.Context(series=series, groups=group_periods(enough))
    counters, details = Counters(), Details()
    return conclude(
        ID,
        params=params,
        reason=_reason(loop, series, params),
        counters=counters,
        details=details,
        metrics=words.metrics_of(context, least_pct=params.min_share_pct) if enough else {},
        presentation=present(counters, details, params, context),
    )


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,  # noqa: ARG001 - a rule's shape
    params: Params,
    context: words.Context | None,
) -> Presentation:
    """Say which rhythms there are; without raw data nothing is known."""
    if context is None:
        return Presentation()
    return words.present(context, least_pct=params.min_share_pct)


def _reason(loop: Loop, series: Sequence[SeriesPeriods], params: Params) -> Reason | None:
    missing = reason_without_steps(loop)
    longest = max((item.n_steps for item in series), default=0)
    if missing is not None or longest >= params.min_steps:
        return missing
    return Reason(
        code=ReasonCode.TOO_FEW_SAMPLES,
        text=(
            f"Too few steps to find a rhythm: {say_count(longest)} of one worker and phase at "
            f"most, {say_count(params.min_steps)} are needed."
        ),
    )


RULE = Rule(
    id=ID,
    title="Periodic slow steps",
    about=ABOUT,
    needs=(Need.FRAMEWORK, Need.SYSTEM),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    folded=("intervals",),
)
