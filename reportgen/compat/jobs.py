"""``TrainingJob``, ``PandasFrame`` and ``TimelineCharts``: a job's data as smdebug gives them.

Times are what ``Job`` takes: the texts of the frames, dates, or whole microseconds from the job's
origin or from 1970. Patterns are found anywhere in a name, not the whole of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Never

import numpy as np
import pandas as pd

from reportgen.errors import ConfigError
from reportgen.explore import Job, charts, selections, wait_for_job
from reportgen.explore.frames import FRAMEWORK_COLUMNS, SYSTEM_COLUMNS, join_frames
from reportgen.explore.job import WAIT_S
from reportgen.explore.selection import Instant, name_filter, rows_named
from reportgen.explore.statistics import STEP
from reportgen.profile.spans import LOADER_PROCESS
from reportgen.storage import training_job

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

ALL = (".*",)


def missing(self: object, name: str) -> Never:
    """Refuse a name of smdebug's that is not here, in a sentence."""
    known = ", ".join(item for item in dir(type(self)) if not item.startswith("_"))
    raise AttributeError(
        f"{type(self).__name__} has no {name}; it has {known}. docs/from-smdebug.md says what "
        "takes the place of other names."
    )


def checked(value: object, kind: type, *, of: str) -> None:
    """Refuse an argument of another kind.

    Raises:
        ConfigError: it is one; the message says what to pass.
    """
    if not isinstance(value, kind):
        raise ConfigError(
            f"{of} takes a {kind.__name__}, not a {type(value).__name__}.",
            hint="docs/from-smdebug.md has an example of each call.",
        )


def anywhere(patterns: Sequence[str]) -> list[str]:
    """Return patterns that match whole names in which the given ones are found.

    Raises:
        ConfigError: a pattern that is none.
    """
    name_filter(patterns, option="patterns")
    return [f".*(?:{pattern}).*" for pattern in patterns]


class TrainingJob:
    """A job by the place where its profiler output lies, or by its name and region."""

    def __init__(self, training_job_name: str, region: str | None = None) -> None:
        """Take a folder or an ``s3://`` address; with a region, a name that SageMaker knows.

        Raises:
            LocationError: SageMaker knows no such job, or cannot be asked.
        """
        self.profiler_s3_output_path = training_job_name
        if region is not None and "/" not in training_job_name:
            described = training_job(f"sagemaker:{region}/{training_job_name}")
            self.profiler_s3_output_path = f"{described.profiler_path}/profiler-output"
        bare = self.profiler_s3_output_path.rstrip("/").removesuffix("/profiler-output")
        self.name = bare.rpartition("/")[2]

    def wait_for_sys_profiling_data_to_be_available(self, timeout_s: float = WAIT_S) -> None:
        """Return when the first file has arrived; a warning says that it waits.

        Raises:
            LocationError: nothing arrived in ``timeout_s`` seconds; the original waits for ever.
        """
        wait_for_job(self.profiler_s3_output_path, timeout_s=timeout_s)

    wait_for_framework_profiling_data_to_be_available = wait_for_sys_profiling_data_to_be_available

    def get_systems_metrics_reader(self) -> MetricsReader:
        """Return a reader, as ``TimelineCharts`` takes it."""
        return MetricsReader(self.profiler_s3_output_path)

    get_framework_metrics_reader = get_systems_metrics_reader

    if not TYPE_CHECKING:
        __getattr__ = missing


class MetricsReader:
    """A job whose samples and events the charts draw."""

    def __init__(self, s3_trial_path: str, use_in_memory_cache: bool = False) -> None:
        """Open a job; the cache of the original has no meaning here."""
        del use_in_memory_cache
        self.path = s3_trial_path
        self.job = Job(s3_trial_path)

    def refresh_event_file_list(self) -> None:
        """Look for files that were written since the last look."""
        self.job = Job(self.path)

    def get_timestamp_of_latest_available_file(self) -> int:
        """Return the last moment of samples and events, µs since 1970; 0 without any."""
        return extent_us(self.job)[1]

    if not TYPE_CHECKING:
        __getattr__ = missing


class PandasFrame:
    """A job's data as frames with the columns of smdebug's."""

    def __init__(
        self, path: str, use_in_memory_cache: bool = False, scan_interval: int = 5_000_000_000
    ) -> None:
        """Open a job; the two options of the original have no meaning here and are ignored."""
        del use_in_memory_cache, scan_interval
        self.path = path
        self.job = Job(path)
        self._system: list[pd.DataFrame] = []
        self._framework: list[pd.DataFrame] = []

    def get_latest_data(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return (system, framework) with all rows so far; only what is new is read."""
        latest = self.job.latest()
        self._system = _with(self._system, latest.system, SYSTEM_COLUMNS, "timestamp_us")
        self._framework = _with(
            self._framework, latest.framework, FRAMEWORK_COLUMNS, "start_time_us"
        )
        return self._system[0], self._framework[0]

    def get_all_system_metrics(self, selected_system_metrics: Sequence[str] = ()) -> pd.DataFrame:
        """Return all samples, or those of some names (``gpu0``)."""
        return self.job.system_metrics(metrics=list(selected_system_metrics) or None)

    def get_all_framework_metrics(
        self, selected_framework_metrics: Sequence[str] = ()
    ) -> pd.DataFrame:
        """Return all events, or those of some names or phases; the first event is there too."""
        return _selected(self.job.framework_metrics(), selected_framework_metrics)

    def get_all_dataloader_metrics(
        self, selected_framework_metrics: Sequence[str] = ()
    ) -> pd.DataFrame:
        """Return the events of the data loader, or those whose name or phase matches a pattern."""
        frame = self.job.dataloader_metrics()
        if not selected_framework_metrics:
            return frame
        patterns = anywhere(selected_framework_metrics)
        chosen = rows_named(frame, ("framework_metric", "process"), patterns)
        return frame[chosen].reset_index(drop=True)

    def get_profiler_data_by_time(
        self,
        start_time_us: Instant,
        end_time_us: Instant,
        cache_metrics: bool = False,
        selected_framework_metrics: Sequence[str] = (),
        selected_system_metrics: Sequence[str] = (),
        get_framework_metrics: bool = True,
        get_system_metrics: bool = True,
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return (system, framework) of a range of time, both ends included.

        ``cache_metrics`` is ignored: to accumulate, use ``get_latest_data``.
        """
        del cache_metrics
        system = self.job.system_metrics(
            since=start_time_us,
            until=end_time_us,
            metrics=list(selected_system_metrics) or None,
            nodes=None if get_system_metrics else (),
        )
        framework = self.job.framework_metrics(
            since=start_time_us, until=end_time_us, nodes=None if get_framework_metrics else ()
        )
        return system, _selected(framework, selected_framework_metrics)

    if not TYPE_CHECKING:
        __getattr__ = missing


class TimelineCharts:
    """Series of samples above the functions that ran, as one plotly figure in ``figures``.

    In a notebook it shows itself, as the original does with Bokeh and a server.
    """

    def __init__(
        self,
        system_metrics_reader: MetricsReader,
        framework_metrics_reader: MetricsReader | None = None,
        starttime: Instant = 0,
        endtime: Instant | None = None,
        select_dimensions: Sequence[str] = ALL,
        select_events: Sequence[str] = ALL,
        x: int = 1_000,
        show_workers: bool = True,
    ) -> None:
        del framework_metrics_reader, x, show_workers
        checked(system_metrics_reader, MetricsReader, of="TimelineCharts")
        self._job = job = system_metrics_reader.job
        first_us, last_us = extent_us(job)
        dimensions = anywhere(select_dimensions)
        since: Any = starttime or np.datetime64(first_us, "us")
        until: Any = np.datetime64(last_us, "us") if endtime is None else endtime
        samples = job.system_metrics(since=since, until=until)
        samples = samples[rows_named(samples, ("system_metric", "dimension"), dimensions)]
        series = samples.groupby(["nodeID", "system_metric", "dimension"])["timestamp_us"]
        self._ticks_us = max((rows.to_numpy() for _, rows in series), key=len, default=())
        self.figures = [
            charts.window(
                job, since=since, until=until, events=anywhere(select_events), dimensions=dimensions
            )
        ]
        _show(self.figures)

    def find_time_annotations(self, indexes: Sequence[int]) -> pd.DataFrame:
        """Print and return how long each function ran between two samples of the chart.

        Args:
            indexes: places of samples in the longest series that is drawn, counted from 0; the
                first and the last of them are the range.

        Returns:
            One row per function, and per step, that overlaps the range, longest first:
            ``name``, ``count``, ``total_us`` in full length.

        Raises:
            ConfigError: there is no such sample.
        """
        places, n_ticks = np.atleast_1d(np.asarray(indexes, dtype=np.int64)), len(self._ticks_us)
        if not places.size or places.min() < 0 or places.max() >= n_ticks:
            raise ConfigError(
                f"{places.tolist()} are not places of samples.",
                hint=f"The longest series of the chart has {n_ticks:,}.",
            )
        begin_us, end_us = self._ticks_us[places.min()], self._ticks_us[places.max()]
        events = self._job.framework_metrics(since=begin_us, until=end_us)
        events = events[events["process"] != LOADER_PROCESS]
        is_step = events["process"].str.startswith(STEP)
        name = events["framework_metric"] + ("_" + events["step"].astype(str)).where(is_step, "")
        lasted_us = (events["end_time_us"] - events["start_time_us"]).groupby(name)
        found = lasted_us.agg(count="count", total_us="sum").rename_axis("name").reset_index()
        found = found.sort_values(["total_us", "name"], ascending=[False, True], ignore_index=True)
        edges_s = ((us + self._job.origin_us) / 1e6 for us in (begin_us, end_us))
        print("Selected timerange: {:.6f} to {:.6f}".format(*edges_s))
        for row in found.itertuples():
            print(f"Spent {row.total_us / 1000:,.3f} ms (cumulative time) in {row.name}")
        if found.empty:
            print("No function ran in it.")
        return found

    if not TYPE_CHECKING:
        __getattr__ = missing


def extent_us(job: Job) -> tuple[int, int]:
    """Return the first and the last moment of a job's samples and events, µs since 1970."""
    edges = [*(job.events_extent_us() or ())]
    edges += [job.origin_us + us for us in selections.extent_us(job.system_metrics()) or ()]
    return min(edges, default=0), max(edges, default=0)


def _with(
    known: list[pd.DataFrame], new: pd.DataFrame, columns: Sequence[str], time: str
) -> list[pd.DataFrame]:
    if known and new.empty:
        return known
    joined = join_frames([*known, new], columns)
    return [joined.sort_values(["nodeID", time], kind="stable", ignore_index=True)]


def _selected(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    if not names:
        return frame
    chosen = frame[["framework_metric", "process"]].isin(list(names)).any(axis=1)
    return frame[chosen].reset_index(drop=True)


def _show(figures: Sequence[Figure]) -> None:
    try:
        from IPython import get_ipython
    except ImportError:
        return
    if get_ipython() is not None:
        from IPython.display import display

        for figure in figures:
            display(figure)  # type: ignore[no-untyped-call]  # IPython has no types
