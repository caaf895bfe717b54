"""Threads that share cores and pipes in simulated time."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.exam.threads_model.kernel import Clock, Program, Shared


def working(clock: Clock, shared: Shared, amounts: list[float], ends_s: list[float]) -> Program:
    for amount in amounts:
        yield shared, amount
    ends_s.append(clock.now_s)


def ends_of(amounts: list[list[float]], capacity: float, **options: float) -> list[float]:
    clock = Clock()
    shared = Shared(clock, capacity, **options)
    ends_s: list[float] = []
    for each in amounts:
        clock.start(working(clock, shared, each, ends_s))
    clock.run()
    return ends_s


def test_a_thread_alone_gets_one_core_of_many():
    assert ends_of([[2.0, 3.0]], 8) == pytest.approx([5.0])


def test_threads_share_what_is_too_small_for_all():
    assert ends_of([[1.0], [1.0], [2.0]], 1) == pytest.approx([3.0, 3.0, 4.0])


def test_threads_with_a_core_each_do_not_wait():
    assert ends_of([[1.0], [2.0], [3.0]], 3) == pytest.approx([1.0, 2.0, 3.0])


def test_too_many_threads_lose_time_to_each_other():
    fair = ends_of([[1.0]] * 8, 2)
    lossy = ends_of([[1.0]] * 8, 2, thrash=0.1)
    assert fair == pytest.approx([4.0] * 8)
    assert lossy == pytest.approx([4.0 * 1.3] * 8)


def test_a_pipe_is_full_while_anyone_uses_it():
    clock = Clock()
    pipe = Shared(clock, 100.0, most_each=100.0)
    ends_s: list[float] = []
    clock.start(working(clock, pipe, [100.0, 100.0], ends_s))
    clock.start(working(clock, pipe, [50.0], ends_s))
    clock.run()
    assert ends_s == pytest.approx([1.0, 2.5])
    at_s = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(pipe.mean_rate(at_s, 1.0), [100, 100, 50])
    np.testing.assert_allclose(pipe.mean_users(at_s, 1.0), [2, 1, 0.5])


def test_a_thread_that_waits_for_another_goes_on_when_it_is_woken():
    clock = Clock()
    seen_s: list[float] = []
    waiting = []

    def sleeper() -> Program:
        assert clock.current is not None
        waiting.append(clock.current)
        yield None
        seen_s.append(clock.now_s)

    def waker() -> Program:
        yield None, 7.0
        clock.wake(waiting[0])

    clock.start(sleeper())
    clock.start(waker())
    clock.run()
    assert seen_s == [7.0]
