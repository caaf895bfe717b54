"""Begin and end marks, matched by depth, against a stack per lane."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reportgen.formats.trace_events.marks import match_marks


def by_stack(marks: list[tuple[bool, int, int]]) -> list[tuple[int, int]]:
    """Match as the definition says it: an end closes the latest open begin of its lane."""
    open_marks: dict[tuple[int, int], list[int]] = {}
    pairs = []
    for row, (is_begin, *lane) in enumerate(marks):
        stack = open_marks.setdefault((lane[0], lane[1]), [])
        if is_begin:
            stack.append(row)
        elif stack:
            pairs.append((stack.pop(), row))
    return sorted(pairs)


def lane(marks: list[tuple[bool, int, int]], place: int) -> np.ndarray:
    return np.array([mark[place] for mark in marks], dtype=np.int32)


MARKS = st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.integers(0, 1)), max_size=60)


@given(MARKS)
def test_marks_are_matched_as_by_a_stack(marks: list[tuple[bool, int, int]]) -> None:
    is_begin = np.array([mark[0] for mark in marks], dtype=np.bool_)
    begins, ends = match_marks(is_begin, lane(marks, 1), lane(marks, 2))
    assert list(zip(begins.tolist(), ends.tolist(), strict=True)) == by_stack(marks)
