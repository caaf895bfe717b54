"""Detected intervals, in one shape for all rules, so that one time axis can show them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.units import say_count, seconds

INTERVALS = "intervals"
MOST_INTERVALS = 200
"""More of them cannot be told apart on an axis; the longest stay. Source: ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A stretch of time in which something was detected.

    Attributes:
        node, device: where; a device is a GPU or a worker, empty for the whole node.
        what: in a few words.
    """

    node: str
    device: str
    what: str
    start_ns: int
    end_ns: int


def intervals_exhibit(intervals: Sequence[Interval], *, title: str, caption: str = "") -> Exhibit:
    """Return a ``spans`` exhibit of the longest intervals in order of time.

    Args:
        intervals: any order, at least one.
        title: what they are.
        caption: how to read them; how many were left out is added.
    """
    longest = sorted(intervals, key=lambda item: (item.start_ns - item.end_ns, _place(item)))
    shown = sorted(longest[:MOST_INTERVALS], key=_place)
    rest = ""
    if len(shown) < len(intervals):
        rest = f" The {say_count(len(shown))} longest of {say_count(len(intervals))}."
    return exhibit(
        INTERVALS,
        ExhibitKind.SPANS,
        title=title,
        caption=f"{caption}{rest}".strip(),
        columns=[
            ("lane", "", [_lane(item) for item in shown]),
            ("name", "", [item.what for item in shown]),
            ("start_s", "s", [seconds(item.start_ns) for item in shown]),
            ("end_s", "s", [seconds(item.end_ns) for item in shown]),
            ("node", "", [item.node for item in shown]),
            ("device", "", [item.device or None for item in shown]),
        ],
    )


def _lane(item: Interval) -> str:
    """Name the row: a worker's name holds its node's, a GPU's does not."""
    is_named = not item.device or item.device.startswith(f"{item.node}-")
    return (item.device or item.node) if is_named else f"{item.node} {item.device}"


def _place(item: Interval) -> tuple[int, int, str, str, str]:
    return item.start_ns, item.end_ns, item.node, item.device, item.what
