"""Transfers that take longer than others of their size, by hand-made numbers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from reportgen.facts.exchanges import joined
from reportgen.facts.meetings import Meetings, meetings_of
from reportgen.facts.slow_transfers import located, slow_transfers
from tests.builders import known
from tests.facts.exchange_rows import Row, exchanges

US = 1_000


def lasting(lengths_us: Sequence[int], ranks: tuple[int, int] = (0, 1)) -> list[Row]:
    """Two ranks that transfer at the same times."""
    return [
        Row(
            rank=rank,
            seq=k,
            start_ns=1000 * k * US,
            end_ns=(1000 * k + us) * US,
            group=f"of {ranks[0]}",
        )
        for rank in ranks
        for k, us in enumerate(lengths_us)
    ]


def met(rows: Sequence[Row]) -> Meetings:
    return meetings_of(joined([exchanges(rows)]))


def test_transfers_that_take_much_longer_than_others_of_their_size_are_slow() -> None:
    found = known(slow_transfers(met(lasting([10, 10, 10, 10, 10, 80, 10, 90]))))
    assert found.meetings.number.tolist() == [5, 7]
    assert found.alike.n == 8
    assert found.lost_ns == {0: 150 * US, 1: 150 * US}
    assert found.excess_ns == 150 * US


@pytest.mark.parametrize("lengths_us", [[10] * 6, []])
def test_equal_transfers_are_not_slow(lengths_us: list[int]) -> None:
    assert slow_transfers(met(lasting(lengths_us))) is None


def test_slow_transfers_are_located_at_the_hosts_that_share_them() -> None:
    rows = [*lasting([10, 10, 80, 80, 90]), *lasting([10] * 5, ranks=(2, 3))]
    slow = known(slow_transfers(met(rows)))
    assert located(slow, {0: "a", 1: "b", 2: "c", 3: "d"}) == ("a", "b")
    assert located(slow, dict.fromkeys(range(4), "a")) == ()
