"""GPUActivity in words: how active the GPUs were, exposed communication, balance of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.results import Finding, Severity, Where
from reportgen.rules.kernels.activity_exhibits import TABLE, RankActivity, headline_rows
from reportgen.rules.kernels.activity_shares import ACTIVE, SPLIT, window_of
from reportgen.rules.kernels.device_time import DeviceTime
from reportgen.rules.kernels.saying import pct_of, say_device, say_ns
from reportgen.rules.saying.verdict import estimate_of, fault_severity
from reportgen.rules.saying.wording import say_times
from reportgen.units import say_pct


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """From when on exposed communication and uneven ranks are faults, percent."""

    exposed_pct: float
    imbalance_pct: float


def findings_of(ranks: Sequence[RankActivity], limits: Limits) -> tuple[Finding, ...]:
    """Return the reading of the activity, and faults: exposed communication, uneven ranks."""
    rows = headline_rows(ranks)
    if not rows:
        return ()
    found = [_exposed(rows, limits.exposed_pct), _uneven(ranks, rows, limits.imbalance_pct)]
    return (*(item for item in found if item), _reading(ranks, rows))


def _exposed(rows: Sequence[DeviceTime], limit_pct: float) -> Finding | None:
    window_ns = sum(row.window.length_ns for row in rows)
    exposed_ns = sum(row.exposed_communication_ns for row in rows)
    share_pct = pct_of(exposed_ns, window_ns)
    if share_pct < limit_pct or exposed_ns <= 0:
        return None
    communication_ns = sum(row.communication_ns for row in rows)
    hidden_pct = pct_of(communication_ns - exposed_ns, communication_ns)
    return Finding(
        id="ACT-1",
        severity=fault_severity(share_pct / 100),
        title=f"Communication that hides behind no compute takes {say_pct(share_pct)}",
        text=(
            f"{say_ns(exposed_ns)} of GPU time, {say_pct(share_pct)} of {window_of(rows)}, went by "
            "in communication kernels with nothing computed beside them; "
            f"{say_pct(hidden_pct)} of the communication overlaps with compute. Communication "
            "kernels also wait for other ranks: see the collectives."
        ),
        advice=(
            "Overlap communication with the backward pass (larger buckets, gradient accumulation, "
            "prefetching shards), and see first whether it waits for a late rank."
        ),
        measured=round(share_pct, 4),
        threshold=limit_pct,
        unit="%",
        estimate=estimate_of(share_pct / 100),
        exhibit=SPLIT,
        causes=("COMM-1",),
    )


def _uneven(
    ranks: Sequence[RankActivity], rows: Sequence[DeviceTime], limit_pct: float
) -> Finding | None:
    """Compare the ranks by the compute in their headline windows; one device has no peers."""
    if len(rows) < 2:
        return None
    compute = np.array([row.compute_ns for row in rows])
    mean_ns = float(compute.mean())
    worst = int(compute.argmax())
    above_pct = pct_of(float(compute[worst]) - mean_ns, mean_ns)
    saved = (float(compute[worst]) - mean_ns) / rows[worst].window.length_ns
    if above_pct < limit_pct or 100 * saved < 1:
        return None
    row = rows[worst]
    nodes = {rank.rank: rank.node for rank in ranks}
    name = say_device(row.rank, row.device, n_ranks=len(ranks))
    return Finding(
        id="ACT-2",
        severity=Severity.WARNING,
        title=f"The ranks compute unevenly: {name} {say_pct(above_pct)} above the mean",
        text=(
            f"{name} computes {say_ns(row.compute_ns)} where the mean of {len(rows)} GPUs is "
            f"{say_ns(mean_ns)}; each in its own window: {window_of(rows)}. The others wait for it."
        ),
        advice="Give each rank an equal share: balance shards, tables, sequence lengths or layers.",
        where=Where(node=nodes[row.rank], device=f"gpu{row.device}"),
        measured=round(above_pct, 4),
        threshold=limit_pct,
        unit="%",
        estimate=estimate_of(saved),
        exhibit=TABLE,
    )


def _reading(ranks: Sequence[RankActivity], rows: Sequence[DeviceTime]) -> Finding:
    window_ns = sum(row.window.length_ns for row in rows)
    busy_pct = pct_of(sum(row.busy_ns for row in rows), window_ns)
    kernel_pct = pct_of(sum(row.kernel_ns for row in rows), window_ns)
    n_ops = sum(rank.n_ops for rank in ranks)
    gpus = "The GPU was" if len(rows) == 1 else f"{len(rows)} GPUs were"
    return Finding(
        id="ACT-3",
        severity=Severity.INFO,
        title=f"{gpus} active {say_pct(busy_pct)} of {window_of(rows)}",
        text=(
            f"Any of {say_times(n_ops, 'GPU operation')} ran {say_pct(busy_pct)} of that time; a "
            f"kernel ran {say_pct(kernel_pct)}, which is what nvidia-smi calls GPU-Util."
        ),
        advice="Look at the causes of idling where the idle part is large.",
        measured=round(busy_pct, 4),
        unit="%",
        exhibit=ACTIVE,
    )
