"""How many operations a stream had in store: launched, but not begun."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, Times
from reportgen.rules.kernels.windows import launch_end_ns

FULL_FROM = 1_000
"""From here on the hardware's queue (about 1,024) is full and blocks the host. Source: D17."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueDepth:
    """A stream's queue as a step function.

    Attributes:
        time_ns: (n,) int64, ascending: when it changes.
        depth: (n,) int64, depth from that moment on; it ends with 0.
        n_launches: operations with a recorded launch.
    """

    device: int
    stream: int
    time_ns: Times
    depth: np.ndarray[tuple[int], np.dtype[np.int64]]
    n_launches: int

    @property
    def longest_ns(self) -> int:
        """Return the time from the first launch to the last begin."""
        return int(self.time_ns[-1] - self.time_ns[0]) if self.time_ns.size else 0


def queue_depths(trace: RankTrace) -> tuple[QueueDepth, ...]:
    """Return the queue of each stream that has recorded launches, by device and stream.

    An operation joins when its launch returned, or at its begin where that came first, and
    leaves at its begin.
    """
    ops = trace.gpu_ops
    rows = np.flatnonzero(ops.launch != NONE)
    begun = ops.start_ns[rows]
    returned = np.minimum(launch_end_ns(trace)[rows], begun)
    found = []
    for device in np.unique(ops.device[rows]).tolist():
        on_device = ops.device[rows] == device
        for stream in np.unique(ops.stream[rows][on_device]).tolist():
            here = on_device & (ops.stream[rows] == stream)
            found.append(_depth(device, stream, returned[here], begun[here]))
    return tuple(found)


def time_full_ns(queue: QueueDepth) -> int:
    """Return how long a queue was as full as the hardware allows."""
    is_full = queue.depth[:-1] >= FULL_FROM
    return int(np.diff(queue.time_ns)[is_full].sum())


def mean_depth(queue: QueueDepth) -> float:
    """Return the depth averaged over time, 0 for an instant."""
    longest_ns = queue.longest_ns
    if longest_ns <= 0:
        return 0.0
    return float((np.diff(queue.time_ns) * queue.depth[:-1]).sum() / longest_ns)


def _depth(device: int, stream: int, joined_ns: Times, begun_ns: Times) -> QueueDepth:
    time = np.concatenate([joined_ns, begun_ns])
    change = np.repeat(np.array([1, -1], dtype=np.int8), joined_ns.size)
    order = np.argsort(time, kind="stable")
    depth = np.cumsum(change[order], dtype=np.int64)
    time.sort()  # instead of time[order]: queues are twice as long as all operations
    return QueueDepth(
        device=device,
        stream=stream,
        time_ns=time,
        depth=depth,
        n_launches=joined_ns.size,
    )
