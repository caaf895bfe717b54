"""Utilization over time: bins that add up, several devices on one axis."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.rules.kernels.unions import union_of
from reportgen.rules.kernels.use_over_time import (
    FineUse,
    begin_together,
    fine_use,
    is_far_apart,
    use_together,
)
from reportgen.rules.kernels.windows import Window, WindowKind


def fine(start_us: float, length_us: float, *, origin_ns: int = 0) -> FineUse:
    """A device that is busy for the first half of its window."""
    busy = union_of(np.array([start_us]), np.array([start_us + length_us / 2]))
    window = Window(kind=WindowKind.GPU, start_us=start_us, end_us=start_us + length_us)
    return fine_use(busy, window, origin_ns=origin_ns, node="rank 0", device="gpu0")


@given(
    st.floats(0, 1e6, allow_nan=False),
    st.floats(1, 1e8, allow_nan=False),
    st.integers(0, 2_000_000_000_000_000_000),
)
def test_bins_add_up_to_the_window_and_to_its_busy_time(
    start_us: float, length_us: float, origin_ns: int
) -> None:
    item = fine(start_us, length_us, origin_ns=origin_ns)
    use = use_together([item])

    assert use.length_us.sum() == pytest.approx(length_us, abs=0.01)
    assert use.busy_us.sum() == pytest.approx(length_us / 2, abs=0.01)
    assert use.time_s.size <= 300
    assert (use.busy_us <= use.length_us + 1e-6).all()


def test_a_common_window_gives_120_to_300_bins_of_round_width() -> None:
    for length_us in (1e3, 3.3e4, 7.7e5, 9.9e6):
        use = use_together([fine(0.0, length_us)])

        assert 120 <= use.time_s.size <= 300
        assert str(use.width_ns).strip("0") in {"1", "2", "5"}


def test_recordings_far_apart_begin_together() -> None:
    devices = [fine(0.0, 1e4), fine(0.0, 1e4, origin_ns=3_600_000_000_000)]

    assert is_far_apart(devices)
    use = use_together(begin_together(devices))
    assert use.time_s.size <= 300
    assert (use.length_us > 0).all(axis=0).sum() > 100


def test_recordings_side_by_side_stay_where_they_are() -> None:
    devices = [fine(0.0, 1e4), fine(5e3, 1e4)]

    assert begin_together(devices) == devices
