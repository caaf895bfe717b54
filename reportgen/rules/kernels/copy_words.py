"""Copies in words: those from pageable memory, and those that hide behind no kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.facts.intervals import clip, overlap_ns, union_of
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import GpuKind
from reportgen.results import Finding, Severity, Where
from reportgen.rules.kernels.copies import MEMSET, CopyRow, direction_of
from reportgen.rules.kernels.device_time import time_in, unions_of
from reportgen.rules.kernels.saying import pct_of, say_ns, say_window
from reportgen.rules.kernels.windows import Window, headline, windows_of
from reportgen.rules.saying.verdict import estimate_of, fault_severity
from reportgen.units import say_bytes, say_count, say_pct

TABLE = "memory_operations"
WORTH_TELLING_BYTES = 1_000_000
"""Fewer bytes from pageable memory are flags and losses, not batches. Source: ours."""
_WITH_HOST = "Copy on a stream of its own from pinned memory, one batch ahead of the step."
_ON_DEVICE = (
    "Copy less on the device: write into the target (out=, in-place), avoid clone, cat and "
    "contiguous in the loop, and let torch.compile fuse the rest."
)
_OF_SETTING = "Clear less: optimizer.zero_grad(set_to_none=True), torch.empty where all is written."


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposed:
    """Copies and memsets of one device while no kernel ran, in its headline window.

    Attributes:
        total_ns: their union.
        direction_ns: of each direction on its own; directions may overlap.
    """

    device: int
    window: Window
    total_ns: int
    direction_ns: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCopies:
    """One rank: its copies, its window times devices, and what hides behind no kernel."""

    node: str
    n_ops: int
    rows: tuple[CopyRow, ...]
    window_ns: int
    exposed: tuple[Exposed, ...]


def exposed_of(trace: RankTrace) -> tuple[Exposed, ...]:
    """Return the copies of each device that hide behind no kernel."""
    windows = windows_of(trace)
    if not windows:
        return ()
    window, ops = headline(windows), trace.gpu_ops
    directions = np.array([direction_of(name) for name in trace.names], dtype=object)[ops.name]
    directions[ops.kind == GpuKind.MEMSET] = MEMSET
    found = []
    for unions in unions_of(trace):
        is_copy = (ops.device == unions.device) & (ops.kind != GpuKind.KERNEL)
        each = {}
        for direction in sorted(set(directions[is_copy].tolist())):
            rows = is_copy & (directions == direction)
            ran = clip(
                union_of(ops.start_ns[rows], ops.end_ns[rows]), window.start_ns, window.end_ns
            )
            each[direction] = ran.length_ns - overlap_ns(ran, unions.kernel)
        time = time_in(unions, window, rank=trace.rank)
        found.append(
            Exposed(
                device=unions.device,
                window=window,
                total_ns=time.busy_ns - time.kernel_ns,
                direction_ns=each,
            )
        )
    return tuple(found)


def pageable(ranks: Sequence[RankCopies], limit_pct: float) -> Finding | None:
    """Return copies of pageable memory: a fault from their share on, else a reading."""
    rows = [row for rank in ranks for row in rank.rows if row.is_pageable]
    time_ns, size = sum(row.time_ns for row in rows), sum(row.bytes for row in rows)
    share_pct = pct_of(time_ns, sum(rank.window_ns for rank in ranks))
    is_fault = share_pct >= limit_pct
    if not rows or (size < WORTH_TELLING_BYTES and not is_fault):
        return None
    worst = max(ranks, key=lambda rank: sum(row.time_ns for row in rank.rows if row.is_pageable))
    return Finding(
        id="COPY-1",
        severity=Severity.WARNING if is_fault else Severity.INFO,
        title=f"{say_bytes(size)} are copied from or to pageable memory",
        text=(
            f"Copies of pageable host memory ({say_count(sum(row.count for row in rows))} in all) "
            f"take {say_ns(time_ns)}, {say_pct(share_pct)} of the time from the first to the last "
            "GPU operation; each blocks the host until it is done."
        ),
        advice="Set pin_memory=True in the DataLoader, copy with .to(device, non_blocking=True).",
        where=Where(node=worst.node),
        measured=round(share_pct, 4),
        threshold=limit_pct,
        unit="%",
        estimate=estimate_of(share_pct / 100) if is_fault else None,
        exhibit=TABLE,
    )


def exposed(ranks: Sequence[RankCopies], limit_pct: float) -> Finding | None:
    """Return copies and memsets that hide behind no kernel, if they cost their share."""
    devices = [device for rank in ranks for device in rank.exposed]
    exposed_ns = sum(device.total_ns for device in devices)
    share_pct = pct_of(exposed_ns, sum(device.window.length_ns for device in devices))
    if share_pct < limit_pct or exposed_ns <= 0:
        return None
    each: dict[str, int] = {}
    for device in devices:
        for direction, time_ns in device.direction_ns.items():
            each[direction] = each.get(direction, 0) + time_ns
    main = max(each, key=lambda direction: each[direction])
    counted = sum(row.count for rank in ranks for row in rank.rows if row.direction == main)
    return Finding(
        id="COPY-2",
        severity=fault_severity(share_pct / 100),
        title=f"Copies that hide behind no kernel take {say_pct(share_pct)}, mostly {main}",
        text=(
            f"{say_ns(exposed_ns)} of GPU time, {say_pct(share_pct)} of "
            f"{say_window([device.window for device in devices])}, went by in copies and memsets "
            f"while no kernel ran; {say_ns(each[main])} of it in {main} ({say_count(counted)} "
            "in all)."
        ),
        advice=_advice(main),
        measured=round(share_pct, 4),
        threshold=limit_pct,
        unit="%",
        estimate=estimate_of(share_pct / 100),
        exhibit=TABLE,
    )


def _advice(direction: str) -> str:
    if direction == MEMSET:
        return _OF_SETTING
    return _ON_DEVICE if direction == "DtoD" else _WITH_HOST
