"""IdleTime: why the GPUs idled, in causes that add up exactly, from kernel traces."""

from __future__ import annotations

from reportgen.results import LARGEST_PART, OTHERS, DashboardPanel, Place, RuleId, Section
from reportgen.rules.base import About, Need, Rule
from reportgen.rules.idle_time.judge import judge
from reportgen.rules.idle_time.measure import Params, measure

ABOUT = About(
    checks="Why each GPU idled: data loading, synchronization, a slow host, gaps, waits.",
    reading=(
        "Each gap belongs to the operation that ends it: until its launch was called the host was "
        "late, then the call itself took time, then the device did. The causes add up to the idle "
        "time. The speed-up is an upper bound: what is gained if the cause vanishes."
    ),
    advice="Begin with the largest cause; the bound tells what it can be worth.",
    section=Section(id="idle-time", title="Idle time", order=40),
)

RULE = Rule(
    id=RuleId("IdleTime"),
    title="Idle time",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    places={
        "idle_stretches": Place(
            dashboard=DashboardPanel(
                order=40,
                headline="{title}: the longest {duration_us} before {before}",
                row_of="duration_us",
                is_wide=True,
                shares_axis=True,
            )
        ),
        "idle_shares": Place(
            dashboard=DashboardPanel(
                order=50,
                headline=LARGEST_PART,
                row_of="pct",
                passed_over=(OTHERS, "GPU busy"),
            )
        ),
    },
)
