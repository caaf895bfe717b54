from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reportgen.facts.intervals import union_length_ns
from reportgen.facts.nesting import parents_of, self_times_ns


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


def test_an_operator_inside_another_is_taken_out_of_its_self_time() -> None:
    # conv2d 0-100 calls convolution 10-90, which calls two kernels
    start, end, thread = columns([(0, 100, 0), (10, 90, 0), (20, 40, 0), (40, 80, 0)])

    assert parents_of(start, end, thread).tolist() == [-1, 0, 1, 1]
    assert self_times_ns(start, end, thread).tolist() == [20, 20, 20, 40]


def test_events_of_other_threads_are_neighbours() -> None:
    start, end, thread = columns([(0, 100, 0), (10, 90, 1)])

    assert parents_of(start, end, thread).tolist() == [-1, -1]


def test_an_event_that_begins_where_another_ends_is_no_child() -> None:
    start, end, thread = columns([(0, 10, 0), (10, 20, 0)])

    assert parents_of(start, end, thread).tolist() == [-1, -1]


def test_of_equal_intervals_the_first_is_the_outer_one() -> None:
    start, end, thread = columns([(0, 10, 0), (0, 10, 0), (0, 10, 0)])

    assert parents_of(start, end, thread).tolist() == [-1, 0, 1]
    assert self_times_ns(start, end, thread).tolist() == [0, 0, 10]


def test_self_time_is_never_negative_for_events_that_overlap_in_part() -> None:
    start, end, thread = columns([(0, 10, 0), (5, 15, 0), (11, 12, 0)])

    assert self_times_ns(start, end, thread).tolist() == [5, 10, 1]


@given(nested())
def test_self_times_add_up_to_the_time_in_which_anything_ran(
    rows: list[tuple[int, int, int]],
) -> None:
    start, end, thread = columns(rows)
    self_ns = self_times_ns(start, end, thread)

    assert (self_ns >= 0).all()
    assert self_ns.sum() == sum(
        union_length_ns(start[thread == code], end[thread == code]) for code in range(3)
    )


@given(nested())
def test_a_parent_holds_its_child(rows: list[tuple[int, int, int]]) -> None:
    start, end, thread = columns(rows)
    parent = parents_of(start, end, thread)
    inner = np.flatnonzero(parent >= 0)
    outer = parent[inner]

    assert (start[outer] <= start[inner]).all()
    assert (end[outer] >= end[inner]).all()
    assert (thread[outer] == thread[inner]).all()
