from __future__ import annotations

import numpy as np
import pytest

from reportgen.facts.activity import WorkRange
from reportgen.facts.gpu_use import (
    low_gpus,
    low_used_gpus,
    samples_by_gpu,
    used_gpus,
    used_throughout,
    windows_at_work,
)
from reportgen.profile import SeriesKind
from tests.builders import START_S, ns, system_table


def use(*gpus: list[float]) -> np.ndarray:
    return np.array(gpus, dtype=np.float64).T


def test_the_samples_of_a_gpu_have_no_gaps_and_a_gpu_without_any_does_not_exist() -> None:
    system = system_table({"gpu0": [5.0, None, 7.0], "gpu1": [None, None, None]}, interval_s=1)
    samples = samples_by_gpu(system, SeriesKind.GPU_UTILIZATION)

    assert list(samples) == ["gpu0"]
    assert samples["gpu0"].row.tolist() == [0, 2]
    assert samples["gpu0"].time_ns.tolist() == [ns(START_S), ns(START_S + 2)]
    assert samples["gpu0"].values.tolist() == [5.0, 7.0]
    assert samples["gpu0"].before(np.array([ns(START_S), ns(START_S + 2.5)])).tolist() == [0, 2]


def test_a_gpu_is_used_when_it_ever_reaches_ten_percent() -> None:
    assert used_gpus(use([0.0, 10.0], [9.9, 9.9], [np.nan, 50.0])).tolist() == [True, False, True]


def test_where_no_gpu_works_hard_those_that_do_anything_are_used() -> None:
    assert used_gpus(use([0.0, 2.0], [1.0, 1.9])).tolist() == [True, False]


def test_a_gpu_that_stopped_long_ago_is_not_used_throughout() -> None:
    steady, stopped = [90.0] * 8, [90.0] * 5 + [0.0] * 3

    assert used_throughout(use(steady, stopped, [0.0] * 8)).tolist() == [True, False, False]
    assert used_throughout(use(stopped, stopped)).tolist() == [True, True], "all where each stops"


def test_only_a_used_gpu_idles_below_ten_percent() -> None:
    system = system_table({"gpu0": [50.0, 9.9, 10.0, None], "gpu1": [0.0] * 4})

    assert low_gpus(system).tolist() == [1, 2, 1, 1]
    assert low_used_gpus(system).tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        (10, (5, 10)),  # half of the window lies before the working range
        (20, (10, 20)),  # all of it lies in the range
        (26, (16, 24)),  # the range ends before the window
        (6, (5, 5)),  # less than a fifth is left
    ],
)
def test_a_window_is_cut_to_the_working_range(stop: int, expected: tuple[int, int]) -> None:
    work = WorkRange(first=5, stop=24)
    first, last = windows_at_work(np.array([stop]), work, window=10)

    assert (int(first[0]), int(last[0])) == expected
