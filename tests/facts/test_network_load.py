from __future__ import annotations

import numpy as np
import pytest

from reportgen.facts.network_load import busy_from, starvation_of
from tests.builders import system_table

FAST = 100e6


def test_a_tick_is_starved_when_a_gpu_idles_and_the_network_is_busy() -> None:
    system = system_table({"gpu0": [5, 5, 95, 5], "receive": [FAST, 0.0, FAST, FAST]})

    found = starvation_of(system)

    assert found.limit_bytes_per_s == FAST
    assert found.is_starved.tolist() == [True, False, False, True]


def test_a_tick_without_one_of_both_samples_does_not_count() -> None:
    nothing = float("nan")
    system = system_table({"gpu0": [5, nothing, 5], "receive": [FAST, FAST, nothing]})

    found = starvation_of(system, limit_bytes_per_s=FAST)

    assert found.has_both.tolist() == found.is_starved.tolist() == [True, False, False]


def test_without_received_bytes_there_is_no_limit_and_no_starved_tick() -> None:
    found = starvation_of(system_table({"gpu0": [0.0] * 3}), limit_bytes_per_s=FAST)

    assert found.limit_bytes_per_s is None
    assert np.isnan(found.received).all()
    assert not found.is_starved.any()


@pytest.mark.parametrize(("limit", "least"), [(FAST, 90e6), (1e6, 10e6)])
def test_a_network_is_busy_from_a_share_of_its_limit_but_never_below_the_floor(
    limit: float, least: float
) -> None:
    assert busy_from(limit, busy_pct=90, floor_bytes_per_s=10e6) == least
