"""Detected intervals, in one shape for all rules, so that one time axis can show them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.units import say_count

INTERVALS = "intervals"
MOST_INTERVALS = 200
"""More of them cannot be told apart on an axis; the longest stay. Source: ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A stretch of time in which something was detected.

    Attributes:
        node, device: where; a device is a GPU or a worker, empty for the whole node.
        what: in a few words.
        start_s, end_s: Unix seconds.
    """

    node: str
    device: str
    what: str
    start_s: float
    end_s: float


def intervals_exhibit(
    intervals: Sequence[Interval], *, title: str, caption: str = "", n_all: int | None = None
) -> Exhibit:
    """Return a ``spans`` exhibit of the longest intervals in order of time.

    Args:
        intervals: any order, at least one.
        title: what they are.
        caption: how to read them; how many were left out is added.
        n_all: how many there are where not all are given.
    """
    longest = sorted(intervals, key=lambda item: (item.start_s - item.end_s, _place(item)))
    shown = sorted(longest[:MOST_INTERVALS], key=_place)
    n_all = n_all or len(intervals)
    rest = ""
    if len(shown) < n_all:
        rest = f" The {say_count(len(shown))} longest of {say_count(n_all)}."
    return exhibit(
        INTERVALS,
        ExhibitKind.SPANS,
        title=title,
        caption=f"{caption}{rest}".strip(),
        columns=[
            ("lane", "", [_lane(item) for item in shown]),
            ("name", "", [item.what for item in shown]),
            ("start_s", "s", [item.start_s for item in shown]),
            ("end_s", "s", [item.end_s for item in shown]),
            ("node", "", [item.node for item in shown]),
            ("device", "", [item.device or None for item in shown]),
        ],
    )


def _lane(item: Interval) -> str:
    """Name the row: a worker's name holds its node's, a GPU's does not."""
    is_named = not item.device or item.device.startswith(f"{item.node}-")
    return (item.device or item.node) if is_named else f"{item.node} {item.device}"


def _place(item: Interval) -> tuple[float, float, str, str, str]:
    return item.start_s, item.end_s, item.node, item.device, item.what
