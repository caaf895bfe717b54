"""A recording is played again: with nothing changed it takes as long as it did."""

from __future__ import annotations

import numpy as np
import pytest

from reportgen.facts.intervals import Union
from reportgen.facts.replay import Change, track_of, won_ns
from reportgen.profile.trace import RankTrace
from tests.rules.kernels.builders import rank_trace


def spared(low_us: float, high_us: float) -> Change:
    low, high = round(low_us * 1000), round(high_us * 1000)
    return Change(spared=Union(start_ns=np.array([low]), end_ns=np.array([high])))


def two_kernels(*, first_us: float = 100.0, launched_at: float = 190.0) -> RankTrace:
    """A kernel from 10 µs on, and one that is launched at 190 and begins 10 µs later."""
    second_us = max(10.0 + first_us, launched_at + 10.0)
    return rank_trace(
        gpu=[
            ("gemm", 10.0, first_us, {"correlation": 1}),
            ("gemm", second_us, 100.0, {"correlation": 2}),
        ],
        calls=[
            ("cudaLaunchKernel", 0.0, 5.0, {"correlation": 1}),
            ("cudaLaunchKernel", launched_at, 5.0, {"correlation": 2}),
        ],
    )


def with_sync() -> RankTrace:
    """The host waits from 20 to 115 µs for the first kernel and launches the next at 120."""
    return rank_trace(
        gpu=[
            ("gemm", 10.0, 100.0, {"correlation": 1}),
            ("gemm", 130.0, 100.0, {"correlation": 2}),
        ],
        calls=[
            ("cudaLaunchKernel", 0.0, 5.0, {"correlation": 1}),
            ("cudaStreamSynchronize", 20.0, 95.0),
            ("cudaLaunchKernel", 120.0, 5.0, {"correlation": 2}),
        ],
    )


def test_nothing_is_won_where_nothing_changes() -> None:
    assert won_ns(two_kernels(), ()) == 0
    assert won_ns(with_sync(), (Change(),)) == 0


def test_time_of_the_host_is_won_only_where_the_gpu_waits_for_it() -> None:
    assert won_ns(two_kernels(), (spared(50.0, 100.0),)) == 50_000
    assert won_ns(two_kernels(), (spared(5.0, 185.0),)) == 90_000
    assert won_ns(two_kernels(first_us=250.0), (spared(5.0, 185.0),)) == 0


def test_without_its_wait_the_host_launches_ahead() -> None:
    trace = with_sync()
    assert won_ns(trace, (Change(is_free=np.array([True])),)) == 20_000


def test_a_wait_only_moves_when_the_host_comes_earlier() -> None:
    assert won_ns(with_sync(), (spared(6.0, 19.0),)) == 0
    assert won_ns(with_sync(), (spared(116.0, 119.0),)) == 3_000


def test_a_shorter_operation_is_won_if_something_waits_for_it() -> None:
    trace = two_kernels(first_us=250.0)
    track = track_of(trace)
    assert track is not None
    length_ns = track.length_ns.copy()
    length_ns[0] = 200_000
    assert won_ns(trace, (Change(length_ns=length_ns),)) == 50_000


def test_an_operation_that_waits_long_after_its_launch_keeps_its_wait() -> None:
    trace = two_kernels(launched_at=20.0)
    late = rank_trace(
        gpu=[
            ("gemm", 10.0, 100.0, {"correlation": 1}),
            ("nccl", 200.0, 100.0, {"correlation": 2}),
        ],
        calls=[
            ("cudaLaunchKernel", 0.0, 5.0, {"correlation": 1}),
            ("cudaLaunchKernel", 20.0, 5.0, {"correlation": 2}),
        ],
    )
    for each in (trace, late):
        assert won_ns(each, (spared(6.0, 19.0),)) == 0


def test_the_host_bounds_the_last_step() -> None:
    trace = rank_trace(
        gpu=[("gemm", 10.0, 50.0, {"correlation": 1})],
        calls=[("cudaLaunchKernel", 0.0, 5.0, {"correlation": 1})],
        steps=[(1, 0.0, 200.0)],
    )
    assert won_ns(trace, (spared(100.0, 140.0),)) == 40_000
    assert won_ns(trace, (spared(5.0, 195.0),)) == pytest.approx(140_000)


def test_a_rank_that_ran_nothing_has_no_track() -> None:
    assert track_of(rank_trace()) is None
    assert won_ns(rank_trace(), (spared(0.0, 1.0),)) == 0


def test_waits_that_follow_each_other_but_for_rounding_are_two() -> None:
    trace = rank_trace(
        gpu=[
            ("Memcpy HtoD", 1.0, 8.0, {"correlation": 1}),
            ("Memcpy HtoD", 11.0, 8.0, {"correlation": 2}),
        ],
        calls=[
            ("cudaMemcpyAsync", 0.0, 10.001, {"correlation": 1}),
            ("cudaMemcpyAsync", 10.0, 10.0, {"correlation": 2}),
        ],
    )
    track = track_of(trace)
    assert track is not None
    assert track.waits.size == 2
