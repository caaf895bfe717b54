from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reportgen.facts.intervals import (
    Union,
    clip,
    covered_each,
    covered_ns,
    gaps_of,
    join,
    merge_intervals,
    minus,
    overlap_ns,
    overlaps_any,
    runs_of,
    spans_any_moment,
    union_length_ns,
    union_of,
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


def test_neighbours_become_one_run() -> None:
    runs = runs_of(np.array([1, 2, 3, 7, 8, 20]), max_step=1)

    assert runs.first.tolist() == [0, 3, 5]
    assert runs.last.tolist() == [2, 4, 5]
    assert runs.n_members.tolist() == [3, 2, 1]
    assert runs.n_runs == 3


def test_a_gap_of_exactly_the_step_still_joins() -> None:
    places = np.array([0, 10, 21])

    assert runs_of(places, max_step=10).n_members.tolist() == [2, 1]
    assert runs_of(places, max_step=11).n_members.tolist() == [3]


def test_nothing_has_no_runs() -> None:
    runs = runs_of(np.empty(0, dtype=np.int64), max_step=1)

    assert runs.n_runs == 0
    assert runs.n_members.tolist() == []


@given(st.lists(st.integers(0, 60), max_size=20).map(sorted), st.integers(0, 8))
def test_runs_are_those_of_a_slow_loop(places: list[int], max_step: int) -> None:
    runs: list[list[int]] = []
    for place in places:
        if runs and place - runs[-1][-1] <= max_step:
            runs[-1].append(place)
        else:
            runs.append([place])

    found = runs_of(np.array(places, dtype=np.int64), max_step=max_step)

    assert found.n_members.tolist() == [len(run) for run in runs]
    assert [places[index] for index in found.first] == [run[0] for run in runs]
    assert [places[index] for index in found.last] == [run[-1] for run in runs]


def of(rows: Pairs) -> Union:
    """Return the union of (start, end) rows."""
    return union_of(*ends(rows))


def cells(rows: Pairs) -> set[int]:
    """Return the unit cells that (start, end) rows cover."""
    return {cell for low, high in rows for cell in range(low, high)}


def test_touching_intervals_are_one() -> None:
    union = of([(5, 7), (0, 2), (2, 3)])

    assert union.start_ns.tolist() == [0, 5]
    assert union.end_ns.tolist() == [3, 7]
    assert union.length_ns == 5


def test_nothing_has_no_length_and_is_one_gap() -> None:
    union = of([])

    assert union.length_ns == 0
    assert covered_each(union, np.array([0]), np.array([9])).tolist() == [0]
    assert gaps_of(union, 2, 5).length_ns == 3


def test_gaps_and_union_fill_the_window() -> None:
    union = of([(1, 2), (4, 9)])

    gaps = gaps_of(union, 0, 8)

    assert list(zip(gaps.start_ns, gaps.end_ns, strict=True)) == [(0, 1), (2, 4)]
    assert gaps.length_ns + clip(union, 0, 8).length_ns == 8


@given(pairs, pairs)
def test_lengths_follow_the_law_of_unions(one: Pairs, two: Pairs) -> None:
    a, b = of(one), of(two)

    assert a.length_ns == len(cells(one))
    assert join((a, b)).length_ns == len(cells(one) | cells(two))
    assert overlap_ns(a, b) == len(cells(one) & cells(two))
    assert a.length_ns + b.length_ns - join((a, b)).length_ns == overlap_ns(a, b)
    assert minus(a, b).length_ns == len(cells(one) - cells(two))


@given(pairs, st.integers(0, 80), st.integers(0, 30))
def test_a_window_is_covered_or_gap(rows: Pairs, low: int, length: int) -> None:
    union, high = of(rows), low + length
    inside = len(cells(rows) & set(range(low, high)))

    assert covered_each(union, np.array([low]), np.array([high]))[0] == inside
    assert clip(union, low, high).length_ns == inside
    assert gaps_of(union, low, high).length_ns == length - inside
