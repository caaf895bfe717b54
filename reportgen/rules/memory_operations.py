"""MemoryOperations: copies and memsets by direction, and copies from pageable memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.profile.trace import RankTrace
from reportgen.results import (
    Counters,
    Details,
    Exhibit,
    ExhibitKind,
    Finding,
    RuleId,
    RuleResult,
    Severity,
    Where,
    exhibit,
)
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.kernels.copies import CopyRow, copy_rows
from reportgen.rules.kernels.saying import (
    pct_of,
    ratio_of,
    reason_without_gpu,
    result_of,
    say_us,
    share_limit,
)
from reportgen.rules.kernels.time_shares import time_shares
from reportgen.rules.kernels.windows import windows_of
from reportgen.rules.saying.verdict import estimate_of
from reportgen.units import say_bytes, say_count, say_pct

ID = RuleId("MemoryOperations")
TABLE, SHARES = "memory_operations", "memory_shares"
WORTH_TELLING_BYTES = 1_000_000
"""Fewer bytes from pageable memory are flags and losses, not batches. Source: ours."""
ABOUT = About(
    checks="What is copied and set in GPU memory: by direction, with bytes and bandwidth.",
    reading=(
        "Durations are added up per direction and kinds of memory. A copy from or to pageable "
        "memory goes through a hidden pinned buffer: it is slower and blocks the host."
    ),
    advice="Pin host memory and copy with non_blocking=True.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """When pageable copies are a fault."""

    threshold_pageable_pct: float = share_limit(
        2.0, "pageable copies are a fault from this share of the window on"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One rank: its copies, and its window times devices."""

    node: str
    n_ops: int
    rows: tuple[CopyRow, ...]
    window_us: float


def measure(part: RankTrace, params: Params) -> Measurement:  # noqa: ARG001 - a rule's shape
    """Measure the memory operations of a rank."""
    windows = windows_of(part)
    return Measurement(
        node=part.node,
        n_ops=part.gpu_ops.start_us.size,
        rows=copy_rows(part),
        window_us=windows[0].length_us * np.unique(part.gpu_ops.device).size if windows else 0.0,
    )


def judge(measurements: Sequence[Measurement], params: Params) -> RuleResult:
    """Join the ranks."""
    rows = [row for rank in measurements for row in rank.rows]
    window_us = sum(rank.window_us for rank in measurements)
    return result_of(
        ID,
        params=params,
        reason=reason_without_gpu(
            n_ranks=len(measurements), n_ops=sum(rank.n_ops for rank in measurements)
        ),
        presentation=present(Counters(), {}, params, measurements),
        metrics={
            "memory_time_ratio": ratio_of(sum(row.time_us for row in rows), window_us),
            "pageable_time_ratio": ratio_of(
                sum(row.time_us for row in rows if row.is_pageable), window_us
            ),
            "bytes_moved": sum(row.bytes for row in rows),
        }
        if window_us
        else {},
    )


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,  # noqa: ARG001
    params: Params,
    context: Sequence[Measurement] | None,
) -> Presentation:
    """Say what was moved; ``context`` is the measurements."""
    ranks = [rank for rank in context or () if rank.n_ops]
    if not ranks:
        return Presentation()
    found = _pageable(ranks, params.threshold_pageable_pct)
    return Presentation(findings=(found,) if found else (), exhibits=_exhibits(ranks))


def _exhibits(ranks: Sequence[Measurement]) -> tuple[Exhibit, ...]:
    rows = [row for rank in ranks for row in rank.rows]
    window_us = sum(rank.window_us for rank in ranks)
    return (_shares(rows, window_us), _table(rows)) if rows else (_table(rows),)


def _shares(rows: Sequence[CopyRow], window_us: float) -> Exhibit:
    totals: dict[str, float] = {}
    for row in rows:
        name = f"{row.direction} ({row.kinds})" if row.is_pageable else row.direction
        totals[name] = totals.get(name, 0.0) + row.time_us
    every = sum(totals.values())
    return time_shares(
        SHARES,
        totals,
        title="Memory operations by direction",
        caption=(
            f"Shares of the time of all copies and memsets, {say_us(every)}, which is "
            f"{say_pct(pct_of(every, window_us))} of the time from the first to the last GPU "
            f"operation ({say_us(window_us)} over all GPUs)."
        ),
    )


def _table(rows: Sequence[CopyRow]) -> Exhibit:
    return exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="Memory operations by rank, direction and kinds of memory",
        caption=(
            "Durations are added up. gb_per_s is 10^9 bytes per second of copying; bytes are 0 "
            "and the bandwidth absent where the trace does not say them."
        ),
        columns=[
            ("rank", "", [row.rank for row in rows]),
            ("direction", "", [row.direction for row in rows]),
            ("kinds", "", [row.kinds for row in rows]),
            ("count", "", [row.count for row in rows]),
            ("time_us", "us", [row.time_us for row in rows]),
            ("bytes", "bytes", [row.bytes for row in rows]),
            ("gb_per_s", "GB/s", [row.gb_per_s for row in rows]),
        ],
    )


def _pageable(ranks: Sequence[Measurement], limit_pct: float) -> Finding | None:
    rows = [row for rank in ranks for row in rank.rows if row.is_pageable]
    time_us, size = sum(row.time_us for row in rows), sum(row.bytes for row in rows)
    share_pct = pct_of(time_us, sum(rank.window_us for rank in ranks))
    is_fault = share_pct >= limit_pct
    if not rows or (size < WORTH_TELLING_BYTES and not is_fault):
        return None
    worst = max(ranks, key=lambda rank: sum(row.time_us for row in rank.rows if row.is_pageable))
    return Finding(
        id="COPY-1",
        severity=Severity.WARNING if is_fault else Severity.INFO,
        title=f"{say_bytes(size)} are copied from or to pageable memory",
        text=(
            f"{say_count(sum(row.count for row in rows))} copies of pageable host memory take "
            f"{say_us(time_us)}, {say_pct(share_pct)} of the time from the first to the last GPU "
            "operation; each blocks the host until it is done."
        ),
        advice="Set pin_memory=True in the DataLoader, copy with .to(device, non_blocking=True).",
        where=Where(node=worst.node),
        measured=round(share_pct, 4),
        threshold=limit_pct,
        unit="%",
        estimate=estimate_of(share_pct / 100) if is_fault else None,
        exhibit=TABLE,
    )


RULE = Rule(
    id=ID,
    title="Memory operations",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
)
