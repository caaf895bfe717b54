"""Clocks of hosts or ranks that differ: said, and taken from the times of their collectives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reportgen import results
from reportgen.facts.clock_shifts import ClockShift, clock_shifts
from reportgen.facts.exchanges import Exchanges, joined
from reportgen.facts.meetings import (
    AGREE_RATIO,
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
    return results.exhibit(
        "clocks",
        results.ExhibitKind.TABLE,
        title="Clocks of the ranks",
        caption=CAPTION,
        columns=[
            results.column("clock", "", [item.clock for item in shifts]),
            results.column("compared_with", "", [item.base for item in shifts]),
            *kit.floats(
                ("ahead_us", "us", [item.ahead_ns / NS_PER_US for item in shifts]),
                ("bound_us", "us", [item.bound_ns / NS_PER_US for item in shifts]),
            ),
            results.column("collectives", "", [item.n_common for item in shifts]),
        ],
    )
