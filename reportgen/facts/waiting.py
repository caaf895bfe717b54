"""Who waits for whom in the exchanges of several ranks.

A rank that waits in an exchange loses time only while nothing computes beside it. Ranks whose
recorded windows begin apart wait for each other at first because of that, not because one is slow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reportgen.arrays import Integers
from reportgen.facts.exchanges import Exchanges, sends_of
from reportgen.facts.meetings import Meetings
from reportgen.merging import rows_by_code, sums_by_code


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How long ranks waited in meetings with nothing computed beside it, in ns.

    A rank of thousands meets a few others: one row is one rank in one meeting, in the order of
    meetings and ranks.

    Attributes:
        ranks: ascending.
        apart_ns: (n_ranks,) its waiting because its recorded window begins before others do.
        unmatched_ns: (n_ranks,) its time alone in sends and receives whose other side is not
            known: how much of it is waiting is not known either.
        meeting, rank_place: (n_rows,) indices of the meeting, and of the rank in ``ranks``.
        lost_ns: (n_rows,) the time that the rank lost in the meeting.
        group: (n_rows,) code of the process group that meets.
    """

    ranks: tuple[int, ...]
    apart_ns: Integers
    unmatched_ns: Integers
    meeting: Integers
    rank_place: Integers
    lost_ns: Integers
    group: Integers


def waiting_in(meetings: Meetings, begins_ns: Mapping[int, int], every: Exchanges) -> Waiting:
    """Return how long the ranks waited.

    ``begins_ns`` is when each rank's window begins, UTC; the meetings are of ``every`` exchange.
    """
    ranks, place = np.unique(meetings.members.rank, return_inverse=True)
    own_ns = np.array([begins_ns[rank] for rank in ranks.tolist()], dtype=np.int64)
    budget_ns = own_ns.max() - own_ns
    lost_ns = meetings.alone_ns
    apart_ns = np.zeros(ranks.size, dtype=np.int64)
    for at, rows in rows_by_code(place):
        so_far_ns = np.minimum(np.cumsum(lost_ns[rows]), budget_ns[at])
        apart_ns[at] = so_far_ns[-1]
        lost_ns[rows] -= np.diff(so_far_ns, prepend=0)
    return Waiting(
        ranks=tuple(ranks.tolist()),
        apart_ns=apart_ns,
        unmatched_ns=_alone_of(sends_of(every), ranks)
        - _alone_of(sends_of(meetings.members), ranks),
        meeting=meetings.of_row,
        rank_place=place,
        lost_ns=lost_ns,
        group=meetings.members.group,
    )


def _alone_of(items: Exchanges, ranks: Integers) -> Integers:
    """Return (n_ranks,) how long each was in exchanges with nothing computed beside it."""
    rank = items.rank[items.alone_row]
    is_known = np.isin(rank, ranks)
    lengths_ns = items.alone_end_ns - items.alone_start_ns
    return sums_by_code(np.searchsorted(ranks, rank[is_known]), lengths_ns[is_known], ranks.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class LateRank:
    """The rank that the others wait for.

    Attributes:
        rank: the late one; ``n_meetings``: in how many meetings it and the others are.
        excess_ns: the median of what the others wait where it is there, less what it waits.
        n_last: in how many meetings the others wait for it more than it waits.
        without_worst_ns: the same without the eighth of the meetings, in a row, in which they
            wait longest: a single stop of a rank is felt in several meetings.
        in_sends_ns: the part of ``excess_ns`` in sends and receives.
    """

    rank: int
    n_meetings: int
    excess_ns: int
    n_last: int
    without_worst_ns: int
    in_sends_ns: int


def late_ranks(waiting: Waiting) -> list[LateRank]:
    """Return each rank as the late one, the one for which the others wait most first.

    Each is compared with the others of one community, of those that it belongs to the one that
    waits most for it: a lateness is felt in one after the other, and counts once.
    """
    total_ns = sums_by_code(waiting.rank_place, waiting.lost_ns, len(waiting.ranks))
    most: dict[int, LateRank] = {}
    for rows in _communities(waiting):
        own = replace(
            waiting,
            meeting=waiting.meeting[rows],
            rank_place=waiting.rank_place[rows],
            lost_ns=waiting.lost_ns[rows],
            group=waiting.group[rows],
        )
        for late in _late_in(own, total_ns):
            if late.rank not in most or late.excess_ns > most[late.rank].excess_ns:
                most[late.rank] = late
    return sorted(most.values(), key=lambda item: (-item.excess_ns, item.rank))


def _communities(waiting: Waiting) -> Iterator[Integers]:
    """Yield the rows of each community: ranks that meet in one process group, or in several."""
    found: dict[bytes, list[Integers]] = {}
    for _, rows in rows_by_code(waiting.group):
        found.setdefault(np.unique(waiting.rank_place[rows]).tobytes(), []).append(rows)
    yield from (np.sort(np.concatenate(rows)) for rows in found.values())


def _late_in(waiting: Waiting, total_ns: Integers) -> Iterator[LateRank]:
    """Yield the ranks of one community; ``total_ns``: the waiting of each rank anywhere."""
    here_ns = sums_by_code(waiting.rank_place, waiting.lost_ns, len(waiting.ranks))
    peers: dict[bytes, list[int]] = {}
    # Ranks that meet in the same meetings share what all of them lose there: it is added up once.
    for place, rows in rows_by_code(waiting.rank_place):
        peers.setdefault(waiting.meeting[rows].tobytes(), []).append(place)
    for numbers, places in peers.items():
        of = np.frombuffer(numbers, dtype=np.int64)
        yield from _of_peers(waiting, of, places, total_ns - here_ns)


def _of_peers(
    waiting: Waiting, numbers: Integers, places: Sequence[int], elsewhere_ns: Integers
) -> Iterator[LateRank]:
    """Yield ranks that are in the same meetings.

    A rank that waits elsewhere longer than the others do (their median) is late by that for them,
    because of another one. Whom it waits for in sends and receives is not known: they count here.
    """
    first, after = np.searchsorted(waiting.meeting, (numbers, numbers + 1))
    rows = np.concatenate([np.arange(*part) for part in zip(first, after, strict=True)])
    present, of_rank = np.unique(waiting.rank_place[rows], return_inverse=True)
    distinct, of_meeting = np.unique(waiting.meeting[rows], return_inverse=True)
    lost_ns = np.zeros((present.size, distinct.size), dtype=np.int64)
    np.add.at(lost_ns, (of_rank, of_meeting), waiting.lost_ns[rows])
    sends_ns = waiting.unmatched_ns[present]
    order = np.argsort(lost_ns.sum(axis=1) + sends_ns, kind="stable")
    order_elsewhere = np.argsort(elsewhere_ns[present], kind="stable")
    for place in places:
        at = int(np.searchsorted(present, place))
        other = _median_other(order, at)
        each_ns = lost_ns[other] - lost_ns[at]
        in_sends_ns = int(sends_ns[other] - sends_ns[at])
        others_ns = elsewhere_ns[present[_median_other(order_elsewhere, at)]]
        late_by_others_ns = max(int(elsewhere_ns[place] - others_ns), 0)
        excess_ns = int(each_ns.sum()) + in_sends_ns - late_by_others_ns
        yield LateRank(
            rank=waiting.ranks[place],
            n_meetings=each_ns.size,
            excess_ns=excess_ns,
            n_last=int((each_ns > 0).sum()),
            without_worst_ns=excess_ns - most_in_a_row_ns(each_ns),
            in_sends_ns=in_sends_ns,
        )


def _median_other(order: Integers, at: int) -> int:
    """Return the one in the middle of all but ``at``; ``at`` where there is no other."""
    others = order[order != at]
    return int(others[(others.size - 1) // 2]) if others.size else at


def most_in_a_row_ns(each_ns: Integers) -> int:
    """Return the most that an eighth of them, neighbours, add up to."""
    so_far_ns = np.concatenate(([0], np.cumsum(each_ns)))
    n_in_row = max(each_ns.size // 8, 1)
    return int((so_far_ns[n_in_row:] - so_far_ns[:-n_in_row]).max())
