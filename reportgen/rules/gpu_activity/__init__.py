"""GPUActivity: when the GPUs were at work and with what, from kernel traces."""

from __future__ import annotations

from reportgen.results import FIRST_PART, LARGEST_PART, DashboardPanel, Place, RuleId, Section
from reportgen.rules.base import About, Need, Rule
from reportgen.rules.gpu_activity.judge import judge
from reportgen.rules.gpu_activity.measure import Params, measure

ABOUT = About(
    checks="How much of the time each GPU was at work, and with what, kernel by kernel.",
    reading=(
        "Active is the union of all kernels, copies and memsets; idle is the rest of the window. "
        "The parts exclude each other and add up to the window, which is always named."
    ),
    advice="Look for what the GPUs waited for, then hide communication and copies behind compute.",
    section=Section(id="gpu-activity", title="GPU activity", order=30),
    hint_when_skipped="Trace a job that uses a GPU, with ProfilerActivity.CUDA as an activity.",
    opens_dashboard=True,
)


def _largest(order: int) -> Place:
    return Place(dashboard=DashboardPanel(order=order, headline=LARGEST_PART, row_of="pct"))


RULE = Rule(
    id=RuleId("GPUActivity"),
    title="GPU activity",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    places={
        "active_time": Place(dashboard=DashboardPanel(order=10, headline=FIRST_PART)),
        "activity_split": _largest(20),
        "utilization": Place(dashboard=DashboardPanel(order=30, is_wide=True, shares_axis=True)),
        "overlap": _largest(80),
        "activity_sums": _largest(150),
    },
)
