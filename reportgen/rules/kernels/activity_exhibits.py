"""GPUActivity as exhibits: shares of the windows, the curve, every device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.facts.use_over_time import (
    FineUse,
    Use,
    begin_together,
    is_far_apart,
    use_together,
)
from reportgen.profile.system import Floats
from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.rules.kernels.activity_shares import (
    active_time,
    activity_split,
    overlap,
    sums_of,
    window_of,
)
from reportgen.rules.kernels.device_time import DeviceTime
from reportgen.rules.kernels.saying import pct_of, say_ns
from reportgen.rules.kernels.windows import WindowKind
from reportgen.units import NS_PER_US, say_pct

TABLE, CURVE = "activity_by_device", "utilization"
MOST_LINES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RankActivity:
    """One rank.

    Attributes:
        local_size: GPUs of the node, 0 where the trace does not tell them.
        clock_ns: what the trace's own clock showed at its origin.
        devices: a row per device and window.
        kernel_sum_ns, memory_sum_ns, sync_sum_ns: durations added up, not united.
        use: busy time over the headline window, one per device.
    """

    rank: int
    node: str
    n_ops: int
    local_size: int
    clock_ns: int
    devices: tuple[DeviceTime, ...]
    kernel_sum_ns: int
    memory_sum_ns: int
    sync_sum_ns: int
    use: tuple[FineUse, ...]


def headline_rows(ranks: Sequence[RankActivity]) -> list[DeviceTime]:
    """Return a row per device: of the steps where the rank has any, else of all GPU work."""
    rows = []
    for rank in ranks:
        kinds = {item.window.kind for item in rank.devices}
        kind = WindowKind.STEPS if WindowKind.STEPS in kinds else WindowKind.GPU
        rows += [item for item in rank.devices if item.window.kind is kind]
    return rows


def exhibits_of(ranks: Sequence[RankActivity]) -> tuple[Exhibit, ...]:
    """Return the shares, the curve and the table; nothing without GPU operations."""
    rows = headline_rows(ranks)
    if not rows:
        return ()
    sums = sums_of(
        kernels_ns=sum(rank.kernel_sum_ns for rank in ranks),
        memory_ns=sum(rank.memory_sum_ns for rank in ranks),
        synchronization_ns=sum(rank.sync_sum_ns for rank in ranks),
    )
    shares = (activity_split(rows), *overlap(rows), sums)
    return (active_time(rows), _curve(ranks), *shares, table_of(ranks))


def table_of(ranks: Sequence[RankActivity]) -> Exhibit:
    """Return every device in every window, exact."""
    clocks = {rank.rank: rank.clock_ns for rank in ranks}
    rows = [item for rank in ranks for item in rank.devices]
    starts_ns = [clocks[row.rank] + row.window.start_ns for row in rows]
    return exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="GPU activity by rank, device and window",
        caption=(
            "Window gpu: from the first start to the last end of a GPU operation of the rank. "
            "Window steps: from the start of the first step to the end of the last, or of the "
            "last GPU operation launched inside. All times are unions: what runs at the same "
            "time counts once. window_start_us is in the trace's own clock."
        ),
        columns=[
            ("rank", "", [row.rank for row in rows]),
            ("device", "", [row.device for row in rows]),
            ("window", "", [row.window.kind.value for row in rows]),
            ("window_start_us", "us", [start_ns / NS_PER_US for start_ns in starts_ns]),
            ("window_us", "us", [row.window.length_ns / NS_PER_US for row in rows]),
            ("busy_us", "us", [row.busy_ns / NS_PER_US for row in rows]),
            ("idle_us", "us", [row.idle_ns / NS_PER_US for row in rows]),
            ("kernel_us", "us", [row.kernel_ns / NS_PER_US for row in rows]),
            ("compute_us", "us", [row.compute_ns / NS_PER_US for row in rows]),
            ("communication_us", "us", [row.communication_ns / NS_PER_US for row in rows]),
            ("memory_us", "us", [row.memory_ns / NS_PER_US for row in rows]),
            ("overlap_us", "us", [row.overlap_ns / NS_PER_US for row in rows]),
            (
                "exposed_communication_us",
                "us",
                [row.exposed_communication_ns / NS_PER_US for row in rows],
            ),
        ],
    )


def _curve(ranks: Sequence[RankActivity]) -> Exhibit:
    devices = [item for rank in ranks for item in rank.use]
    use = use_together(begin_together(devices))
    apart = (
        " Recorded far apart: all begin with the first."
        if is_far_apart([d.reach_ns for d in devices])
        else ""
    )
    names = _line_names(ranks)
    rest = f" The first {MOST_LINES} of {len(names)} GPUs." if len(names) > MOST_LINES else ""
    with np.errstate(invalid="ignore"):
        each = 100 * use.busy_ns / use.length_ns
    lines = [(name, "%", each[row]) for row, name in enumerate(names[:MOST_LINES])]
    return exhibit(
        CURVE,
        ExhibitKind.SERIES,
        title=f"GPU utilization over time: {say_pct(_active_pct(ranks))} on average",
        caption=(
            f"Busy share of bins of {say_ns(use.width_ns)} over "
            f"{window_of(headline_rows(ranks))}: any kernel, copy or memset.{apart}{rest}"
        ),
        columns=[("time_s", "s", use.time_s), *_means(ranks, use), *lines],
    )


def _active_pct(ranks: Sequence[RankActivity]) -> float:
    rows = headline_rows(ranks)
    return pct_of(sum(row.busy_ns for row in rows), sum(row.window.length_ns for row in rows))


def _means(ranks: Sequence[RankActivity], use: Use) -> list[tuple[str, str, Floats]]:
    """Return the mean of all GPUs, or of those of each node where ranks fill several."""
    places: dict[int, list[int]] = {}
    owners = [rank for rank in ranks for _ in rank.use]
    for row, rank in enumerate(owners):
        node = rank.rank // rank.local_size if rank.local_size else 0
        places.setdefault(node, []).append(row)
    if len(owners) < 2:
        return []
    means = []
    for node, rows in sorted(places.items()):
        name = "mean of GPUs" if len(places) == 1 else f"mean of GPUs of node {node}"
        with np.errstate(invalid="ignore"):
            mean = 100 * use.busy_ns[rows].sum(axis=0) / use.length_ns[rows].sum(axis=0)
        means.append((name, "%", mean))
    return means[:MOST_LINES]


def _line_names(ranks: Sequence[RankActivity]) -> list[str]:
    n_ranks = len(ranks)
    return [
        item.device if n_ranks == 1 else f"{item.node} {item.device}"
        for rank in ranks
        for item in rank.use
    ]
