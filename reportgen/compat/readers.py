"""Readers that give events as objects; charts take them to know the job."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from reportgen.explore import Job, selections
from reportgen.units import NS_PER_US


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemEvent:
    """One sample; ``timestamp`` is in seconds since 1970."""

    type: str
    name: str
    dimension: str
    value: float
    node_id: str
    timestamp: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkEvent:
    """One event; times are nanoseconds since 1970, rounded to microseconds."""

    event_name: str
    event_phase: str
    start_time: int
    end_time: int
    duration: int
    pid: int
    tid: int
    node_id: str
    event_args: Mapping[str, int] = field(default_factory=dict)


class MetricsReader(ABC):
    """Common behaviour of all readers."""

    def __init__(self, path: str, use_in_memory_cache: bool = False) -> None:
        """Open a job; the cache of the original has no meaning here."""
        del use_in_memory_cache
        self.path = path
        self.job = Job(path)

    def refresh_event_file_list(self) -> None:
        """Look for files that were written since the last look."""
        self.job = Job(self.path)

    def get_timestamp_of_first_available_file(self) -> int:
        """Return the first sample or start of an event, µs since 1970; 0 without any."""
        return self._edges_us()[0]

    def get_timestamp_of_latest_available_file(self) -> int:
        """Return the last sample or end of an event, µs since 1970; 0 without any."""
        return self._edges_us()[1]

    @abstractmethod
    def _edges_us(self) -> tuple[int, int]:
        """Return the first and the last moment of its kind of data, µs since 1970."""


class S3SystemMetricsReader(MetricsReader):
    """Reads samples, from a folder as from a bucket."""

    def get_events(self, start_time: int, end_time: int) -> list[SystemEvent]:
        """Return the samples of a range of time, µs since 1970, both ends included.

        A list of objects is slow and large; ``PandasFrame`` gives the same as a table.
        """
        frame = self.job.system_metrics(since=_instant(start_time), until=_instant(end_time))
        seconds = (frame["timestamp_us"] + self.job.origin_us) / 1e6
        return [
            SystemEvent(
                type=row.type,
                name=row.system_metric,
                dimension=row.dimension,
                value=row.value,
                node_id=row.nodeID,
                timestamp=time_s,
            )
            for row, time_s in zip(frame.itertuples(index=False), seconds.tolist(), strict=True)
        ]

    def _edges_us(self) -> tuple[int, int]:
        extent = selections.extent_us(self.job.system_metrics())
        origin_us = self.job.origin_us
        return (origin_us + extent[0], origin_us + extent[1]) if extent else (0, 0)


class S3AlgorithmMetricsReader(MetricsReader):
    """Reads framework events, from a folder as from a bucket."""

    def get_events(self, start_time: int, end_time: int) -> list[FrameworkEvent]:
        """Return the events that overlap a range of time, µs since 1970.

        The first event is there too, which the original leaves out.
        """
        frame = self.job.framework_metrics(since=_instant(start_time), until=_instant(end_time))
        origin_us = self.job.origin_us
        return [
            FrameworkEvent(
                event_name=row.framework_metric,
                event_phase=row.process,
                start_time=(row.start_time_us + origin_us) * NS_PER_US,
                end_time=(row.end_time_us + origin_us) * NS_PER_US,
                duration=(row.end_time_us - row.start_time_us) * NS_PER_US,
                pid=row.pid,
                tid=row.tid,
                node_id=row.nodeID,
                event_args={} if row.step < 0 else {"step_num": row.step},
            )
            for row in frame.itertuples(index=False)
        ]

    def _edges_us(self) -> tuple[int, int]:
        return selections.events_extent_us(self.job) or (0, 0)


LocalSystemMetricsReader = S3SystemMetricsReader
LocalAlgorithmMetricsReader = S3AlgorithmMetricsReader


def _instant(time_us: int) -> np.datetime64:
    return np.datetime64(int(time_us), "us")
