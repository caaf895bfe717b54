"""The charts of smdebug's notebooks, as plotly figures instead of Bokeh with a server.

Each shows itself in a notebook as the original does, and holds its figures in ``figures``. Times
are µs since 1970; patterns of metrics and events are found anywhere in a name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reportgen.compat.arguments import anywhere
from reportgen.compat.readers import MetricsReader
from reportgen.explore import Job, charts, selections
from reportgen.explore.selection import rows_named

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

_ALL = (".*",)
_UTILIZATION = (".*CPU", ".*GPU")
_STEPS = ("Step:ModeKeys", "Forward", "Backward")
_PERCENT = ("gpu", "cpu", "memory")


class MetricsHistogram:
    """Histograms of utilization, one for each kind of metric."""

    def __init__(self, metrics_reader: MetricsReader) -> None:
        self.metrics_reader = metrics_reader
        self.figures: list[Figure] = []

    def plot(
        self,
        starttime: int = 0,
        endtime: int | None = None,
        select_dimensions: Sequence[str] = _ALL,
        select_events: Sequence[str] = _ALL,
        show_workers: bool = True,
    ) -> list[Figure]:
        """Draw the kinds whose name matches, of the devices whose name matches."""
        samples = _samples(self.metrics_reader.job, starttime, endtime, select_dimensions)
        chosen = samples[samples["type"].isin(_PERCENT)]
        chosen = chosen[rows_named(chosen, ("system_metric",), anywhere(select_events))]
        by = "system_metric" if show_workers else "type"
        self.figures = [
            charts.figure(charts.utilization_histogram_info(rows, dimension=str(dimension), by=by))
            for dimension, rows in chosen.groupby("dimension", sort=True)
            if dimension
        ]
        return _shown(self.figures)


class StepHistogram:
    """Histograms of how long steps and phases took."""

    def __init__(self, metrics_reader: MetricsReader, width: int = 500) -> None:
        del width
        self.metrics_reader = metrics_reader
        self.figures: list[Figure] = []

    def plot(
        self,
        starttime: int = 0,
        endtime: int | None = None,
        select_metrics: Sequence[str] = _STEPS,
        show_workers: bool = True,
    ) -> list[Figure]:
        """Draw the phases whose name matches, a histogram each."""
        job = self.metrics_reader.job
        since, until = _range(starttime, endtime)
        events = job.framework_metrics(since=since, until=until, processes=anywhere(select_metrics))
        by = "nodeID" if show_workers else "process"
        self.figures = [
            charts.figure(charts.duration_histogram_info(rows, by=by, title=str(phase)))
            for phase, rows in events.groupby("process", sort=True)
        ]
        return _shown(self.figures)


class TimelineCharts:
    """Series of samples above the functions that ran."""

    def __init__(
        self,
        system_metrics_reader: MetricsReader,
        framework_metrics_reader: MetricsReader | None = None,
        starttime: int = 0,
        endtime: int | None = None,
        select_dimensions: Sequence[str] = _ALL,
        select_events: Sequence[str] = _ALL,
        x: int = 1_000,
        show_workers: bool = True,
    ) -> None:
        del framework_metrics_reader, x, show_workers
        job = system_metrics_reader.job
        self.figures = _shown([_window(job, starttime, endtime, select_events, select_dimensions)])


class StepTimelineChart:
    """How long each step took, over time."""

    def __init__(self, metrics_reader: MetricsReader, width: int = 1_000) -> None:
        del width
        self.figures = _shown([_window(metrics_reader.job, 0, None, ("Step:",), ())])


class Heatmap:
    """Utilization of each device over time."""

    def __init__(
        self,
        metrics_reader: MetricsReader,
        select_metrics: Sequence[str] = (),
        starttime: int = 0,
        endtime: int | None = None,
        select_dimensions: Sequence[str] = _UTILIZATION,
        select_events: Sequence[str] = _ALL,
        plot_height: int = 350,
        show_workers: bool = True,
    ) -> None:
        del select_metrics, plot_height, show_workers
        job = metrics_reader.job
        samples = _samples(job, starttime, endtime, select_dimensions)
        chosen = rows_named(samples, ("system_metric",), anywhere(select_events))
        kinds = sorted(set(samples["dimension"]) - {""}, reverse=True)
        info = charts.heatmap_info(samples[chosen], origin_us=job.origin_us, dimensions=kinds)
        self.figures = _shown([charts.figure(info)])


def _samples(
    job: Job, starttime: int, endtime: int | None, dimensions: Sequence[str]
) -> pd.DataFrame:
    since, until = _range(starttime, endtime)
    return job.system_metrics(since=since, until=until, dimensions=anywhere(dimensions))


def _window(
    job: Job, starttime: int, endtime: int | None, events: Sequence[str], dimensions: Sequence[str]
) -> Figure:
    first_us, last_us = _extent_us(job)
    info = charts.window_info(
        job,
        since=np.datetime64(max(int(starttime), first_us), "us"),
        until=np.datetime64(last_us if endtime is None else int(endtime), "us"),
        events=anywhere(events),
        dimensions=anywhere(dimensions),
    )
    return charts.figure(info)


def _extent_us(job: Job) -> tuple[int, int]:
    edges = [*(selections.events_extent_us(job) or ())]
    edges += [job.origin_us + us for us in selections.extent_us(job.system_metrics()) or ()]
    return min(edges, default=0), max(edges, default=0)


def _range(starttime: int, endtime: int | None) -> tuple[np.datetime64, np.datetime64 | None]:
    until = None if endtime is None else np.datetime64(int(endtime), "us")
    return np.datetime64(int(starttime), "us"), until


def _shown(figures: list[Figure]) -> list[Figure]:
    try:
        from IPython import get_ipython
    except ImportError:
        return figures
    if get_ipython() is not None:
        from IPython.display import display

        for figure in figures:
            display(figure)  # type: ignore[no-untyped-call]  # IPython has no types
    return figures
