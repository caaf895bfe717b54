"""How much of some windows intervals cover, against counting every instant."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reportgen.rules.maths.coverage import covered_ns

INTERVALS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=10)


@given(INTERVALS, INTERVALS)
def test_covered_time_is_what_counting_finds(
    spans: list[tuple[int, int]], windows: list[tuple[int, int]]
) -> None:
    start, length = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    first, reach = np.array(windows, dtype=np.int64).reshape(-1, 2).T
    covered = {at for begin, size in spans for at in range(begin, begin + size)}
    counted = sum(at in covered for begin, size in windows for at in range(begin, begin + size))
    assert covered_ns(start, start + length, first, first + reach) == counted
