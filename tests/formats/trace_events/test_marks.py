"""Begin and end marks, matched by depth, against a stack per lane."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reportgen.formats.trace_events.marks import Marks, match_across, match_marks


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


@given(MARKS, st.integers(0, 60))
def test_a_cut_between_two_files_changes_nothing(
    marks: list[tuple[bool, int, int]], cut: int
) -> None:
    parts = [marks[:cut], marks[cut:]]
    pairs, loose = [], []
    for first, part in zip((0, len(parts[0])), parts, strict=True):
        is_begin = np.array([mark[0] for mark in part], dtype=np.bool_)
        begins, ends = match_marks(is_begin, lane(part, 1), lane(part, 2))
        pairs += list(zip((begins + first).tolist(), (ends + first).tolist(), strict=True))
        rest = np.setdiff1d(np.arange(len(part)), np.concatenate([begins, ends]))
        loose.append(
            Marks(
                time_ns=rest + first,
                is_begin=is_begin[rest],
                name=np.zeros(rest.size, dtype=np.int32),
                phase=lane(part, 1)[rest],
                thread=lane(part, 2)[rest],
                argument=np.zeros(rest.size, dtype=np.int32),
            )
        )
    stay, begun, ended = match_across(loose, np.array([0], dtype=np.int32))
    pairs += list(zip(begun.time_ns.tolist(), ended.time_ns.tolist(), strict=True))
    assert sorted(pairs) == by_stack(marks)
    assert sum(int(part.sum()) for part in stay) == len(marks) - 2 * len(pairs)
