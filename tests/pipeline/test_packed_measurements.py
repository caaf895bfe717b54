"""Measurements that wait packed are the same when they are looked up, here or elsewhere."""

from __future__ import annotations

import numpy as np

from reportgen.pipeline.work import PackedMeasurements
from reportgen.results import RuleId

FIRST, SECOND = RuleId("First"), RuleId("Second")


def test_measurements_are_unpacked_when_they_are_looked_up() -> None:
    found = PackedMeasurements({FIRST: np.arange(9), SECOND: b"raw"})

    assert list(found) == [FIRST, SECOND]
    assert found[FIRST].tolist() == list(range(9))
    assert found[SECOND] == b"raw"
    assert found[FIRST] is not found[FIRST]
    assert RuleId("Another") not in found


def test_a_measurement_that_cannot_be_pickled_stays_as_it_is() -> None:
    def strange() -> None: ...

    assert PackedMeasurements({FIRST: strange})[FIRST] is strange
