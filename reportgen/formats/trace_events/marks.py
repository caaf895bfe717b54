"""Begin and end marks to events.

Source: marks nest per (phase, thread) and an end closes the latest begin, as in Chrome's trace
format; ends may lack a name.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import select

Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Begin and end marks in the order in which they were written.

    ``is_begin``: it opens an event; ``thread`` are codes of ``tid`` values, ``argument`` rows of
    arguments.
    """

    time_ns: NDArray[np.int64]
    is_begin: NDArray[np.bool_]
    name: NDArray[np.int32]
    phase: NDArray[np.int32]
    thread: NDArray[np.int32]
    argument: NDArray[np.int32]

    @property
    def n_marks(self) -> int:
        """Return the number of marks."""
        return int(self.time_ns.shape[0])

    def where(self, rows: Rows | NDArray[np.bool_]) -> Marks:
        """Return some marks."""
        return select(self, rows)


def match_marks(is_begin: NDArray[np.bool_], *lanes: NDArray[np.int32]) -> tuple[Rows, Rows]:
    """Return the rows of begin marks that have an end, ascending, and the rows of their ends.

    Marks (n,) in their order that differ in a lane have nothing to do with each other. A begin
    and its end have the same depth, with nothing of that depth between them; so marks sorted by
    (lane, depth) have partners side by side.
    """
    order = np.lexsort(lanes)  # stable: within a lane the marks keep their order
    opens = is_begin[order]
    depth = np.cumsum(np.where(opens, 1, -1)) + ~opens  # an end has the depth of what it closes
    is_lane = np.zeros(order.size, dtype=np.bool_)
    for lane in lanes:
        is_lane[1:] |= lane[order][1:] != lane[order][:-1]
    lane_of = np.cumsum(is_lane)
    by_depth = np.lexsort((depth, lane_of))  # stable, too
    first, second = by_depth[:-1], by_depth[1:]
    is_pair = (
        opens[first]
        & ~opens[second]
        & (depth[first] == depth[second])
        & (lane_of[first] == lane_of[second])
    )
    begins, ends = order[first[is_pair]], order[second[is_pair]]
    ascending = np.argsort(begins)
    return begins[ascending], ends[ascending]
