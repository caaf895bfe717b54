"""Labels that hang below the parts of a bar, on as few lines as keep them apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NARROWEST_PX = 640.0
"""The labels hang only where the bar is at least this wide (``timeline.css``)."""
_CHARACTER_PX, _PADDING_PX = 7.4, 18.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a label hangs: its line from the bar on, and whether its text runs to the left."""

    line: int
    runs_left: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Box:
    at: float
    start: float
    end: float
    place: Place


def place_labels(at_pct: Sequence[float], lengths: Sequence[int]) -> list[Place]:
    """Return a place for each label so that neither texts nor their leaders meet.

    Args:
        at_pct: (n,) ascending, where each leader leaves the bar, in percent of its length.
        lengths: (n,) characters of each label's longest line.

    Edge cases: a text that fits on neither side runs to the side with more room.

    Example:
        >>> [place.line for place in place_labels([20.0, 22.0, 90.0], [20, 20, 20])]
        [1, 0, 0]
    """
    widths = [100 * (count * _CHARACTER_PX + _PADDING_PX) / NARROWEST_PX for count in lengths]
    items = list(zip(at_pct, widths, strict=True))
    to_left = {place for place, (at, width) in enumerate(items) if at + width > 100 and at > 50}
    # Those that run right are placed from the right, so that a text passes below its neighbours.
    order = sorted(set(range(len(items))) - to_left, reverse=True) + sorted(to_left)
    boxes: dict[int, _Box] = {}
    for place in order:
        at, width = items[place]
        runs_left = place in to_left
        start, end = (at - width, at) if runs_left else (at, at + width)
        line = 0
        while not all(_is_apart(at, start, end, line, box) for box in boxes.values()):
            line += 1
            if line > len(items):
                break
        boxes[place] = _Box(
            at=at, start=start, end=end, place=Place(line=line, runs_left=runs_left)
        )
    return [boxes[place].place for place in range(len(items))]


def _is_apart(at: float, start: float, end: float, line: int, other: _Box) -> bool:
    """Return whether a label meets neither the text nor the leader of another."""
    if line == other.place.line:
        return end <= other.start or other.end <= start
    if line < other.place.line:
        return not start < other.at < end
    return not other.start < at < other.end
