from __future__ import annotations

import numpy as np

from reportgen.rules.maths.minutes import minutes_of

MINUTE = 60_000_000_000


def test_minutes_are_those_of_the_wall_clock_and_only_those_with_data() -> None:
    time_ns = np.array([50, 59, 60, 61, 200]) * 1_000_000_000

    minutes = minutes_of(time_ns)

    assert (minutes.start_ns // MINUTE).tolist() == [0, 1, 3]
    assert minutes.stop.tolist() == [2, 4, 5]


def test_nothing_has_no_minutes() -> None:
    minutes = minutes_of(np.empty(0, dtype=np.int64))

    assert minutes.start_ns.size == minutes.stop.size == 0
