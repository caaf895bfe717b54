"""LowGPUUtilization: a GPU that is under-used, or that swings between busy and idle."""

from __future__ import annotations

from reportgen.results import RuleId, Section
from reportgen.rules.base import About, Need, Rule
from reportgen.rules.low_gpu_utilization.judge import from_details, judge
from reportgen.rules.low_gpu_utilization.measure import Params, measure

ABOUT = About(
    checks="Whether a GPU is under-used, or swings between busy and idle.",
    reading=(
        "Every minute the last samples of each GPU are judged: under-used when even the 95th "
        "percentile is low, fluctuating when the 95th percentile is high but the 5th is close to "
        "zero. Utilization is the share of the time in which at least one kernel ran."
    ),
    advice=(
        "Remove what the GPU waits for (data loading, CPU, I/O, synchronisation) first; when it "
        "waits for nothing, give it more work with a larger batch, or use a smaller GPU."
    ),
    section=Section(id="gpu-utilization", title="GPU utilization", order=160),
    has_counters=True,
)

RULE = Rule(
    id=RuleId("LowGPUUtilization"),
    title="GPU utilization",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
    from_details=from_details,
)
