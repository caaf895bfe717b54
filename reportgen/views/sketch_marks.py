"""What a trace of plotly's looks like in a sketch: paths in pixels, few points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reportgen.views.charts.arrays import Numbers, Outline

MOST_POINTS = 140
MOST_PIECES = 240
MOST_COLUMNS, MOST_ROWS = 72, 64
_SHADES = 6

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
class Place:
    """A panel: the values at its edges, and the pixels they lie at."""

    x_limits: tuple[float, float]
    y_limits: tuple[float, float]
    left_px: int
    right_px: int
    top_px: int
    bottom_px: int

    def x(self, value: float) -> float:
        """Return the pixel of a value on the x axis."""
        low, high = self.x_limits
        return self.left_px + (value - low) / (high - low) * (self.right_px - self.left_px)

    def y(self, value: float) -> float:
        """Return the pixel of a value on the y axis."""
        low, high = self.y_limits
        return self.bottom_px - (value - low) / (high - low) * (self.bottom_px - self.top_px)

    @property
    def frame(self) -> Mark:
        """Return the panel's ground line and left edge."""
        path = f"M{self.left_px} {self.top_px}V{self.bottom_px}H{self.right_px}"
        return Mark(path=path, stroke="var(--rg-line)")


def values_of(trace: Trace, side: str) -> list[float]:
    """Return the values of a trace along an axis, ``x`` or ``y``, as far as its marks reach."""
    kind = trace["type"]
    if kind == "box":
        keys = ("lowerfence", "upperfence") if side == "x" else ("y",)
        return [value for key in keys for value in _present(trace[key])]
    if kind == "bar" and side == "x":
        return [edge for bar in _bars(trace) for edge in bar[:2]]
    if kind == "heatmap" and side == "y":
        return []
    return _present(trace[side])


def marks_of(trace: Trace, place: Place) -> list[Mark]:
    """Return what a trace looks like; nothing for a kind that is not known."""
    return _DRAW.get(trace["type"], lambda *_: [])(trace, place)


def _list(node: Any) -> Values:
    if isinstance(node, Numbers):
        return node.tolist()
    if isinstance(node, Outline):
        return (node.time_x if node.side == "x" else node.high).tolist()
    return list(node)


def _present(node: Any) -> list[float]:
    return [float(value) for value in _list(node) if value is not None]


def _lines(trace: Trace, place: Place) -> list[Mark]:
    if isinstance(trace["x"], Outline):
        return _envelope(trace, place)
    points = zip(_list(trace["x"]), _list(trace["y"]), strict=True)
    if trace.get("mode") == "markers":
        return _dots(trace, place)
    line = trace["line"]
    is_steps = line.get("shape") == "hv"
    paths = []
    for run in _runs(points):
        drawn = run if is_steps or len(run) <= MOST_POINTS else list(_thinned(run))
        paths.append(_steps(drawn, place) if is_steps else _line(drawn, place))
    is_dashed = line.get("dash", "solid") != "solid"
    return [Mark(path="".join(paths), stroke=line["color"], is_dashed=is_dashed)]


def _runs(points: Any) -> Iterator[list[tuple[float, float]]]:
    """Yield the stretches between absent values."""
    run: list[tuple[float, float]] = []
    for x, y in points:
        if x is None or y is None:
            if run:
                yield run
            run = []
        else:
            run.append((x, y))
    if run:
        yield run


def _thinned(run: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Keep the lowest and the highest point of each bucket, in their order."""
    size = -(-2 * len(run) // MOST_POINTS)
    for start in range(0, len(run), size):
        bucket = run[start : start + size]
        ends = {min(bucket, key=lambda point: point[1]), max(bucket, key=lambda point: point[1])}
        yield from sorted(ends)


def _line(run: Sequence[tuple[float, float]], place: Place) -> str:
    points = [f"{place.x(x):.0f} {place.y(y):.0f}" for x, y in run]
    return f"M{points[0]}L{' '.join(points[1:])}" if len(points) > 1 else f"M{points[0]}h1"


def _steps(run: Sequence[tuple[float, float]], place: Place) -> str:
    (x, y), *rest = run
    tail = "".join(f"H{place.x(x):.0f}V{place.y(y):.0f}" for x, y in rest)
    return f"M{place.x(x):.0f} {place.y(y):.0f}{tail}"


def _dots(trace: Trace, place: Place) -> list[Mark]:
    points = [
        point
        for run in _runs(zip(_list(trace["x"]), _list(trace["y"]), strict=True))
        for point in run
    ]
    spots = dict.fromkeys((round(place.x(x)), round(place.y(y))) for x, y in points)
    path = "".join(f"M{x - 2} {y}l2-2 2 2-2 2z" for x, y in list(spots)[:MOST_PIECES])
    return [Mark(path=path, fill=trace["marker"]["color"])]


def _envelope(trace: Trace, place: Place) -> list[Mark]:
    outline = trace["x"]
    columns = (outline.time_x.tolist(), outline.low.tolist(), outline.high.tolist())
    rows = list(zip(*columns, strict=True))
    size = max(1, -(-2 * len(rows) // MOST_POINTS))
    there = [
        (x, (low, high))
        for start in range(0, len(rows), size)
        for x, low, high in [_reach(rows[start : start + size])]
    ]
    paths = []
    for run in _runs((x, None if pair[0] is None else pair) for x, pair in there):
        tops = [f"{place.x(x):.0f} {place.y(pair[1]):.0f}" for x, pair in run]  # type: ignore[index]  # pairs, see above
        floor = [f"{place.x(x):.0f} {place.y(pair[0]):.0f}" for x, pair in reversed(run)]  # type: ignore[index]  # pairs
        paths.append(f"M{' '.join([*tops, *floor])}z")
    return [Mark(path="".join(paths), fill=trace["fillcolor"])]


def _reach(
    rows: Sequence[tuple[float | None, float | None, float | None]],
) -> tuple[float | None, float | None, float | None]:
    low = [row[1] for row in rows if row[1] is not None]
    high = [row[2] for row in rows if row[2] is not None]
    return rows[0][0], min(low, default=None), max(high, default=None)


def _bars(trace: Trace) -> list[tuple[float, float, float, float]]:
    """Return x from, x to, y from, y to of each bar."""
    xs, ys = _list(trace["x"]), _list(trace["y"])
    if trace.get("orientation") == "h":
        starts, width = _list(trace["base"]), trace["width"]
        rows = zip(starts, xs, ys, strict=True)
        return [
            (start, start + length, y - width / 2, y + width / 2)
            for start, length, y in rows
            if start is not None and length is not None and y is not None
        ]
    rows = zip(xs, _list(trace["width"]), ys, strict=True)
    return [
        (x - width / 2, x + width / 2, 0.0, y)
        for x, width, y in rows
        if x is not None and width is not None and y is not None
    ]


def _rectangles(trace: Trace, place: Place) -> list[Mark]:
    boxes = dict.fromkeys(
        (
            round(place.x(x0)),
            max(1, round(place.x(x1)) - round(place.x(x0))),
            min(round(place.y(y0)), round(place.y(y1))),
            abs(round(place.y(y0)) - round(place.y(y1))),
        )
        for x0, x1, y0, y1 in _bars(trace)
    )
    longest = sorted(boxes, key=lambda box: -box[1])[:MOST_PIECES]
    path = "".join(_rectangle(*box) for box in longest)
    return [Mark(path=path, fill=trace["marker"]["color"])]


def _rectangle(x: int, width: int, y: int, height: int) -> str:
    return f"M{x} {y}h{width}v{height}h{-width}z"


def _box(trace: Trace, place: Place) -> list[Mark]:
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


def _heatmap(trace: Trace, place: Place) -> list[Mark]:
    """Draw coarse cells, each the mean of those it covers; one path per shade."""
    matrix: Numbers = trace["z"]
    flat, n_columns = matrix.tolist(), matrix.n_columns
    n_rows = len(flat) // n_columns
    step, tall = -(-n_columns // MOST_COLUMNS), -(-n_rows // MOST_ROWS)
    top = trace.get("zmax") or max((value for value in flat if value is not None), default=0) or 1
    paths: dict[int, list[str]] = {}
    for row in range(0, n_rows, tall):
        y0, y1 = sorted((round(place.y(row - 0.5)), round(place.y(min(row + tall, n_rows) - 0.5))))
        for column in range(0, n_columns, step):
            mean = _mean(flat, n_columns, range(row, min(row + tall, n_rows)), column, step)
            if mean is None:
                continue
            x0, x1 = (_edge(place, n_columns, at) for at in (column, column + step))
            shade = min(_SHADES - 1, int(mean / top * (_SHADES - 1) + 0.5))
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


_DRAW: Mapping[str, Callable[[Trace, Place], list[Mark]]] = {
    "scatter": _lines,
    "bar": _rectangles,
    "box": _box,
    "heatmap": _heatmap,
}
