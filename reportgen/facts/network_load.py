"""When a node receives as much as its network gives while one of its GPUs idles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.gpu_use import IDLE_BELOW_PCT
from reportgen.profile import SeriesKind, SystemTable
from reportgen.profile.system import Floats

OWN_LIMIT_PCT = 99
"""The percentile of a node's own rates that stands for the limit of its network: the few highest
rates may be bursts between two samples."""
NETWORK_BUSY_PCT = 90
FLOOR_BYTES_PER_S = 10_000_000
"""Defaults of NetworkBottleneck (docs/rules.md): the network is busy from this share of its limit
on, and never below this rate, so that a network which is hardly used is not busy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Starvation:
    """The ticks of one node.

    Attributes:
        received: (n_ticks,) float64 bytes/s of the training container, NaN where not sampled.
        has_both: (n_ticks,) whether received bytes and a GPU were sampled.
        is_starved: (n_ticks,) whether a GPU idled while the network was busy.
        limit_bytes_per_s: given, or the node's own; ``None`` without received bytes.
    """

    received: Floats
    has_both: NDArray[np.bool_]
    is_starved: NDArray[np.bool_]
    limit_bytes_per_s: float | None


def starvation_of(
    system: SystemTable,
    *,
    gpu_pct: float = IDLE_BELOW_PCT,
    busy_pct: float = NETWORK_BUSY_PCT,
    floor_bytes_per_s: float = FLOOR_BYTES_PER_S,
    limit_bytes_per_s: float | None = None,
) -> Starvation:
    """Find the starved ticks of one node.

    Args:
        system: the node's samples.
        gpu_pct: a GPU below this idles.
        busy_pct, floor_bytes_per_s: as of ``busy_from``.
        limit_bytes_per_s: of the network; ``None`` takes the node's own 99th percentile.
    """
    use = system.matrix(SeriesKind.GPU_UTILIZATION)
    received = system.matrix(SeriesKind.RECEIVE_ALGORITHM).sum(axis=1)
    if not system.names(SeriesKind.RECEIVE_ALGORITHM):
        received = np.full(system.n_ticks, np.nan)
    has_both = np.isfinite(received) & np.isfinite(use).any(axis=1)
    limit = _limit(received, limit_bytes_per_s)
    is_starved = np.zeros(system.n_ticks, dtype=np.bool_)
    if limit is not None:
        least = busy_from(limit, busy_pct=busy_pct, floor_bytes_per_s=floor_bytes_per_s)
        is_starved = has_both & (use < gpu_pct).any(axis=1) & (received >= least)
    return Starvation(
        received=received, has_both=has_both, is_starved=is_starved, limit_bytes_per_s=limit
    )


def busy_from(limit_bytes_per_s: float, *, busy_pct: float, floor_bytes_per_s: float) -> float:
    """Return the rate in bytes/s from which on a network is busy.

    Args:
        limit_bytes_per_s: what the network can receive.
        busy_pct: from this share of the limit on.
        floor_bytes_per_s: but never below this rate.
    """
    return max(limit_bytes_per_s * busy_pct / 100, floor_bytes_per_s)


def _limit(received: Floats, given: float | None) -> float | None:
    known = received[np.isfinite(received)]
    if not known.size:
        return None
    return float(np.percentile(known, OWN_LIMIT_PCT)) if given is None else float(given)
