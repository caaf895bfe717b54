"""One node's Python profiles: which functions took how long, from when to when.

Columns of equal length instead of objects, as for framework events: a row is one function in one
profile.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NO_CALLS = -1
"""The number of calls where the profiler samples instead of counting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileMoment:
    """One end of a profile.

    Attributes:
        mode: ``train``, ``eval``, ``predict``, ``global``, ``prestepzero`` or ``posthookclose``.
        step: the step number; ``None`` is written ``*``: before step 0, or until the end.
        phase: ``start``, ``stepstart``, ``forwardpassend``, ``stepend`` or ``end``.
        time_us: µs UTC, whole.
    """

    mode: str
    step: int | None
    phase: str
    time_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileInterval:
    """From when to when a profile was taken."""

    start: ProfileMoment
    end: ProfileMoment


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonProfile:
    """One profile. ``profiler`` is ``cprofile`` or ``pyinstrument``, ``worker`` as in events."""

    worker: str
    profiler: str
    interval: ProfileInterval


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class PythonFunction:
    """Where a function is defined. ``file`` is ``~`` and ``line`` 0 for built-in functions."""

    file: str
    line: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonTable:
    """The Python profiles of one node.

    Attributes:
        profiles: in order of their time.
        functions: every function of any profile once.
        profile: (n,) int32 places in ``profiles``.
        function: (n,) int32 places in ``functions``.
        calls: (n,) int64; ``NO_CALLS`` where the profiler samples.
        own_s: (n,) float64 seconds in the function itself, finite, >= 0.
        cumulative_s: (n,) float64 seconds in it and in what it called, finite, >= 0.
    """

    profiles: tuple[PythonProfile, ...] = ()
    functions: tuple[PythonFunction, ...] = ()
    profile: NDArray[np.int32]
    function: NDArray[np.int32]
    calls: NDArray[np.int64]
    own_s: NDArray[np.float64]
    cumulative_s: NDArray[np.float64]

    @property
    def n_rows(self) -> int:
        """Return the number of functions, counted once for each profile."""
        return int(self.profile.shape[0])


def empty_python() -> PythonTable:
    """Return a table without profiles."""
    codes = np.empty(0, dtype=np.int32)
    times_s = np.empty(0, dtype=np.float64)
    return PythonTable(
        profile=codes,
        function=codes,
        calls=np.empty(0, dtype=np.int64),
        own_s=times_s,
        cumulative_s=times_s,
    )
