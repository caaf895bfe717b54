"""How slices of a thread nest, by hand and against a walk with a stack."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from reportgen.rules.kernels import nesting as nesting_room
from reportgen.rules.kernels.nesting import Nesting, innermost_at, nest, self_us

Spans = list[tuple[float, float]]


def arrays(spans: Spans) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return starts and ends in the order of a trace's slices."""
    ordered = sorted(spans, key=lambda span: (span[0], -span[1]))
    pairs = np.array(ordered, dtype=np.float64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def self_us_of(nesting: Nesting) -> NDArray[np.float64]:
    """Return self times of slices whose ends are exact."""
    return self_us(nesting, nesting.end_us - nesting.start_us)


@st.composite
def nested(draw: st.DrawFn, low: int = 0, high: int = 60, depth: int = 3) -> Spans:
    """Draw slices of which any two are apart or one inside the other."""
    edges = draw(st.lists(st.integers(low, high), max_size=6).map(sorted))
    found: Spans = []
    for start, end in zip(edges[::2], edges[1::2], strict=False):
        if end > start:
            found.append((start, end))
            if depth:
                found += draw(nested(start, end, depth - 1))
    return found


def test_self_time_leaves_out_what_is_inside() -> None:
    nesting = nest(*arrays([(0, 100), (10, 40), (15, 20), (50, 60), (200, 210)]))

    assert nesting.parent.tolist() == [-1, 0, 1, 0, -1]
    assert self_us_of(nesting).tolist() == [60.0, 25.0, 5.0, 10.0, 10.0]


def test_the_innermost_slice_around_a_moment_is_found() -> None:
    nesting = nest(*arrays([(0, 100), (10, 40), (15, 20), (200, 210)]))
    moments = np.array([-1.0, 0.0, 15.0, 30.0, 41.0, 150.0, 210.0])

    assert innermost_at(nesting, moments).tolist() == [-1, 0, 2, 1, 0, -1, -1]
    touching = nest(*arrays([(0, 10), (10, 20), (10, 20)]))
    assert innermost_at(touching, np.array([9.0, 10.0, 20.0])).tolist() == [0, 2, -1]


def test_slices_that_overlap_or_take_no_time_give_no_negative_time() -> None:
    nesting = nest(*arrays([(0, 10), (5, 15), (5, 5), (5, 5), (20, 20)]))

    assert self_us_of(nesting).tolist() == [5.0, 10.0, 0.0, 0.0, 0.0]


def test_a_slice_whose_end_was_rounded_up_does_not_hold_the_next() -> None:
    first_end = 953.109 + 16.45  # 969.5590000000001: behind the start of what follows
    assert first_end > 969.559
    nesting = nest(*arrays([(900.0, 1000.0), (953.109, first_end), (969.559, 980.0), (970, 975)]))

    assert nesting.parent.tolist() == [-1, 0, 0, 2]
    moments = np.array([960.0, 969.6, 972.0, 977.0, 990.0])
    assert innermost_at(nesting, moments).tolist() == [1, 2, 3, 2, 0]


def test_what_runs_after_an_overlapped_slice_belongs_to_the_one_still_open() -> None:
    nesting = nest(*arrays([(0, 30), (0, 10), (9, 20), (12, 14), (25, 26)]))

    assert nesting.parent.tolist() == [-1, 0, 1, 2, 0]
    moments = np.array([5.0, 11.0, 13.0, 15.0, 21.0])
    assert innermost_at(nesting, moments).tolist() == [1, 2, 3, 2, 0]
    assert self_us(nesting, np.array([30.0, 10.0, 11.0, 2.0, 1.0])).tolist() == [9, 9, 9, 2, 1]


def spans_of_any_kind() -> st.SearchStrategy[Spans]:
    """Draw slices that may overlap, all of them longer than rounding."""
    span = st.tuples(st.integers(0, 30), st.integers(0, 12))
    return st.lists(span.map(lambda pair: (float(pair[0]), float(sum(pair)))), max_size=12)


@given(spans_of_any_kind(), st.integers(0, 50))
def test_the_innermost_is_the_last_to_begin_of_those_still_open(spans: Spans, moment: int) -> None:
    start, end = arrays(spans)
    is_open = (start <= moment + 0.5) & (end > moment + 0.5)
    expected = int(np.flatnonzero(is_open).max()) if is_open.any() else -1

    assert innermost_at(nest(start, end), np.array([moment + 0.5])).tolist() == [expected]


@given(nested() | spans_of_any_kind())
def test_self_times_add_up_to_the_union(spans: Spans) -> None:
    start, end = arrays(spans)
    reached = -1.0
    union = 0.0
    for low, high in zip(start.tolist(), end.tolist(), strict=True):
        union += max(high - max(low, reached), 0.0)
        reached = max(reached, high)

    assert float(self_us_of(nest(start, end)).sum()) == union


def test_nothing_nests_in_nothing() -> None:
    nesting = nest(*arrays([]))

    assert self_us_of(nesting).size == 0
    assert innermost_at(nesting, np.array([1.0])).tolist() == [-1]


def test_any_depth_and_any_number_at_one_moment_take_little_time() -> None:
    n = 100_000
    deep = nest(np.arange(n, dtype=np.float64), np.arange(3 * n, 2 * n, -1, dtype=np.float64))
    at_once = nest(np.zeros(n), np.zeros(n))

    assert deep.parent[:3].tolist() == [-1, 0, 1]
    assert innermost_at(deep, np.full(n, 2.5 * n))[0] == n // 2 - 1
    assert self_us_of(at_once).sum() == 0.0
    assert innermost_at(at_once, np.zeros(n)).max() == -1


def test_many_moments_are_looked_up_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    nesting = nest(np.array([0.0, 1.0, 2.0, 6.0]), np.array([5.0, 4.0, 3.0, 7.0]))
    time_us = np.arange(-1.0, 9.0, 0.5)
    whole = innermost_at(nesting, time_us)
    assert whole.tolist()[4:8] == [1, 1, 2, 2]
    monkeypatch.setattr(nesting_room, "_MOMENTS_AT_ONCE", 3)
    assert innermost_at(nesting, time_us).tolist() == whole.tolist()
