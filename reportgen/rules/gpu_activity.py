"""GPUActivity: when the GPUs were at work and with what, from kernel traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.facts.device_busy import SYNC_CALL, rows_named
from reportgen.facts.use_over_time import fine_use
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import GpuKind
from reportgen.results import (
    FIRST_PART,
    LARGEST_PART,
    Counters,
    DashboardPanel,
    Details,
    Place,
    RuleId,
    RuleResult,
    Section,
)
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.kernels.activity_exhibits import (
    RankActivity,
    exhibits_of,
    headline_rows,
)
from reportgen.rules.kernels.activity_shares import split_ns
from reportgen.rules.kernels.activity_words import Limits, findings_of
from reportgen.rules.kernels.communication import communication_names
from reportgen.rules.kernels.device_time import time_in, unions_of
from reportgen.rules.kernels.saying import ratio_of, reason_without_gpu, result_of, share_limit
from reportgen.rules.kernels.windows import headline, own_clock_ns, windows_of

ID = RuleId("GPUActivity")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """From when on the activity of the GPUs is a fault."""

    threshold_exposed_pct: float = share_limit(
        10.0, "communication without compute beside it is a fault from this share of the window on"
    )
    threshold_imbalance_pct: float = share_limit(
        25.0, "ranks are uneven when one computes by this much more than the mean"
    )
    communication_names: str | None = communication_names()


def measure(part: RankTrace, params: Params) -> RankActivity:
    """Measure every device of a rank in every window."""
    windows = windows_of(part)
    unions = unions_of(part, params.communication_names)
    ops = part.gpu_ops
    is_kernel = ops.kind == GpuKind.KERNEL
    is_sync = rows_named(part, part.calls.name, SYNC_CALL.search)
    sync_ns = part.calls.duration_ns[is_sync].sum() + part.syncs.duration_ns.sum()
    return RankActivity(
        rank=part.rank,
        node=part.node,
        n_ops=ops.start_ns.size,
        local_size=len(part.devices) if part.is_rank_known else 0,
        clock_ns=own_clock_ns(part),
        devices=tuple(
            time_in(device, window, rank=part.rank) for device in unions for window in windows
        ),
        kernel_sum_ns=int(ops.duration_ns[is_kernel].sum()),
        memory_sum_ns=int(ops.duration_ns[~is_kernel].sum()),
        sync_sum_ns=int(sync_ns),
        use=tuple(
            fine_use(
                device.busy,
                headline(windows),
                origin_ns=part.origin_ns,
                node=part.node,
                device=f"gpu{device.device}",
            )
            for device in unions
        ),
    )


def judge(measurements: Sequence[RankActivity], params: Params) -> RuleResult:
    """Join the ranks."""
    ranks = [rank for rank in measurements if rank.n_ops]
    return result_of(
        ID,
        params=params,
        reason=reason_without_gpu(
            n_ranks=len(measurements), n_ops=sum(rank.n_ops for rank in ranks)
        ),
        presentation=present(Counters(), {}, params, ranks),
        metrics=_metrics(ranks),
    )


def _metrics(ranks: Sequence[RankActivity]) -> dict[str, float | int | None]:
    rows = headline_rows(ranks)
    if not rows:
        return {}
    window_ns = sum(row.window.length_ns for row in rows)
    communication_ns = sum(row.communication_ns for row in rows)
    parts = {
        f"{name.replace(' ', '_')}_ratio": ratio_of(time_ns, window_ns)
        for name, time_ns in split_ns(rows).items()
    }
    return {
        "gpu_active_ratio": ratio_of(sum(row.busy_ns for row in rows), window_ns),
        "kernel_active_ratio": ratio_of(sum(row.kernel_ns for row in rows), window_ns),
        **parts,
        "communication_overlapped_ratio": ratio_of(
            sum(row.overlap_ns for row in rows), communication_ns
        ),
    }


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,  # noqa: ARG001
    params: Params,
    context: Sequence[RankActivity] | None,
) -> Presentation:
    """Say what the GPUs did; ``context`` is the ranks with GPU operations."""
    ranks = context or ()
    limits = Limits(
        exposed_pct=params.threshold_exposed_pct, imbalance_pct=params.threshold_imbalance_pct
    )
    return Presentation(findings=findings_of(ranks, limits), exhibits=exhibits_of(ranks))


def _largest(order: int) -> Place:
    return Place(dashboard=DashboardPanel(order=order, headline=LARGEST_PART, row_of="pct"))


RULE = Rule(
    id=ID,
    title="GPU activity",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    places={
        "active_time": Place(dashboard=DashboardPanel(order=10, headline=FIRST_PART)),
        "activity_split": _largest(20),
        "utilization": Place(dashboard=DashboardPanel(order=30, is_wide=True, shares_axis=True)),
        "overlap": _largest(80),
        "activity_sums": _largest(150),
    },
)
