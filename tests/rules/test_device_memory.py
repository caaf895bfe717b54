"""Device memory by hand-made numbers."""

from __future__ import annotations

import pytest

from reportgen.profile.trace import RankTrace
from reportgen.rules.memory_in_use import RULE
from tests.rules.kernels.builders import rank_trace
from tests.rules.samples import column, run


def leak(*held: int) -> RankTrace:
    """A trace of steps that begin with so many bytes allocated."""
    memory = [
        {"time": 10.0 * n, "allocated": size, "reserved": 1000, "change": 0}
        for n, size in enumerate(held)
    ]
    marks = [(n, 10.0 * n + 1, 9.0) for n in range(len(held))]
    return rank_trace(memory=memory, steps=marks, gpu=[("k", 0.0, 1.0)])


@pytest.mark.parametrize(
    ("held", "found"),
    [
        ((100, 110, 120, 130), ["DMEM-1"]),
        ((100, 110, 110, 130), []),
        ((100, 110, 120), []),
        ((1000, 1001, 1002, 1003), []),
    ],
)
def test_memory_that_grows_in_every_step_is_a_leak(held: tuple[int, ...], found: list[str]) -> None:
    result = run(RULE, leak(*held))

    assert [item.id for item in result.findings] == found
    assert column(result, "device_memory", "growth_bytes") == [held[-1] - held[0]]


def test_without_totals_the_curve_counts_changes() -> None:
    memory = [{"time": 0.0, "change": 5}, {"time": 1.0, "change": 7}, {"time": 2.0, "change": -5}]
    result = run(RULE, rank_trace(memory=memory))

    assert column(result, "device_memory", "peak_allocated_bytes") == [12.0]
    assert column(result, "device_memory", "peak_reserved_bytes") == [None]
