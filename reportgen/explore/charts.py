"""Charts for notebooks: each is an info object from frames, and a figure from the info.

``heatmap_info(samples)`` and the like hold the numbers, to look at and to test; ``figure(info)``
returns a ``plotly.graph_objects.Figure``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reportgen.explore.statistics import STEP
from reportgen.explore.window_figure import (
    Comparison,
    WindowPlot,
    comparison_figure,
    nothing_figure,
    window_figure,
)
from reportgen.explore.windows import window_info
from reportgen.profile.system import device_order
from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.views.charts.layout import ChartContext
from reportgen.views.exhibits import figure_of
from reportgen.views.theme import resolved
from reportgen.views.validation import has_shape

if TYPE_CHECKING:
    import pandas as pd
    from pandas.api.typing import SeriesGroupBy
    from plotly.graph_objects import Figure

__all__ = [
    "comparison_info", "duration_histogram_info", "figure", "heatmap_info", "is_empty",
    "share_info", "step_histogram_info", "utilization_histogram_info", "window_info",
]  # fmt: skip

Info = Exhibit | WindowPlot | Comparison

N_BINS = 50
HEATMAP_CELLS = 240
_UTILIZATION = ("GPUUtilization", "CPUUtilization")


def figure(info: Info, *, theme: str = "light") -> Figure:
    """Return the plotly figure of an info object of this module, ``light`` or ``dark``."""
    import plotly.graph_objects as go

    if is_empty(info):
        made = nothing_figure(info.title)
    elif isinstance(info, WindowPlot):
        made = window_figure(info)
    elif isinstance(info, Comparison):
        made = comparison_figure(info)
    else:
        made = figure_of(info, ChartContext(rule_id="explore", is_unix=True))
    return go.Figure(resolved(made, theme=theme))


def is_empty(info: Info) -> bool:
    """Return whether an info object holds nothing that a chart could show."""
    if isinstance(info, WindowPlot):
        return not (info.lines or info.lanes)
    if isinstance(info, Comparison):
        return not info.names
    return info.n_rows == 0 or not has_shape(info)


def share_info(rows: pd.DataFrame, *, by: str, value: str, title: str) -> Exhibit:
    """Return the share of each name of the column ``by`` in the sum of ``value``, as a pie.

    Of a value in µs (``total_us``) the pie names seconds.
    """
    sums = rows.groupby(by)[value].sum().sort_values(ascending=False, kind="stable")
    sums, unit = sums[sums > 0], "us" if value.endswith("_us") else ""
    return exhibit(
        "shares",
        ExhibitKind.SHARES,
        title=title,
        columns=[
            ("part", "", sums.index.tolist()),
            ("amount", unit, sums.tolist()),
            ("pct", "%", (100 * sums / sums.sum()).tolist()),
        ],
    )


def heatmap_info(
    samples: pd.DataFrame, *, origin_us: int, dimensions: Sequence[str] = _UTILIZATION
) -> Exhibit:
    """Return the mean utilization of each device over time, at most ``HEATMAP_CELLS`` cells a row.

    Args:
        samples: a SYSTEM frame, whose microseconds count from ``origin_us``.
        dimensions: what to show; devices of the first come first.
    """
    chosen = samples[samples["dimension"].isin(list(dimensions))]
    row = chosen["nodeID"].str.cat(chosen["system_metric"], sep=" ")
    time_us = chosen["timestamp_us"].to_numpy() + origin_us
    width_us = _cell_width_us(time_us)
    cell_us = time_us // width_us * width_us
    means = chosen["value"].groupby([chosen["dimension"], row, cell_us]).mean()
    keyed = sorted(
        means.items(),
        key=lambda item: (list(dimensions).index(item[0][0]), device_order(item[0][1]), item[0][2]),
    )
    return exhibit(
        "heatmap",
        ExhibitKind.HEATMAP,
        title="Utilization of each device over time",
        caption=f"Means of {width_us / 1e6:g} s.",
        columns=[
            ("row", "", [key[1] for key, _ in keyed]),
            ("time_s", "s", [key[2] / 1e6 for key, _ in keyed]),
            ("utilization_pct", "%", [value for _, value in keyed]),
        ],
    )


def utilization_histogram_info(
    samples: pd.DataFrame, *, dimension: str = "GPUUtilization", by: str = "nodeID"
) -> Exhibit:
    """Return how often each utilization was seen: 50 bins of 2 %, the last one with 100 %.

    Args:
        samples: a SYSTEM frame.
        dimension: ``GPUUtilization``, ``CPUUtilization``, ``GPUMemoryUtilization`` …
        by: column whose values become the groups, such as ``system_metric`` for each device.
    """
    chosen = samples[samples["dimension"] == dimension]
    groups = chosen["value"].groupby(chosen[by], sort=True)
    return _histogram(f"{dimension}: how often", groups, high=100.0, unit="%")


def step_histogram_info(events: pd.DataFrame, *, by: str = "process") -> Exhibit:
    """Return how often each step duration was seen, in 50 bins from 0 to the longest.

    Args:
        events: a FRAMEWORK frame; its step events count.
        by: ``process`` for the modes of training, ``nodeID`` for the workers.
    """
    steps = events[events["process"].str.startswith(STEP)]
    return duration_histogram_info(steps, by=by, title="Step durations: how often")


def duration_histogram_info(events: pd.DataFrame, *, by: str, title: str) -> Exhibit:
    """Return how often each duration of some events was seen, in 50 bins from 0 to the longest.

    The values of the column ``by`` of a FRAMEWORK frame become the groups.
    """
    lasted_ms = (events["end_time_us"] - events["start_time_us"]) / 1000
    high = (float(lasted_ms.max()) if len(lasted_ms) else 0.0) or 1.0
    return _histogram(title, lasted_ms.groupby(events[by], sort=True), high=high, unit="ms")


def comparison_info(
    joined: pd.DataFrame, *, sides: tuple[str, str], n: int = 15, title: str = "Mean time"
) -> Comparison:
    """Return the ``n`` functions of ``explore.compare`` with the largest increase, as bars.

    ``sides`` says what the two sides are: ``("outlier steps", "normal steps")``.
    """
    top = joined.head(n)
    left, right = (
        tuple(None if np.isnan(value) else value / 1000 for value in top[column])
        for column in ("mean_us", "mean_us_other")
    )
    is_shared = top["function"].duplicated(keep=False)
    named = top["function"].where(~is_shared, top["function"] + " · " + top["process"])
    return Comparison(title=title, unit="ms", names=tuple(named), sides=sides, values=(left, right))


def _cell_width_us(time_us: NDArray[np.int64]) -> int:
    """Return a width of 1, 2 or 5 times a power of ten seconds that gives few enough cells."""
    reach_us = int(time_us.max() - time_us.min()) if time_us.size else 0
    width_us = 1_000_000
    for factor in (2, 2.5, 2) * 6:
        if reach_us <= width_us * HEATMAP_CELLS:
            break
        width_us = round(width_us * factor)
    return width_us


def _histogram(title: str, groups: SeriesGroupBy, *, high: float, unit: str) -> Exhibit:
    edges = np.linspace(0.0, high, N_BINS + 1)
    return exhibit(
        re.sub(r"\W+", "-", title.lower()).strip("-"),
        ExhibitKind.HISTOGRAM,
        title=title,
        columns=[
            ("bin_start", unit, edges[:-1]),
            ("bin_end", unit, edges[1:]),
            *(
                (str(name), "", np.histogram(values, bins=N_BINS, range=(0.0, high))[0])
                for name, values in groups
            ),
        ],
    )
