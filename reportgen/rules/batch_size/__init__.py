"""BatchSize: CPU, GPU and GPU memory all have room, so a batch could be larger."""

from __future__ import annotations

from reportgen.results import RuleId, Section
from reportgen.rules.base import About, Need, Rule
from reportgen.rules.batch_size.judge import from_details, judge
from reportgen.rules.batch_size.measure import Params, measure

ABOUT = About(
    checks="Whether CPU, GPU and GPU memory all have room, so that a batch could be larger.",
    reading=(
        "Every minute the 95th percentiles of the last samples of CPU, each GPU and its memory "
        "are compared with their thresholds; there is room when all three are below. GPU memory "
        "here is the activity of the memory controller, not what is allocated."
    ),
    advice=(
        "Raise the batch size step by step while watching the allocated GPU memory; if the model "
        "cannot use more, take a smaller instance."
    ),
    section=Section(id="batch-size", title="Batch size", order=200),
    is_quiet=True,
    has_counters=True,
)

RULE = Rule(
    id=RuleId("BatchSize"),
    title="Batch size",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
    from_details=from_details,
)
