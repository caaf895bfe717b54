"""Where a finding holds: the longest stretch of minutes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.intervals import runs_of
from reportgen.results import Where
from reportgen.units import NS_PER_MINUTE, seconds


def longest_minutes(
    node: str, device: str, minutes_ns: NDArray[np.int64], *, last_ns: int
) -> Where:
    """Return the longest run of neighbouring minutes, the first of equally long ones.

    Args:
        minutes_ns: (m,) int64 starts of minutes, sorted, m >= 1.
        last_ns: the newest sample; the stretch ends there at the latest.
    """
    runs = runs_of(minutes_ns, max_step=NS_PER_MINUTE)
    longest = int(runs.n_members.argmax())
    end_ns = int(minutes_ns[runs.last[longest]]) + NS_PER_MINUTE
    return Where(
        node=node,
        device=device,
        start_s=seconds(minutes_ns[runs.first[longest]]),
        end_s=seconds(min(end_ns, last_ns)),
    )
