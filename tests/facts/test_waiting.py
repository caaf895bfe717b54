"""Who waits for whom, by hand-made numbers."""

from __future__ import annotations

from dataclasses import replace

from reportgen.facts.exchanges import Exchanges, joined
from reportgen.facts.meetings import comparable, meetings_of
from reportgen.facts.waiting import MeetingWaits, late_ranks, waiting_in
from tests.facts.exchange_rows import Row, exchanges

US = 1_000


def waiting_of(every: Exchanges, begins_ns: dict[int, int] | None = None) -> MeetingWaits:
    begins_ns = begins_ns or dict.fromkeys(every.rank.tolist(), 0)
    return waiting_in(comparable(meetings_of(every)), begins_ns)


def late_by(late_us: int, n: int = 6, *, is_alone: bool = True) -> Exchanges:
    """Two ranks; the second comes later each time."""
    ends_ns = [(1000 * k + late_us + 10) * US for k in range(n)]
    first = [
        Row(rank=0, seq=k, start_ns=1000 * k * US, end_ns=end_ns, is_alone=is_alone)
        for k, end_ns in enumerate(ends_ns)
    ]
    second = [
        Row(rank=1, seq=k, start_ns=end_ns - 10 * US, end_ns=end_ns)
        for k, end_ns in enumerate(ends_ns)
    ]
    return joined([exchanges(first), exchanges(second)])


def test_the_rank_that_the_others_wait_for_is_late() -> None:
    found = late_ranks(waiting_of(late_by(50)))[0]
    assert (found.rank, found.excess_ns, found.n_last) == (1, 6 * 50 * US, 6)
    assert found.without_worst_ns == 5 * 50 * US


def test_waiting_behind_compute_costs_nothing() -> None:
    assert late_ranks(waiting_of(late_by(50, is_alone=False)))[0].excess_ns == 0


NEIGHBOURS = {0: "neighbours 0", 1: "neighbours 0", 2: "neighbours 1", 3: "neighbours 1"}
PEERS = {0: "peers 0", 1: "peers 1", 2: "peers 0", 3: "peers 1"}
ALL = dict.fromkeys(range(4), "all")


def coupled(late_us: dict[int, int], n: int = 6) -> Exchanges:
    """Four ranks: in each step neighbours meet, then their peers, then all; each takes 10 us."""
    rows: list[Row] = []
    free_us = dict.fromkeys(range(4), 0)
    for step in range(n):
        for rank in free_us:
            free_us[rank] += 100 + late_us.get(rank, 0)
        for groups in (NEIGHBOURS, PEERS, ALL):
            ends_us = {
                name: max(free_us[rank] for rank in groups if groups[rank] == name) + 10
                for name in groups.values()
            }
            for rank, name in groups.items():
                start_ns, end_ns = free_us[rank] * US, ends_us[name] * US
                rows.append(Row(rank=rank, group=name, seq=step, start_ns=start_ns, end_ns=end_ns))
                free_us[rank] = ends_us[name]
    return joined([exchanges([row for row in rows if row.rank == rank]) for rank in free_us])


def test_a_lateness_that_is_passed_on_counts_once_and_for_the_rank_where_it_began() -> None:
    first, *others = late_ranks(waiting_of(coupled({1: 50})))

    assert (first.rank, first.excess_ns, first.n_last) == (1, 6 * 50 * US, 12)
    assert [late.excess_ns for late in others] == [0, 0, 0]


def test_ranks_of_two_trainings_are_not_compared() -> None:
    """Two ranks wait in the group of the one, nobody in that of the other."""
    first, second = late_by(50), late_by(0)
    other = replace(second, rank=second.rank + 2, group=1 - second.group)
    found = {late.rank: late for late in late_ranks(waiting_of(joined([first, other])))}

    assert [found[rank].excess_ns for rank in range(4)] == [-300 * US, 300 * US, 0, 0]
