"""Unions of intervals: lengths, clipping, gaps, overlaps."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reportgen.rules.kernels.threads import minus
from reportgen.rules.kernels.unions import (
    Union,
    clip,
    covered_ns,
    gaps_of,
    join,
    overlap_ns,
    union_of,
)

pairs = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda pair: (pair[0], sum(pair))),
    max_size=12,
)


def of(rows: list[tuple[int, int]]) -> Union:
    """Return the union of (start, end) rows."""
    edges = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return union_of(edges[:, 0], edges[:, 1])


def cells(rows: list[tuple[int, int]]) -> set[int]:
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
    assert covered_ns(union, np.array([0]), np.array([9])).tolist() == [0]
    assert gaps_of(union, 2, 5).length_ns == 3


def test_gaps_and_union_fill_the_window() -> None:
    union = of([(1, 2), (4, 9)])

    gaps = gaps_of(union, 0, 8)

    assert list(zip(gaps.start_ns, gaps.end_ns, strict=True)) == [(0, 1), (2, 4)]
    assert gaps.length_ns + clip(union, 0, 8).length_ns == 8


@given(pairs, pairs)
def test_lengths_follow_the_law_of_unions(
    one: list[tuple[int, int]], two: list[tuple[int, int]]
) -> None:
    a, b = of(one), of(two)

    assert a.length_ns == len(cells(one))
    assert join((a, b)).length_ns == len(cells(one) | cells(two))
    assert overlap_ns(a, b) == len(cells(one) & cells(two))
    assert a.length_ns + b.length_ns - join((a, b)).length_ns == overlap_ns(a, b)
    assert minus(a, b).length_ns == len(cells(one) - cells(two))


@given(pairs, st.integers(0, 80), st.integers(0, 30))
def test_a_window_is_covered_or_gap(rows: list[tuple[int, int]], low: int, length: int) -> None:
    union, high = of(rows), low + length
    inside = len(cells(rows) & set(range(low, high)))

    assert covered_ns(union, np.array([low]), np.array([high]))[0] == inside
    assert clip(union, low, high).length_ns == inside
    assert gaps_of(union, low, high).length_ns == length - inside
