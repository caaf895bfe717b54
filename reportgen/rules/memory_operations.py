"""MemoryOperations: copies and memsets by direction, and copies from pageable memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.profile.trace import RankTrace
from reportgen.results import (
    LARGEST_PART,
    Counters,
    DashboardPanel,
    Details,
    Exhibit,
    ExhibitKind,
    Place,
    RuleId,
    RuleResult,
    Section,
    exhibit,
)
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.kernels.copies import CopyRow, copy_rows
from reportgen.rules.kernels.copy_words import TABLE, RankCopies, exposed, exposed_of, pageable
from reportgen.rules.kernels.saying import (
    pct_of,
    ratio_of,
    reason_without_gpu,
    result_of,
    say_ns,
    share_limit,
)
from reportgen.rules.kernels.time_shares import time_shares
from reportgen.rules.kernels.windows import windows_of
from reportgen.units import NS_PER_US, say_pct

ID = RuleId("MemoryOperations")
SHARES = "memory_shares"
ABOUT = About(
    checks="What is copied and set in GPU memory: by direction, with bytes and bandwidth.",
    reading=(
        "Durations are added up per direction and kinds of memory. A copy from or to pageable "
        "memory goes through a hidden pinned buffer: it is slower and blocks the host. What runs "
        "while no kernel does is exposed: it makes the step longer."
    ),
    advice="Pin host memory and copy with non_blocking=True.",
    section=Section(id="device-memory", title="Memory", order=90),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """When pageable copies, and copies that hide behind no kernel, are a fault."""

    threshold_pageable_pct: float = share_limit(
        2.0, "pageable copies are a fault from this share of the window on"
    )
    threshold_exposed_pct: float = share_limit(
        10.0, "copies and memsets without a kernel beside them are a fault from this share on"
    )


def measure(part: RankTrace, params: Params) -> RankCopies:  # noqa: ARG001 - a rule's shape
    """Measure the memory operations of a rank."""
    windows = windows_of(part)
    return RankCopies(
        node=part.node,
        n_ops=part.gpu_ops.start_ns.size,
        rows=copy_rows(part),
        window_ns=windows[0].length_ns * np.unique(part.gpu_ops.device).size if windows else 0,
        exposed=exposed_of(part),
    )


def judge(measurements: Sequence[RankCopies], params: Params) -> RuleResult:
    """Join the ranks."""
    rows = [row for rank in measurements for row in rank.rows]
    window_ns = sum(rank.window_ns for rank in measurements)
    return result_of(
        ID,
        params=params,
        reason=reason_without_gpu(
            n_ranks=len(measurements), n_ops=sum(rank.n_ops for rank in measurements)
        ),
        presentation=present(Counters(), {}, params, measurements),
        metrics={
            "memory_time_ratio": ratio_of(sum(row.time_ns for row in rows), window_ns),
            "pageable_time_ratio": ratio_of(
                sum(row.time_ns for row in rows if row.is_pageable), window_ns
            ),
            "bytes_moved": sum(row.bytes for row in rows),
        }
        if window_ns
        else {},
    )


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,  # noqa: ARG001
    params: Params,
    context: Sequence[RankCopies] | None,
) -> Presentation:
    """Say what was moved; ``context`` is the measurements."""
    ranks = [rank for rank in context or () if rank.n_ops]
    if not ranks:
        return Presentation()
    found = (
        pageable(ranks, params.threshold_pageable_pct),
        exposed(ranks, params.threshold_exposed_pct),
    )
    return Presentation(findings=tuple(item for item in found if item), exhibits=_exhibits(ranks))


def _exhibits(ranks: Sequence[RankCopies]) -> tuple[Exhibit, ...]:
    rows = [row for rank in ranks for row in rank.rows]
    window_ns = sum(rank.window_ns for rank in ranks)
    return (_shares(rows, window_ns), _table(rows)) if rows else (_table(rows),)


def _shares(rows: Sequence[CopyRow], window_ns: int) -> Exhibit:
    totals: dict[str, int] = {}
    for row in rows:
        name = f"{row.direction} ({row.kinds})" if row.is_pageable else row.direction
        totals[name] = totals.get(name, 0) + row.time_ns
    every = sum(totals.values())
    return time_shares(
        SHARES,
        totals,
        title="Memory operations by direction",
        caption=(
            f"Shares of the time of all copies and memsets, {say_ns(every)}, which is "
            f"{say_pct(pct_of(every, window_ns))} of the time from the first to the last GPU "
            f"operation ({say_ns(window_ns)} over all GPUs)."
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
            ("time_us", "us", [row.time_ns / NS_PER_US for row in rows]),
            ("bytes", "bytes", [row.bytes for row in rows]),
            ("gb_per_s", "GB/s", [row.gb_per_s for row in rows]),
        ],
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
    places={
        "memory_shares": Place(
            dashboard=DashboardPanel(order=140, headline=LARGEST_PART, row_of="pct")
        )
    },
)
