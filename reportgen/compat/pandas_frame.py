"""``PandasFrame``: a job's data as frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from reportgen.compat.arguments import anywhere, time_ns
from reportgen.explore import Job, Moments, at_moments, functions_at, in_intervals, phases_at
from reportgen.explore.frames import join_frames
from reportgen.explore.selection import rows_named
from reportgen.units import NS_PER_US

if TYPE_CHECKING:
    import pandas as pd


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
        return time_ns(timestamp) // NS_PER_US

    def get_framework_metrics_by_timesteps(
        self,
        timestep_list: Sequence[str | datetime] = (),
        selected_framework_metrics: Sequence[str] = (),
    ) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
        """Return the functions that ran at some instants.

        Returns:
            Time by phase divided by the largest (0-1), µs by function, µs by step phase. Each
            event counts **once**; the original adds it once per instant that it spans.
        """
        moments = at_moments(np.array([time_ns(item) for item in timestep_list], dtype=np.int64))
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
        """Return time by phase and by function in some intervals, each to its largest.

        Each event counts **once**; the original adds it once per interval that it meets.
        """
        moments = in_intervals(
            np.array([time_ns(item) for item in begin_timestep_list], dtype=np.int64),
            np.array([time_ns(item) for item in end_timestep_list], dtype=np.int64),
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


def _selected(frame: pd.DataFrame, names: Sequence[str], *, whole: bool) -> pd.DataFrame:
    if not names:
        return frame
    columns = ["framework_metric", "process"]
    if whole:
        chosen = frame[columns].isin(list(names)).any(axis=1).to_numpy()
    else:
        chosen = rows_named(frame, columns, anywhere(names))
    return frame[chosen].reset_index(drop=True)


def _to_largest(values: Mapping[str, float]) -> dict[str, float]:
    largest = max(values.values(), default=0.0)
    return {name: value / largest for name, value in values.items()} if largest else dict(values)
