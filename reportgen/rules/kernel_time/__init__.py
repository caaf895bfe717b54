"""KernelTime: which kernels took the time and the launches, from kernel traces."""

from __future__ import annotations

from reportgen.results import LARGEST_PART, Choice, DashboardPanel, Place, RuleId, Section
from reportgen.rules.base import About, Need, Rule
from reportgen.rules.kernel_time.judge import judge
from reportgen.rules.kernel_time.measure import Grouping, Params, measure
from reportgen.rules.kernel_time.texts import LABELS

ABOUT = About(
    checks="Which kernels take the GPU's time and which are launched most.",
    reading=(
        "Durations are added up per full name over all ranks. A kernel shorter than its launch "
        "cannot keep the GPU busy however many there are."
    ),
    advice="Improve or fuse the first few by time, and those launched most.",
    section=Section(id="kernels", title="Kernels", order=60),
)


def _rankings(by: str, order: int) -> dict[str, Place]:
    """Return where the rankings stand that the reader chooses from."""
    group = f"top_by_{by}"
    return {
        f"{group}{way.suffix}": Place(
            dashboard=DashboardPanel(
                order=order,
                headline=LARGEST_PART,
                row_of="pct",
                row_noun="kernel" if way.is_by_kernel else way.value,
                is_wide=True,
            ),
            choice=Choice(
                group=group,
                question="Group by",
                label=LABELS[way],
                twin=f"{group}{way.suffix}_compute",
                switch="Leave out communication",
            ),
        )
        for way in Grouping
    }


_TABLES = {
    way.table_id: Place(choice=Choice(group="tables", question="Group by", label=LABELS[way]))
    for way in Grouping
}
RULE = Rule(
    id=RuleId("KernelTime"),
    title="Kernels",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    places={**_rankings("time", 100), **_rankings("launches", 110), **_TABLES},
)
