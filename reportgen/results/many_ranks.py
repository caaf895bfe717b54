"""The few ranks that a chart of lines or bars shows of many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

MOST_LINES = 16
"""Lines or bars of more ranks cannot be distinguished in one chart ..."""
MOST_UNUSUAL = 8
"""... which then shows the median rank and as many that differ most from it."""


def unusual(values: Sequence[float]) -> list[int]:
    """Return the places of the median value and of those that differ most from it, ascending.

    All of them where there are few; the first of equal ones.
    """
    if len(values) <= MOST_LINES:
        return list(range(len(values)))
    middle = int(np.argsort(np.asarray(values), kind="stable")[(len(values) - 1) // 2])
    farthest = np.argsort(-np.abs(np.asarray(values) - values[middle]), kind="stable").tolist()
    return sorted([middle, *(at for at in farthest if at != middle)][: MOST_UNUSUAL + 1])
