"""A recording is played again: with nothing changed it takes as long as it did."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.facts.intervals import Union
from reportgen.facts.replay import NEVER, Change, ReplayedRank, track_of, won_ns
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE
from tests.builders import known
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
        gpu=[("gemm", 10.0, 100.0, {"correlation": 1}), ("gemm", 130.0, 100.0, {"correlation": 2})],
        calls=[
            ("cudaLaunchKernel", 0.0, 5.0, {"correlation": 1}),
            ("cudaStreamSynchronize", 20.0, 95.0),
            ("cudaLaunchKernel", 120.0, 5.0, {"correlation": 2}),
        ],
    )


def played(trace: RankTrace) -> ReplayedRank:
    return known(track_of(trace))


def test_nothing_is_won_where_nothing_changes() -> None:
    for trace in (two_kernels(), two_kernels(first_us=250.0), with_sync()):
        track = played(trace)
        assert track.done_ns == track.window.end_ns
        assert won_ns(track, (Change(),)) == 0


def test_time_of_the_host_is_won_only_where_the_gpu_waits_for_it() -> None:
    assert won_ns(played(two_kernels()), (spared(50.0, 100.0),)) == 50_000
    assert won_ns(played(two_kernels()), (spared(5.0, 185.0),)) == 90_000
    assert won_ns(played(two_kernels(first_us=250.0)), (spared(5.0, 185.0),)) == 0


def test_without_its_wait_the_host_launches_ahead() -> None:
    assert won_ns(played(with_sync()), (Change(is_free=np.array([True])),)) == 20_000


def test_a_wait_only_moves_when_the_host_comes_earlier() -> None:
    assert won_ns(played(with_sync()), (spared(6.0, 19.0),)) == 0
    assert won_ns(played(with_sync()), (spared(116.0, 119.0),)) == 3_000


def test_a_shorter_operation_is_won_if_something_waits_for_it() -> None:
    track = played(two_kernels(first_us=250.0))
    length_ns = track.length_ns.copy()
    length_ns[0] = 200_000
    assert won_ns(track, (Change(length_ns=length_ns),)) == 50_000


def test_the_host_bounds_the_last_step() -> None:
    trace = rank_trace(
        gpu=[("gemm", 10.0, 50.0, {"correlation": 1})],
        calls=[("cudaLaunchKernel", 0.0, 5.0, {"correlation": 1})],
        steps=[(1, 0.0, 200.0)],
    )
    assert won_ns(played(trace), (spared(100.0, 140.0),)) == 40_000
    assert won_ns(played(trace), (spared(5.0, 195.0),)) == pytest.approx(140_000)


def test_a_rank_that_ran_nothing_has_no_track() -> None:
    assert track_of(rank_trace()) is None


def walked_ns(track: ReplayedRank, spared: Union, is_free: list[bool]) -> int:
    """Return when a rank is done, operation by operation and wait by wait."""

    def sooner(at_ns: int) -> int:
        low_ns = np.minimum(np.maximum(spared.start_ns, track.window.start_ns), at_ns)
        return at_ns - int((np.minimum(np.maximum(spared.end_ns, low_ns), at_ns) - low_ns).sum())

    saved_ns, reach_ns = [0], [track.window.start_ns]

    def play(stop: int) -> None:
        for at in range(len(reach_ns) - 1, stop):
            base_ns = int(track.base_ns[at])
            ready_ns = NEVER
            if base_ns != NEVER:
                n_waits = int((track.high_ns <= base_ns).sum())
                saved = saved_ns[min(n_waits, len(saved_ns) - 1)]
                ready_ns = sooner(base_ns) - saved + int(track.delay_ns[at])
            begun_ns = max(reach_ns[-1] + int(track.gap_ns[at]), ready_ns)
            reach_ns.append(begun_ns + int(track.length_ns[at]))

    for wait, op in enumerate(track.for_op.tolist()):
        begun_ns = sooner(int(track.low_ns[wait])) - saved_ns[-1]
        done_ns = begun_ns
        if op != NONE:
            play(op + 1)
            done_ns = max(begun_ns, reach_ns[op + 1] - int(track.lead_ns[wait]))
        done_ns = begun_ns if is_free[wait] else done_ns + int(track.rest_ns[wait])
        saved_ns.append(sooner(int(track.high_ns[wait])) - done_ns)
    play(track.rows.size)
    return max(reach_ns[-1], sooner(track.host_end_ns) - saved_ns[-1])


@given(st.data())
def test_a_replay_in_runs_is_one_operation_by_operation(data: st.DataObject) -> None:
    n_ops = data.draw(st.integers(1, 12))
    times = st.floats(0.0, 300.0).map(lambda us: round(us, 1))
    gpu = [
        ("gemm", data.draw(times), data.draw(times) / 4, {"correlation": number})
        for number in range(n_ops)
    ]
    calls: list[tuple[str, float, float] | tuple[str, float, float, dict[str, int]]] = [
        ("cudaLaunchKernel", max(begin - data.draw(times) / 4, 0.0), 3.0, {"correlation": number})
        for number, (_, begin, _, _) in enumerate(gpu)
        if data.draw(st.integers(0, 4))
    ]
    waits = data.draw(st.lists(st.tuples(times, times), max_size=5))
    calls += [("cudaStreamSynchronize", begin, length / 3) for begin, length in waits]
    track = played(rank_trace(gpu=gpu, calls=calls))
    is_free = data.draw(
        st.lists(st.booleans(), min_size=track.waits.size, max_size=track.waits.size)
    )
    low_us, length_us = data.draw(times), data.draw(times)
    change = spared(low_us, low_us + length_us)
    assert change.spared is not None
    nothing = Union(start_ns=track.rows[:0], end_ns=track.rows[:0])
    unchanged_ns = walked_ns(track, nothing, [False] * track.waits.size)

    won = won_ns(track, (change, Change(is_free=np.array(is_free, dtype=bool))))

    assert track.done_ns == unchanged_ns
    lost_ns = unchanged_ns - walked_ns(track, change.spared, is_free)
    assert won == min(max(lost_ns, 0), track.window.length_ns)


def blocking_copy(*, staged_us: float) -> RankTrace:
    """The host is busy until 200 µs, then copies: its call lasts until the copy is done."""
    return rank_trace(
        gpu=[
            ("gemm", 10.0, 40.0, {"correlation": 1}),
            ("Memcpy HtoD (Pageable -> Device)", 200.0 + staged_us, 80.0, {"correlation": 2}),
        ],
        calls=[
            ("cudaLaunchKernel", 0.0, 5.0, {"correlation": 1}),
            ("cudaMemcpyAsync", 200.0, staged_us + 81.0, {"correlation": 2}),
        ],
    )


@pytest.mark.parametrize("staged_us", [5.0, 29.0, 31.0, 60.0])
def test_a_blocking_copy_comes_earlier_with_its_call_however_long_it_is_staged(staged_us) -> None:
    track = played(blocking_copy(staged_us=staged_us))

    assert won_ns(track, (spared(60.0, 160.0),)) == 100_000
    assert won_ns(track, (spared(5.0, 195.0),)) == 150_000  # the GPU is busy until 50 µs


@pytest.mark.parametrize("late_us", [29.0, 31.0, 60.0])
def test_what_a_kernel_waits_beyond_its_launch_stays_and_the_time_before_is_won(late_us) -> None:
    trace = two_kernels()
    later = rank_trace(
        gpu=[
            ("gemm", 10.0, 100.0, {"correlation": 1}),
            ("gemm", 195.0 + late_us, 100.0, {"correlation": 2}),
        ],
        calls=[
            ("cudaLaunchKernel", 0.0, 5.0, {"correlation": 1}),
            ("cudaLaunchKernel", 190.0, 5.0, {"correlation": 2}),
        ],
    )
    assert won_ns(played(trace), (spared(150.0, 190.0),)) == 40_000
    assert won_ns(played(later), (spared(150.0, 190.0),)) == 40_000
