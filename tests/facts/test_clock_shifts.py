"""Clocks by the ends of shared exchanges, by hand-made numbers."""

from __future__ import annotations

import pytest

from reportgen.facts.clock_shifts import LEAST_COMMON, clock_shifts
from reportgen.facts.exchanges import Exchange, are_certain, meetings_of

MS = 1_000_000
SECOND = 1_000 * MS


def exchange(rank: int, group: str, seq: int, end_ns: int) -> Exchange:
    return Exchange(
        rank=rank,
        group=group,
        seq=seq,
        name="allreduce",
        duration_ns=MS,
        start_ns=end_ns - MS,
        end_ns=end_ns,
        launch_ns=0,
        group_size=2,
        bytes=1_000,
        alone_ns=((end_ns - MS, end_ns),),
    )


def pair(group: str, ranks: tuple[int, int], ahead_ns: tuple[int, int], n: int) -> list[Exchange]:
    """Two ranks that meet each 10 ms, each on its clock."""
    return [
        exchange(rank, group, seq, 10 * MS * seq + by_ns)
        for rank, by_ns in zip(ranks, ahead_ns, strict=True)
        for seq in range(n)
    ]


def by_rank(*items: Exchange) -> list[list[Exchange]]:
    ranks = sorted({item.rank for item in items})
    return [[item for item in items if item.rank == rank] for rank in ranks]


def clocks(n: int) -> dict[int, str]:
    return {rank: f"rank {rank}" for rank in range(n)}


def test_clocks_are_compared_by_way_of_others() -> None:
    """Ranks 0 and 2 share nothing; both share exchanges with rank 1."""
    ahead = (0, 90 * SECOND, -3 * MS)
    meetings = meetings_of(
        by_rank(*pair("a", (0, 1), ahead[:2], 12), *pair("b", (1, 2), ahead[1:], 12))
    )
    found = clock_shifts(meetings, clocks(3))
    base_ns = {item.clock: item.ahead_ns for item in found}

    assert base_ns["rank 1"] - base_ns["rank 0"] == 90 * SECOND
    assert base_ns["rank 2"] - base_ns["rank 0"] == -3 * MS
    assert {item.base for item in found} == {"rank 1"}


@pytest.mark.parametrize(("ahead_ns", "expected_ns"), [(19_000, 0), (21_000, 21_000)])
def test_clocks_that_may_agree_are_not_moved(ahead_ns: int, expected_ns: int) -> None:
    meetings = meetings_of(by_rank(*pair("a", (0, 1), (0, ahead_ns), 12)))
    assert clock_shifts(meetings, clocks(2))[1].ahead_ns == expected_ns


@pytest.mark.parametrize(("n", "n_known"), [(LEAST_COMMON - 1, 0), (LEAST_COMMON, 1)])
def test_few_common_exchanges_say_nothing(n: int, n_known: int) -> None:
    meetings = meetings_of(by_rank(*pair("a", (0, 1), (0, SECOND), n)))
    assert sum(item.ahead_ns != 0 for item in clock_shifts(meetings, clocks(2))) == n_known


def test_ends_that_scatter_say_nothing() -> None:
    """These are two runs of one job: their steps take different times."""
    first, second = by_rank(*pair("a", (0, 1), (0, SECOND), 12))
    second = [exchange(1, "a", item.seq, item.end_ns + 2 * MS * item.seq) for item in second]
    assert all(item.ahead_ns == 0 for item in clock_shifts(meetings_of([first, second]), clocks(2)))


def test_ranks_of_one_host_share_its_clock() -> None:
    meetings = meetings_of(by_rank(*pair("a", (0, 1), (0, SECOND), 12)))
    assert clock_shifts(meetings, {0: "node", 1: "node"}) == []


def test_unnumbered_exchanges_match_only_where_all_ranks_have_as_many() -> None:
    first = [exchange(0, "a", -1, MS * k) for k in range(3)]
    second = [exchange(1, "a", -1, MS * k) for k in range(3)]
    assert are_certain([first, second])
    assert not are_certain([first, second[1:]])
