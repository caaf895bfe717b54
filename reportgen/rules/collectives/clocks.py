"""Clocks of hosts or ranks that differ: said, and taken from the times of their collectives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from reportgen import results
from reportgen.arrays import Integers
from reportgen.facts.exchanges import Exchanges, joined
from reportgen.facts.meetings import (
    AGREE_RATIO,
    AGREE_WITHIN_NS,
    Meetings,
    end_together,
    meetings_of,
)
from reportgen.profile.trace_tables import NONE
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
    is_certain = end_together(meetings) >= AGREE_RATIO or (every.seq != NONE).all()
    clocks = {rank: host or f"rank {rank}" for rank, host in hosts_of(ranks).items()}
    shifts = clock_shifts(meetings, clocks) if is_certain else []
    ahead_of = {item.clock: item.ahead_ns for item in shifts}
    ahead_ns = {rank: ahead_of.get(clock, 0) for rank, clock in clocks.items()}
    if not any(ahead_ns.values()):
        return ranks, every, meetings, []
    n_each = [rank.exchanges.n for rank in ranks]
    every = every.moved(np.repeat([ahead_ns[rank.rank] for rank in ranks], n_each))
    same = [replace(rank, begin_ns=rank.begin_ns - ahead_ns[rank.rank]) for rank in ranks]
    return same, every, meetings_of(every), shifts


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


def clock_shifts(meetings: Meetings, clocks: Mapping[int, str]) -> list[ClockShift]:
    """Return how far clocks are apart from the one with which most exchanges were recorded.

    An exchange ends on all of its ranks together, so the middle of the differences of its ends is
    that of the clocks. ``clocks``: the name of the clock of each rank. A clock that shares few
    exchanges with that one, or whose ends scatter, is left out: nothing is known of it.
    """
    names = sorted(set(clocks.values()))
    if len(names) < 2 or not meetings.n:
        return []
    ranks, place = np.unique(meetings.members.rank, return_inverse=True)
    code = {name: at for at, name in enumerate(names)}
    clock = np.array([code[clocks[rank]] for rank in ranks.tolist()])[place]
    meeting = meetings.of_row
    _, one_each = np.unique(meeting * len(names) + clock, return_index=True)
    meeting, clock, end_ns = meeting[one_each], clock[one_each], meetings.members.end_ns[one_each]
    base = int(np.bincount(clock).argmax())
    base_ns = np.full(meetings.n, NONE)
    base_ns[meeting[clock == base]] = end_ns[clock == base]
    later_ns, is_common = end_ns - base_ns[meeting], base_ns[meeting] != NONE
    shifts = (
        _shift(names[at], names[base], later_ns[is_common & (clock == at)])
        for at in range(len(names))
    )
    return [item for item in shifts if item is not None]


def _shift(clock: str, base: str, later_ns: Integers) -> ClockShift | None:
    """Return how far a clock is ahead, ``None`` where common exchanges do not show it."""
    if later_ns.size < LEAST_COMMON:
        return None
    low, middle, high = np.percentile(later_ns, (5, 50, 95)).tolist()
    bound_ns = round(high - low) // 2
    if bound_ns > AGREE_WITHIN_NS:  # such ends do not come together
        return None
    is_ahead = abs(middle) > max(bound_ns, LEAST_AHEAD_NS)
    return ClockShift(
        clock=clock,
        base=base,
        ahead_ns=round(middle) if is_ahead else 0,
        bound_ns=bound_ns,
        n_common=later_ns.size,
    )
