"""Cut ticks at wall-clock minutes: AWS's rules judge once a minute (rules-spec §0.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.units import NS_PER_MINUTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Minutes:
    """The minutes that hold data.

    Attributes:
        start_ns: (n_minutes,) int64, start of each UTC minute with at least one tick.
        stop: (n_minutes,) int64, number of ticks up to the end of that minute.
    """

    start_ns: NDArray[np.int64]
    stop: NDArray[np.int64]


def minutes_of(time_ns: NDArray[np.int64]) -> Minutes:
    """Return the minutes of sorted instants; minutes without data do not exist."""
    index = time_ns // NS_PER_MINUTE
    starts, first = np.unique(index, return_index=True)
    stop = np.append(first[1:], time_ns.shape[0]) if starts.size else first
    return Minutes(start_ns=starts * NS_PER_MINUTE, stop=stop.astype(np.int64))
