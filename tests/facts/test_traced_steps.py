"""The union of what each step launched, whatever the recording spans."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reportgen.facts.traced_steps import _union_ns

OPERATIONS = st.tuples(st.integers(0, 4), st.integers(0, 40), st.integers(0, 15))


@given(st.lists(OPERATIONS, max_size=20))
def test_each_moment_of_a_step_counts_once(operations: list[tuple[int, int, int]]) -> None:
    expected = [
        len({ns for its, at, length in operations if its == step for ns in range(at, at + length)})
        for step in range(5)
    ]
    step, start, length = np.array(operations, dtype=np.int64).reshape(-1, 3).T

    assert _union_ns(step, start, start + length, 5).tolist() == expected


def test_steps_that_lie_centuries_apart_do_not_overflow() -> None:
    start = np.array([0, 2**62, 2**62 + 5])
    end = np.array([10, 2**62 + 10, 2**62 + 20])

    assert _union_ns(np.array([0, 3, 3]), start, end, 4).tolist() == [10, 0, 0, 20]
