"""The strips of a lane in nests: strips lie within each other or apart.

Programs that show traces close the strip that was opened last. Strips that overlap without one
lying within the other are therefore in separate nests.
"""

from __future__ import annotations

import heapq

import numpy as np

from reportgen.arrays import select
from reportgen.timeline.lanes import Codes, Strips

CHUNK_ROWS = 1 << 15
"""Strips written at once; some MB whatever the length of a lane."""

_STACKED_NESTS = 32
"""Nests in which strips may lie within each other; those behind them hold one strip at a time."""


def by_start(strips: Strips) -> Strips:
    """Return strips sorted by (start, longest first): a strip comes before those within it."""
    return select(strips, np.lexsort((-strips.duration_ns, strips.start_ns)))


def nests_of(strips: Strips) -> Codes:
    """Return the nest of each strip, (n,) int32 from 0; ``strips`` as ``by_start`` returns them."""
    nest = np.zeros(strips.n, dtype=np.int32)
    nests = _Nests()
    end_ns = strips.start_ns + strips.duration_ns
    for first in range(0, strips.n, CHUNK_ROWS):
        rows = slice(first, first + CHUNK_ROWS)
        pairs = zip(strips.start_ns[rows].tolist(), end_ns[rows].tolist(), strict=True)
        nest[rows] = [nests.place(start_ns, until_ns) for start_ns, until_ns in pairs]
    return nest


class _Nests:
    def __init__(self) -> None:
        self._stacks: list[list[int]] = [[]]
        self._singles: list[tuple[int, int]] = []

    def place(self, start_ns: int, end_ns: int) -> int:
        """Return the first nest in which a strip fits, and open it there."""
        for number, stack in enumerate(self._stacks):
            while stack and stack[-1] <= start_ns:
                stack.pop()
            if not stack or stack[-1] >= end_ns:
                stack.append(end_ns)
                return number
        if len(self._stacks) < _STACKED_NESTS:
            self._stacks.append([end_ns])
            return len(self._stacks) - 1
        if self._singles and self._singles[0][0] <= start_ns:
            number = self._singles[0][1]
            heapq.heapreplace(self._singles, (end_ns, number))
            return number
        number = _STACKED_NESTS + len(self._singles)
        heapq.heappush(self._singles, (end_ns, number))
        return number
