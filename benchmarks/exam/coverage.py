"""How much of each sampling interval is covered by things that ran."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Coverage:
    """Spans with weights that may overlap, and their weighted time within any interval.

    The weight is a rate: busy cores, bytes per second, a share of a GPU.
    """

    def __init__(self, starts_s: Floats, ends_s: Floats, weight: Floats | float = 1.0) -> None:
        starts_s, ends_s = np.ravel(starts_s), np.ravel(ends_s)
        weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), starts_s.shape)
        edges_s = np.concatenate([starts_s, ends_s])
        order = np.argsort(edges_s, kind="stable")
        self._edges_s = edges_s[order]
        slopes = np.cumsum(np.concatenate([weights, -weights])[order])
        grown = slopes[:-1] * np.diff(self._edges_s)
        self._total = np.concatenate([[0.0], np.cumsum(grown)]) if edges_s.size else np.zeros(0)

    def until(self, at_s: Floats) -> Floats:
        """Return the weighted seconds before each instant."""
        if not self._edges_s.size:
            return np.zeros(np.shape(at_s))
        return np.asarray(np.interp(at_s, self._edges_s, self._total))

    def mean(self, at_s: Floats, interval_s: float) -> Floats:
        """Return the mean weight in the interval that ends at each instant."""
        return (self.until(at_s) - self.until(at_s - interval_s)) / interval_s
