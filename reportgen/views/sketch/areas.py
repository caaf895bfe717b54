"""Bars, boxes and cells of a sketch."""

from __future__ import annotations

import math

from reportgen.views.charts.arrays import Numbers
from reportgen.views.sketch.place import Mark, Place, Trace, Values, list_of

_MOST_BARS = 240
_MOST_COLUMNS, _MOST_ROWS = 72, 64
_SHADES = 6


def bars_of(trace: Trace) -> list[tuple[float, float, float, float]]:
    """Return x from, x to, y from, y to of each bar."""
    xs, ys = list_of(trace["x"]), list_of(trace["y"])
    if trace.get("orientation") == "h":
        starts, width = list_of(trace["base"]), trace["width"]
        rows = zip(starts, xs, ys, strict=True)
        return [
            (start, start + length, y - width / 2, y + width / 2)
            for start, length, y in rows
            if start is not None and length is not None and y is not None
        ]
    rows = zip(xs, list_of(trace["width"]), ys, strict=True)
    return [
        (x - width / 2, x + width / 2, 0.0, y)
        for x, width, y in rows
        if x is not None and width is not None and y is not None
    ]


def bar_marks(trace: Trace, place: Place) -> list[Mark]:
    """Draw a ``bar`` trace, the longest bars where there are very many."""
    boxes = dict.fromkeys(
        (
            round(place.x(x0)),
            max(1, round(place.x(x1)) - round(place.x(x0))),
            min(round(place.y(y0)), round(place.y(y1))),
            abs(round(place.y(y0)) - round(place.y(y1))),
        )
        for x0, x1, y0, y1 in bars_of(trace)
    )
    longest = sorted(boxes, key=lambda box: -box[1])[:_MOST_BARS]
    path = "".join(_rectangle(*box) for box in longest)
    return [Mark(path=path, fill=trace["marker"]["color"])]


def _rectangle(x: int, width: int, y: int, height: int) -> str:
    return f"M{x} {y}h{width}v{height}h{-width}z"


def box_marks(trace: Trace, place: Place) -> list[Mark]:
    """Draw a ``box`` trace."""
    keys = ("lowerfence", "q1", "median", "q3", "upperfence")
    if any(trace[key][0] is None for key in keys):
        return []
    lower, q1, median, q3, upper = (round(place.x(trace[key][0])) for key in keys)
    y, half = trace["y"][0], trace["width"] / 2
    top, bottom = sorted((round(place.y(y - half)), round(place.y(y + half))))
    middle = (top + bottom) // 2
    path = (
        f"M{lower} {middle}H{q1}M{q3} {middle}H{upper}M{q1} {top}H{q3}V{bottom}H{q1}z"
        f"M{median} {top}V{bottom}"
    )
    return [Mark(path=path, fill=trace["fillcolor"], stroke=trace["line"]["color"])]


def cell_marks(trace: Trace, place: Place) -> list[Mark]:
    """Draw coarse cells, each the mean of those it covers; one path per shade."""
    matrix: Numbers = trace["z"]
    flat, n_columns = matrix.tolist(), matrix.n_columns
    n_rows = len(flat) // n_columns
    step, tall = -(-n_columns // _MOST_COLUMNS), -(-n_rows // _MOST_ROWS)
    top = trace.get("zmax") or max((value for value in flat if value is not None), default=0) or 1
    paths: dict[int, list[str]] = {}
    for row in range(0, n_rows, tall):
        y0, y1 = sorted((round(place.y(row - 0.5)), round(place.y(min(row + tall, n_rows) - 0.5))))
        for column in range(0, n_columns, step):
            mean = _mean(flat, n_columns, range(row, min(row + tall, n_rows)), column, step)
            if mean is None or not math.isfinite(mean / top):
                continue
            x0, x1 = (_edge(place, n_columns, at) for at in (column, column + step))
            shade = int(min(max(mean / top, 0.0), 1.0) * (_SHADES - 1) + 0.5)
            paths.setdefault(shade, []).append(_rectangle(x0, x1 - x0, y0, max(1, y1 - y0)))
    return [Mark(path="".join(path), fill=f"var(--rg-scale-{k})") for k, path in paths.items()]


def _mean(flat: Values, n_columns: int, rows: range, column: int, step: int) -> float | None:
    cells = [
        value
        for row in rows
        for value in flat[
            row * n_columns + column : row * n_columns + min(column + step, n_columns)
        ]
        if value is not None
    ]
    return sum(cells) / len(cells) if cells else None


def _edge(place: Place, n_columns: int, column: int) -> int:
    return round(
        place.left_px + min(column, n_columns) / n_columns * (place.right_px - place.left_px)
    )
