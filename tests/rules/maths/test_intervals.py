from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reportgen.rules.maths.intervals import (
    merge_intervals,
    overlaps_any,
    spans_any_moment,
    union_length_ns,
)

Pairs = list[tuple[int, int]]
pairs = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 15)).map(lambda item: (item[0], sum(item))),
    max_size=12,
)


def ends(intervals: Pairs) -> tuple[np.ndarray, np.ndarray]:
    array = np.array(intervals, dtype=np.int64).reshape(-1, 2)
    return array[:, 0], array[:, 1]


def test_overlapping_and_touching_intervals_become_one() -> None:
    starts, stops = merge_intervals(*ends([(5, 8), (0, 3), (3, 4), (6, 7), (20, 21)]))

    assert starts.tolist() == [0, 5, 20]
    assert stops.tolist() == [4, 8, 21]


@given(pairs)
def test_the_union_is_as_long_as_the_unit_steps_it_covers(intervals: Pairs) -> None:
    covered = {step for start, end in intervals for step in range(start, end)}

    assert union_length_ns(*ends(intervals)) == len(covered)


@given(pairs, st.lists(st.integers(0, 80), max_size=8))
def test_an_interval_spans_a_moment_on_its_edges_too(intervals: Pairs, moments: list[int]) -> None:
    found = spans_any_moment(*ends(intervals), np.array(moments, dtype=np.int64))

    assert found.tolist() == [
        any(start <= moment <= end for moment in moments) for start, end in intervals
    ]


@given(pairs, pairs)
def test_overlap_is_closed_on_both_sides(intervals: Pairs, others: Pairs) -> None:
    found = overlaps_any(*ends(intervals), *ends(others))

    assert found.tolist() == [
        any(start <= other_end and other_start <= end for other_start, other_end in others)
        for start, end in intervals
    ]


@given(pairs)
def test_merged_intervals_are_apart_and_cover_the_same_moments(intervals: Pairs) -> None:
    covered = {moment for start, end in intervals for moment in range(start, end + 1)}

    starts, stops = merge_intervals(*ends(intervals))

    merged = list(zip(starts.tolist(), stops.tolist(), strict=True))
    assert {moment for start, end in merged for moment in range(start, end + 1)} == covered
    assert all(end < start for (_, end), (start, _) in pairwise(merged))
