"""Histograms that can be added up over nodes and end in round numbers.

Each node counts its values in fine bins whose width is a power of ten; the bins of several nodes
nest, so they add up exactly, and any multiple of them is a histogram with readable edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FINE_BINS = 1_000
DRAWN_BINS = 60
_STEPS = (1, 2, 5)

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts in bins [index * width, (index + 1) * width) that hold something.

    Attributes:
        width_ns: a power of ten.
        index: (m,) int64, ascending.
        count: (m,) int64, > 0.
    """

    width_ns: int
    index: Integers
    count: Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class Bins:
    """Histograms over common bins.

    Attributes:
        edge_ns: (n_bins + 1,) int64; empty without values.
        counts: (n_tallies, n_bins) int64.
    """

    edge_ns: Integers
    counts: Integers


def tally_values(values_ns: Integers) -> Tally:
    """Count values in fine bins.

    Args:
        values_ns: (n,) int64, >= 0, any order.

    Returns:
        A tally of at most 10,000 bins that are no finer than about a thousandth of the largest
        value, so that equal values share a bin of visible width.
    """
    if values_ns.size == 0:
        return Tally(width_ns=1, index=values_ns, count=values_ns)
    reach_ns = max(int(values_ns.max() - values_ns.min()) // FINE_BINS, 1)
    width_ns = _power_of_ten(max(reach_ns, int(values_ns.max()) // (10 * FINE_BINS)))
    index, count = np.unique(values_ns // width_ns, return_counts=True)
    return Tally(width_ns=width_ns, index=index, count=count.astype(np.int64))


def bin_together(tallies: Sequence[Tally]) -> Bins:
    """Return the histograms of several tallies over the same bins of round width.

    Args:
        tallies: of any widths; empty ones give zeros.
    """
    filled = [tally for tally in tallies if tally.index.size]
    if not filled:
        nothing = np.zeros((len(tallies), 0), dtype=np.int64)
        return Bins(edge_ns=np.empty(0, dtype=np.int64), counts=nothing)
    width_ns = max(tally.width_ns for tally in filled)
    width_ns *= _factor([_coarse(tally, width_ns) for tally in filled])
    indexes = [_coarse(tally, width_ns) for tally in tallies]
    first = min(int(index[0]) for index in indexes if index.size)
    last = max(int(index[-1]) for index in indexes if index.size)
    counts = np.zeros((len(tallies), last - first + 1), dtype=np.int64)
    for row, (tally, index) in enumerate(zip(tallies, indexes, strict=True)):
        np.add.at(counts[row], index - first, tally.count)
    return Bins(edge_ns=np.arange(first, last + 2, dtype=np.int64) * width_ns, counts=counts)


def _coarse(tally: Tally, width_ns: int) -> Integers:
    return tally.index * tally.width_ns // width_ns


def _power_of_ten(least: int) -> int:
    return int(10 ** len(str(least - 1))) if least > 1 else 1


def _factor(indexes: Sequence[Integers]) -> int:
    """Return how many bins to join so that at most ``DRAWN_BINS`` are left."""
    first = min(int(index[0]) for index in indexes)
    last = max(int(index[-1]) for index in indexes)
    scale = 1
    while True:
        for step in _STEPS:
            factor = scale * step
            if last // factor - first // factor < DRAWN_BINS:
                return factor
        scale *= 10
