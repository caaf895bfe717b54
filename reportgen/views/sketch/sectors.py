"""The sectors of a pie in a sketch."""

from __future__ import annotations

import math

from reportgen.views.sketch.place import Mark, Trace

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
