"""Communication of several ranks: which of their operations are one exchange."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Integers
from reportgen.facts.exchanges import MAYBE_SEND, SEND, Exchanges, alone_in_ns, without_sends
from reportgen.merging import joint_codes, rows_between
from reportgen.profile.trace_tables import NONE
from reportgen.units import NS_PER_MS

AGREE_WITHIN_NS = NS_PER_MS
AGREE_RATIO = 0.95
"""Where clocks agree, the ends of one exchange lie this close (7 µs in real traces) for at least
this share of them (docs/definitions.md, Waiting in collectives)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meetings:
    """Exchanges of at least two ranks each, (n,) in order of time.

    Attributes:
        members: meeting after meeting, its ranks ascending.
        first: the first row of each among the members.
        number: in the group; the place among those of equal name where it is unknown.
    """

    members: Exchanges
    first: Integers
    number: Integers

    @property
    def n(self) -> int:
        """Return how many there are."""
        return self.first.size

    @property
    def n_ranks(self) -> Integers:
        """Return (n,) how many ranks each has."""
        return np.diff(self.first, append=self.members.n)

    @property
    def of_row(self) -> Integers:
        """Return (n_members,) the meeting of each member."""
        return np.repeat(np.arange(self.n), self.n_ranks)

    @property
    def start_ns(self) -> Integers:
        """Return when the first rank of each arrived."""
        return np.minimum.reduceat(self.members.start_ns, self.first)

    @property
    def last_ns(self) -> Integers:
        """Return when the last rank of each arrived."""
        return np.maximum.reduceat(self.members.start_ns, self.first)

    @property
    def end_ns(self) -> Integers:
        """Return the last end of each."""
        return np.maximum.reduceat(self.members.end_ns, self.first)

    @property
    def wait_ns(self) -> Integers:
        """Return (n_members,) how long each member was there before the last one."""
        return self.last_ns[self.of_row] - self.members.start_ns

    @property
    def alone_ns(self) -> Integers:
        """Return (n_members,) how long each waited with nothing computed beside it."""
        until_ns = np.minimum(self.last_ns[self.of_row], self.members.end_ns)
        return self.members.alone_between_ns(self.members.start_ns, until_ns)

    @property
    def transfer_ns(self) -> Integers:
        """Return the time of the rank that waited least: the transfer itself."""
        return np.minimum.reduceat(self.members.duration_ns, self.first)

    @property
    def end_spread_ns(self) -> Integers:
        """Return the time from the first to the last end of each."""
        return self.end_ns - np.minimum.reduceat(self.members.end_ns, self.first)

    @property
    def last_rank(self) -> Integers:
        """Return the rank of each that arrived last."""
        rows = np.flatnonzero(self.wait_ns == 0)
        return self.members.rank[rows[np.searchsorted(rows, self.first)]]

    def take(self, numbers: Integers) -> Meetings:
        """Return some meetings, in the order given."""
        _, rows = rows_between(self.first[numbers], (self.first + self.n_ranks)[numbers])
        n_ranks = self.n_ranks[numbers]
        return Meetings(
            members=self.members.take(rows),
            first=np.cumsum(n_ranks) - n_ranks,
            number=self.number[numbers],
        )


def meetings_of(every: Exchanges) -> Meetings:
    """Return the exchanges that at least two ranks recorded, in order of time.

    The number in the group decides where it is known; else the place among those of equal group
    and name, counted from the first.

    Sends and receives meet one other rank, which is not recorded, and are left out. A kernel that
    sends and receives may be that of an all-to-all too: it is left out if the others fit better.
    """
    if (every.rank == every.rank[:1]).all():
        every = every.take(np.empty(0, dtype=np.int64))  # one rank meets no other
    every = without_sends(every, SEND)
    meetings = _match(every)
    if end_together(meetings) >= AGREE_RATIO:
        return meetings
    others = _match(without_sends(every, MAYBE_SEND))
    return others if end_together(others) > end_together(meetings) else meetings


def comparable(meetings: Meetings) -> Meetings:
    """Return the meetings whose waiting can be separated from transfer: clocks agree."""
    agree = meetings.end_spread_ns <= AGREE_WITHIN_NS
    if agree.all():
        return meetings
    return meetings.take(np.flatnonzero(agree & (end_together(meetings) >= AGREE_RATIO)))


def worlds_of(meetings: Meetings) -> dict[int, int]:
    """Return the world of each rank that meets others: the lowest rank of those that it meets.

    Ranks that meet by way of others are of one world; two trainings side by side are two.
    """
    ranks, place = np.unique(meetings.members.rank, return_inverse=True)
    world, is_new = np.arange(ranks.size), meetings.n > 0
    while is_new:
        before = world.copy()
        lowest = np.minimum.reduceat(world[place], meetings.first)
        np.minimum.at(world, place, lowest[meetings.of_row])
        is_new = not np.array_equal(world, before)
    return dict(zip(ranks.tolist(), ranks[world].tolist(), strict=True))


def alone_in_sends_ns(every: Exchanges, meetings: Meetings) -> int:
    """Return the time alone in sends and receives, whose other rank no trace names.

    A kernel without the name of its collective may be that of an all-to-all, unless other ranks
    were compared and it meets none.
    """
    pattern = MAYBE_SEND if meetings.n else SEND
    return alone_in_ns(every, pattern) - alone_in_ns(meetings.members, MAYBE_SEND)


def end_together(meetings: Meetings) -> float:
    """Return the share of the meetings whose ends agree; 0 without any."""
    agreeing = np.count_nonzero(meetings.end_spread_ns <= AGREE_WITHIN_NS)
    return agreeing / meetings.n if meetings.n else 0.0


def _match(every: Exchanges) -> Meetings:
    """Match by group, name, number and occurrence among those of equal group, name and number."""
    known = joint_codes(every.group, every.name, every.seq)
    occurrence = _occurrences(every, known)
    meeting = joint_codes(known, occurrence)
    order = np.lexsort((every.rank, meeting))
    _, first, n_ranks = np.unique(meeting[order], return_index=True, return_counts=True)
    start_ns = np.minimum.reduceat(every.start_ns[order], first)
    # Those that begin together keep the order in which the ranks recorded them.
    seen = np.minimum.reduceat(order, first)
    _, known_seen, index = np.unique(known, return_index=True, return_inverse=True)
    group, name, alike = every.group[seen], every.name[seen], known_seen[index][seen]
    in_time = np.lexsort((seen, alike, name, group, start_ns))
    in_time = in_time[n_ranks[in_time] > 1]
    _, rows = rows_between(first[in_time], (first + n_ranks)[in_time])
    return Meetings(
        members=every.take(order[rows]),
        first=np.cumsum(n_ranks[in_time]) - n_ranks[in_time],
        number=np.where(every.seq != NONE, every.seq, occurrence)[seen[in_time]],
    )


def _occurrences(every: Exchanges, known: Integers) -> Integers:
    """Return (n,) the place of each among those of one rank that are known as the same."""
    of_rank = joint_codes(known, every.rank)
    order, found = np.argsort(of_rank, kind="stable"), np.empty_like(of_rank)
    _, n_each = np.unique(of_rank, return_counts=True)
    found[order] = np.arange(of_rank.size) - np.repeat(np.cumsum(n_each) - n_each, n_each)
    return found
