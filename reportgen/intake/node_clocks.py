"""How far the clocks of a recording's nodes are apart, how well that is known, and times moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reportgen.formats import Diagnostics
from reportgen.formats.recorder import RankCard
from reportgen.profile import PartRef, SpanTable, SystemTable, TimeRange
from reportgen.recorded_job import RecordedNode
from reportgen.text import format_ns

LEAST_COMMON = 10
"""Fewer common steps say nothing about how far the ends of steps scatter."""
TOGETHER_RATIO = 0.25
"""Ends of steps that scatter by more than this share of a step do not come together."""

Ends = Mapping[int, int]
"""Number of a step to when the last rank of a node ended it, on the clock of that node."""


def align(
    nodes: Sequence[RecordedNode], ranks: Sequence[RankCard], problems: Diagnostics
) -> tuple[RecordedNode, ...]:
    """Return the nodes with what has to be taken from their times to have those of the first one.

    Ranks that train together end their steps together; without such ranks nothing is moved.
    ``problems`` gets what is known of each pair of clocks.
    """
    if len(nodes) < 2:
        return tuple(nodes)
    first, *others = nodes
    ends = {node.node: _step_ends(node, ranks) for node in nodes}
    aligned, bounds = [first], list[int | None]()
    for node in others:
        apart = _by_steps(ends[first.node], ends[node.node])
        if apart and abs(apart.ahead_ns) <= apart.bound_ns:  # they may agree: nothing is moved
            apart = _Apart(ahead_ns=0, bound_ns=apart.bound_ns + abs(apart.ahead_ns))
        problems.remark(_words(first.node, node.node, apart))
        bounds.append(None if apart is None else apart.bound_ns)
        aligned.append(replace(node, ahead_ns=apart.ahead_ns if apart else 0))
    known = [bound_ns for bound_ns in bounds if bound_ns is not None]
    bound_ns = max(known) if len(known) == len(bounds) else None
    return tuple(replace(node, clock_bound_ns=bound_ns) for node in aligned)


def _step_ends(node: RecordedNode, ranks: Sequence[RankCard]) -> Ends:
    """Return the ends of a node's steps; of a rank that was started again those of the last run."""
    cards = [card for card in ranks if card.node == node.node and card.world_size != 1]
    cards = sorted(
        (card for card in cards if card.step_ends), key=lambda card: card.step_ends[-1][1]
    )
    last, found = {card.rank: card for card in cards}, dict[int, int]()
    for card in last.values():
        for number, end_ns in card.step_ends:
            found[number] = max(end_ns, found.get(number, end_ns))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Apart:
    ahead_ns: int
    bound_ns: int


def _by_steps(ours: Ends, theirs: Ends) -> _Apart | None:
    common = sorted(ours.keys() & theirs.keys())
    if len(common) < LEAST_COMMON:
        return None
    our_ns = np.array([ours[number] for number in common])
    apart_ns = np.array([theirs[number] for number in common]) - our_ns
    low, middle, high = np.percentile(apart_ns, [5, 50, 95])
    if high - low > TOGETHER_RATIO * np.median(np.diff(our_ns) / np.diff(common)):
        return None
    return _Apart(ahead_ns=int(middle), bound_ns=int(high - low) // 2)


def _words(first: str, node: str, apart: _Apart | None) -> str:
    if apart is None:
        return (
            f"The clocks of {first} and {node} could not be compared: they have too few steps in "
            "common, or their steps do not end together. Times of the two are not aligned; no "
            "finding compares them at an instant."
        )
    if not apart.ahead_ns:
        within = format_ns(apart.bound_ns)
        return (
            f"The clocks of {first} and {node} agree within {within}, as the ends of their steps "
            "show."
        )
    side = "ahead of" if apart.ahead_ns > 0 else "behind"
    return (
        f"The clock of {node} was {format_ns(abs(apart.ahead_ns))} {side} that of {first}, known "
        f"to ± {format_ns(apart.bound_ns)} by the ends of their steps; the times of {node} were "
        "moved."
    )


def on_own_clock(ref: PartRef) -> PartRef:
    """Return a part whose range is on the clock of its node, as its files are."""
    ahead_ns = ahead_of(ref)
    if ref.kept is None or not ahead_ns:
        return ref
    ends = (ref.kept.from_ns, ref.kept.to_ns)
    from_ns, to_ns = (None if end is None else end + ahead_ns for end in ends)
    return replace(ref, kept=TimeRange(from_ns=from_ns, to_ns=to_ns))


def ahead_of(ref: PartRef) -> int:
    """Return how far the clock of a part's node is ahead of the first node's."""
    return 0 if ref.recorded is None else ref.recorded.ahead_ns


def moved_system(table: SystemTable, ahead_ns: int) -> SystemTable:
    """Return samples with times on the clock of the first node."""
    if not ahead_ns or table.first_ns is None or table.last_ns is None:
        return table
    first_ns, last_ns = table.first_ns - ahead_ns, table.last_ns - ahead_ns
    return replace(table, tick_ns=table.tick_ns - ahead_ns, first_ns=first_ns, last_ns=last_ns)


def moved_spans(table: SpanTable, ahead_ns: int) -> SpanTable:
    """Return events with times on the clock of the first node."""
    if not ahead_ns:
        return table
    return replace(table, start_ns=table.start_ns - ahead_ns, end_ns=table.end_ns - ahead_ns)
