"""Which lanes of a part the file has: all of them, or with many parts the most important ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.text import join_names, plural
from reportgen.timeline.lanes import LaneKind
from reportgen.timeline.staged import StagedLane

MOST_LANES = 1_500
"""Approximate limit of the file: a lane takes 200 bytes, and readers do not unfold this many."""

MOST_PARTS = 1_024
_LEAST_LANES = 3
"""A part has at least these: its group, its most important lane, and all others in one."""

_GROUPS = frozenset({LaneKind.NODE, LaneKind.RANK, LaneKind.HOST, LaneKind.GPU})
_WORDS: dict[str, str] = {LaneKind.STREAM: "stream", LaneKind.THREAD: "thread"}
_FIRST = (LaneKind.STEPS, LaneKind.STREAM, LaneKind.THREAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLane:
    """A lane of the file: one of a part, or several above one another.

    ``members`` are numbers of lanes of the part and the first row of each; ``parent`` is a place
    among the shown lanes of the part.
    """

    kind: str
    label: str
    parent: int | None
    members: tuple[tuple[int, int], ...]
    n_events: int
    rows: int


def lanes_of_each(n_parts: int) -> int:
    """Return how many lanes each part may have."""
    return max(MOST_LANES // n_parts, _LEAST_LANES)


def shown_lanes(lanes: Sequence[StagedLane], most: int | None) -> list[ShownLane]:
    """Return the lanes of a part as they are shown.

    With more than ``most`` of them the rest is in one lane; groups and counters are left out.
    """
    if most is None or len(lanes) <= most:
        return [_shown(lanes, number, lane.parent, lane.label) for number, lane in enumerate(lanes)]
    with_strips = [at for at, lane in enumerate(lanes) if _rank(lane) <= len(_FIRST)]
    in_order = sorted(with_strips, key=lambda at: (_rank(lanes[at]), -lanes[at].n_events))
    kept, rest = sorted(in_order[: most - 2]), sorted(in_order[most - 2 :])
    n_counters = sum(lane.kind == LaneKind.COUNTER for lane in lanes)
    without = f", {plural(n_counters, 'counter')} left out" if n_counters else ""
    shown = [_shown(lanes, 0, None, f"{lanes[0].label}{without}")]
    for number in kept:
        group = lanes[lanes[number].parent or 0].label.partition(" · ")[0]
        is_apart = lanes[number].parent == 0
        label = lanes[number].label if is_apart else f"{group} · {lanes[number].label}"
        shown.append(_shown(lanes, number, 0, label))
    return [*shown, _joined(lanes, rest)] if rest else shown


def _rank(lane: StagedLane) -> int:
    if lane.kind in _GROUPS or lane.kind == LaneKind.COUNTER:
        return len(_FIRST) + 1
    return next((at for at, kind in enumerate(_FIRST) if kind == lane.kind), len(_FIRST))


def _shown(lanes: Sequence[StagedLane], number: int, parent: int | None, label: str) -> ShownLane:
    lane = lanes[number]
    return ShownLane(
        kind=lane.kind,
        label=label,
        parent=parent,
        members=((number, 0),),
        n_events=lane.n_events,
        rows=lane.rows,
    )


def _joined(lanes: Sequence[StagedLane], numbers: Sequence[int]) -> ShownLane:
    """Return one lane of several, streams below the others."""
    members, rows = [], 0
    for number in sorted(numbers, key=lambda at: lanes[at].kind == LaneKind.STREAM):
        members.append((number, rows))
        rows += lanes[number].rows
    words = Counter(_WORDS.get(lanes[number].kind, "other lane") for number, _ in members)
    return ShownLane(
        kind=LaneKind.THREAD,
        label=join_names([plural(count, word) for word, count in words.items()]),
        parent=0,
        members=tuple(members),
        n_events=sum(lanes[number].n_events for number in numbers),
        rows=rows,
    )
