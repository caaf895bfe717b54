"""``PandasFrameAnalysis``: when a job ran; ``PT_dataloader_analysis``: PyTorch's loader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from reportgen.compat.jobs import ALL, PandasFrame, anywhere, checked, missing
from reportgen.errors import ConfigError
from reportgen.explore import charts, loading, selections, statistics
from reportgen.explore.frames import FRAMEWORK_COLUMNS, SYSTEM_COLUMNS, utc_texts
from reportgen.explore.selection import Instant, instant_ns, rows_named
from reportgen.explore.utilization_within import utilization_of_each
from reportgen.text import format_duration
from reportgen.units import NS_PER_US

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


class PandasFrameAnalysis:
    """When the job of a pair of frames ran."""

    def __init__(self, system_df: pd.DataFrame, framework_df: pd.DataFrame) -> None:
        """Take the frames of ``PandasFrame``.

        Raises:
            ConfigError: they lack columns of those.
        """
        for frame, columns in ((system_df, SYSTEM_COLUMNS), (framework_df, FRAMEWORK_COLUMNS)):
            lacking = sorted(set(columns).difference(getattr(frame, "columns", ())))
            if lacking:
                raise ConfigError(
                    f"The frames lack the column {lacking[0]}.",
                    hint="Pass both frames of PandasFrame.get_latest_data(), samples first.",
                )
        self.sys_metrics_df = system_df
        self.framework_metrics_df = framework_df

    def get_job_statistics(self) -> dict[str, Any]:
        """Return when the job and its training loop began and ended.

        Durations are µs. The loop ends with the last training step, initialization counts from the
        first sample, and the parts add up; the original counts it from the minute of the first file
        and ends the loop with the last event of any kind. A job without samples lasts from its
        first event to its last; one with neither has no statistics.
        """
        samples, events = self.sys_metrics_df, self.framework_metrics_df
        if samples.empty and events.empty:
            return {}
        events_us = events["start_time_us"].min(), events["end_time_us"].max()
        edges_us = selections.extent_us(samples) or events_us
        found: dict[str, Any] = {
            "start_time": self._text(edges_us[0]),
            "end_time": self._text(edges_us[1]),
            "job_duration": edges_us[1] - edges_us[0],
        }
        phases = statistics.job_phases(self.framework_metrics_df, job_us=edges_us)
        for row in phases.itertuples():
            name = row.phase.replace(" ", "_")
            length = "training_loop_duration" if name == "training_loop" else name
            found |= {length: row.duration_us, f"{name}_%": row.share_pct}
            if name == "training_loop":
                found |= {
                    "training_loop_start": self._text(row.start_time_us),
                    "training_loop_end": self._text(row.end_time_us),
                }
        return found

    def _text(self, time_us: int) -> str:
        """Return an instant of the frames as they write it."""
        frame, name = self.sys_metrics_df, "timestamp"
        if frame.empty:
            frame, name = self.framework_metrics_df, "start_time"
        first_us = instant_ns(frame[name].iloc[0], origin_us=0) // NS_PER_US
        time_us += first_us - frame[f"{name}_us"].iloc[0]
        return str(utc_texts(np.array([time_us]))[0])

    if not TYPE_CHECKING:
        __getattr__ = missing


class PT_dataloader_analysis:  # noqa: N801  # the name people know
    """The data-loader analysis of PyTorch jobs; each method prints what it found."""

    def __init__(self, pandas_frame: PandasFrame) -> None:
        checked(pandas_frame, PandasFrame, of="PT_dataloader_analysis")
        self.pd_data_frame = pandas_frame
        self._frame = pandas_frame.get_all_dataloader_metrics()

    def analyze_dataloaderIter_initialization(self) -> pd.DataFrame:  # noqa: N802
        """Print how iterators were set up; return the initializations that were outliers."""
        found = loading.initializations(self._frame)
        if found.empty:
            print("No initialization of a data-loader iterator was recorded.")
        for row in found.itertuples():
            print(
                f"{row.iterator}: set up {row.count} times with num_workers {row.num_workers} and "
                f"pin_memory {row.pin_memory}; median {format_duration(row.median_us / 1e6)}, "
                f"longest {format_duration(row.max_us / 1e6)}."
            )
        rows = loading.initialization_times(self._frame)
        return _outliers(rows, "initializations", loading.initialization_outliers(self._frame))

    def analyze_dataloaderWorkers(self) -> pd.DataFrame:  # noqa: N802
        """Print how many workers there were and how long they lived; return outliers."""
        rows = loading.worker_times(self._frame)
        _print_durations(rows, "lives of loader processes", "life")
        return _outliers(rows, "life times of workers")

    def analyze_dataloader_getnext(self) -> pd.DataFrame:
        """Print how long training waited for batches; return the outliers."""
        rows = loading.waits(self._frame)
        _print_durations(rows, "calls of GetNext", "call")
        return _outliers(rows, "calls of GetNext", loading.wait_outliers(self._frame))

    def analyze_batchtime(
        self,
        start_timestamp: Instant | None = None,
        end_timestamp: Instant | None = None,
        select_events: Sequence[str] = ALL,
        select_dimensions: Sequence[str] = ALL,
    ) -> pd.DataFrame:
        """Print the time from batch to batch; return the outliers, gaps between epochs left out.

        The range restricts the events of the loader, the patterns the calls of GetNext. Each
        outlier has the means of GPU, CPU and I/O wait inside it, of the devices and dimensions
        that fit ``select_dimensions``.

        Raises:
            ConfigError: a pattern that is none, or no time.
        """
        framework = self.pd_data_frame.get_all_framework_metrics()
        dimensions = anywhere(select_dimensions)
        times = loading.batch_times(self._between(start_timestamp, end_timestamp), framework)
        times = times[rows_named(times, ["framework_metric", "process"], anywhere(select_events))]
        batches = loading.only_batches(times)
        if times.empty:
            print("No call of GetNext was recorded.")
        else:
            median = "unknown"
            if len(batches):
                median = format_duration(batches["batch_time_s"].median())
            print(
                f"{len(times):,} batches; median {median} from batch to batch; "
                f"{times['is_epoch_gap'].sum():,} gaps between epochs and "
                f"{times['is_unrecorded'].sum():,} times without recorded calls left out."
            )
        found = loading.outliers(batches, column="batch_time_s")
        system = self.pd_data_frame.get_all_system_metrics()
        fits = rows_named(system, ["dimension", "system_metric"], dimensions)
        found = utilization_of_each(system[fits], selections.batch_intervals(found))
        found = found.rename(columns={"batch_time_s": "BatchTime_in_seconds"})
        use = [name for name in found if name.endswith("_pct") and found[name].notna().any()]
        named = ["previous_batch_start", "start_time", "BatchTime_in_seconds", "worker_id"]
        return found[[*named, *use]]

    def plot_the_window(
        self,
        start_timestamp: Instant,
        end_timestamp: Instant,
        select_events: Sequence[str] = ALL,
        select_dimensions: Sequence[str] = ALL,
    ) -> Figure:
        """Return the chart of series and events between two times.

        The original draws with Bokeh and a server; this is a plotly figure.
        """
        return charts.window(
            self.pd_data_frame.job,
            since=start_timestamp,
            until=end_timestamp,
            events=anywhere(select_events),
            dimensions=anywhere(select_dimensions),
        )

    def _between(self, start: Instant | None, end: Instant | None) -> pd.DataFrame:
        frame, origin_us = self._frame, self.pd_data_frame.job.origin_us
        if start is not None:
            start_us = instant_ns(start, origin_us=origin_us) / NS_PER_US - origin_us
            frame = frame[frame["end_time_us"] >= start_us]
        if end is not None:
            end_us = instant_ns(end, origin_us=origin_us) / NS_PER_US - origin_us
            frame = frame[frame["start_time_us"] <= end_us]
        return frame

    if not TYPE_CHECKING:
        __getattr__ = missing


def _outliers(rows: pd.DataFrame, what: str, found: pd.DataFrame | None = None) -> pd.DataFrame:
    found = loading.outliers(rows) if found is None else found
    if found.empty:
        print(f"No outliers among the {what}.")
    else:
        print(f"{len(found):,} of {len(rows):,} {what} took at least twice the median.")
    return found[["start_time", "end_time", "duration_us", "worker_id"]]


def _print_durations(rows: pd.DataFrame, what: str, one: str) -> None:
    if rows.empty:
        print(f"No {what} were recorded.")
        return
    lasted = rows["duration_us"]
    print(
        f"{len(rows):,} {what}; median {one} {format_duration(lasted.median() / 1e6)}, "
        f"longest {format_duration(lasted.max() / 1e6)}."
    )
