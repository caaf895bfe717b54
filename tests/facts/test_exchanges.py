"""Waiting and transfer in exchanges of several ranks, by hand-made numbers."""

from __future__ import annotations

import numpy as np

from reportgen.facts.exchanges import (
    Exchange,
    comparable,
    exchanges_of,
    late_ranks,
    meetings_of,
    slow_transfers,
    waiting_in,
)
from tests.rules.kernels.builders import rank_trace

US = 1_000


def exchange(rank: int, seq: int, start_us: int, end_us: int, *, alone: bool = True) -> Exchange:
    return Exchange(
        rank=rank,
        group="0",
        seq=seq,
        name="allreduce",
        duration_ns=(end_us - start_us) * US,
        start_ns=start_us * US,
        end_ns=end_us * US,
        launch_ns=0,
        group_size=2,
        bytes=1_000,
        alone_ns=((start_us * US, end_us * US),) if alone else (),
    )


def late_by(late_us: int, n: int = 6, *, alone: bool = True, transfer_us: int = 10):
    """Two ranks; the second comes later each time."""
    first = [
        exchange(0, k, 1000 * k, 1000 * k + late_us + transfer_us, alone=alone) for k in range(n)
    ]
    second = [
        exchange(1, k, 1000 * k + late_us, 1000 * k + late_us + transfer_us) for k in range(n)
    ]
    return comparable(meetings_of([first, second]))


def test_the_rank_that_the_others_wait_for_is_late() -> None:
    found = late_ranks(waiting_in(late_by(50), {0: 0, 1: 0}))[0]
    assert (found.rank, found.excess_ns, found.n_last) == (1, 6 * 50 * US, 6)
    assert found.without_worst_ns == 5 * 50 * US


def test_waiting_behind_compute_costs_nothing() -> None:
    found = late_ranks(waiting_in(late_by(50, alone=False), {0: 0, 1: 0}))[0]
    assert found.excess_ns == 0


def test_a_window_that_begins_earlier_waits_for_that_first() -> None:
    waiting = waiting_in(late_by(50), {0: 0, 1: 120 * US})
    assert waiting.apart_ns.tolist() == [120 * US, 0]
    assert np.bincount(waiting.rank_place, waiting.lost_ns).tolist() == [180 * US, 0]


def test_only_what_nothing_computes_beside_is_alone() -> None:
    trace = rank_trace(
        gpu=[
            ("gemm", 0.0, 60.0, {"correlation": 1}),
            ("ncclKernel_AllReduce", 20.0, 100.0, {"correlation": 2, "stream": 20}),
        ],
        calls=[
            ("cudaLaunchKernel", 0.0, 1.0, {"correlation": 1}),
            ("cudaLaunchKernel", 2.0, 1.0, {"correlation": 2}),
        ],
    )
    (found,) = exchanges_of(trace, None)
    assert found.alone_ns == ((70 * US, 120 * US),)  # the first 10 µs may be a rest of compute
    assert found.alone_between_ns(0, 100 * US) == 30 * US


def test_transfers_that_take_much_longer_than_others_of_their_size_are_slow() -> None:
    lengths = [10, 10, 10, 10, 10, 80, 10, 90]
    ranks = [
        [exchange(rank, k, 1000 * k, 1000 * k + us) for k, us in enumerate(lengths)]
        for rank in range(2)
    ]
    found = slow_transfers(meetings_of(ranks))
    assert found is not None
    assert [item.number for item in found.meetings] == [5, 7]
    assert len(found.alike) == 8
    assert found.lost_ns == {0: 150 * US, 1: 150 * US}
    assert found.excess_ns == 150 * US


def test_equal_transfers_are_not_slow() -> None:
    assert slow_transfers(late_by(50)) is None
    assert slow_transfers([]) is None
