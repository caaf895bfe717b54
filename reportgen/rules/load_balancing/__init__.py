"""LoadBalancing: the GPUs of a node do not share the work evenly."""

from __future__ import annotations

from reportgen.results import RuleId, Section
from reportgen.rules.base import About, Need, Rule
from reportgen.rules.load_balancing.judge import from_details, judge
from reportgen.rules.load_balancing.measure import Params, measure

ABOUT = About(
    checks="Whether the GPUs of a node share the work evenly.",
    reading=(
        "Every minute the histograms of utilization of each pair of GPUs on a node are compared; "
        "the Jensen-Shannon distance is 0 for equal histograms and at most 0.83. Samples of 98 to "
        "100 % have a bin of their own, which AWS's rule dropped."
    ),
    advice=(
        "Use DistributedDataParallel instead of DataParallel, and shard data and batches evenly."
    ),
    section=Section(id="workload-balance", title="Workload balance", order=170),
    is_quiet=True,
    has_counters=True,
)

RULE = Rule(
    id=RuleId("LoadBalancing"),
    title="Workload balance",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
    from_details=from_details,
)
