from __future__ import annotations

import numpy as np
import pytest

from reportgen.rules.maths.activity import WorkRange, training_loop_ns, work_range
from tests.builders import START_S, ns, span_table


def ticks(count: int) -> np.ndarray:
    return ns(START_S) + np.arange(count, dtype=np.int64) * 500_000_000


def test_the_loop_is_from_the_first_start_to_the_last_end_of_any_step() -> None:
    spans = span_table(
        [
            ("Step:ModeKeys.TRAIN", "step", START_S + 2, START_S + 3),
            ("Step:ModeKeys.EVAL", "step", START_S + 1, START_S + 9),
            ("DataLoaderIter", "it", START_S, START_S + 20),
        ]
    )

    assert training_loop_ns(spans) == (ns(START_S + 1), ns(START_S + 9))


def test_without_steps_there_is_no_loop() -> None:
    assert training_loop_ns(span_table([("DataLoaderIter", "it", START_S, START_S + 1)])) is None


def test_idle_start_and_end_are_left_out() -> None:
    values = np.array([0.0, 0, 50, 0, 60, 50, 70, 80, 9.9, 0])

    found = work_range(ticks(10), values, idle_below=10, loop_ns=None)

    assert found == WorkRange(first=2, stop=8)


@pytest.mark.parametrize(("n_idle", "expected"), [(2, 2), (3, 0)])
def test_an_idle_edge_longer_than_a_quarter_stays_in(n_idle: int, expected: int) -> None:
    values = np.array([0.0] * n_idle + [90.0] * (10 - n_idle))

    found = work_range(ticks(10), values, idle_below=10, loop_ns=None)

    assert found == WorkRange(first=expected, stop=10)


def test_with_steps_the_loop_decides() -> None:
    times = ticks(10)
    loop_ns = (int(times[3]), int(times[6]))

    found = work_range(times, np.zeros(10), idle_below=10, loop_ns=loop_ns)

    assert found == WorkRange(first=3, stop=7)
    assert found.n_samples == 4


def test_a_device_that_never_worked_keeps_all_its_samples() -> None:
    found = work_range(ticks(5), np.zeros(5), idle_below=10, loop_ns=None)

    assert found == WorkRange(first=0, stop=5)


def test_a_loop_without_samples_keeps_all_samples() -> None:
    found = work_range(ticks(5), np.zeros(5), idle_below=10, loop_ns=(0, 1))

    assert found == WorkRange(first=0, stop=5)
