"""Numbers for series, so that a million samples carry small integers instead of three texts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from reportgen.profile import Series

UNKNOWN = -1
UNREADABLE = -2

MAX_SERIES = 4_096
"""Series of one node; more can only be damage, and each is a column. A p4d has 216."""


class SeriesCodes:
    """The series of one node, numbered in the order in which they are met.

    DuckDB hashes (type, name, dimension) of each line; the hashes met so far are kept with the
    code of their series. Several hashes may mean one series: one with, one without ``Name``.
    """

    def __init__(self) -> None:
        """Start without series."""
        self.series: list[Series] = []
        self._codes: dict[Series, int] = {}
        self._learned: dict[int, int] = {}
        self._hashes = np.zeros(0, dtype=np.uint64)
        self._hash_codes = np.zeros(0, dtype=np.int32)

    def code(self, series: Series | None) -> int:
        """Return the number of a series, a new one if need be; ``UNREADABLE`` past the limit.

        ``None`` stands for names that cannot be those of a series.
        """
        if series is None:
            return UNREADABLE
        known = self._codes.get(series)
        if known is not None:
            return known
        if len(self.series) >= MAX_SERIES:
            return UNREADABLE
        self._codes[series] = len(self.series)
        self.series.append(series)
        return self._codes[series]

    def learn(self, found: Mapping[int, int]) -> None:
        """Remember hash → code."""
        self._learned |= found
        order = sorted(self._learned)
        self._hashes = np.array(order, dtype=np.uint64)
        self._hash_codes = np.array([self._learned[item] for item in order], dtype=np.int32)

    def look_up(self, hashes: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Return each line's series code, ``UNKNOWN`` where its hash was not learned."""
        if not self._hashes.size:
            return np.full(hashes.shape, UNKNOWN, dtype=np.int32)
        entries = np.searchsorted(self._hashes, hashes)
        np.minimum(entries, self._hashes.size - 1, out=entries)
        codes = self._hash_codes[entries]
        is_wrong = self._hashes[entries] != hashes
        if is_wrong.any():
            codes[is_wrong] = UNKNOWN
        return codes
