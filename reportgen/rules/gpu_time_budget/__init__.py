"""GPUTimeBudget: what each GPU's time went into, in parts that exclude each other."""

from __future__ import annotations

from reportgen.results import Place, Role, RuleId, Section, TimelineTrack, Track
from reportgen.rules.base import About, Need, Rule
from reportgen.rules.gpu_time_budget.judge import judge
from reportgen.rules.gpu_time_budget.measure import Params, measure
from reportgen.rules.gpu_time_budget.texts import PARTS, PICTURE_WORDS

ABOUT = About(
    checks="What each GPU's time went into: work, start and end, and why it idled in between.",
    reading=(
        "Each moment of each GPU counts once, in the first part that fits. From samples: before "
        "or after training, busy (above 90 %), partly busy (above 10 %), or idle, with what went "
        "on at the same time, which is no proof; a slower GPU is one of the same node, since "
        "clocks of nodes differ. From kernel traces: compute, communication without compute, "
        "copies, and why it idled."
    ),
    advice="Begin with the largest part that is not busy.",
    section=Section(id="gpu-time", title="GPU time budget", order=20),
    first_picture="budget",
)

RULE = Rule(
    id=RuleId("GPUTimeBudget"),
    title="GPU time budget",
    about=ABOUT,
    needs=(Need.SYSTEM, Need.FRAMEWORK, Need.KERNELS),
    params=Params,
    measure=measure,
    judge=judge,
    folded=("gpu_time_budget", "intervals"),
    places={
        "budget": Place(words=PICTURE_WORDS),
        "gpu_time_budget": Place(words=PARTS),
        "idle_stretches": Place(words=PARTS),
        "intervals": Place(
            timeline=TimelineTrack(kind=Track.LANE, title="Idle GPUs", role=Role.IDLE)
        ),
    },
)
