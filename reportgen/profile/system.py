"""One node's system metrics on a grid of ticks.

A *tick* is one sampling instant of a node (docs/rules.md, Ticks). Every series has at most one
sample in a tick, so a node has a column of one number a tick for each series. Rules then need
neither joins nor time windows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from reportgen.arrays import Floats, Instants
from reportgen.profile.column_file import picked
from reportgen.profile.memo import Memo


class SeriesKind(Enum):
    """The kinds of series that are known: (Type, Dimension), or (Type, Name) for rates.

    Units: percent (0-100), but bytes/s for network and throughput, 1/s for ``IOPS``; those of our
    own recorder have theirs in their names. SageMaker records the kinds before them.
    """

    GPU_UTILIZATION = ("gpu", "GPUUtilization")
    GPU_MEMORY = ("gpu", "GPUMemoryUtilization")
    CPU_UTILIZATION = ("cpu", "CPUUtilization")
    IO_WAIT = ("cpu", "I/OWaitPercentage")
    HOST_MEMORY = ("memory", "MemoryUsedPercent")
    IOPS = ("i/o", "IOPS")
    READ_RATE = ("i/o", "ReadThroughputInBytesPerSecond")
    WRITE_RATE = ("i/o", "WriteThroughputInBytesPerSecond")
    RECEIVE_ALGORITHM = ("network", "ReceiveBytesPerSecond/Algorithm")
    TRANSMIT_ALGORITHM = ("network", "TransmitBytesPerSecond/Algorithm")
    RECEIVE_PLATFORM = ("network", "ReceiveBytesPerSecond/Platform")
    TRANSMIT_PLATFORM = ("network", "TransmitBytesPerSecond/Platform")
    HOST_MEMORY_BYTES = ("memory", "MemoryUsedBytes")
    GPU_USED_BYTES = ("gpu", "GPUMemoryUsedBytes")
    GPU_TOTAL_BYTES = ("gpu", "GPUMemoryTotalBytes")
    JOB_CORES = ("job", "JobCPUCores")
    GPU_WATTS = ("gpu", "GPUPowerWatts")
    GPU_JOULES = ("gpu", "GPUEnergyJoules")
    GPU_CLOCK_MHZ = ("gpu", "GPUSMClockMHz")
    GPU_CELSIUS = ("gpu", "GPUTemperatureCelsius")
    GPU_THROTTLE_BITS = ("gpu", "GPUThrottleReasons")
    GPU_OTHERS = ("gpu", "GPUOtherProcesses")
    SM_ACTIVITY = ("gpu", "GPUSMActivity")
    TENSOR_ACTIVITY = ("gpu", "GPUTensorActivity")
    DRAM_ACTIVITY = ("gpu", "GPUDRAMActivity")

    @property
    def is_percent(self) -> bool:
        """Return whether values are percentages of 0-100."""
        return self.value[1].endswith(_PERCENT_ENDINGS)


@dataclass(frozen=True, slots=True, order=True)
class Series:
    """Content of a column, in the words of the file: ``("cpu", "cpu3", "CPUUtilization")``."""

    type: str
    name: str
    dimension: str

    @property
    def kind(self) -> SeriesKind | None:
        """Return the known kind, or ``None`` for a metric we do not know."""
        if self.type in {"gpu", "cpu"}:
            words = self.dimension
        elif self.type == "network":
            words = f"{self.name}/{self.dimension}"
        else:
            words = self.name
        return _KINDS.get((self.type, words))


_PERCENT_ENDINGS = ("Utilization", "Percentage", "Percent", "Activity")
_KINDS = {kind.value: kind for kind in SeriesKind}


def device_order(name: str) -> tuple[str, int]:
    """Sort key that puts ``gpu2`` before ``gpu10`` and ``algo-2`` before ``algo-10``."""
    match = re.fullmatch(r"(.*?)(\d{1,18})", name)
    return (match[1], int(match[2])) if match else (name, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemTable:
    """Samples of one node.

    Attributes:
        tick_ns: (n_ticks,) int64, strictly increasing; the anchor of each tick, ns UTC.
        series: content of each column; sorted by type, device number, dimension.
        columns: (n_ticks,) float64 of each series, NaN where nothing was sampled. One of a long
            job is read from a file whenever it is asked for: ask for one after the other.
        first_ns: time of the earliest sample of any series; ``None`` without samples.
        last_ns: time of the latest sample of any series (not of the last anchor).
        interval_ns: the sampling interval, estimated and snapped to an allowed value; ``None``
            with fewer than two ticks.
        n_samples: distinct valid samples.
    """

    tick_ns: Instants
    series: tuple[Series, ...]
    columns: Sequence[Floats]
    first_ns: int | None
    last_ns: int | None
    interval_ns: int | None
    n_samples: int
    memo: Memo = field(default_factory=Memo, init=False, repr=False, compare=False)

    @property
    def n_ticks(self) -> int:
        """Return the number of ticks."""
        return int(self.tick_ns.shape[0])

    def names(self, kind: SeriesKind) -> tuple[str, ...]:
        """Return the names of all series of a kind in device order: ``("gpu0", "gpu1")``."""
        return tuple(self.series[index].name for index in self._columns(kind))

    def matrix(self, kind: SeriesKind) -> Floats:
        """Return (n_ticks, n_names) float64 of a kind, columns as in ``names``; NaN is absent.

        To read all cores of a long job one column after the other, use ``each``.
        """
        columns = self.columns_of(kind)
        matrix = np.empty((self.n_ticks, len(columns)), order="F")
        for place, column in enumerate(columns):
            matrix[:, place] = column
        return matrix

    def columns_of(self, kind: SeriesKind) -> Sequence[Floats]:
        """Return the (n_ticks,) columns of a kind, as in ``names``; see ``columns``."""
        return picked(self.columns, self._columns(kind))

    def column_of(self, kind: SeriesKind, name: str) -> Floats | None:
        """Return the (n_ticks,) column of one device or node, ``None`` where there is none."""
        names = self.names(kind)
        return self.columns_of(kind)[names.index(name)] if name in names else None

    def each(self, *kinds: SeriesKind) -> Iterator[Floats]:
        """Yield the (n_ticks,) columns of some kinds, those of ``matrix``, one after the other."""
        for kind in kinds:
            yield from self.columns_of(kind)

    def _columns(self, kind: SeriesKind) -> list[int]:
        found = [index for index, series in enumerate(self.series) if series.kind is kind]
        return sorted(found, key=lambda index: device_order(self.series[index].name))


def empty_system() -> SystemTable:
    """Return a table without ticks and series."""
    return SystemTable(
        tick_ns=np.empty(0, dtype=np.int64),
        series=(),
        columns=(),
        first_ns=None,
        last_ns=None,
        interval_ns=None,
        n_samples=0,
    )
