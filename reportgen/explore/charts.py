"""Charts for notebooks: each function draws a frame of this package as a plotly figure.

A figure without ``data`` has nothing to show; what a window leaves out is in its title.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.typing import SeriesGroupBy

from reportgen.explore.job import Job
from reportgen.explore.selection import Instant, instant_ns, rows_named
from reportgen.explore.statistics import STEP
from reportgen.facts.resample import bucket_by_time
from reportgen.profile.system import device_order
from reportgen.views import theme
from reportgen.views.charts.layout import layout
from reportgen.views.color_roles import inks
from reportgen.views.values import plot_label, unique_labels

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "comparison", "duration_histogram", "heatmap", "shares", "utilization_histogram", "window",
]  # fmt: skip

N_BINS = 50
HEATMAP_CELLS = 240
MOST_LANES = 20
MOST_EVENTS = 4_000
MOST_STEPS = 2_000
"""Limits of one figure, so that a browser draws it at once."""

_MOST_NAMED = 12
"""Lines that a legend names; of more, pointing at one names it: the legend would hide the chart."""
_UTILIZATION = ("GPUUtilization", "CPUUtilization")
_PERCENT_TYPES = ("gpu", "cpu", "memory")
_STEPS, _FUNCTIONS = "step duration (ms)", "functions"
_MEANS = ("mean_us", "mean_us_other")
_AT_THE_TOP = {
    "x": 0,
    "xref": "paper",
    "yref": "container",
    "y": 1,
    "yanchor": "top",
    "pad": {"t": 8},
}
_FRAME_PX, _PANEL_PX, _LANE_PX, _ROW_PX = 110, 150, 22, 26

_Trace = dict[str, Any]


def shares(rows: pd.DataFrame, *, by: str, value: str, title: str) -> Figure:
    """Draw the share of each name of the column ``by`` in the sum of ``value``, as a pie.

    The pie shows seconds where the value is in µs (``total_us``).
    """
    import plotly.express as px

    sums = rows.groupby(by)[value].sum().sort_values(ascending=False, kind="stable")
    sums, name = sums[sums > 0], value
    if value.endswith("_us"):
        sums, name = sums / 1e6, f"{value.removesuffix('_us')} (s)"
    if sums.empty:
        return _drawn(None, title)
    pie = px.pie({by: _labels(sums.index), name: sums.to_numpy()}, names=by, values=name)
    pie.update_traces(sort=False, direction="clockwise", textposition="inside")
    return _drawn(pie, title, height=360, legend={"x": 1, "y": 1})


def heatmap(
    samples: pd.DataFrame, *, origin_us: int, dimensions: Sequence[str] = _UTILIZATION
) -> Figure:
    """Draw the mean utilization of each device over time, at most ``HEATMAP_CELLS`` cells a row.

    Args:
        samples: a SYSTEM frame, whose microseconds count from ``origin_us``.
        dimensions: what to show; devices of the first come first.
    """
    import plotly.express as px

    chosen = samples[samples["dimension"].isin(list(dimensions))]
    title = "Utilization of each device over time"
    if chosen.empty:
        return _drawn(None, title)
    row = chosen["nodeID"].str.cat(chosen["system_metric"], sep=" ")
    time_us = chosen["timestamp_us"].to_numpy() + origin_us
    width_us = _cell_width_us(time_us)
    keys = [chosen["dimension"], row, time_us // width_us * width_us]
    means = chosen["value"].groupby(keys).mean().unstack()
    rows = sorted(
        means.index, key=lambda key: (list(dimensions).index(key[0]), device_order(key[1]))
    )
    figure = px.imshow(
        means.loc[rows].to_numpy(),
        x=np.asarray(means.columns, dtype="M8[us]"),
        y=_labels(name for _, name in rows),
        zmin=0,
        zmax=100,
        aspect="auto",
        labels={"x": "", "y": "", "color": "%"},
    )
    figure.update_layout(coloraxis={"colorscale": theme.resolved(theme.scale())})
    title = f"{title}, means of {width_us / 1e6:g} s"
    return _drawn(figure, title, height=_FRAME_PX + _ROW_PX * len(rows))


def utilization_histogram(
    samples: pd.DataFrame, *, dimension: str = "GPUUtilization", by: str = "nodeID"
) -> Figure:
    """Draw how often each utilization was seen: 50 bins of 2 %, the last one with 100 %.

    Args:
        samples: a SYSTEM frame.
        dimension: ``GPUUtilization``, ``CPUUtilization``, ``GPUMemoryUtilization`` …
        by: column whose values become the groups, such as ``system_metric`` for each device.
    """
    chosen = samples[samples["dimension"] == dimension]
    groups = chosen["value"].groupby(chosen[by], sort=True)
    return _histogram(f"{dimension}: how often", groups, high=100.0, unit="%")


def duration_histogram(events: pd.DataFrame, *, by: str, title: str) -> Figure:
    """Draw how often each duration of some events was seen, in 50 bins from 0 to the longest.

    The values of the column ``by`` of a FRAMEWORK frame become the groups.
    """
    lasted_ms = (events["end_time_us"] - events["start_time_us"]) / 1000
    high = (float(lasted_ms.max()) if len(lasted_ms) else 0.0) or 1.0
    return _histogram(title, lasted_ms.groupby(events[by], sort=True), high=high, unit="ms")


def comparison(
    joined: pd.DataFrame, *, sides: tuple[str, str], n: int = 15, title: str = "Mean time"
) -> Figure:
    """Draw the ``n`` functions of ``explore.compare`` with the largest increase, as pairs of bars.

    ``sides`` says what the two sides are: ``("outlier steps", "normal steps")``.
    """
    import plotly.express as px

    if joined.empty:
        return _drawn(None, title)
    top = joined.head(n)
    is_shared = top["function"].duplicated(keep=False)
    named = top["function"].where(~is_shared, top["function"] + " · " + top["process"])
    means_ms = {side: top[column] / 1000 for side, column in zip(sides, _MEANS, strict=True)}
    frame = top.assign(function=_labels(named), **means_ms)
    figure = px.bar(frame, y="function", x=list(sides), barmode="group", orientation="h")
    figure.update_traces(marker_color=None)
    figure.update_layout(xaxis_title="ms", yaxis_title="", yaxis_autorange="reversed")
    return _drawn(figure, title, height=_FRAME_PX + 2 * _ROW_PX * len(top))


def window(
    job: Job,
    *,
    since: Instant,
    until: Instant,
    events: Sequence[str] = (".*",),
    dimensions: Sequence[str] = (".*",),
) -> Figure:
    """Draw series, step durations and events between two instants over one time axis.

    Args:
        job: the job.
        since, until: the window.
        events: patterns of event names or phases; steps are events too.
        dimensions: patterns of metric names or dimensions (``GPUUtilization``, ``cpu0``).

    Thinned curves keep their extremes. The chart draws the ``MOST_EVENTS`` longest events and, of
    each worker, the ``MOST_STEPS`` longest steps; the title says how many there were.
    """
    from plotly.subplots import make_subplots

    samples = job.system_metrics(since=since, until=until)
    framework = job.framework_metrics(since=since, until=until)
    chosen = framework[rows_named(framework, ("framework_metric", "process"), events)]
    is_step = chosen["process"].str.startswith(STEP)
    is_series = rows_named(samples, ("system_metric", "dimension"), dimensions)
    panels: dict[str, list[_Trace]] = {}
    for panel, line in (
        *_curves(samples[is_series], job.origin_us),
        *_step_durations(chosen[is_step], job.origin_us),
        *_lanes(chosen[~is_step], job.origin_us),
    ):
        panels.setdefault(panel, []).append(line)
    heights = [
        _LANE_PX * max(len(traces), 2) if panel == _FUNCTIONS else _PANEL_PX
        for panel, traces in panels.items()
    ]
    figure = make_subplots(
        rows=len(panels) or 1,
        shared_xaxes=True,
        row_heights=heights or None,
        vertical_spacing=0.04 / max(len(panels) - 1, 1),
    )
    for row, (panel, traces) in enumerate(panels.items(), start=1):
        figure.add_traces(theme.resolved(traces), rows=row, cols=1)
        axis = {"autorange": "reversed"} if panel == _FUNCTIONS else {"rangemode": "tozero"}
        figure.update_yaxes(title_text=panel, row=row, **axis)
    edges_ns = [instant_ns(end, origin_us=job.origin_us) for end in (since, until)]
    figure.update_xaxes(type="date", range=[edge_ns / 1e6 for edge_ns in edges_ns])
    n_lines = sum(len(traces) for panel, traces in panels.items() if panel != _FUNCTIONS)
    figure.update_layout(barmode="overlay", hovermode="x", showlegend=n_lines <= _MOST_NAMED)
    remarks = [
        f"{n_drawn:,} of {n_there:,} {what} are drawn, the longest."
        for what, panel, n_there in (
            ("steps", _STEPS, is_step.sum()),
            ("events", _FUNCTIONS, (~is_step).sum()),
        )
        if (n_drawn := sum(len(trace["x"]) for trace in panels.get(panel, ()))) < n_there
    ]
    title = "<br>".join(["Functions, and how busy the machine was", *remarks])
    return _drawn(figure, title, height=sum(heights) + 150, top=104)


def _curves(samples: pd.DataFrame, origin_us: int) -> Iterator[tuple[str, _Trace]]:
    """Yield each series with the panel in which it belongs."""
    keys = ["type", "dimension", "nodeID", "system_metric"]
    groups = list(samples.groupby(keys, sort=True))
    colors = inks([f"{key[2]} {key[3]}" for key, _ in groups])
    for ((kind, dimension, node, metric), rows), ink in zip(groups, colors, strict=True):
        time_ns = (rows["timestamp_us"].to_numpy() + origin_us) * 1000
        curve = bucket_by_time(time_ns, rows["value"].to_numpy(dtype=np.float64))
        is_plain = np.array_equal(curve.low, curve.high)
        both = (curve.low,) if is_plain else (curve.low, curve.high)
        unit = "%" if kind in _PERCENT_TYPES else ""
        yield (
            plot_label(f"{dimension or metric} ({unit})" if unit else dimension or metric),
            {
                "type": "scatter",
                "mode": "lines",
                "name": plot_label(f"{node} {metric}"),
                "x": np.repeat(curve.first_ns, len(both)).astype("M8[ns]").astype("M8[us]"),
                "y": np.column_stack(both).ravel(),
                "line": {"color": theme.shade(ink.hue, ink.index), "dash": theme.dash(ink.index)},
                "hovertemplate": f"%{{y:,.4~g}} {unit}",
            },
        )


def _step_durations(steps: pd.DataFrame, origin_us: int) -> Iterator[tuple[str, _Trace]]:
    """Yield how long the steps of each worker took, at their starts; the slowest of many."""
    for worker, rows in steps.groupby("nodeID", sort=True):
        lasted_us = rows["end_time_us"] - rows["start_time_us"]
        drawn = rows.loc[lasted_us.nlargest(MOST_STEPS).index].sort_values("start_time_us")
        yield (
            _STEPS,
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": plot_label(f"{worker} steps"),
                "x": _dates(drawn["start_time_us"], origin_us),
                "y": lasted_us[drawn.index].to_numpy() / 1000,
                "text": [f"step {number}" for number in drawn["step"]],
                "hovertemplate": "%{text}: %{y:,.4~g} ms",
            },
        )


def _lanes(events: pd.DataFrame, origin_us: int) -> Iterator[tuple[str, _Trace]]:
    """Yield the events of the functions with most time, a lane each."""
    lasted_us = events["end_time_us"] - events["start_time_us"]
    drawn = events.loc[lasted_us.nlargest(MOST_EVENTS).index].sort_values("start_time_us")
    total = lasted_us.groupby(events["framework_metric"]).sum()
    names = total.sort_values(ascending=False, kind="stable").index[:MOST_LANES].tolist()
    for name, label, ink in zip(names, _labels(names), inks(names), strict=True):
        rows = drawn[drawn["framework_metric"] == name]
        yield (
            _FUNCTIONS,
            {
                "type": "bar",
                "orientation": "h",
                "name": label,
                "showlegend": False,
                "base": _dates(rows["start_time_us"], origin_us),
                "x": (rows["end_time_us"] - rows["start_time_us"]).to_numpy() / 1000,
                "y": [label] * len(rows),
                "marker": {"color": theme.shade(ink.hue, ink.index), "line": {"width": 0}},
                "hovertemplate": "%{x:,.4~g} ms",
            },
        )


def _dates(time_us: pd.Series, origin_us: int) -> NDArray[np.datetime64]:
    return np.asarray(time_us.to_numpy(dtype=np.int64) + origin_us, dtype="M8[us]")


def _cell_width_us(time_us: NDArray[np.int64]) -> int:
    """Return a width of 1, 2 or 5 times a power of ten seconds that gives few enough cells."""
    reach_us = int(time_us.max() - time_us.min()) if time_us.size else 0
    width_us = 1_000_000
    for factor in (2, 2.5, 2) * 6:
        if reach_us <= width_us * HEATMAP_CELLS:
            break
        width_us = round(width_us * factor)
    return width_us


def _histogram(title: str, groups: SeriesGroupBy, *, high: float, unit: str) -> Figure:
    import plotly.express as px

    edges = np.linspace(0.0, high, N_BINS + 1)
    found = [(name, np.histogram(values, bins=edges)[0]) for name, values in groups]
    labels = _labels(name for name, _ in found)
    counts = {label: count for label, (_, count) in zip(labels, found, strict=True)}
    if not labels:
        return _drawn(None, title)
    bars = px.bar({unit: edges[:-1], **counts}, x=unit, y=labels)
    bars.update_traces(offset=0, width=high / N_BINS, marker_color=None)
    return _drawn(bars.update_layout(yaxis_title="how often"), title)


def _labels(names: Iterable[object]) -> list[str]:
    return unique_labels([str(name) for name in names])


def _drawn(
    figure: Figure | None, title: str, *, height: int = 310, top: int = 64, **more: Any
) -> Figure:
    """Return a figure in the look of all charts; without any data it says so."""
    import plotly.graph_objects as go

    if figure is None or not figure.data:
        figure = go.Figure().update_xaxes(visible=False).update_yaxes(visible=False)
        figure.add_annotation(text="Nothing was recorded that this chart shows.", showarrow=False)
    known = figure.layout.to_plotly_json()
    look = layout(
        title={"text": title, **_AT_THE_TOP},
        height=height,
        margin={"l": 60, "r": 16, "t": top, "b": 40},
        hovermode=known.get("hovermode", "closest"),
    )
    return go.Figure(figure.data, theme.resolved({**known, **look, **more}))
