"""``PT_dataloader_analysis``: PyTorch's data loader; each method prints what it found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from reportgen.compat.arguments import anywhere, time_ns, time_text
from reportgen.compat.pandas_frame import PandasFrame
from reportgen.explore import charts, loading, selections
from reportgen.explore.selection import rows_named
from reportgen.explore.utilization_within import utilization_of_each
from reportgen.text import format_duration

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure


class PT_dataloader_analysis:  # noqa: N801  # the name people know
    """The data-loader analysis of PyTorch jobs; each method prints what it found."""

    def __init__(self, pandas_frame: PandasFrame) -> None:
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
        return _outliers(rows, "calls of GetNext")

    def analyze_batchtime(
        self,
        start_timestamp: Any = None,
        end_timestamp: Any = None,
        select_events: Sequence[str] = (".*",),
        select_dimensions: Sequence[str] = (".*",),
    ) -> pd.DataFrame:
        """Print the time from batch to batch; return the outliers, gaps between epochs left out.

        The range and the patterns of events restrict the calls of GetNext (and other events of the
        loader). Patterns of dimensions add to each outlier the means of
        those of GPU, CPU and I/O wait that fit.

        Raises:
            ConfigError: a pattern that is none.
        """
        framework = self.pd_data_frame.get_all_framework_metrics()
        dimensions = anywhere(select_dimensions)
        frame = _between(self._frame, start_timestamp, end_timestamp)
        frame = frame[rows_named(frame, ["framework_metric", "process"], anywhere(select_events))]
        times = loading.batch_times(frame, framework)
        batches = loading.only_batches(times)
        if times.empty:
            print("No call of GetNext was recorded.")
        else:
            n_gaps = int(times["is_epoch_gap"].sum())
            n_unrecorded = int(times["is_unrecorded"].sum())
            median_s = batches["batch_time_s"].median()
            median = "unknown" if batches.empty else format_duration(median_s)
            print(
                f"{len(times):,} batches; median {median} from batch to batch; "
                f"{n_gaps:,} gaps between epochs and {n_unrecorded:,} times without recorded calls "
                "left out."
            )
        found = loading.outliers(batches, column="batch_time_s")
        columns = ["previous_batch_start", "start_time", "BatchTime_in_seconds", "worker_id"]
        if tuple(select_dimensions) != (".*",):
            system = self.pd_data_frame.get_all_system_metrics()
            fits = rows_named(system, ["dimension", "system_metric"], dimensions)
            found = utilization_of_each(system[fits], selections.batch_intervals(found))
            columns += [name for name in found if name.endswith("_pct") and found[name].any()]
        return found.rename(columns={"batch_time_s": "BatchTime_in_seconds"})[columns]

    def plot_the_window(
        self,
        start_timestamp: Any,
        end_timestamp: Any,
        select_events: Sequence[str] = (".*",),
        select_dimensions: Sequence[str] = (".*",),
    ) -> Figure:
        """Return the chart of series and events between two times (texts of the frames, dates).

        The original draws with Bokeh and a server; this is a plotly figure.
        """
        since, until = (
            np.datetime64(time_ns(moment), "ns") for moment in (start_timestamp, end_timestamp)
        )
        window = charts.window_info(
            self.pd_data_frame.job,
            since=since,
            until=until,
            events=anywhere(select_events),
            dimensions=anywhere(select_dimensions),
        )
        return charts.figure(window)


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


def _between(frame: pd.DataFrame, start: Any, end: Any) -> pd.DataFrame:
    if start is not None:
        frame = frame[frame["end_time"] >= time_text(start)]
    if end is not None:
        frame = frame[frame["start_time"] <= time_text(end)]
    return frame
