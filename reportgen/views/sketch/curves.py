"""Lines, steps, points and envelopes of a sketch: few points, extremes kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from reportgen.views.charts.arrays import Outline
from reportgen.views.sketch.place import Mark, Place, Trace, list_of

MOST_POINTS = 140
_MOST_DOTS = 240


def curve_marks(trace: Trace, place: Place) -> list[Mark]:
    """Draw a ``scatter`` trace: a line, steps, points, or the outline of an envelope."""
    if isinstance(trace["x"], Outline):
        return _envelope(trace, place)
    points = zip(list_of(trace["x"]), list_of(trace["y"]), strict=True)
    if trace.get("mode") == "markers":
        return _dots(trace, place)
    line = trace["line"]
    is_steps = line.get("shape") == "hv"
    paths = []
    for run in _runs(points):
        drawn = run if is_steps or len(run) <= MOST_POINTS else list(_thinned(run))
        paths.append(_steps(drawn, place) if is_steps else _line(drawn, place))
    is_dashed = line.get("dash", "solid") != "solid"
    fill = trace["fillcolor"] if trace.get("fill") == "toself" else ""
    return [Mark(path="".join(paths), fill=fill, stroke=line["color"], is_dashed=is_dashed)]


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
        for run in _runs(zip(list_of(trace["x"]), list_of(trace["y"]), strict=True))
        for point in run
    ]
    spots = dict.fromkeys((round(place.x(x)), round(place.y(y))) for x, y in points)
    path = "".join(f"M{x - 2} {y}l2-2 2 2-2 2z" for x, y in list(spots)[:_MOST_DOTS])
    return [Mark(path=path, fill=trace["marker"]["color"])]


def _envelope(trace: Trace, place: Place) -> list[Mark]:
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
    """Return where a bucket begins, its lowest and its highest value, if it has any."""
    lows = [low for _, low, _ in rows if low is not None]
    highs = [high for _, _, high in rows if high is not None]
    at = rows[0][0]
    return None if at is None or not lows or not highs else (at, min(lows), max(highs))
