"""Strips in nests, which a stack closes as they were opened."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reportgen.timeline.chrome_json import by_start, nests_of
from reportgen.timeline.lanes import strips_of

EVENTS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 25)), min_size=1, max_size=60)


@settings(deadline=None)
@given(events=EVENTS)
def test_strips_of_a_nest_lie_within_each_other_or_apart(events: list[tuple[int, int]]) -> None:
    start_ns, duration_ns = (
        np.array(column, dtype=np.int64) for column in zip(*events, strict=True)
    )
    strips = by_start(strips_of(start_ns, duration_ns, np.arange(len(events))))
    nest = nests_of(strips)
    end_ns = (strips.start_ns + strips.duration_ns).tolist()
    stacks: dict[int, list[int]] = defaultdict(list)
    for number, start, end in zip(nest.tolist(), strips.start_ns.tolist(), end_ns, strict=True):
        stack = stacks[number]
        while stack and stack[-1] <= start:
            stack.pop()
        assert not stack or end <= stack[-1]
        stack.append(end)


def test_nested_strips_share_a_nest_and_overlapping_ones_do_not() -> None:
    strips = by_start(strips_of(np.array([0, 2, 3, 8]), np.array([10, 5, 2, 9]), np.arange(4)))
    assert nests_of(strips).tolist() == [0, 0, 0, 1]


def test_many_strips_at_once_take_no_square_of_their_number() -> None:
    n = 20_000
    start_ns = np.arange(n)
    strips = by_start(strips_of(start_ns, np.full(n, n), start_ns))
    assert sorted(nests_of(strips).tolist()) == list(range(n))
