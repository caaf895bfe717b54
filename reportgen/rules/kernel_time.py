"""KernelTime: which kernels took the time and the launches, from kernel traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, GpuKind
from reportgen.results import (
    LARGEST_PART,
    Choice,
    Counters,
    DashboardPanel,
    Details,
    Place,
    RuleId,
    RuleResult,
    Section,
)
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.kernels.communication import communication_names
from reportgen.rules.kernels.device_time import unions_of
from reportgen.rules.kernels.idle import gaps_in
from reportgen.rules.kernels.kernel_exhibits import exhibits_of
from reportgen.rules.kernels.kernel_rankings import Context
from reportgen.rules.kernels.kernel_times import KernelValues, join_kernels, kernel_values
from reportgen.rules.kernels.kernel_words import TINY_NS, Tiny, findings_of
from reportgen.rules.kernels.saying import (
    pct_of,
    reason_without_gpu,
    result_of,
    share_limit,
    top_k,
)
from reportgen.rules.kernels.windows import windows_of
from reportgen.units import NS_PER_US

ID = RuleId("KernelTime")
ABOUT = About(
    checks="Which kernels take the GPU's time and which are launched most.",
    reading=(
        "Durations are added up per full name over all ranks. A kernel shorter than its launch "
        "cannot keep the GPU busy however many there are."
    ),
    advice="Improve or fuse the first few by time, and those launched most.",
    section=Section(id="kernels", title="Kernels", order=60),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """How many kernels are told apart, and when tiny ones are a fault."""

    top: int = top_k()
    threshold_tiny_pct: float = share_limit(
        50.0, "tiny kernels are a fault from this share of the launches on"
    )
    threshold_idle_pct: float = share_limit(
        10.0, "... if the GPU idles before them for at least this share of the time"
    )
    communication_names: str | None = communication_names()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One rank: its kernels, windows times devices, and launch-bound kernels."""

    n_ops: int
    kernels: KernelValues
    profile_ns: int
    tiny: Tiny


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """All ranks: their kernels, and those that are launch-bound."""

    context: Context
    tiny: Tiny


def measure(part: RankTrace, params: Params) -> Measurement:
    """Measure the kernels of a rank."""
    windows = windows_of(part)
    n_devices = np.unique(part.gpu_ops.device).size
    return Measurement(
        n_ops=part.gpu_ops.start_ns.size,
        kernels=kernel_values(part, params.communication_names),
        profile_ns=windows[0].length_ns * n_devices if windows else 0,
        tiny=_tiny_of(part) if windows else Tiny(),
    )


def _tiny_of(trace: RankTrace) -> Tiny:
    ops = trace.gpu_ops
    is_launched = (ops.kind == GpuKind.KERNEL) & (ops.launch != NONE)
    call_ns = np.full(ops.launch.shape, np.nan)
    launch = ops.launch[is_launched]
    # Of a call that launches many kernels, as that of a graph does, each bears its part.
    call_ns[is_launched] = trace.calls.duration_ns[launch] / np.bincount(launch)[launch]
    is_tiny = is_launched & (ops.duration_ns < TINY_NS) & (ops.duration_ns < call_ns)
    window = windows_of(trace)[0]
    devices = unions_of(trace)
    idle_ns = 0
    for unions in devices:
        gaps = gaps_in(trace, unions, window)
        begins = np.unique(ops.start_ns[is_tiny & (ops.device == unions.device)])
        is_before = np.isin(gaps.high_ns, begins)
        idle_ns += int((gaps.high_ns - gaps.low_ns)[is_before].sum())
    return Tiny(
        n_kernels=int(is_launched.sum()),
        n_tiny=int(is_tiny.sum()),
        idle_ns=idle_ns,
        window_ns=window.length_ns * len(devices),
    )


def judge(measurements: Sequence[Measurement], params: Params) -> RuleResult:
    """Join the ranks."""
    joined = Joined(
        context=Context(
            kernels=join_kernels([rank.kernels for rank in measurements]),
            profile_ns=sum(rank.profile_ns for rank in measurements),
            n_ranks=len(measurements),
        ),
        tiny=_joined([rank.tiny for rank in measurements]),
    )
    return result_of(
        ID,
        params=params,
        reason=reason_without_gpu(
            n_ranks=len(measurements), n_ops=sum(rank.n_ops for rank in measurements)
        ),
        presentation=present(Counters(), {}, params, joined),
        metrics=_metrics(joined),
    )


def _joined(tiny: Sequence[Tiny]) -> Tiny:
    return Tiny(
        n_kernels=sum(rank.n_kernels for rank in tiny),
        n_tiny=sum(rank.n_tiny for rank in tiny),
        idle_ns=sum(rank.idle_ns for rank in tiny),
        window_ns=sum(rank.window_ns for rank in tiny),
    )


def _metrics(joined: Joined) -> dict[str, float | int | None]:
    rows = joined.context.kernels.by_name
    if not rows:
        return {}
    return {
        "n_kernels": sum(row.count for row in rows),
        "n_distinct_kernels": len(rows),
        "kernel_time_us": sum(row.sum_ns for row in rows) / NS_PER_US,
        "tiny_kernels_ratio": round(pct_of(joined.tiny.n_tiny, joined.tiny.n_kernels) / 100, 6),
    }


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,  # noqa: ARG001
    params: Params,
    context: Joined | None,
) -> Presentation:
    """Say which kernels took the time; ``context`` is all ranks joined."""
    if context is None:
        return Presentation()
    return Presentation(
        findings=findings_of(
            context.context,
            context.tiny,
            limit_pct=params.threshold_idle_pct,
            tiny_pct=params.threshold_tiny_pct,
        ),
        exhibits=exhibits_of(context.context, top=params.top),
    )


_GROUPS = {
    "": ("name", "kernel"),
    "shape": ("name, grid and block", "kernel"),
    "operator": ("operator", "operator"),
    "category": ("category", "category"),
}
"""By what kernels are added up: what the choice is called, and what a row is then."""
_TABLES = {
    f"kernels_by_{way}" if way else "kernels": Place(
        choice=Choice(group="tables", question="Group by", label=label)
    )
    for way, (label, _) in _GROUPS.items()
}


def _ranked(by: str, order: int) -> dict[str, Place]:
    """Return where the rankings stand that the reader chooses from."""
    group = f"top_by_{by}"
    ids = {way: f"{group}_{way}" if way else group for way in _GROUPS}
    return {
        ids[way]: Place(
            dashboard=DashboardPanel(
                order=order, headline=LARGEST_PART, row_of="pct", row_noun=noun, is_wide=True
            ),
            choice=Choice(
                group=group,
                question="Group by",
                label=label,
                twin=f"{ids[way]}_compute",
                switch="Leave out communication",
            ),
        )
        for way, (label, noun) in _GROUPS.items()
    }


RULE = Rule(
    id=ID,
    title="Kernels",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    places={**_ranked("time", 100), **_ranked("launches", 110), **_TABLES},
)
