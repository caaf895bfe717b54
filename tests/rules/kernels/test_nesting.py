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


def test_nothing_nests_in_nothing() -> None:
    nesting = nest(*arrays([]))

    assert self_us_of(nesting).size == 0
    assert innermost_at(nesting, np.array([1.0])).tolist() == [-1]


@given(nested())
def test_self_times_add_up_to_the_union(spans: Spans) -> None:
    start, end = arrays(spans)
    reached = -1.0
    union = 0.0
    for low, high in zip(start.tolist(), end.tolist(), strict=True):
        union += max(high - max(low, reached), 0.0)
        reached = max(reached, high)

    assert float(self_us_of(nest(start, end)).sum()) == union


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
