"""A figure's two written forms: plotly's own for Jupyter, and a smaller one for the page.

In the page's form every distinct array appears once in a ``pool``, as its type, its bytes in
base64, and the scale and offset of its numbers; ``{"pool": 3}`` names it, ``{"outline": "x", "of":
[0, 2, 3]}`` and ``{"pairs": [2, 3]}`` are worked out by the page's script
(``templates/script/charts.js``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reportgen.views.charts.arrays import (
    Numbers,
    Outline,
    Pairs,
    float32,
    float64,
    matrix32,
    outline,
)
from reportgen.views.charts.layout import Figure
from reportgen.views.theme import mapped
from reportgen.views.values import plotly_date

_DATE_KEYS = {"bar": ("base",), "scatter": ("x",), "heatmap": ("x",), "box": ("x",)}
"""Where a trace holds instants; a span's ``x`` is its length."""


def plotly_form(figure: Figure) -> Figure:
    """Return a figure as plotly's JSON schema has it: typed arrays in base64.

    Instants are texts: a number on a date axis is an instant in the browser's zone to plotly, and
    its label says UTC.
    """
    dates = {
        key.replace("axis", "")
        for key, part in figure["layout"].items()
        if isinstance(part, dict) and part.get("type") == "date"
    }
    traces = [
        _with_dates(trace) if trace.get("xaxis", "x") in dates else trace
        for trace in figure["data"]
    ]
    made: Figure = mapped({**figure, "data": traces}, _for_plotly)
    return made


def _with_dates(trace: dict[str, Any]) -> dict[str, Any]:
    keys = _DATE_KEYS.get(trace["type"], ())
    return {**trace, **{key: _dated(trace[key]) for key in keys if key in trace}}


def _dated(node: Any) -> list[str | None]:
    if isinstance(node, Outline):
        xs, _ = outline(node.time_x.tolist(), node.low.tolist(), node.high.tolist())
    else:
        xs = node.tolist() if isinstance(node, Numbers) else list(node)
    return [None if at is None else plotly_date(at) for at in xs]


def page_form(figure: Figure) -> Figure:
    """Return a figure with a pool of arrays, each of them once."""
    pool: dict[Numbers, int] = {}

    def place(item: Numbers) -> int:
        return pool.setdefault(item, len(pool))

    def pooled(node: Any) -> Any:
        if isinstance(node, Numbers):
            columns = {"columns": node.n_columns} if node.n_columns else {}
            return {"pool": place(node), **columns}
        if isinstance(node, Outline):
            of = [place(item) for item in (node.time_x, node.low, node.high)]
            return {"outline": node.side, "of": of}
        return {"pairs": [place(node.low), place(node.high)]} if isinstance(node, Pairs) else node

    written = mapped(figure, pooled)
    arrays = [[item.dtype, item.base64, item.scale, item.offset] for item in pool]
    return {**written, "pool": arrays}


def _for_plotly(node: Any) -> Any:
    if isinstance(node, Numbers):
        return _typed_array(node)
    if isinstance(node, Outline):
        xs, ys = outline(node.time_x.tolist(), node.low.tolist(), node.high.tolist())
        return _typed_array(float64(xs) if node.side == "x" else float32(ys))
    if isinstance(node, Pairs):
        return _typed_array(matrix32(list(zip(node.low.tolist(), node.high.tolist(), strict=True))))
    return node


def _typed_array(item: Numbers) -> dict[str, str]:
    if item.dtype == "u2":
        item = replace(float32(item.tolist()), n_columns=item.n_columns)
    elif item.dtype == "u4":
        item = float64(item.tolist())
    written = {"dtype": item.dtype, "bdata": item.base64}
    if item.n_columns:
        n_rows = len(item.data) // 4 // item.n_columns
        written["shape"] = f"{n_rows}, {item.n_columns}"
    return written
