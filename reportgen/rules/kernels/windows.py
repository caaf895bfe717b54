"""The stretch of time that a percentage is of: all GPU work, or the steps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, Times


class WindowKind(StrEnum):
    """Which window; the values stand in the results."""

    GPU = "gpu"
    STEPS = "steps"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From when to when, ns after the origin of the trace."""

    kind: WindowKind
    start_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        """Return its length."""
        return self.end_ns - self.start_ns


def windows_of(trace: RankTrace) -> tuple[Window, ...]:
    """Return the windows of a rank: ``gpu``, then ``steps`` where steps were recorded.

    ``gpu`` is from the first start to the last end of a GPU operation. ``steps`` is from the
    start of the first step to the end of the last, or to the end of the last GPU operation that
    was launched inside.

    Edge cases: none without GPU operations.

    Source: kernel-trace definitions 2.1.
    """
    ops = trace.gpu_ops
    if ops.start_ns.size == 0:
        return ()
    of_gpu = Window(
        kind=WindowKind.GPU,
        start_ns=int(ops.start_ns.min()),
        end_ns=int(ops.end_ns.max()),
    )
    of_steps = _window_of_steps(trace)
    return (of_gpu, of_steps) if of_steps else (of_gpu,)


def headline(windows: tuple[Window, ...]) -> Window:
    """Return the window of the figures that are told first: the steps where there are any."""
    return windows[-1]


def launch_start_ns(trace: RankTrace) -> Times:
    """Return (n_ops,) int64 when each GPU operation was launched, ``NONE`` for orphans."""
    return _of_launch(trace, trace.calls.start_ns)


def launch_end_ns(trace: RankTrace) -> Times:
    """Return (n_ops,) int64 when each launching call returned, ``NONE`` for orphans."""
    return _of_launch(trace, trace.calls.end_ns)


def own_clock_ns(trace: RankTrace) -> int:
    """Return what the trace's own clock showed at its origin: add it to get times of the file."""
    return trace.origin_ns - trace.base_ns


def _of_launch(trace: RankTrace, values: Times) -> Times:
    launch = trace.gpu_ops.launch
    found = np.full(launch.shape, NONE, dtype=np.int64)
    is_known = launch != NONE
    found[is_known] = values[launch[is_known]]
    return found


def _window_of_steps(trace: RankTrace) -> Window | None:
    steps = trace.steps
    if steps.start_ns.size == 0:
        return None
    start_ns, end_ns = int(steps.start_ns.min()), int(steps.end_ns.max())
    launched_ns = launch_start_ns(trace)
    is_inside = (launched_ns >= start_ns) & (launched_ns <= end_ns)
    last_ns = int(trace.gpu_ops.end_ns[is_inside].max(initial=end_ns))
    if last_ns <= start_ns:
        return None
    return Window(kind=WindowKind.STEPS, start_ns=start_ns, end_ns=last_ns)
