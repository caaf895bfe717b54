"""Labels that hang below the parts of a bar, on as few lines as keep them apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

NARROWEST_PX, WIDE_PX = 640.0, 864.0
"""The labels hang only where the bar is at least this wide, and are hung anew where it is wide
(``timeline.css``)."""
_CHARACTER_PX, _PADDING_PX = 7.4, 18.0
_HEADING_CHARACTER_PX, _HEADING_PADDING_PX = 6.9, 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPlace:
    """Where a label hangs: its line from the bar on, and whether its text runs to the left."""

    line: int
    runs_left: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Box:
    at: float
    start: float
    end: float
    line: int
    is_apart: bool


def heading_pct(text: str) -> float:
    """Return how much of the length of a bar a heading above it takes, in percent."""
    return 100 * (len(text) * _HEADING_CHARACTER_PX + _HEADING_PADDING_PX) / NARROWEST_PX


def place_labels(
    at_pct: Sequence[float], lengths: Sequence[int], *, bar_px: float = NARROWEST_PX
) -> list[LabelPlace]:
    """Return a place for each label so that neither texts nor their leaders meet.

    The first labels run right, the others left. Of all ways to part them the one is taken whose
    labels keep apart, stay beside the bar, and need the fewest lines.

    Args:
        at_pct: (n,) ascending, where each leader leaves the bar, in percent of its length.
        lengths: (n,) characters of each label's longest line.
        bar_px: length of the bar; on a longer one the places keep apart as well.

    Example:
        >>> [place.line for place in place_labels([20.0, 22.0, 90.0], [20, 20, 20])]
        [1, 0, 0]
    """
    widths = [100 * (count * _CHARACTER_PX + _PADDING_PX) / bar_px for count in lengths]
    ways = [_hung(at_pct, widths, n_right) for n_right in range(len(widths), -1, -1)]
    best = min(ways, key=_cost)
    return [LabelPlace(line=box.line, runs_left=box.start != box.at) for box in best]


def _hung(at_pct: Sequence[float], widths: Sequence[float], n_right: int) -> list[_Box]:
    """Hang the first labels to the right, the last of them first, then the others to the left."""
    boxes: dict[int, _Box] = {}
    for place in (*range(n_right - 1, -1, -1), *range(n_right, len(widths))):
        at, width = at_pct[place], widths[place]
        start, end = (at, at + width) if place < n_right else (at - width, at)
        worst = _Box(at=at, start=start, end=end, line=len(boxes), is_apart=False)
        ways = (replace(worst, line=line, is_apart=True) for line in range(len(widths)))
        boxes[place] = next(
            (box for box in ways if all(_is_apart(box, other) for other in boxes.values())), worst
        )
    return [boxes[place] for place in range(len(widths))]


def _cost(boxes: Sequence[_Box]) -> tuple[int, float, int, int]:
    """Return how bad a way is: meeting, reach beyond the bar, number of lines, lines together."""
    lines = [box.line for box in boxes]
    return (
        sum(not box.is_apart for box in boxes),
        max((max(-box.start, box.end - 100, 0.0) for box in boxes), default=0.0),
        max(lines, default=0),
        sum(lines),
    )


def _is_apart(label: _Box, other: _Box) -> bool:
    """Return whether a label meets neither the text nor the leader of another."""
    if label.line == other.line:
        return label.end <= other.start or other.end <= label.start
    upper, lower = (label, other) if label.line < other.line else (other, label)
    return not upper.start < lower.at < upper.end
