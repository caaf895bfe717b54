"""Where things lie in a sketch: panels in pixels, marks as paths, values as lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    """Return where a value lies between limits; what is far outside lies one panel beside them."""
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
