"""OverallSystemUsage: how much of each node's resources was used; never triggers."""

from __future__ import annotations

from reportgen.results import Place, RuleId, Section, TimelineTrack, Track
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


def _curves(title: str, order: int) -> Place:
    """Return the place of curves that stand in the timeline alone; 20 are the steps there."""
    return Place(
        timeline=TimelineTrack(kind=Track.PANEL, title=title, order=order, is_only_here=True)
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
    places={
        "device_heatmap": Place(timeline=TimelineTrack(kind=Track.BELOW, is_only_here=True)),
        "gpu_over_time": _curves("GPU utilization", 10),
        "gpu_memory_over_time": _curves("GPU memory activity", 30),
        "cpu_over_time": _curves("CPU utilization, mean of the cores", 40),
        "io_wait_over_time": _curves("I/O wait, mean of the cores", 50),
        "host_memory_over_time": _curves("Host memory", 60),
        "network_over_time": _curves("Network", 70),
    },
)
