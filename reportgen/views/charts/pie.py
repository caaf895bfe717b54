"""The pie of a whole's parts: sectors from twelve o'clock on, each with its name where it fits.

The page draws it at one size, so the place of every name is worked out here: a name lies within
its own sector or is left to the legend, and no two names can meet.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reportgen.text_safety import cut_middle
from reportgen.views.charts.layout import Drawing, layout
from reportgen.views.charts.shares import SharePart
from reportgen.views.theme import N_SHADES, on, shade
from reportgen.views.values import plot_label, unique_labels

SIZE_PX = 192
RADIUS_PX = 94.0
FONT_PX = 11
LINE_PX = 13
_NARROW, _WIDE = frozenset("ijlftrI.,:;|'!()[]/- "), frozenset("mwMW%@…")
_NARROW_PX, _WIDE_PX, _CAPITAL_PX, _LETTER_PX = 4.2, 10.2, 7.7, 6.8
"""Widths in DejaVu Sans at that size, the widest of the page's fonts: a name fits in all."""
_INSET_PX = 4.0
_LONGEST_LINE, _MOST_LINES = 16, 3
_SHORT_NAMES = (14, 10)
_STEPS = 24
_ACROSS = (-0.5, -0.25, 0.0, 0.25, 0.5)
_PIECES = re.compile(r"[^\s_:./-]*[_:./-]+|[^\s_:./-]+|\s+")
_MOST_NAMED, _LONGEST_HOVER = 4, 90
_TEXT = "var(--rg-text)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sector:
    """A part's sector, clockwise from twelve o'clock, in radians."""

    start: float
    end: float

    @property
    def is_whole(self) -> bool:
        """Return whether it is the only one: it then has no sides."""
        return self.end - self.start >= math.tau - 1e-9

    def holds(self, x: float, y: float) -> bool:
        """Return whether a point lies in it and keeps away from its sides, y downwards."""
        if math.hypot(x, y) > RADIUS_PX - _INSET_PX:
            return False
        if self.is_whole:
            return True
        angle = (math.atan2(x, -y) - self.start) % math.tau
        return angle <= self.end - self.start and all(
            _distance(x, y, side) >= _INSET_PX for side in (self.start, self.end)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A sector's name and share in lines, and where their middle lies from the pie's, in px."""

    lines: tuple[str, ...]
    x: float
    y: float


def draw(parts: Sequence[SharePart], *, title: str) -> Drawing | None:
    """Return the pie of some parts; ``None`` where none of them is larger than nothing."""
    shown = [part for part in parts if part.width_pct > 0]
    if not shown:
        return None
    whole = sum(part.width_pct for part in shown)
    labels = [
        (part, label_of(part, sector))
        for part, sector in zip(shown, _sectors(shown, whole), strict=True)
    ]
    return Drawing(
        figure={
            "data": [_trace(shown)],
            "layout": layout(
                margin=dict.fromkeys("lrtb", SIZE_PX / 2 - RADIUS_PX),
                showlegend=False,
                legend={"x": 1.05, "y": 0.5, "yanchor": "middle", "font": {"color": _TEXT}},
                annotations=[_annotation(part, label) for part, label in labels if label],
            ),
        },
        height_px=SIZE_PX,
        alt=_said(shown, title),
    )


def label_of(part: SharePart, sector: Sector) -> Label | None:
    """Return a part's name and share within its sector, the name shortened where it must be.

    Edge cases: a narrow sector has its share alone, one that is too narrow for it nothing.
    """
    for lines in _wordings(part):
        places = [place for place in _places(sector) if _fits(sector, *place, lines)]
        if places:
            x, y = places[len(places) // 2]
            return Label(lines=lines, x=round(x, 1), y=round(y, 1))
    return None


def _sectors(parts: Sequence[SharePart], whole: float) -> Iterator[Sector]:
    start = 0.0
    for part in parts:
        end = start + math.tau * part.width_pct / whole
        yield Sector(start=start, end=end)
        start = end


def _places(sector: Sector) -> Iterator[tuple[float, float]]:
    """Yield points of a sector's middle line, from the pie's middle outwards."""
    if sector.is_whole:
        yield 0.0, 0.0
        return
    angle = (sector.start + sector.end) / 2
    for step in range(1, _STEPS):
        reach = RADIUS_PX * step / _STEPS
        yield reach * math.sin(angle), -reach * math.cos(angle)


def _fits(sector: Sector, x: float, y: float, lines: Sequence[str]) -> bool:
    """Return whether centred lines lie in a sector: points along the top and foot of each do."""
    first = y - (len(lines) - 1) / 2 * LINE_PX
    return all(
        sector.holds(x + across * _width_px(line), first + at * LINE_PX + down * FONT_PX)
        for at, line in enumerate(lines)
        for across in _ACROSS
        for down in (-0.5, 0.5)
    )


def _width_px(text: str) -> float:
    return sum(
        _NARROW_PX
        if letter in _NARROW
        else _WIDE_PX
        if letter in _WIDE
        else _CAPITAL_PX
        if letter.isupper()
        else _LETTER_PX
        for letter in text
    )


def _distance(x: float, y: float, angle: float) -> float:
    along = x * math.sin(angle) - y * math.cos(angle)
    across = x * math.cos(angle) + y * math.sin(angle)
    return abs(across) if along > 0 else math.hypot(x, y)


def _wordings(part: SharePart) -> Iterator[tuple[str, ...]]:
    """Yield the lines of a label: the whole name, the name shortened, the share alone."""
    name, share = part.name.text, part.pct.text
    found = {
        lines
        for width in range(_LONGEST_LINE, 5, -1)
        if (lines := _wrapped(name, width)) and len(lines) <= _MOST_LINES
    }
    for lines in sorted(found, key=lambda lines: (len(lines), max(map(len, lines)))):
        yield *lines, share
    for most in _SHORT_NAMES:
        if len(name) > most:
            yield cut_middle(name, most), share
    yield (share,)


def _wrapped(name: str, width: int) -> tuple[str, ...]:
    """Break a name after spaces and punctuation; nothing where a piece is wider than a line."""
    lines = [""]
    for piece in _PIECES.findall(name):
        if len((lines[-1] + piece).rstrip()) <= width:
            lines[-1] += piece
        else:
            lines.append(piece.lstrip())
    made = tuple(line.strip() for line in lines if line.strip())
    return made if all(len(line) <= width for line in made) else ()


def _trace(parts: Sequence[SharePart]) -> dict[str, object]:
    colours = [part.colour.colour for part in parts]
    return {
        "type": "pie",
        "values": [part.width_pct for part in parts],
        "labels": unique_labels([part.name.text for part in parts]),
        "text": [
            plot_label(part.name.full or part.name.text, most=_LONGEST_HOVER) for part in parts
        ],
        "customdata": [
            " · ".join(filter(None, (part.pct.text, plot_label(part.amount.text))))
            for part in parts
        ],
        "hovertemplate": "%{text}<br>%{customdata}<extra></extra>",
        "textinfo": "none",
        "sort": False,
        "direction": "clockwise",
        "marker": {
            "colors": colours,
            "line": {"color": "var(--rg-surface)", "width": 1.5 if len(parts) > 1 else 0},
            "pattern": {
                "shape": ["\\" if part.is_hatched else "" for part in parts],
                "bgcolor": colours,
                "fgcolor": "rgba(255,255,255,0.45)",
                "size": 7,
            },
        },
    }


def _annotation(part: SharePart, label: Label) -> dict[str, object]:
    """Return a label; on a hatched sector it lies on a patch of the plain colour."""
    hue, step = part.colour.hue, part.colour.index % N_SHADES
    ground = {"bgcolor": shade(hue, step)} if part.is_hatched else {}
    text = "<br>".join(plot_label(line) for line in label.lines)
    middle = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper"}
    shift = {"xshift": label.x, "yshift": -label.y, "showarrow": False, "borderpad": 0}
    font = {"size": FONT_PX, "color": on(hue, step)}
    return {**ground, "text": text, **middle, **shift, "font": font}


def _said(parts: Sequence[SharePart], title: str) -> str:
    largest = sorted(parts, key=lambda part: -part.width_pct)[:_MOST_NAMED]
    named = ", ".join(f"{part.name.text} {part.pct.text}" for part in largest)
    rest = f" and {len(parts) - len(largest)} more" if len(parts) > len(largest) else ""
    return f"Pie: {title}. {named}{rest}. The table has all parts."
