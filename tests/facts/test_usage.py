from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.arrays import Floats
from reportgen.facts.intervals import union_of
from reportgen.facts.usage import (
    begun_rows,
    busy_from,
    cores_mean_pct,
    hot_cores,
    idlest_unused_ratio,
    is_host_hot,
    low_gpus,
    low_used_gpus,
    most_lost_ratio,
    most_unused_ratio,
    samples_by_gpu,
    starvation_of,
    unused_ratio,
    used_gpus,
    used_throughout,
)
from reportgen.profile import SeriesKind
from tests.builders import START_S, ns, system_table


def use(*gpus: list[float]) -> list[Floats]:
    return [np.array(gpu, dtype=np.float64) for gpu in gpus]


def test_the_samples_of_a_gpu_have_no_gaps_and_a_gpu_without_any_does_not_exist() -> None:
    system = system_table({"gpu0": [5.0, None, 7.0], "gpu1": [None, None, None]}, interval_s=1)
    samples = dict(samples_by_gpu(system, SeriesKind.GPU_UTILIZATION))

    assert list(samples) == ["gpu0"]
    assert samples["gpu0"].is_there.tolist() == [True, False, True]
    assert samples["gpu0"].time_ns.tolist() == [ns(START_S), ns(START_S + 2)]
    assert samples["gpu0"].values.tolist() == [5.0, 7.0]
    assert samples["gpu0"].before(np.array([ns(START_S), ns(START_S + 2.5)])).tolist() == [0, 2]


def test_a_gpu_is_used_when_it_ever_reaches_ten_percent() -> None:
    assert used_gpus(use([0.0, 10.0], [9.9, 9.9], [np.nan, 50.0])).tolist() == [True, False, True]


@pytest.mark.parametrize(("n_busy", "is_used"), [(3, False), (4, True)])
def test_a_few_samples_of_setting_up_cuda_are_no_use(n_busy: int, is_used: bool) -> None:
    started, works = [30.0] * n_busy + [0.0] * (200 - n_busy), [90.0] * 200

    assert used_gpus(use(started, works)).tolist() == [is_used, True]
    system = system_table({"gpu0": started, "cpu0": [99.0] * 200})
    assert bool(low_used_gpus(system).any()) is is_used


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


def test_a_gpu_that_stopped_while_another_goes_on_waits_for_nothing() -> None:
    system = system_table({"gpu0": [50.0, 0.0, 50.0, 0.0, 0.0], "gpu1": [50.0, 5.0, 9.0, 50.0, 0]})

    assert low_used_gpus(system).tolist() == [0, 2, 1, 0, 1]


def test_a_core_is_hot_above_a_threshold_and_never_where_it_is_absent() -> None:
    system = system_table({"cpu0": [90.0, 90.1, None], "cpu1": [95.0, 95.0, 0.0]})

    assert hot_cores(system, SeriesKind.CPU_UTILIZATION, above=90.0).tolist() == [1, 2, 0]


def test_a_host_is_hot_when_a_core_computes_or_waits() -> None:
    system = system_table(
        {"cpu0": [91.0, 0.0, 90.0], "cpu0_iowait": [0.0, 51.0, 50.0], "gpu0": [1.0] * 3}
    )

    assert is_host_hot(system).tolist() == [True, True, False]


def test_the_mean_of_the_cores_leaves_absent_ones_out() -> None:
    mean = cores_mean_pct(system_table({"cpu0": [10.0, 20.0, None], "cpu1": [30.0, None, None]}))

    np.testing.assert_array_equal(mean, [20.0, 20.0, np.nan])


FAST = 100e6


def test_a_tick_is_starved_when_a_gpu_idles_and_the_network_is_busy() -> None:
    system = system_table(
        {"gpu0": [95, 5, 5, 95, 5, 95], "receive": [0.0, FAST, 0.0, FAST, FAST, 0.0]}
    )

    found = starvation_of(system)

    assert found.limit_bytes_per_s == FAST
    assert found.is_starved.tolist() == [False, True, False, False, True, False]


@given(before=st.integers(0, 5), after=st.integers(0, 5))
def test_a_download_before_the_first_work_or_after_the_last_starves_no_gpu(before: int, after: int):
    use = [0.0] * before + [95.0, 5.0, 95.0] + [0.0] * after
    received = [10 * FAST] * before + [0.0, FAST, 0.0] + [10 * FAST] * after

    found = starvation_of(system_table({"gpu0": use, "receive": received}))

    assert found.limit_bytes_per_s == pytest.approx(FAST, rel=0.03)
    assert np.flatnonzero(found.is_starved).tolist() == [before + 1]


def test_without_received_bytes_there_is_no_limit_and_no_starved_tick() -> None:
    found = starvation_of(system_table({"gpu0": [0.0] * 3}), limit_bytes_per_s=FAST)

    assert found.limit_bytes_per_s is None
    assert np.isnan(found.received).all()
    assert not found.is_starved.any()


@pytest.mark.parametrize(("limit", "least"), [(FAST, 90e6), (1e6, 10e6)])
def test_a_network_is_busy_from_a_share_of_its_limit_but_never_below_the_floor(limit, least):
    assert busy_from(limit, busy_pct=90) == least


def test_a_gpu_that_stopped_leaves_nothing_unused_afterwards() -> None:
    uses = {
        "gpu0": [0.0] * 40 + [80.0] * 40 + [0.0] * 10,
        "gpu1": [0.0] * 40 + [40.0] * 20 + [0.0] * 30,
    }

    assert unused_ratio(system_table(uses)) == pytest.approx(1 - (4 * 0.8 + 2 * 0.4) / 6)
    assert most_unused_ratio(system_table(uses)) == pytest.approx((20 * 0.8 + 20 * 0.2) / 40)


def test_what_gpus_leave_unused_in_stops_of_the_loop_is_not_counted_outside_of_them() -> None:
    system = system_table({"gpu0": [80.0] * 20 + [0.0] * 20 + [80.0] * 10})
    stops = union_of(system.tick_ns[19:20], system.tick_ns[39:40])

    for unused in (unused_ratio, most_unused_ratio):
        assert unused(system) == pytest.approx((30 * 0.2 + 20) / 50)
        assert unused(system, outside=stops) == pytest.approx(30 * 0.2 / 50)


def test_gpus_of_one_process_leave_unused_what_all_of_them_do() -> None:
    system = system_table({"gpu0": [80.0] * 30, "gpu1": [30.0] * 30})

    assert most_unused_ratio(system, is_one_process=True) == pytest.approx(0.2)
    assert idlest_unused_ratio(system, is_one_process=True) == pytest.approx(0.2)
    assert idlest_unused_ratio(system) == pytest.approx(0.7)  # the other one may wait for it
    assert most_unused_ratio(system) == pytest.approx(0.9)


@pytest.mark.parametrize(("use_in_pauses", "expected"), [(98.0, 0.0), (49.0, 0.05), (0.0, 0.1)])
def test_pauses_cost_what_the_idlest_gpu_does_less_in_them_than_usual(use_in_pauses, expected):
    # Seven other GPUs wait in a collective, and look busy; nothing uses all of a GPU.
    idlest = ([98.0] * 18 + [use_in_pauses] * 2) * 10
    system = system_table({"gpu0": idlest, **{f"gpu{at}": [98.0] * 200 for at in range(1, 8)}})
    pauses = union_of(system.tick_ns[17::20] + 1, system.tick_ns[19::20])

    assert most_lost_ratio(system, pauses) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("interval_s", "spike", "began"), [(0.5, 9, 40), (0.5, 10, 10), (5.0, 1, 40), (60.0, 2, 10)]
)
def test_work_has_begun_where_it_lasts(interval_s: float, spike: int, began: int) -> None:
    use = np.array([0.0] * 10 + [50.0] * spike + [0.0] * (30 - spike) + [50.0] * 40)
    system = system_table({"gpu0": use.tolist()}, interval_s=interval_s)

    assert begun_rows(system, use > 0)[0] == began


def test_with_few_samples_it_is_unknown_what_gpus_leave_unused() -> None:
    system = system_table({"gpu0": [60.0] * 19})

    assert (unused_ratio(system), most_unused_ratio(system)) == (None, None)
    assert idlest_unused_ratio(system) is None
