"""Steps that grow slower over the whole job: measured per worker and phase, told for the worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.trend import trend_of
from reportgen.results import Finding, Where
from reportgen.rules.saying.verdict import estimate_of, fault_severity
from reportgen.rules.saying.wording import say_some
from reportgen.units import NS_PER_S, say_duration, say_pct, seconds

N_BLOCKS = 12
"""Blocks of equally many steps whose medians are compared; the first is warm-up and left out.
Source: ours."""
GROWTH_FROM_RATIO = 0.2
"""Steps at the end take longer than at the start by at least so much. Source: ours."""
AGREEMENT_FROM = 0.7
"""Kendall's tau of the medians from which they clearly rise. Source: ours."""
_AT_AN_END = 3
"""Blocks at the start, and at the end, whose medians stand for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowdown:
    """One worker's steps of one phase.

    Attributes:
        first_ns, last_ns: usual duration at the start and at the end.
        extra_ratio: share of all time in these steps above the usual duration at the start.
        begin_ns, end_ns: from the first compared step to the last.
    """

    first_ns: float
    last_ns: float
    extra_ratio: float
    begin_ns: int
    end_ns: int

    @property
    def growth_ratio(self) -> float:
        """Return by how much steps at the end take longer."""
        return self.last_ns / self.first_ns - 1


def slowdown_of(
    start_ns: NDArray[np.int64], duration_ns: NDArray[np.int64], *, min_steps: int
) -> Slowdown | None:
    """Return how steps grow slower, ``None`` where they do not or there are too few.

    Args:
        start_ns, duration_ns: (n,) int64 of one worker and phase, any order.
        min_steps: more steps than this are needed.
    """
    if start_ns.size <= max(min_steps, N_BLOCKS):
        return None
    order = np.lexsort((duration_ns, start_ns))
    blocks = np.array_split(order, N_BLOCKS)[1:]
    usual = np.array([float(np.median(duration_ns[block])) for block in blocks])
    first, last = float(np.median(usual[:_AT_AN_END])), float(np.median(usual[-_AT_AN_END:]))
    if first <= 0 or last < (1 + GROWTH_FROM_RATIO) * first:
        return None
    if trend_of(usual).agreement < AGREEMENT_FROM:
        return None
    sizes = np.array([block.size for block in blocks])
    extra_ns = float((np.maximum(usual - first, 0) * sizes).sum())
    ends = start_ns[blocks[-1]] + duration_ns[blocks[-1]]
    return Slowdown(
        first_ns=first,
        last_ns=last,
        extra_ratio=extra_ns / float(duration_ns.sum()),
        begin_ns=int(start_ns[blocks[0]].min()),
        end_ns=int(ends.max()),
    )


def slowdown_finding(found: Sequence[tuple[str, str, Slowdown]]) -> Finding | None:
    """Return STEP-2 of (worker, phase in a word, slowdown); ``None`` without any."""
    if not found:
        return None
    worker, phase, worst = max(found, key=lambda item: (item[2].extra_ratio, item[0], item[1]))
    others = [f"{its} {word}" for its, word, item in found if item is not worst]
    also = f" The same holds for {say_some(others)}." if others else ""
    first, last = (say_duration(value / NS_PER_S) for value in (worst.first_ns, worst.last_ns))
    return Finding(
        id="STEP-2",
        severity=fault_severity(worst.extra_ratio),
        title=f"{phase} steps grow slower: from {first} to {last} ({worker})",
        text=(
            f"The usual {phase} step of {worker} takes {first} at the start and {last} at the end, "
            f"{say_pct(100 * worst.growth_ratio)} more, and rises in between (medians of "
            f"{N_BLOCKS - 1} blocks of steps, the warm-up left out). At the pace of the start its "
            f"steps would take {say_pct(100 * worst.extra_ratio)} less.{also}"
        ),
        advice=(
            "Look for what grows or wears on: lists and logs that are read again each step, "
            "memory that swaps, clocks that fall with heat, longer inputs."
        ),
        where=Where(
            node=worker.rpartition("-")[0] or None,
            device=worker,
            start_s=seconds(worst.begin_ns),
            end_s=seconds(worst.end_ns),
        ),
        measured=round(100 * worst.growth_ratio, 4),
        threshold=100 * GROWTH_FROM_RATIO,
        unit="%",
        estimate=estimate_of(worst.extra_ratio),
        exhibit="step_series",
    )
