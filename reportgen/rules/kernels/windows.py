"""The stretch of time that a percentage is of: all GPU work, or the steps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, Floats
from reportgen.units import NS_PER_US


class WindowKind(StrEnum):
    """Which window; the values stand in the results."""

    GPU = "gpu"
    STEPS = "steps"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From when to when, µs after the origin of the trace."""

    kind: WindowKind
    start_us: float
    end_us: float

    @property
    def length_us(self) -> float:
        """Return its length."""
        return self.end_us - self.start_us


def windows_of(trace: RankTrace) -> tuple[Window, ...]:
    """Return the windows of a rank: ``gpu``, then ``steps`` where steps were recorded.

    ``gpu`` is from the first start to the last end of a GPU operation. ``steps`` is from the
    start of the first step to the end of the last, or to the end of the last GPU operation that
    was launched inside.

    Edge cases: none without GPU operations.

    Source: kernel-trace definitions 2.1.
    """
    ops = trace.gpu_ops
    if ops.start_us.size == 0:
        return ()
    of_gpu = Window(
        kind=WindowKind.GPU,
        start_us=float(ops.start_us.min()),
        end_us=float(ops.end_us.max()),
    )
    of_steps = _window_of_steps(trace)
    return (of_gpu, of_steps) if of_steps else (of_gpu,)


def headline(windows: tuple[Window, ...]) -> Window:
    """Return the window of the figures that are told first: the steps where there are any."""
    return windows[-1]


def launch_start_us(trace: RankTrace) -> Floats:
    """Return (n_ops,) float64 when each GPU operation was launched, NaN for orphans."""
    return _of_launch(trace, trace.calls.start_us)


def launch_end_us(trace: RankTrace) -> Floats:
    """Return (n_ops,) float64 when each launching call returned, NaN for orphans."""
    return _of_launch(trace, trace.calls.end_us)


def own_clock_us(trace: RankTrace) -> float:
    """Return what the trace's own clock showed at its origin: add it to get times of the file."""
    return (trace.origin_ns - trace.base_ns) / NS_PER_US


def _of_launch(trace: RankTrace, values: Floats) -> Floats:
    launch = trace.gpu_ops.launch
    found = np.full(launch.shape, np.nan)
    is_known = launch != NONE
    found[is_known] = values[launch[is_known]]
    return found


def _window_of_steps(trace: RankTrace) -> Window | None:
    steps = trace.steps
    if steps.start_us.size == 0:
        return None
    start_us, end_us = float(steps.start_us.min()), float(steps.end_us.max())
    launched_us = launch_start_us(trace)
    is_inside = (launched_us >= start_us) & (launched_us <= end_us)
    last_us = float(trace.gpu_ops.end_us[is_inside].max(initial=end_us))
    if last_us <= start_us:
        return None
    return Window(kind=WindowKind.STEPS, start_us=start_us, end_us=last_us)
