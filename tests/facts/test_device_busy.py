"""Windows and unions of GPU operations, by hand-made numbers."""

from __future__ import annotations

from typing import Any

from reportgen.facts.device_busy import time_in, unions_of, windows_of
from tests.rules.kernels.builders import gap_trace, rank_trace


def test_steps_extend_to_the_end_of_what_they_launched() -> None:
    trace = gap_trace((10.0, 1.0), steps=[(1, 0.0, 20.0)])

    assert windows_of(trace)[1].end_ns == 300_000


def test_overlapping_communication_is_hidden_the_rest_is_exposed() -> None:
    gpu: list[Any] = [("k", 0.0, 60.0), ("ncclKernel_AllReduce", 40.0, 60.0, {"stream": 9})]
    trace = rank_trace(gpu=gpu)

    time = time_in(unions_of(trace)[0], windows_of(trace)[0], rank=0)

    assert (time.overlap_ns, time.exposed_communication_ns) == (20_000, 40_000)
    assert (time.compute_ns, time.communication_ns, time.busy_ns) == (60_000, 60_000, 100_000)


def test_a_kernel_that_says_its_collective_is_communication() -> None:
    gpu = [("mystery", 0.0, 5.0, {"collective": {"name": "allreduce"}})]
    trace = rank_trace(gpu=gpu)

    assert time_in(unions_of(trace)[0], windows_of(trace)[0], rank=0).communication_ns == 5_000
