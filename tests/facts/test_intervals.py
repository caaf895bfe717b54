from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from reportgen.facts.intervals import (
    Nesting,
    Union,
    clip,
    covered_each,
    gaps_of,
    innermost_at,
    join,
    minus,
    nest,
    overlap_ns,
    overlaps_any,
    runs_of,
    self_ns,
    self_times_ns,
    union_by_code_ns,
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


@given(pairs, pairs)
def test_overlap_is_closed_on_both_sides(intervals: Pairs, others: Pairs) -> None:
    found = overlaps_any(*ends(intervals), *ends(others))

    assert found.tolist() == [
        any(start <= other_end and other_start <= end for other_start, other_end in others)
        for start, end in intervals
    ]


INTERVALS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=10)


@given(INTERVALS, INTERVALS)
def test_covered_time_is_what_counting_finds(spans, windows) -> None:
    start, length = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    first, reach = np.array(windows, dtype=np.int64).reshape(-1, 2).T
    covered = {at for begin, size in spans for at in range(begin, begin + size)}
    counted = sum(at in covered for begin, size in windows for at in range(begin, begin + size))
    assert covered_each(union_of(start, start + length), first, first + reach).sum() == counted


@given(st.lists(st.integers(0, 60), max_size=20).map(sorted), st.integers(0, 8))
def test_runs_are_those_of_a_slow_loop(places: list[int], max_step: int) -> None:
    runs: list[list[int]] = []
    for place in places:
        if runs and place - runs[-1][-1] <= max_step:
            runs[-1].append(place)
        else:
            runs.append([place])

    first, last = runs_of(np.array(places, dtype=np.int64), max_step=max_step)

    assert [places[index] for index in first] == [run[0] for run in runs]
    assert [places[index] for index in last] == [run[-1] for run in runs]


def of(rows: Pairs) -> Union:
    """Return the union of (start, end) rows."""
    return union_of(*ends(rows))


def cells(rows: Pairs) -> set[int]:
    """Return the unit cells that (start, end) rows cover."""
    return {cell for low, high in rows for cell in range(low, high)}


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


def columns(rows: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


@st.composite
def nested(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """Events that nest properly: cut a stretch at random places, and each piece again."""
    rows: list[tuple[int, int, int]] = []

    def cut(low: int, high: int, depth: int, thread: int) -> None:
        edges = sorted(draw(st.lists(st.integers(low, high), max_size=5)))
        for start, end in zip(edges[::2], edges[1::2], strict=False):
            rows.append((start, end, thread))
            if depth:
                cut(start, end, depth - 1, thread)

    for thread in range(draw(st.integers(1, 3))):
        cut(0, 100, 3, thread)
    return draw(st.permutations(rows))


@given(nested())
def test_self_times_add_up_to_the_time_in_which_anything_ran(rows: list[tuple[int, int, int]]):
    start, end, thread = columns(rows)
    self_ns = self_times_ns(start, end, thread)

    assert (self_ns >= 0).all()
    assert self_ns.sum() == sum(
        union_of(start[thread == code], end[thread == code]).length_ns for code in range(3)
    )


Spans = list[tuple[float, float]]


def arrays(spans: Spans) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return starts and ends of slices in µs as ns, in the order of a trace's slices."""
    ordered = sorted(spans, key=lambda span: (span[0], -span[1]))
    pairs = ns(ordered).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def ns(times_us: Sequence[object]) -> NDArray[np.int64]:
    """Return times in µs as ns."""
    return np.rint(1000 * np.array(times_us, dtype=np.float64)).astype(np.int64)


def self_us_of(nesting: Nesting) -> NDArray[np.float64]:
    """Return self times in µs of slices whose ends are exact."""
    return self_ns(nesting, nesting.end_ns - nesting.start_ns) / 1000


@st.composite
def nested_spans(draw: st.DrawFn, low: int = 0, high: int = 60, depth: int = 3) -> Spans:
    """Draw slices of which any two are apart or one inside the other."""
    edges = draw(st.lists(st.integers(low, high), max_size=6).map(sorted))
    found: Spans = []
    for start, end in zip(edges[::2], edges[1::2], strict=False):
        if end > start:
            found.append((start, end))
            if depth:
                found += draw(nested_spans(start, end, depth - 1))
    return found


def test_a_slice_whose_end_was_rounded_up_does_not_hold_the_next() -> None:
    first_end = 969.8  # behind the start of what follows, by less than 0.25
    nesting = nest(*arrays([(900.0, 1000.0), (953.109, first_end), (969.559, 980.0), (970, 975)]))

    assert nesting.parent.tolist() == [-1, 0, 0, 2]
    assert innermost_at(nesting, ns([960, 969.6, 972, 977, 990])).tolist() == [1, 2, 3, 2, 0]


def test_what_runs_after_an_overlapped_slice_belongs_to_the_one_still_open() -> None:
    nesting = nest(*arrays([(0, 30), (0, 10), (9, 20), (12, 14), (25, 26)]))

    assert nesting.parent.tolist() == [-1, 0, 1, 2, 0]
    assert innermost_at(nesting, ns([5, 11, 13, 15, 21])).tolist() == [1, 2, 3, 2, 0]
    assert (self_ns(nesting, ns([30, 10, 11, 2, 1])) // 1000).tolist() == [9, 9, 9, 2, 1]


def spans_of_any_kind() -> st.SearchStrategy[Spans]:
    """Draw slices that may overlap, all of them longer than rounding."""
    span = st.tuples(st.integers(0, 30), st.integers(0, 12))
    return st.lists(span.map(lambda pair: (float(pair[0]), float(sum(pair)))), max_size=12)


@given(spans_of_any_kind(), st.integers(0, 50))
def test_the_innermost_is_the_last_to_begin_of_those_still_open(spans: Spans, moment: int) -> None:
    start, end = arrays(spans)
    time_ns = 1000 * moment + 500
    is_open = (start <= time_ns) & (end > time_ns)
    expected = int(np.flatnonzero(is_open).max()) if is_open.any() else -1

    assert innermost_at(nest(start, end), np.array([time_ns])).tolist() == [expected]


@given(nested_spans() | spans_of_any_kind())
def test_self_times_of_a_thread_add_up_to_the_union(spans: Spans) -> None:
    start, end = arrays(spans)
    reached = -1
    union = 0
    for low, high in zip(start.tolist(), end.tolist(), strict=True):
        union += max(high - max(low, reached), 0)
        reached = max(reached, high)

    assert self_us_of(nest(start, end)).sum() == union / 1000


def test_any_depth_and_any_number_at_one_moment_take_little_time() -> None:
    n = 100_000
    deep = nest(np.arange(n), np.arange(3 * n, 2 * n, -1))
    at_once = nest(np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64))

    assert deep.parent[:3].tolist() == [-1, 0, 1]
    assert innermost_at(deep, np.full(n, 5 * n // 2))[0] == n // 2 - 1
    assert self_us_of(at_once).sum() == 0
    assert innermost_at(at_once, np.zeros(n, dtype=np.int64)).max() == -1


OPERATIONS = st.tuples(st.integers(0, 4), st.integers(0, 40), st.integers(0, 15))


@given(st.lists(OPERATIONS, max_size=20))
def test_each_moment_of_a_code_counts_once(operations: list[tuple[int, int, int]]) -> None:
    expected = [
        len(
            {
                ns
                for number, at, length in operations
                if number == step
                for ns in range(at, at + length)
            }
        )
        for step in range(5)
    ]
    step, start, length = np.array(operations, dtype=np.int64).reshape(-1, 3).T

    assert union_by_code_ns(step, start, start + length, 5).tolist() == expected


def test_codes_that_lie_centuries_apart_do_not_overflow() -> None:
    start = np.array([0, 2**62, 2**62 + 5])
    end = np.array([10, 2**62 + 10, 2**62 + 20])

    assert union_by_code_ns(np.array([0, 3, 3]), start, end, 4).tolist() == [10, 0, 0, 20]
