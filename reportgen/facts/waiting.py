"""Who waits for whom in the exchanges of several ranks.

A rank that waits in an exchange loses time only while nothing computes beside it. Ranks whose
recorded windows begin apart wait for each other at first because of that, not because one is slow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Integers
from reportgen.facts.meetings import Meetings, worlds_of
from reportgen.merging import rows_by_code, sums_by_code


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingWaits:
    """How long ranks waited in meetings with nothing computed beside it, in ns.

    A rank of thousands meets a few others: one row is one rank in one meeting, in the order of
    meetings and ranks.

    Attributes:
        ranks: ascending.
        world: (n_ranks,) equal for ranks that meet, directly or by way of others.
        apart_ns: (n_ranks,) its waiting because its recorded window begins before others do.
        meeting, rank_place: (n_rows,) indices of the meeting, and of the rank in ``ranks``.
        lost_ns: (n_rows,) the time that the rank lost in the meeting.
    """

    ranks: tuple[int, ...]
    world: Integers
    apart_ns: Integers
    meeting: Integers
    rank_place: Integers
    lost_ns: Integers


def waiting_in(meetings: Meetings, begins_ns: Mapping[int, int]) -> MeetingWaits:
    """Return how long the ranks waited; ``begins_ns`` is when each rank's window begins, UTC."""
    ranks, place = np.unique(meetings.members.rank, return_inverse=True)
    worlds = worlds_of(meetings)
    world = np.array([worlds[rank] for rank in ranks.tolist()], dtype=np.int64)
    begin_ns = np.array([begins_ns[rank] for rank in ranks.tolist()], dtype=np.int64)
    lost_ns = meetings.alone_ns
    apart_ns = np.zeros(ranks.size, dtype=np.int64)
    for at, rows in rows_by_code(place):
        budget_ns = begin_ns[world == world[at]].max() - begin_ns[at]
        so_far_ns = np.minimum(np.cumsum(lost_ns[rows]), budget_ns)
        apart_ns[at] = so_far_ns[-1]
        lost_ns[rows] -= np.diff(so_far_ns, prepend=0)
    return MeetingWaits(
        ranks=tuple(ranks.tolist()),
        world=world,
        apart_ns=apart_ns,
        meeting=meetings.of_row,
        rank_place=place,
        lost_ns=lost_ns,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LateRank:
    """The rank that the others wait for.

    Attributes:
        rank: the late one; ``n_meetings``: in how many meetings it is.
        excess_ns: what the other ranks of its world wait (their median), less what it waits.
        n_last: in how many meetings the others wait more than it does, on average.
        without_worst_ns: the same without the eighth of the meetings, in a row, in which the
            median one waits longest: a single stop of a rank is felt in several meetings.
    """

    rank: int
    n_meetings: int
    excess_ns: int
    n_last: int
    without_worst_ns: int


def late_ranks(waiting: MeetingWaits) -> list[LateRank]:
    """Return each rank as the late one, the one for which the others wait most first.

    A rank that waits for another one in one group, and makes those of its next group wait as long,
    is not late: what it waits itself is subtracted.
    """
    n_ranks = np.bincount(waiting.meeting)
    mean_ns = sums_by_code(waiting.meeting, waiting.lost_ns, n_ranks.size) / n_ranks
    total_ns = sums_by_code(waiting.rank_place, waiting.lost_ns, len(waiting.ranks))
    rows_of = dict(rows_by_code(waiting.rank_place))
    found = []
    for at, rows in rows_of.items():
        mates = np.flatnonzero(waiting.world == waiting.world[at])
        mates = mates[mates != at]
        other = mates[np.argsort(total_ns[mates], kind="stable")[(mates.size - 1) // 2]]
        others_ns = np.zeros(n_ranks.size, dtype=np.int64)
        others_ns[waiting.meeting[rows_of[other]]] = waiting.lost_ns[rows_of[other]]
        later_ns = others_ns[waiting.meeting[rows]] - waiting.lost_ns[rows]
        excess_ns = int(total_ns[other] - total_ns[at])
        found.append(
            LateRank(
                rank=waiting.ranks[at],
                n_meetings=rows.size,
                excess_ns=excess_ns,
                n_last=int((mean_ns[waiting.meeting[rows]] > waiting.lost_ns[rows]).sum()),
                without_worst_ns=excess_ns - most_in_a_row_ns(later_ns),
            )
        )
    return sorted(found, key=lambda late: (-late.excess_ns, late.rank))


def most_in_a_row_ns(each_ns: Integers) -> int:
    """Return the most that an eighth of them, neighbours, add up to."""
    so_far_ns = np.concatenate(([0], np.cumsum(each_ns)))
    n_in_row = max(each_ns.size // 8, 1)
    return int((so_far_ns[n_in_row:] - so_far_ns[:-n_in_row]).max())
