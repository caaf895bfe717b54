"""What GPUActivity says: shares of the windows, the curve, exposed communication, uneven ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from reportgen.facts.device_busy import DeviceTime, headline_rows
from reportgen.facts.use_over_time import FineUse, Use, begin_together, is_far_apart, use_together
from reportgen.profile.system import Floats
from reportgen.results import (
    ColumnType,
    Exhibit,
    ExhibitKind,
    Finding,
    Role,
    Where,
    column,
    exhibit,
)
from reportgen.rules.base import Outcome
from reportgen.rules.gpu_activity import texts
from reportgen.rules.gpu_activity.measure import Params, RankActivity
from reportgen.rules.kit import (
    fault_severity,
    floats,
    merge,
    ranking,
    reason_without_gpu,
    sum_by_key,
    window_name,
)
from reportgen.text import device_label, format_ns, write
from reportgen.units import NS_PER_US, pct_of, ratio_of

MOST_LINES = 16
"""More lines than this cannot be told apart in a chart; all numbers stay in the table."""
LEAST_SAVED_RATIO = 0.01
"""Uneven ranks that cost less than 1 % of the window are not worth a finding."""
TIMES = (
    *("window", "busy", "idle", "kernel", "compute", "communication", "memory", "overlap"),
    "exposed_communication",
)
"""The times of a device that its table shows."""
ROLES = {
    "idle": Role.IDLE,
    "memory operations": Role.MEMORY,
    "synchronization": Role.CPU,
    "compute with communication": Role.NETWORK,
    "communication behind compute": Role.NETWORK,
    "exposed communication": Role.NETWORK,
}
"""What a part is about; all others are the GPU's own work."""


def judge(measurements: Sequence[RankActivity], params: Params) -> Outcome:
    """Say what the GPUs did, by the headline window of each rank."""
    ranks = [rank for rank in measurements if rank.n_ops]
    rows = headline_rows([device for rank in ranks for device in rank.devices])
    if not rows:
        return Outcome(missing=reason_without_gpu(0))
    total = merge(rows)
    window = window_name([item.window for item in rows])
    return Outcome(
        findings=[
            _exposed(total, window, params.threshold_exposed_pct),
            _uneven(ranks, rows, window, params.threshold_imbalance_pct),
            texts.READING.finding(
                measured=pct_of(total.busy_ns, total.window_ns),
                gpus="The GPU was" if len(rows) == 1 else f"{len(rows)} GPUs were",
                window=window,
                n_ops=sum(rank.n_ops for rank in ranks),
                kernel=pct_of(total.kernel_ns, total.window_ns),
            ),
        ],
        exhibits=_exhibits(ranks, total, window),
        metrics={
            "gpu_active_ratio": ratio_of(total.busy_ns, total.window_ns),
            "kernel_active_ratio": ratio_of(total.kernel_ns, total.window_ns),
            **{
                f"{name.replace(' ', '_')}_ratio": ratio_of(time_ns, total.window_ns)
                for name, time_ns in _split(total).items()
            },
            "communication_overlapped_ratio": ratio_of(total.overlap_ns, total.communication_ns),
        },
    )


def _split(total: DeviceTime) -> dict[str, int]:
    """Return the parts that exclude each other; they fill the windows."""
    return {
        "compute": total.compute_ns - total.overlap_ns,
        "compute with communication": total.overlap_ns,
        "exposed communication": total.exposed_communication_ns,
        "memory operations": total.busy_ns - total.kernel_ns,
        "idle": total.idle_ns,
    }


def _exhibits(ranks: Sequence[RankActivity], total: DeviceTime, window: str) -> Iterator[Exhibit]:
    kernel_pct = pct_of(total.kernel_ns, total.window_ns)
    yield _shares(
        "active_time",
        {"active": total.busy_ns, "idle": total.idle_ns},
        title="GPU active time",
        caption=write(texts.ACTIVE_CAPTION, window=window, kernel=kernel_pct),
    )
    yield _curve(ranks, total, window)
    split_caption = write(texts.SPLIT_CAPTION, window=window)
    yield _shares("activity_split", _split(total), title="What the GPUs did", caption=split_caption)
    both, alone = total.overlap_ns, total.exposed_communication_ns
    if both + alone > 0:
        share_pct = pct_of(both + alone, total.window_ns)
        yield _shares(
            "overlap",
            {"communication behind compute": both, "exposed communication": alone},
            title="Overlap of communication and compute",
            caption=write(
                texts.OVERLAP_CAPTION, communication=both + alone, share=share_pct, window=window
            ),
        )
    yield _shares(
        "activity_sums",
        sum_by_key(rank.sums_ns for rank in ranks),
        title="Durations of kernels, memory operations and synchronization",
        caption=texts.SUMS_CAPTION,
    )
    yield _table(ranks)


def _shares(exhibit_id: str, parts_ns: Mapping[str, int], *, title: str, caption: str) -> Exhibit:
    return ranking(
        exhibit_id,
        list(parts_ns.items()),
        title=title,
        caption=caption,
        amount=("time_us", "us"),
        per=NS_PER_US,
        roles=[ROLES.get(name, Role.GPU) for name in parts_ns],
    )


def _table(ranks: Sequence[RankActivity]) -> Exhibit:
    """Return every device in every window, exact."""
    rows = [(rank, item) for rank in ranks for item in rank.devices]
    starts_us = [(rank.clock_ns + item.window.start_ns) / NS_PER_US for rank, item in rows]
    times = [
        (f"{name}_us", "us", [getattr(item, f"{name}_ns") / NS_PER_US for _, item in rows])
        for name in TIMES
    ]
    return exhibit(
        "activity_by_device",
        ExhibitKind.TABLE,
        title="GPU activity by rank, device and window",
        caption=texts.TABLE_CAPTION,
        columns=[
            column("rank", "", [rank.rank for rank, _ in rows], type=ColumnType.INT),
            column("device", "", [item.device for _, item in rows], type=ColumnType.INT),
            column("window", "", [str(item.window.kind) for _, item in rows], type=ColumnType.TEXT),
            *floats(("window_start_us", "us", starts_us), *times),
        ],
    )


def _curve(ranks: Sequence[RankActivity], total: DeviceTime, window: str) -> Exhibit:
    owners = [(rank, item) for rank in ranks for item in rank.use]
    devices = [item for _, item in owners]
    use = use_together(begin_together(devices))
    is_apart = is_far_apart([item.reach_ns for item in devices])
    apart = " Recorded far apart: all begin with the first." if is_apart else ""
    rest = f" The first {MOST_LINES} of {len(owners)} GPUs." if len(owners) > MOST_LINES else ""
    lines = _means(owners)
    for place, item in enumerate(devices[:MOST_LINES]):
        lines.append((device_label(item.node, item.device, n_nodes=len(ranks)), [place]))
    return exhibit(
        "utilization",
        ExhibitKind.SERIES,
        title=write(
            "GPU utilization over time: {share:pct} on average",
            share=pct_of(total.busy_ns, total.window_ns),
        ),
        caption=(
            f"Busy share of bins of {format_ns(use.width_ns)} over "
            f"{window}: any kernel, copy or memset.{apart}{rest}"
        ),
        columns=[
            *floats(("time_s", "s", use.time_s)),
            *floats(*(_line(name, use, places) for name, places in lines), role=Role.GPU),
        ],
        role=Role.GPU,
    )


def _line(name: str, use: Use, places: list[int]) -> tuple[str, str, Floats]:
    """Return the mean use of some devices over time."""
    with np.errstate(invalid="ignore"):
        mean_pct = 100 * use.busy_ns[places].sum(axis=0) / use.length_ns[places].sum(axis=0)
    return name, "%", mean_pct


def _means(owners: Sequence[tuple[RankActivity, FineUse]]) -> list[tuple[str, list[int]]]:
    """Return name and places of all GPUs, or of those of each node where ranks fill several."""
    if len(owners) < 2:
        return []
    nodes: dict[int, list[int]] = {}
    for place, (rank, _) in enumerate(owners):
        nodes.setdefault(rank.rank // rank.local_size if rank.local_size else 0, []).append(place)
    if len(nodes) == 1:
        return [("mean of GPUs", nodes.popitem()[1])]
    means = [(f"mean of GPUs of node {node}", places) for node, places in sorted(nodes.items())]
    return means[:MOST_LINES]


def _exposed(total: DeviceTime, window: str, limit_pct: float) -> Finding | None:
    exposed_ns = total.exposed_communication_ns
    share_pct = pct_of(exposed_ns, total.window_ns)
    if share_pct < limit_pct or exposed_ns <= 0:
        return None
    return texts.EXPOSED.finding(
        measured=share_pct,
        threshold=limit_pct,
        severity=fault_severity(share_pct / 100),
        share=share_pct / 100,
        exposed=exposed_ns,
        window=window,
        hidden=pct_of(total.overlap_ns, total.communication_ns),
    )


def _uneven(
    ranks: Sequence[RankActivity], rows: Sequence[DeviceTime], window: str, limit_pct: float
) -> Finding | None:
    """Compare the ranks by the compute in their headline windows; one device has no peers."""
    if len(rows) < 2:
        return None
    worst = max(rows, key=lambda item: item.compute_ns)
    mean_ns = sum(item.compute_ns for item in rows) / len(rows)
    above_ns = worst.compute_ns - mean_ns
    saved_ratio = above_ns / worst.window_ns
    if pct_of(above_ns, mean_ns) < limit_pct or saved_ratio < LEAST_SAVED_RATIO:
        return None
    node = next(rank.node for rank in ranks if rank.rank == worst.rank)
    device = f"gpu{worst.device}"
    return texts.UNEVEN.finding(
        measured=pct_of(above_ns, mean_ns),
        threshold=limit_pct,
        where=Where(node=node, device=device),
        share=saved_ratio,
        name=device_label(node, device, n_nodes=len(ranks)),
        compute=worst.compute_ns,
        n_gpus=len(rows),
        mean=mean_ns,
        window=window,
    )
