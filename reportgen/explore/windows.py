"""The work of a job between two instants: curves, steps and events over one time axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reportgen.explore.job import Job
from reportgen.explore.selection import Instant, instant_ns, rows_named
from reportgen.explore.statistics import STEP
from reportgen.explore.window_figure import WindowLane, WindowLine, WindowPlot
from reportgen.facts.resample import thin

if TYPE_CHECKING:
    import pandas as pd

MOST_LANES = 20
MOST_EVENTS = 4_000
MOST_MARKERS = 400
MOST_STEPS = 2_000
"""Limits of one figure, so that a browser draws it at once."""

_PERCENT_TYPES = ("gpu", "cpu", "memory")


def window_info(
    job: Job,
    *,
    since: Instant,
    until: Instant,
    events: Sequence[str] = (".*",),
    dimensions: Sequence[str] = (".*",),
) -> WindowPlot:
    """Return series and events between two instants.

    Args:
        job: the job.
        since, until: the window.
        events: patterns of event names or phases; steps are events too.
        dimensions: patterns of metric names or dimensions (``GPUUtilization``, ``cpu0``).

    A panel shows how long the steps that overlap the window took, so that slow ones can be held
    against the use of the devices. Curves keep their extremes when they are thinned; of events
    the ``MOST_EVENTS`` longest are drawn, of steps the ``MOST_STEPS`` longest of each worker, and
    ``remark`` says how many there were.
    """
    samples = job.system_metrics(since=since, until=until)
    is_series = rows_named(samples, ("system_metric", "dimension"), dimensions)
    framework = job.framework_metrics(since=since, until=until)
    is_step = framework["process"].str.startswith(STEP)
    steps = framework[is_step]
    is_event = rows_named(framework, ("framework_metric", "process"), events)
    lanes, remark = _lanes(framework[is_event & ~is_step], job.origin_us)
    step_lines = _step_lines(framework[is_event & is_step], job.origin_us)
    n_drawn, n_steps = sum(len(line.x) for line in step_lines), int((is_event & is_step).sum())
    if n_drawn < n_steps:
        remark = f"{remark} {n_drawn:,} of {n_steps:,} steps are drawn, the longest.".strip()
    markers = (steps["start_time_us"].drop_duplicates() + job.origin_us) / 1000
    return WindowPlot(
        title="Functions, and how busy the machine was",
        start_ms=instant_ns(since, origin_us=job.origin_us) / 1e6,
        end_ms=instant_ns(until, origin_us=job.origin_us) / 1e6,
        lines=(*_lines(samples[is_series], job.origin_us), *step_lines),
        lanes=lanes,
        step_ms=tuple(markers) if len(markers) <= MOST_MARKERS else (),
        remark=remark,
    )


def _lines(samples: pd.DataFrame, origin_us: int) -> tuple[WindowLine, ...]:
    lines = []
    keys = ["type", "dimension", "nodeID", "system_metric"]
    for (kind, dimension, node, metric), rows in samples.groupby(keys, sort=True):
        curve = thin(
            (rows["timestamp_us"].to_numpy() + origin_us) * 1000,
            rows["value"].to_numpy(dtype=np.float64),
        )
        x, y = _extremes(curve.time_ns / 1e6, curve.low, curve.high)
        unit = "%" if kind in _PERCENT_TYPES else ""
        line = WindowLine(name=f"{node} {metric}", panel=dimension or metric, unit=unit, x=x, y=y)
        lines.append(line)
    return tuple(lines)


def _step_lines(steps: pd.DataFrame, origin_us: int) -> list[WindowLine]:
    """Return how long the steps of each worker took, at their starts; the slowest of many."""
    lines = []
    for worker, rows in steps.groupby("nodeID", sort=True):
        lasted_us = rows["end_time_us"] - rows["start_time_us"]
        drawn = rows.loc[lasted_us.nlargest(MOST_STEPS).index].sort_values("start_time_us")
        lines.append(
            WindowLine(
                name=f"{worker} steps",
                panel="step duration",
                unit="ms",
                x=((drawn["start_time_us"] + origin_us) / 1000).tolist(),
                y=(lasted_us[drawn.index] / 1000).tolist(),
                texts=[f"step {number}" for number in drawn["step"]],
            )
        )
    return lines


def _extremes(
    time_ms: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[list[float], list[float]]:
    if np.array_equal(low, high):
        return time_ms.tolist(), low.tolist()
    return np.repeat(time_ms, 2).tolist(), np.column_stack([low, high]).ravel().tolist()


def _lanes(events: pd.DataFrame, origin_us: int) -> tuple[tuple[WindowLane, ...], str]:
    lasted = events["end_time_us"] - events["start_time_us"]
    drawn = events.loc[lasted.nlargest(MOST_EVENTS).index]
    total = lasted.groupby(events["framework_metric"]).sum()
    names = total.sort_values(ascending=False, kind="stable").index[:MOST_LANES]
    lanes = []
    for name in names:
        rows = drawn[drawn["framework_metric"] == name].sort_values("start_time_us")
        starts_ms = ((rows["start_time_us"] + origin_us) / 1000).tolist()
        lengths_ms = (lasted[rows.index] / 1000).tolist()
        lanes.append(WindowLane(name=str(name), starts_ms=starts_ms, lengths_ms=lengths_ms))
    n_drawn = sum(len(lane.starts_ms) for lane in lanes)
    if n_drawn == len(events):
        return tuple(lanes), ""
    return tuple(lanes), f"{n_drawn:,} of {len(events):,} events are drawn, the longest."
