from __future__ import annotations

import numpy as np

from reportgen.facts.host_load import cores_mean_pct, hot_cores, is_host_hot
from reportgen.profile import SeriesKind
from tests.builders import system_table


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
