"""Which operations of several ranks are one exchange, by hand-made numbers."""

from __future__ import annotations

from collections.abc import Sequence

from reportgen.facts.exchanges import joined
from reportgen.facts.meetings import Meetings, comparable, meetings_of
from tests.facts.exchange_rows import Row, exchanges

MS = 1_000_000


def met(*ranks: Sequence[int], seqs: Sequence[int] | None = None) -> Meetings:
    """Ranks whose exchanges end at some ms; all of them last one."""
    tables = [
        exchanges([
            Row(rank=rank, start_ns=(end - 1) * MS, end_ns=end * MS, seq=seq)
            for end, seq in zip(ends, seqs or [-1] * len(ends), strict=True)
        ])
        for rank, ends in enumerate(ranks)
    ]  # fmt: skip
    return meetings_of(joined(tables))


def ends_ms(meetings: Meetings) -> list[list[int]]:
    """Return the ends of the members of each meeting."""
    found: list[list[int]] = [[] for _ in range(meetings.n)]
    ends = meetings.members.end_ns // MS
    for at, end in zip(meetings.of_row.tolist(), ends.tolist(), strict=True):
        found[at].append(end)
    return found


def test_without_numbers_the_place_decides() -> None:
    found = met([10, 20, 30], [10, 20, 30])
    assert ends_ms(found) == [[10, 10], [20, 20], [30, 30]]
    assert found.number.tolist() == [0, 1, 2]


def test_numbers_decide_where_they_are_known() -> None:
    found = met([10, 20], [12, 22], seqs=[7, 3])
    assert (ends_ms(found), found.number.tolist()) == ([[10, 12], [20, 22]], [7, 3])


def test_an_exchange_of_one_rank_is_no_meeting() -> None:
    assert met([10, 20]).n == 0
    assert comparable(met([10, 20])).n == 0


def test_only_meetings_that_end_together_compare() -> None:
    ends = [10 * k for k in range(1, 31)]
    assert comparable(met(ends, [*ends[:-1], ends[-1] + 2])).n == 29
    assert comparable(met(ends, [end + 2 for end in ends])).n == 0


def test_times_of_a_meeting_are_those_of_its_first_and_last_rank() -> None:
    first = exchanges([Row(rank=0, start_ns=5, end_ns=20), Row(rank=0, start_ns=30, end_ns=41)])
    second = exchanges([Row(rank=1, start_ns=12, end_ns=21), Row(rank=1, start_ns=30, end_ns=40)])
    found = meetings_of(joined([first, second]))
    assert (found.start_ns.tolist(), found.last_ns.tolist()) == ([5, 30], [12, 30])
    assert (found.transfer_ns.tolist(), found.end_spread_ns.tolist()) == ([9, 10], [1, 1])
    assert found.last_rank.tolist() == [1, 0]
    assert found.wait_ns.tolist() == [7, 0, 0, 0]
