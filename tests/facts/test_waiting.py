"""Who waits for whom, by hand-made numbers."""

from __future__ import annotations

import numpy as np

from reportgen.facts.exchanges import joined
from reportgen.facts.meetings import Meetings, comparable, meetings_of
from reportgen.facts.waiting import late_ranks, waiting_in
from tests.facts.exchange_rows import Row, exchanges

US = 1_000


def late_by(late_us: int, n: int = 6, *, is_alone: bool = True) -> Meetings:
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
    return comparable(meetings_of(joined([exchanges(first), exchanges(second)])))


def test_the_rank_that_the_others_wait_for_is_late() -> None:
    found = late_ranks(waiting_in(late_by(50), {0: 0, 1: 0}))[0]
    assert (found.rank, found.excess_ns, found.n_last) == (1, 6 * 50 * US, 6)
    assert found.without_worst_ns == 5 * 50 * US


def test_waiting_behind_compute_costs_nothing() -> None:
    found = late_ranks(waiting_in(late_by(50, is_alone=False), {0: 0, 1: 0}))[0]
    assert found.excess_ns == 0


def test_a_window_that_begins_earlier_waits_for_that_first() -> None:
    waiting = waiting_in(late_by(50), {0: 0, 1: 120 * US})
    assert waiting.apart_ns.tolist() == [120 * US, 0]
    assert np.bincount(waiting.rank_place, waiting.lost_ns).tolist() == [180 * US, 0]
