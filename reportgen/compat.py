"""The names of smdebug's analysis tools over ``reportgen.open``: change the imports, keep the rest.

A thin layer: everything here delegates. Where the original was wrong, the right answer is
returned and the docstring says so. Signatures: smdebug 1.0.34 and seeds 000, 001, 003.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from reportgen.errors import ConfigError
from reportgen.explore import (
    Job,
    Moments,
    at_moments,
    functions_at,
    in_intervals,
    loading,
    phases_at,
    statistics,
    wait_for_job,
)
from reportgen.explore.frames import join_frames
from reportgen.units import NS_PER_US

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

_TIME = "%Y-%m-%dT%H:%M:%S:%f"
_WAIT_S = 3_600.0


class TrainingJob:
    """A job by the place where its profiler output lies.

    The original asks SageMaker for that place by the job's name; pass the path instead.
    """

    def __init__(self, training_job_name: str, region: str | None = None) -> None:
        """Take a local folder or an ``s3://`` address.

        Raises:
            ConfigError: a bare name was given with a region: the service is not asked.
        """
        if region is not None and "/" not in training_job_name:
            raise ConfigError(
                f"{training_job_name!r} is a name, and SageMaker is not asked for its output.",
                hint="Pass the path: TrainingJob('s3://BUCKET/PREFIX/NAME/profiler-output').",
            )
        self.name = training_job_name.rstrip("/").removesuffix("/profiler-output").split("/")[-1]
        self.profiler_s3_output_path = training_job_name

    def wait_for_sys_profiling_data_to_be_available(self, timeout_s: float = _WAIT_S) -> None:
        """Return when the first file has arrived.

        Raises:
            LocationError: nothing arrived in ``timeout_s`` seconds; the original waits for ever.
        """
        wait_for_job(self.profiler_s3_output_path, timeout_s=timeout_s)

    wait_for_framework_profiling_data_to_be_available = wait_for_sys_profiling_data_to_be_available


class PandasFrame:
    """A job's data as frames with the columns of smdebug's."""

    def __init__(
        self, path: str, use_in_memory_cache: bool = False, scan_interval: int = 5_000_000_000
    ) -> None:
        """Open a job; the two options of the original have no meaning here and are ignored."""
        del use_in_memory_cache, scan_interval
        self.path = path
        self.job = Job(path)

    def get_latest_data(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return (system, framework) rows written since the last call; the first returns all."""
        latest = self.job.latest()
        return latest.system, latest.framework

    def get_all_system_metrics(self, selected_system_metrics: Sequence[str] = ()) -> pd.DataFrame:
        """Return all samples, or those of some names (``gpu0``)."""
        return self.job.system_metrics(metrics=list(selected_system_metrics) or None)

    def get_all_framework_metrics(
        self, selected_framework_metrics: Sequence[str] = ()
    ) -> pd.DataFrame:
        """Return all events, or those of some names or phases; the first event is there too."""
        return _selected(self.job.framework_metrics(), selected_framework_metrics, whole=True)

    def get_all_dataloader_metrics(
        self, selected_framework_metrics: Sequence[str] = ()
    ) -> pd.DataFrame:
        """Return the events of the data loader, or those whose name or phase matches a pattern."""
        return _selected(self.job.dataloader_metrics(), selected_framework_metrics, whole=False)

    def get_profiler_data_by_time(
        self,
        start_time_us: int,
        end_time_us: int,
        cache_metrics: bool = False,
        selected_framework_metrics: Sequence[str] = (),
        selected_system_metrics: Sequence[str] = (),
        get_framework_metrics: bool = True,
        get_system_metrics: bool = True,
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return (system, framework) of a range of time, µs since 1970, both ends included.

        ``cache_metrics`` is ignored: to accumulate, use ``get_latest_data``.
        """
        del cache_metrics
        since, until = (
            np.datetime64(int(time_us), "us") for time_us in (start_time_us, end_time_us)
        )
        nothing: list[str] = []
        system = self.job.system_metrics(
            since=since,
            until=until,
            metrics=list(selected_system_metrics) or None,
            nodes=None if get_system_metrics else nothing,
        )
        framework = self.job.framework_metrics(
            since=since, until=until, nodes=None if get_framework_metrics else nothing
        )
        return system, _selected(framework, selected_framework_metrics, whole=True)

    def get_profiler_data_by_step(
        self, start_step: int, end_step: int, cache_metrics: bool = False
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the events of some steps, and the samples from their first start to last end."""
        del cache_metrics
        framework = self.job.framework_metrics(steps=(start_step, end_step))
        system = self.job.system_metrics()
        if framework.empty:
            return system.iloc[:0], framework
        first_us, last_us = framework["start_time_us"].min(), framework["end_time_us"].max()
        inside = system["timestamp_us"].between(first_us, last_us)
        return system[inside].reset_index(drop=True), framework

    def convert_datetime_to_timestamp(self, timestamp: str | datetime) -> int:
        """Return µs since 1970 of a text such as ``2020-07-01T02:31:58:560123``."""
        return _ns(timestamp) // NS_PER_US

    def get_framework_metrics_by_timesteps(
        self,
        timestep_list: Sequence[str | datetime] = (),
        selected_framework_metrics: Sequence[str] = (),
    ) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
        """Return what ran at some instants.

        Returns:
            Time by phase divided by the largest (0-1), µs by function, µs by step phase. Each
            event counts **once**; the original adds it once per instant that it spans.
        """
        moments = at_moments(np.array([_ns(item) for item in timestep_list], dtype=np.int64))
        functions, phases = self._at(moments, selected_framework_metrics)
        by_phase = functions.groupby("process")["total_us"].sum().to_dict()
        by_function = functions.groupby("function")["total_us"].sum().to_dict()
        return _to_largest(by_phase), by_function, phases.set_index("process")["total_us"].to_dict()

    def get_framework_metrics_by_begin_and_end_timesteps(
        self,
        begin_timestep_list: Sequence[str | datetime],
        end_timestep_list: Sequence[str | datetime],
        selected_framework_metrics: Sequence[str] = (),
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Return what ran in some intervals: time by phase and by function, each to its largest.

        Each event counts **once**; the original adds it once per interval that it meets.
        """
        moments = in_intervals(
            np.array([_ns(item) for item in begin_timestep_list], dtype=np.int64),
            np.array([_ns(item) for item in end_timestep_list], dtype=np.int64),
        )
        functions, _ = self._at(moments, selected_framework_metrics)
        return (
            _to_largest(functions.groupby("process")["total_us"].sum().to_dict()),
            _to_largest(functions.groupby("function")["total_us"].sum().to_dict()),
        )

    def _at(self, moments: Moments, selected: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
        nodes = list(self.job.spans())
        functions = join_frames([functions_at(spans, moments) for spans in nodes], ())
        phases = join_frames([phases_at(spans, moments) for spans in nodes], ())
        if selected:
            names = list(selected)
            is_chosen = functions["function"].isin(names) | functions["process"].isin(names)
            functions = functions[is_chosen]
            phases = phases[phases["process"].isin(names)]
        return functions, phases.groupby("process", as_index=False)["total_us"].sum()


class StatsBy(Enum):
    """What statistics are grouped by."""

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
        """Take a SYSTEM and a FRAMEWORK frame."""
        self.sys_metrics_df = system_df
        self.framework_metrics_df = framework_df

    def get_job_statistics(self) -> dict[str, Any]:
        """Return when the job and its training loop began and ended.

        Durations are µs. The loop ends with the last step, initialization counts from the first
        sample, and the parts add up; the original counts initialization from the minute of the
        first file and ends the loop with the last event of any kind.
        """
        system, events = self.sys_metrics_df, self.framework_metrics_df
        steps = events[events["process"].str.startswith(statistics.STEP)]
        first = system.loc[system["timestamp_us"].idxmin()]
        last = system.loc[system["timestamp_us"].idxmax()]
        duration = int(last["timestamp_us"] - first["timestamp_us"])
        found: dict[str, Any] = {
            "start_time": first["timestamp"],
            "end_time": last["timestamp"],
            "job_duration": duration,
        }
        if steps.empty:
            return found
        begin = steps.loc[steps["start_time_us"].idxmin()]
        end = steps.loc[steps["end_time_us"].idxmax()]
        parts = {
            "initialization": max(int(begin["start_time_us"] - first["timestamp_us"]), 0),
            "training_loop": int(end["end_time_us"] - begin["start_time_us"]),
            "finalization": max(int(last["timestamp_us"] - end["end_time_us"]), 0),
        }
        found |= {
            "training_loop_start": begin["start_time"],
            "training_loop_end": end["end_time"],
            "training_loop_duration": parts["training_loop"],
            "initialization": parts["initialization"],
            "finalization": parts["finalization"],
        }
        whole = sum(parts.values())
        return found | {f"{name}_%": 100 * part / whole for name, part in parts.items()}

    def get_step_statistics(self, by: StatsBy = StatsBy.TRAINING_PHASE) -> pd.DataFrame:
        """Return mean, min, max, p50, p95 and p99 of the durations of steps, µs."""
        column = "process" if by is StatsBy.PROCESS else "framework_metric"
        events = self.framework_metrics_df
        if by is StatsBy.TRAINING_PHASE:
            events = events[events["process"].str.startswith(statistics.STEP)]
        frame = statistics.step_durations(events, by=column)
        names = ("mean", "min", "max", "p50", "p95", "p99")
        renamed = {f"{name}_us": f"duration_{name}_us" for name in names}
        frame = frame.rename(columns={**renamed, column: by.value})
        return frame[[by.value, *renamed.values()]]

    def get_utilization_stats(
        self,
        resource: Resource | Sequence[Resource] | None = None,
        by: StatsBy | None = None,
        phase: str | Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """Return statistics of utilization, each metric on its own.

        The original mixes utilization and memory of GPUs, and utilization and I/O wait of cores.
        """
        chosen = [resource] if isinstance(resource, Resource) else list(resource or Resource)
        samples = self.sys_metrics_df
        samples = samples[samples["type"].isin([item.value for item in chosen])]
        phases = None
        if by is StatsBy.TRAINING_PHASE:
            phases = self.get_training_phase_intervals(phase)
        frame = statistics.utilization(samples, phases=phases)
        names = ("mean", "min", "max", "p50", "p95", "p99")
        renamed = {name: f"utilization_{name}" for name in names}
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


class PT_dataloader_analysis:  # noqa: N801  # the name people know
    """The data-loader analysis of PyTorch jobs; each method prints what it found."""

    def __init__(self, pandas_frame: PandasFrame) -> None:
        """Read the data loader's events of a job."""
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
                f"pin_memory {row.pin_memory}; median {row.median_us:,.0f} µs, "
                f"longest {row.max_us:,} µs."
            )
        return _outliers(loading.initialization_times(self._frame), "initializations")

    def analyze_dataloaderWorkers(self) -> pd.DataFrame:  # noqa: N802
        """Print how many workers there were and how long they lived; return outliers."""
        rows = loading.worker_times(self._frame)
        _print_durations(rows, "worker processes lived", "life")
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

        The range restricts the batches; the patterns belong to ``plot_the_window`` (the seed's
        documentation shows them here) and are accepted.
        """
        del select_events, select_dimensions
        times = loading.batch_times(_between(self._frame, start_timestamp, end_timestamp))
        if times.empty:
            print("No call of GetNext was recorded.")
        else:
            n_gaps = int(times["is_epoch_gap"].sum())
            median_s = times.loc[~times["is_epoch_gap"], "batch_time_s"].median()
            print(
                f"{len(times):,} batches; median {median_s:.6g} s from batch to batch; "
                f"{n_gaps:,} gaps between epochs left out."
            )
        found = loading.outliers(times[~times["is_epoch_gap"]], column="batch_time_s")
        return found.rename(columns={"batch_time_s": "BatchTime_in_seconds"})[
            ["previous_batch_start", "start_time", "BatchTime_in_seconds", "worker_id"]
        ]

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
        from reportgen.explore import charts

        since, until = (
            np.datetime64(_ns(moment), "ns") for moment in (start_timestamp, end_timestamp)
        )
        window = charts.window_info(
            self.pd_data_frame.job,
            since=since,
            until=until,
            events=select_events,
            dimensions=select_dimensions,
        )
        return charts.figure(window)


def _outliers(rows: pd.DataFrame, what: str) -> pd.DataFrame:
    found = loading.outliers(rows)
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
        f"{len(rows):,} {what}; median {one} {lasted.median():,.0f} µs, "
        f"longest {lasted.max():,} µs."
    )


def _selected(frame: pd.DataFrame, names: Sequence[str], *, whole: bool) -> pd.DataFrame:
    """Return the rows whose name or phase is one of the names, or matches one as a pattern."""
    if not names:
        return frame
    if whole:
        listed = list(names)
        chosen = frame["framework_metric"].isin(listed) | frame["process"].isin(listed)
    else:
        pattern = "|".join(f"(?:{name})" for name in names)
        chosen = frame["framework_metric"].str.contains(pattern) | frame["process"].str.contains(
            pattern
        )
    return frame[chosen].reset_index(drop=True)


def _between(frame: pd.DataFrame, start: Any, end: Any) -> pd.DataFrame:
    """Return the rows of a range of time; texts as in the frame, ``datetime`` or ``None``."""
    if start is not None:
        frame = frame[frame["end_time"] >= _text(start)]
    if end is not None:
        frame = frame[frame["start_time"] <= _text(end)]
    return frame


def _text(moment: str | datetime) -> str:
    return moment if isinstance(moment, str) else moment.strftime(_TIME)


def _ns(moment: str | datetime) -> int:
    """Return an instant in ns.

    Raises:
        ConfigError: a text of another shape.
    """
    if isinstance(moment, str):
        try:
            moment = datetime.strptime(moment, _TIME)  # noqa: DTZ007  # the next line says UTC
        except ValueError as err:
            raise ConfigError(
                f"{moment!r} is no time of a frame.", hint=f"Expected the shape {_TIME}."
            ) from err
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(np.datetime64(moment.astimezone(UTC).replace(tzinfo=None), "ns").astype(np.int64))


def _to_largest(values: Mapping[str, float]) -> dict[str, float]:
    largest = max(values.values(), default=0.0)
    return {name: value / largest for name, value in values.items()} if largest else dict(values)
