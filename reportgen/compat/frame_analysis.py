"""``PandasFrameAnalysis``: statistics of a pair of frames."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from reportgen.explore import statistics

if TYPE_CHECKING:
    import pandas as pd

_STATISTICS = ("mean", "min", "max", "p50", "p95", "p99")
_Edge = tuple[str, int]
"""An instant as a text and in µs."""


class StatsBy(Enum):
    """Groupings of statistics."""

    TRAINING_PHASE = "training_phase"
    FRAMEWORK_METRICS = "framework_metric"
    PROCESS = "process"


class Resource(Enum):
    """A kind of system metric."""

    CPU = "cpu"
    GPU = "gpu"
    IO = "i/o"
    NETWORK = "network"
    MEMORY = "memory"


class PandasFrameAnalysis:
    """Statistics of a pair of frames."""

    def __init__(self, system_df: pd.DataFrame, framework_df: pd.DataFrame) -> None:
        self.sys_metrics_df = system_df
        self.framework_metrics_df = framework_df

    def get_job_statistics(self) -> dict[str, Any]:
        """Return when the job and its training loop began and ended.

        Durations are µs. The loop ends with the last training step, initialization counts from the
        first sample, and the parts add up; the original counts it from the minute of the first file
        and ends the loop with the last event of any kind. A job without samples lasts from its
        first event to its last; one with neither has no statistics.
        """
        edges = self._edges()
        if edges is None:
            return {}
        (start_time, start_us), (end_time, end_us) = edges
        found: dict[str, Any] = {
            "start_time": start_time,
            "end_time": end_time,
            "job_duration": end_us - start_us,
        }
        events = self.framework_metrics_df
        steps = statistics.training_steps(events)
        if steps.empty:
            return found
        (loop_start, loop_start_us), (loop_end, loop_end_us) = _events_edges(steps)
        parts = {
            "initialization": max(loop_start_us - start_us, 0),
            "training_loop": loop_end_us - loop_start_us,
            "finalization": max(end_us - loop_end_us, 0),
        }
        found |= {
            "training_loop_start": loop_start,
            "training_loop_end": loop_end,
            "training_loop_duration": parts["training_loop"],
            "initialization": parts["initialization"],
            "finalization": parts["finalization"],
        }
        whole = sum(parts.values()) or 1
        return found | {f"{name}_%": 100 * part / whole for name, part in parts.items()}

    def _edges(self) -> tuple[_Edge, _Edge] | None:
        samples, events = self.sys_metrics_df, self.framework_metrics_df
        if not samples.empty:
            return _edges_of(samples, ("timestamp", "timestamp_us"), ("timestamp", "timestamp_us"))
        return None if events.empty else _events_edges(events)

    def get_step_statistics(self, by: StatsBy = StatsBy.TRAINING_PHASE) -> pd.DataFrame:
        """Return mean, min, max, p50, p95 and p99 of the durations of steps, µs."""
        column = "process" if by is StatsBy.PROCESS else "framework_metric"
        events = self.framework_metrics_df
        if by is StatsBy.TRAINING_PHASE:
            events = events[events["process"].str.startswith(statistics.STEP)]
        frame = statistics.step_durations(events, by=column)
        renamed = {f"{name}_us": f"duration_{name}_us" for name in _STATISTICS}
        frame = frame.rename(columns={**renamed, column: by.value})
        return frame[[by.value, *renamed.values()]]

    def get_utilization_stats(
        self,
        resource: Resource | Sequence[Resource] | None = None,
        by: StatsBy | None = None,
        phase: str | Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """Return statistics of utilization, each metric separately.

        The original mixes utilization and memory of GPUs, and utilization and I/O wait of cores.
        """
        chosen = [resource] if isinstance(resource, Resource) else list(resource or Resource)
        samples = self.sys_metrics_df
        samples = samples[samples["type"].isin([item.value for item in chosen])]
        phases = None
        if by is StatsBy.TRAINING_PHASE:
            phases = self.get_training_phase_intervals(phase)
        frame = statistics.utilization(samples, phases=phases)
        renamed = {name: f"utilization_{name}" for name in _STATISTICS}
        frame = frame.rename(columns={**renamed, "type": "Resource", "phase": "Training_phase"})
        head = ["Resource", *(["Training_phase"] if phases is not None else []), "metric", "nodeID"]
        return frame[[*head, *renamed.values()]]

    def get_device_usage_stats(
        self,
        device: Resource | Sequence[Resource] | None = None,
        utilization_ranges: Sequence[tuple[float, float]] | None = None,
    ) -> pd.DataFrame:
        """Return how many samples of utilization lie in each range.

        A value on an edge counts in the lower range only, and memory and I/O wait are left out.
        """
        chosen = [device] if isinstance(device, Resource) else list(device or ())
        frame = statistics.usage_ranges(
            self.sys_metrics_df, ranges=utilization_ranges or statistics.USAGE_RANGES
        )
        return frame[frame["type"].isin([item.value for item in chosen])] if chosen else frame

    def get_training_phase_intervals(
        self, phase: str | Sequence[str] | None = None
    ) -> pd.DataFrame:
        """Return the stretches before, in, between and after the modes of training."""
        times_us = self.sys_metrics_df["timestamp_us"]
        modes = [phase] if isinstance(phase, str) else phase
        return statistics.phase_intervals(
            self.framework_metrics_df,
            modes=modes,
            job_us=None if times_us.empty else (int(times_us.min()), int(times_us.max())),
        )


def _events_edges(events: pd.DataFrame) -> tuple[_Edge, _Edge]:
    return _edges_of(events, ("start_time", "start_time_us"), ("end_time", "end_time_us"))


def _edges_of(
    rows: pd.DataFrame, start: tuple[str, str], end: tuple[str, str]
) -> tuple[_Edge, _Edge]:
    """Return the least of one pair of columns, text and µs, and the greatest of another."""
    first, last = rows[start[1]].idxmin(), rows[end[1]].idxmax()
    return (
        (str(rows.at[first, start[0]]), int(rows.at[first, start[1]])),
        (str(rows.at[last, end[0]]), int(rows.at[last, end[1]])),
    )
