"""OverallSystemUsage: how much of each node's resources was used; never triggers."""

from __future__ import annotations

from reportgen.results import RuleId, Section
from reportgen.rules.base import About, Need, Rule
from reportgen.rules.overall_system_usage.judge import from_details, judge
from reportgen.rules.overall_system_usage.measure import Params, measure

ABOUT = About(
    checks="How much of GPU, CPU, memory, I/O and network each node used.",
    reading=(
        "Statistics of every sampling instant: CPU and I/O wait are means over the cores, GPU and "
        "GPU memory means over the GPUs, network is what the training container received plus "
        "transmitted. GPU memory is the activity of the memory controller."
    ),
    advice="Choose the instance by the resource that is used up; the others show what is paid for.",
    section=Section(id="system-usage", title="System usage", order=10),
    has_counters=True,
)

RULE = Rule(
    id=RuleId("OverallSystemUsage"),
    title="System usage",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
    from_details=from_details,
    folded=("sample_counts",),
)
