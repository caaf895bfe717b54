"""Form of a plotly trace in a sketch: paths of SVG in a panel, by its type."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

from reportgen.views.charts.arrays import Numbers, Outline

Trace = Mapping[str, Any]
Values = list[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A path of SVG; colours are tokens, an empty one paints nothing."""

    path: str
    fill: str = ""
    stroke: str = ""
    is_dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotArea:
    """A panel: the values at its edges, and the pixels they lie at."""

    x_limits: tuple[float, float]
    y_limits: tuple[float, float]
    left_px: int
    right_px: int
    top_px: int
    bottom_px: int

    def x(self, value: float) -> float:
        """Return the pixel of a value on the x axis."""
        return self.left_px + _share(value, self.x_limits) * (self.right_px - self.left_px)

    def y(self, value: float) -> float:
        """Return the pixel of a value on the y axis."""
        return self.bottom_px - _share(value, self.y_limits) * (self.bottom_px - self.top_px)

    @property
    def frame(self) -> Mark:
        """Return the panel's ground line and left edge."""
        path = f"M{self.left_px} {self.top_px}V{self.bottom_px}H{self.right_px}"
        return Mark(path=path, stroke="var(--rg-line)")


def _share(value: float, limits: tuple[float, float]) -> float:
    """Return where a value lies between limits; a value far outside lies one panel beside them."""
    low, high = limits
    return min(max((value - low) / (high - low), -1.0), 2.0)


def list_of(node: Any) -> Values:
    """Return values that a trace holds packed, as an outline or plain."""
    if isinstance(node, Numbers):
        return node.tolist()
    if isinstance(node, Outline):
        return (node.time_x if node.side == "x" else node.high).tolist()
    return list(node)


def present(node: Any) -> list[float]:
    """Return the values that are there."""
    return [float(value) for value in list_of(node) if value is not None]


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


def bar_marks(trace: Trace, place: PlotArea) -> list[Mark]:
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


def box_marks(trace: Trace, place: PlotArea) -> list[Mark]:
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


def cell_marks(trace: Trace, place: PlotArea) -> list[Mark]:
    """Draw coarse cells, each the mean of those it covers; one path per shade."""
    matrix: Numbers = trace["z"]
    flat, n_columns = matrix.tolist(), matrix.n_columns
    n_rows = len(flat) // n_columns
    step, tall = -(-n_columns // _MOST_COLUMNS), -(-n_rows // _MOST_ROWS)
    top = trace.get("zmax") or max((value for value in flat if value is not None), default=0) or 1
    width_px = place.right_px - place.left_px
    paths: dict[int, list[str]] = {}
    for row in range(0, n_rows, tall):
        y0, y1 = sorted((round(place.y(row - 0.5)), round(place.y(min(row + tall, n_rows) - 0.5))))
        for column in range(0, n_columns, step):
            mean = _mean(flat, n_columns, range(row, min(row + tall, n_rows)), column, step)
            if mean is None or not math.isfinite(mean / top):
                continue
            ends = (min(at, n_columns) / n_columns for at in (column, column + step))
            x0, x1 = (round(place.left_px + end * width_px) for end in ends)
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


MOST_POINTS = 140
_MOST_DOTS = 240


def curve_marks(trace: Trace, place: PlotArea) -> list[Mark]:
    """Draw a ``scatter`` trace: a line, steps, points, or the outline of an envelope."""
    if isinstance(trace["x"], Outline):
        return _envelope(trace, place)
    runs = _runs(zip(list_of(trace["x"]), list_of(trace["y"]), strict=True))
    if trace.get("mode") == "markers":
        return [_dots(trace, chain.from_iterable(runs), place)]
    line = trace["line"]
    is_steps = line.get("shape") == "hv"
    paths = []
    for run in runs:
        drawn = run if is_steps or len(run) <= MOST_POINTS else list(_thinned(run))
        paths.append(_steps(drawn, place) if is_steps else _line(drawn, place))
    is_dashed = line.get("dash", "solid") != "solid"
    fill = trace["fillcolor"] if trace.get("fill") == "toself" else ""
    return [Mark(path="".join(paths), fill=fill, stroke=line["color"], is_dashed=is_dashed)]


def _runs(points: Any) -> Iterator[list[tuple[float, float]]]:
    for is_there, group in groupby(points, key=lambda point: None not in point):
        if is_there:
            yield [(x, y) for x, y in group if x is not None and y is not None]


def _thinned(run: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    size = -(-2 * len(run) // MOST_POINTS)
    for start in range(0, len(run), size):
        bucket = run[start : start + size]
        ends = {min(bucket, key=lambda point: point[1]), max(bucket, key=lambda point: point[1])}
        yield from sorted(ends)


def _line(run: Sequence[tuple[float, float]], place: PlotArea) -> str:
    points = [f"{place.x(x):.0f} {place.y(y):.0f}" for x, y in run]
    return f"M{points[0]}L{' '.join(points[1:])}" if len(points) > 1 else f"M{points[0]}h1"


def _steps(run: Sequence[tuple[float, float]], place: PlotArea) -> str:
    (x, y), *rest = run
    tail = "".join(f"H{place.x(x):.0f}V{place.y(y):.0f}" for x, y in rest)
    return f"M{place.x(x):.0f} {place.y(y):.0f}{tail}"


def _dots(trace: Trace, points: Iterable[tuple[float, float]], place: PlotArea) -> Mark:
    spots = dict.fromkeys((round(place.x(x)), round(place.y(y))) for x, y in points)
    path = "".join(f"M{x - 2} {y}l2-2 2 2-2 2z" for x, y in list(spots)[:_MOST_DOTS])
    return Mark(path=path, fill=trace["marker"]["color"])


def _envelope(trace: Trace, place: PlotArea) -> list[Mark]:
    outline = trace["x"]
    columns = (outline.time_x.tolist(), outline.low.tolist(), outline.high.tolist())
    rows = list(zip(*columns, strict=True))
    size = max(1, -(-2 * len(rows) // MOST_POINTS))
    reaches = [_reach(rows[start : start + size]) for start in range(0, len(rows), size)]
    paths = []
    for _, group in groupby(reaches, key=bool):
        run = [reach for reach in group if reach]
        tops = [f"{place.x(x):.0f} {place.y(high):.0f}" for x, _, high in run]
        floor = [f"{place.x(x):.0f} {place.y(low):.0f}" for x, low, _ in reversed(run)]
        paths += [f"M{' '.join([*tops, *floor])}z"] if run else []
    return [Mark(path="".join(paths), fill=trace["fillcolor"])]


def _reach(
    rows: Sequence[tuple[float | None, float | None, float | None]],
) -> tuple[float, float, float] | None:
    lows = [low for _, low, _ in rows if low is not None]
    highs = [high for _, _, high in rows if high is not None]
    at = rows[0][0]
    return None if at is None or not lows or not highs else (at, min(lows), max(highs))


HATCHED = "url(#hatched)"
"""Stripes over a colour, as the picture's template defines them."""


def sector_marks(trace: Trace, *, radius_px: float, middle_px: float) -> list[Mark]:
    """Draw a ``pie`` trace, clockwise from twelve o'clock.

    Each arc is drawn in two halves: one whose ends are the same point would be none.
    """
    values, marker = trace["values"], trace["marker"]
    edge = marker["line"]["color"]
    total, done = sum(values), 0.0

    def at(share: float) -> str:
        angle = math.tau * share
        x = middle_px + radius_px * math.sin(angle)
        y = middle_px - radius_px * math.cos(angle)
        return f"{x:.1f} {y:.1f}"

    marks = []
    for value, colour, pattern in zip(
        values, marker["colors"], marker["pattern"]["shape"], strict=True
    ):
        share = value / total
        arcs = "".join(
            f"A{radius_px:g} {radius_px:g} 0 0 1 {at(done + part * share)}" for part in (0.5, 1)
        )
        if len(values) == 1:
            marks.append(Mark(path=f"M{at(done)}{arcs}z", fill=colour))
        else:
            path = f"M{middle_px:g} {middle_px:g}L{at(done)}{arcs}z"
            marks.append(Mark(path=path, fill=colour, stroke=edge))
            if pattern:
                marks.append(Mark(path=path, fill=HATCHED))
        done += share
    return marks


_DRAW: Mapping[str, Callable[[Trace, PlotArea], list[Mark]]] = {
    "scatter": curve_marks,
    "bar": bar_marks,
    "box": box_marks,
    "heatmap": cell_marks,
}


def values_of(trace: Trace, side: str) -> list[float]:
    """Return the values of a trace along an axis, ``x`` or ``y``, as far as its marks reach."""
    kind = trace["type"]
    if kind == "box":
        keys = ("lowerfence", "upperfence") if side == "x" else ("y",)
        return [value for key in keys for value in present(trace[key])]
    if kind == "bar" and side == "x":
        return [edge for bar in bars_of(trace) for edge in bar[:2]]
    if kind == "heatmap" and side == "y":
        return []
    return present(trace[side])


def marks_of(trace: Trace, place: PlotArea) -> list[Mark]:
    """Return the form of a trace; nothing for a kind that is not known."""
    draw = _DRAW.get(trace["type"])
    return draw(trace, place) if draw else []
