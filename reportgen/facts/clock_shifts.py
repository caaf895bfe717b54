"""How far the clocks of ranks are apart, by the ends of the exchanges that they share."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Integers
from reportgen.facts.meetings import AGREE_WITHIN_NS, Meetings
from reportgen.units import NS_PER_US

LEAST_COMMON = 10
"""Fewer common exchanges say nothing about how far their ends scatter."""
LEAST_AHEAD_NS = 20 * NS_PER_US
"""Ends of one exchange lie up to 7 µs apart on ranks of one clock (real traces)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockShift:
    """A clock, compared with the first one of those that it can be compared with.

    Attributes:
        clock: its name; ``base``: that of the first one.
        ahead_ns: how far it is ahead; 0 where the clocks may agree.
        bound_ns: half of the range in which nine of ten ends of common exchanges lie.
        n_common: exchanges common with the clock that it was compared with.
    """

    clock: str
    base: str
    ahead_ns: int
    bound_ns: int
    n_common: int


def clock_shifts(meetings: Meetings, clocks: Mapping[int, str]) -> list[ClockShift]:
    """Return how far clocks are apart that share exchanges, directly or by way of others.

    An exchange ends on all of its ranks together, so the middle of the differences of its ends is
    that of the clocks. ``clocks``: the name of the clock of each rank.
    """
    names = sorted(set(clocks.values()))
    if len(names) < 2:
        return []
    ranks, place = np.unique(meetings.members.rank, return_inverse=True)
    code = {name: at for at, name in enumerate(names)}
    of_rank = np.array([code[clocks[rank]] for rank in ranks.tolist()], dtype=np.int64)
    meeting, clock = meetings.of_row, of_rank[place]
    _, one_each = np.unique(meeting * len(names) + clock, return_index=True)
    ends = _Ends(meeting[one_each], clock[one_each], meetings.members.end_ns[one_each])
    found: dict[int, ClockShift] = {}
    for base, _ in Counter(ends.clock.tolist()).most_common():
        if base not in found:
            found[base] = ClockShift(
                clock=names[base], base=names[base], ahead_ns=0, bound_ns=0, n_common=0
            )
            _follow(ends, base, names, found)
    return [found[place] for place in sorted(found)]


@dataclass(frozen=True, slots=True)
class _Ends:
    """Ends of exchanges, (n,) each: which exchange, on which clock, when."""

    meeting: Integers
    clock: Integers
    end_ns: Integers

    def after(self, clock: int) -> Iterator[tuple[int, Integers]]:
        own = self.clock == clock
        end_of = dict(zip(self.meeting[own].tolist(), self.end_ns[own].tolist(), strict=True))
        rows = np.flatnonzero(np.isin(self.meeting, list(end_of)) & ~own)
        rows = rows[np.argsort(self.clock[rows], kind="stable")]
        edges = np.flatnonzero(np.diff(self.clock[rows])) + 1
        for part in np.split(rows, edges) if rows.size else ():
            begins_ns = np.array([end_of[number] for number in self.meeting[part].tolist()])
            yield int(self.clock[part[0]]), self.end_ns[part] - begins_ns


def _follow(ends: _Ends, base: int, names: Sequence[str], found: dict[int, ClockShift]) -> None:
    waiting, n_clocks = deque([base]), np.unique(ends.clock).size
    while waiting and len(found) < n_clocks:
        known = waiting.popleft()
        for clock, later_ns in ends.after(known):
            if clock in found or later_ns.size < LEAST_COMMON:
                continue
            low, middle, high = np.percentile(later_ns, (5, 50, 95)).tolist()
            bound_ns = round(high - low) // 2 + found[known].bound_ns
            # Ends that scatter more do not come together: nothing is known of the clocks.
            if bound_ns > AGREE_WITHIN_NS:
                continue
            is_ahead = abs(middle) > max(bound_ns, LEAST_AHEAD_NS)
            found[clock] = ClockShift(
                clock=names[clock],
                base=names[base],
                ahead_ns=found[known].ahead_ns + (round(middle) if is_ahead else 0),
                bound_ns=bound_ns,
                n_common=later_ns.size,
            )
            waiting.append(clock)
