"""Utilization over time: bins that add up, several devices on one axis."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reportgen.facts.device_busy import Window, WindowKind
from reportgen.facts.intervals import union_of
from reportgen.facts.use_over_time import (
    FineUse,
    begin_together,
    fine_use,
    is_far_apart,
    use_together,
)


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
def test_bins_add_up_to_the_window_and_to_its_busy_time(
    start_ns: int, length_ns: int, origin_ns: int
) -> None:
    item = fine(start_ns, length_ns, origin_ns=origin_ns)
    use = use_together([item])

    assert use.length_ns.sum() == length_ns
    assert use.busy_ns.sum() == length_ns // 2
    assert use.time_s.size <= 300
    assert (use.busy_ns <= use.length_ns).all()


def test_a_common_window_gives_120_to_300_bins_of_round_width() -> None:
    for length_ns in (1_000_000, 33_000_000, 770_000_000, 9_900_000_000):
        use = use_together([fine(0, length_ns)])

        assert 120 <= use.time_s.size <= 300
        assert str(use.width_ns).strip("0") in {"1", "2", "5"}


def test_recordings_far_apart_begin_together() -> None:
    devices = [fine(0, 10_000_000), fine(0, 10_000_000, origin_ns=3_600_000_000_000)]

    assert is_far_apart([item.reach_ns for item in devices])
    use = use_together(begin_together(devices))
    assert use.time_s.size <= 300
    assert (use.length_ns > 0).all(axis=0).sum() > 100


def test_recordings_side_by_side_stay_where_they_are() -> None:
    devices = [fine(0, 10_000_000), fine(5_000_000, 10_000_000)]

    assert begin_together(devices) == devices
