"""Ticks in which a node receives as much as its network gives while one of its GPUs idles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.profile import SeriesKind, SystemTable
from reportgen.profile.system import Floats
from reportgen.rules.network.words import Least

OWN_LIMIT_PCT = 99
"""Percentile of a node's own rates that stands for the limit of its network."""
GPU_IDLE_PCT = 10
NETWORK_BUSY_PCT = 90
FLOOR_BYTES_PER_S = 10_000_000
"""Defaults of NetworkBottleneck. Source of all: rules-spec §16a."""


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
    gpu_pct: float = GPU_IDLE_PCT,
    least: Least | None = None,
    limit_bytes_per_s: float | None = None,
) -> Starvation:
    """Find the starved ticks of one node.

    Args:
        system: the node's samples.
        gpu_pct: a GPU below this idles.
        least: from which rate on the network is busy; the rule's defaults when not given.
        limit_bytes_per_s: of the network; ``None`` takes the node's own 99th percentile.
    """
    least = least or Least(share_pct=NETWORK_BUSY_PCT, floor_bytes_per_s=FLOOR_BYTES_PER_S)
    use = system.matrix(SeriesKind.GPU_UTILIZATION)
    received = system.matrix(SeriesKind.RECEIVE_ALGORITHM).sum(axis=1)
    if not system.names(SeriesKind.RECEIVE_ALGORITHM):
        received = np.full(system.n_ticks, np.nan)
    has_both = np.isfinite(received) & np.isfinite(use).any(axis=1)
    limit = _limit(received, limit_bytes_per_s)
    is_starved = np.zeros(system.n_ticks, dtype=np.bool_)
    if limit is not None:
        is_idle = (use < gpu_pct).any(axis=1)
        is_starved = has_both & is_idle & (received >= least.of(limit))
    return Starvation(
        received=received, has_both=has_both, is_starved=is_starved, limit_bytes_per_s=limit
    )


def _limit(received: Floats, given: float | None) -> float | None:
    known = received[np.isfinite(received)]
    if not known.size:
        return None
    return float(np.percentile(known, OWN_LIMIT_PCT)) if given is None else float(given)
