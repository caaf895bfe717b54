"""Clocks of hosts or ranks that differ: said, and taken from the times of their collectives."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reportgen import results
from reportgen.arrays import Integers
from reportgen.facts.exchanges import Exchanges, joined
from reportgen.facts.meetings import (
    AGREE_RATIO,
    AGREE_WITHIN_NS,
    Meetings,
    are_certain,
    end_together,
    meetings_of,
)
from reportgen.rules import kit
from reportgen.rules.collectives.faults import RankCollectives, hosts_of
from reportgen.units import NS_PER_US

SHIFTED = kit.Message(
    id="COMM-4",
    title="The clocks of the ranks differ by up to {most:ns}",
    text="""A collective ends on all its ranks together. By these ends the clock of {late} is
        {most:ns} apart from that of {base}, to within {bound:ns}. Times of ranks are moved to one
        clock here before they are compared; other sections keep the times of each rank.""",
    advice="Let the hosts synchronize their clocks (chrony, NTP) before the next recording.",
    unit="us",
    exhibit="clocks",
)
CAPTION = """By the ends of the collectives that a clock shares with others: the median of how much
    later they end; bound_us is half of the range of nine of ten of them. A clock that may agree is
    not moved."""

LEAST_COMMON = 10
"""Fewer common exchanges say nothing about how far their ends scatter."""
LEAST_AHEAD_NS = 20 * NS_PER_US
"""Ends of one exchange lie up to 7 µs apart on ranks of one clock (real traces)."""


@kit.row
class ClockShift:
    """A clock, compared with the first one of those that it can be compared with.

    Attributes:
        ahead_ns: how far it is ahead; 0 where the clocks may agree.
        bound_ns: half of the range in which nine of ten ends of common exchanges lie.
        n_common: exchanges common with the clock that it was compared with.
    """

    clock: str = kit.col()
    base: str = kit.col(name="compared_with")
    ahead_ns: int = kit.col("us", name="ahead_us", per=NS_PER_US)
    bound_ns: int = kit.col("us", name="bound_us", per=NS_PER_US)
    n_common: int = kit.col(name="collectives")


def align(
    ranks: Sequence[RankCollectives],
) -> tuple[Sequence[RankCollectives], Exchanges, Meetings, list[ClockShift]]:
    """Return ranks on one clock, that of the first, as far as their ends say it.

    Returns:
        The ranks, the exchanges of all of them, their meetings, and how far their clocks were
        apart. The exchanges of each rank stay on its own clock.
    """
    every = joined([rank.exchanges for rank in ranks])
    meetings = meetings_of(every)
    is_certain = end_together(meetings) >= AGREE_RATIO or are_certain(every)
    clocks = {rank: host or f"rank {rank}" for rank, host in hosts_of(ranks).items()}
    shifts = clock_shifts(meetings, clocks) if is_certain else []
    ahead_of = {item.clock: item.ahead_ns for item in shifts}
    ahead_ns = {rank: ahead_of.get(clock, 0) for rank, clock in clocks.items()}
    if not any(ahead_ns.values()):
        return ranks, every, meetings, []
    n_each = [rank.exchanges.n for rank in ranks]
    every = every.moved(np.repeat([ahead_ns[rank.rank] for rank in ranks], n_each))
    same = [_moved(rank, ahead_ns[rank.rank]) for rank in ranks]
    return same, every, meetings_of(every), shifts


def _moved(rank: RankCollectives, ahead_ns: int) -> RankCollectives:
    steps = rank.steps
    return replace(
        rank,
        begin_ns=rank.begin_ns - ahead_ns,
        steps=steps and replace(steps, start_ns=steps.start_ns - ahead_ns),
    )


def finding_of(shifts: Sequence[ClockShift]) -> results.Finding | None:
    """Return that clocks differ."""
    if not shifts:
        return None
    most = max(shifts, key=lambda item: abs(item.ahead_ns))
    return SHIFTED.finding(
        measured=abs(most.ahead_ns) / NS_PER_US,
        late=most.clock,
        most=abs(most.ahead_ns),
        base=most.base,
        bound=max(NS_PER_US, *(item.bound_ns for item in shifts)),
    )


def table_of(shifts: Sequence[ClockShift]) -> results.Exhibit:
    """Return by how much each clock is ahead."""
    return kit.table("clocks", shifts, ClockShift, title="Clocks of the ranks", caption=CAPTION)


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
