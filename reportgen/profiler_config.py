"""The configuration of a job's profiler: plain values for the reader, the report, the page."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ProfilingKind(StrEnum):
    """Kinds of framework profiling, in the words of the page."""

    GENERAL = "general metrics"
    DETAILED = "detailed profiling"
    LOADER = "data loader"
    PYTHON = "Python profiling"
    DATA_PARALLEL = "SageMaker's data-parallel library"
    HOROVOD = "Horovod"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledWindow:
    """The range of one kind of profiling; ``None`` where it is not given.

    Attributes:
        kind: which kind.
        start_step, n_steps: by steps.
        start_s, duration_s: by time, seconds since 1970.
        metrics: a regular expression of the metrics that were wanted.
        profiler, timer: which Python profiler, and what it measured.
    """

    kind: ProfilingKind
    start_step: int | None = None
    n_steps: int | None = None
    start_s: float | None = None
    duration_s: float | None = None
    metrics: str = ""
    profiler: str = ""
    timer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiling:
    """The configuration of a profiler.

    Attributes:
        interval_ms: of system metrics.
        is_disabled: whether profiling was switched off.
        windows: the range of each kind of framework profiling.
        unreadable: kinds that were asked for in words that cannot be read.
        rules: names of the profiler rules that were to run.
    """

    interval_ms: int | None = None
    is_disabled: bool = False
    windows: tuple[ProfiledWindow, ...] = ()
    unreadable: tuple[ProfilingKind, ...] = ()
    rules: tuple[str, ...] = ()

    def window(self, kind: ProfilingKind) -> ProfiledWindow | None:
        """Return the configured range of one kind, ``None`` without one."""
        return next((item for item in self.windows if item.kind is kind), None)
