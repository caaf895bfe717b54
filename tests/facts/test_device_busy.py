"""Windows and unions of GPU operations, and use over time in bins that add up."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reportgen.facts.device_busy import (
    FineUse,
    Window,
    WindowKind,
    fine_use,
    time_in,
    unions_of,
    use_together,
    windows_of,
)
from reportgen.facts.intervals import union_of
from tests.rules.kernels.builders import gap_trace, rank_trace


def test_steps_extend_to_the_end_of_what_they_launched() -> None:
    assert windows_of(gap_trace((10.0, 1.0), steps=[(1, 0.0, 20.0)]))[1].end_ns == 300_000


def test_overlapping_communication_is_hidden_the_rest_is_exposed() -> None:
    gpu: list[Any] = [("k", 0.0, 60.0), ("ncclKernel_AllReduce", 40.0, 60.0, {"stream": 9})]
    trace = rank_trace(gpu=gpu)

    time = time_in(unions_of(trace, None)[0], windows_of(trace)[0], rank=0)

    assert (time.overlap_ns, time.exposed_communication_ns) == (20_000, 40_000)
    assert (time.compute_ns, time.communication_ns, time.busy_ns) == (60_000, 60_000, 100_000)


# Use over time


def fine(start_ns: int, length_ns: int, *, origin_ns: int = 0) -> FineUse:
    """A device that is busy for the first half of its window."""
    busy = union_of(np.array([start_ns]), np.array([start_ns + length_ns // 2]))
    window = Window(kind=WindowKind.GPU, start_ns=start_ns, end_ns=start_ns + length_ns)
    return fine_use(busy, window, origin_ns=origin_ns, node="rank 0", device="gpu0")


@given(
    st.integers(0, 1_000_000_000),
    st.integers(1_000, 100_000_000_000),
    st.integers(0, 2_000_000_000_000_000_000),
)
def test_bins_add_up_to_the_window_and_to_its_busy_time(start_ns, length_ns, origin_ns) -> None:
    use = use_together([fine(start_ns, length_ns, origin_ns=origin_ns)])

    assert use.length_ns.sum() == length_ns
    assert use.busy_ns.sum() == length_ns // 2
    assert use.time_s.size <= 300
    assert (use.busy_ns <= use.length_ns).all()


def test_recordings_far_apart_begin_together() -> None:
    use = use_together([fine(0, 10_000_000), fine(0, 10_000_000, origin_ns=3_600_000_000_000)])
    assert use.is_apart
    assert use.time_s.size <= 300
    assert (use.length_ns > 0).all(axis=0).sum() > 100


def test_a_window_without_length_has_one_bin() -> None:
    use = use_together([fine(1_000, 0)])

    assert (use.time_s.size, use.busy_ns.tolist()) == (1, [[0]])
