"""The series of a node as numbers: what every format of samples counts them by."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from reportgen.profile import Series

UNKNOWN = -1
UNREADABLE = -2

MAX_SERIES, MAX_GPUS = 4_096, 256
"""More on one node can only be damage. Each series is a column, and GPUs are compared in pairs.
A p4d has 216 series and 8 GPUs, which can be cut into 56."""


class SeriesCodes:
    """The series of one node, numbered in the order in which they are met.

    DuckDB hashes (type, name, dimension) of each line; the hashes met so far are kept with the
    code of their series. Several hashes may mean one series: one with, one without ``Name``.
    """

    def __init__(self) -> None:
        self.series: list[Series] = []
        self._codes: dict[Series, int] = {}
        self._gpus: set[str] = set()
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
        if series.type == "gpu":
            if len(self._gpus | {series.name}) > MAX_GPUS:
                return UNREADABLE
            self._gpus.add(series.name)
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
        entries = np.minimum(np.searchsorted(self._hashes, hashes), self._hashes.size - 1)
        is_known = self._hashes[entries] == hashes
        return np.where(is_known, self._hash_codes[entries], UNKNOWN).astype(np.int32, copy=False)
