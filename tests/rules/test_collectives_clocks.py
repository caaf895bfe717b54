"""Clocks by the ends of shared exchanges, by hand-made numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from reportgen.facts.meetings import Meetings, meetings_of
from reportgen.rules.collectives.clocks import LEAST_COMMON, clock_shifts
from tests.facts.exchange_rows import Row, exchanges

MS = 1_000_000
SECOND = 1_000 * MS


def pair(group: str, ranks: tuple[int, int], ahead_ns: tuple[int, int], n: int) -> list[Row]:
    """Two ranks that meet each 10 ms, each on its clock."""
    ends_ns = [
        (rank, seq, 10 * MS * seq + by_ns)
        for rank, by_ns in zip(ranks, ahead_ns, strict=True)
        for seq in range(n)
    ]
    return [
        Row(rank=rank, seq=seq, start_ns=end_ns - MS, end_ns=end_ns, group=group)
        for rank, seq, end_ns in ends_ns
    ]


def met(rows: Sequence[Row]) -> Meetings:
    return meetings_of(exchanges(sorted(rows, key=lambda row: row.rank)))


def clocks(n: int) -> dict[int, str]:
    return {rank: f"rank {rank}" for rank in range(n)}


def test_clocks_are_compared_with_the_one_that_shares_most() -> None:
    """Ranks 0 and 2 share nothing; both share exchanges with rank 1."""
    ahead = (0, 90 * SECOND, -3 * MS)
    meetings = met([*pair("a", (0, 1), ahead[:2], 12), *pair("b", (1, 2), ahead[1:], 12)])
    found = clock_shifts(meetings, clocks(3))
    base_ns = {item.clock: item.ahead_ns for item in found}

    assert base_ns["rank 1"] - base_ns["rank 0"] == 90 * SECOND
    assert base_ns["rank 2"] - base_ns["rank 0"] == -3 * MS
    assert {item.base for item in found} == {"rank 1"}


@pytest.mark.parametrize(("ahead_ns", "expected_ns"), [(19_000, 0), (21_000, 21_000)])
def test_clocks_that_may_agree_are_not_moved(ahead_ns: int, expected_ns: int) -> None:
    meetings = met(pair("a", (0, 1), (0, ahead_ns), 12))
    assert clock_shifts(meetings, clocks(2))[1].ahead_ns == expected_ns


@pytest.mark.parametrize(("n", "n_known"), [(LEAST_COMMON - 1, 0), (LEAST_COMMON, 1)])
def test_few_common_exchanges_say_nothing(n: int, n_known: int) -> None:
    meetings = met(pair("a", (0, 1), (0, SECOND), n))
    assert sum(item.ahead_ns != 0 for item in clock_shifts(meetings, clocks(2))) == n_known


def test_ends_that_scatter_say_nothing() -> None:
    """These are two runs of one job: their steps take different times."""
    rows = [
        row if row.rank == 0 else replace(row, end_ns=row.end_ns + 2 * MS * row.seq)
        for row in pair("a", (0, 1), (0, SECOND), 12)
    ]
    assert all(item.ahead_ns == 0 for item in clock_shifts(met(rows), clocks(2)))


def test_ranks_of_one_host_share_its_clock() -> None:
    assert clock_shifts(met(pair("a", (0, 1), (0, SECOND), 12)), {0: "node", 1: "node"}) == []
