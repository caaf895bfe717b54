"""Strips as begins and ends that a stack closes as they were opened."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reportgen.timeline import nesting
from reportgen.timeline.lanes import strips_of
from reportgen.timeline.nesting import by_start, moments, nests_of

EVENTS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 25)), min_size=1, max_size=60)


@pytest.mark.parametrize("chunk_rows", [1, 7, 1 << 15])
@settings(deadline=None)
@given(events=EVENTS)
def test_a_stack_for_each_nest_gives_back_every_strip(
    chunk_rows: int, events: list[tuple[int, int]]
) -> None:
    start_ns, duration_ns = (
        np.array(column, dtype=np.int64) for column in zip(*events, strict=True)
    )
    strips = by_start(strips_of(start_ns, duration_ns, np.arange(len(events))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nesting, "CHUNK_ROWS", chunk_rows)
        nest = nests_of(strips)
        end_ns = strips.start_ns + strips.duration_ns
        stacks: dict[int, list[int]] = defaultdict(list)
        last_ns, seen = -1, []
        for rows, begins in moments(strips.start_ns, end_ns):
            for row, is_begin in zip(rows.tolist(), begins.tolist(), strict=True):
                now_ns = int(strips.start_ns[row] if is_begin else end_ns[row])
                assert now_ns >= last_ns
                last_ns = now_ns
                if is_begin:
                    stacks[int(nest[row])].append(row)
                else:
                    assert stacks[int(nest[row])].pop() == row
                    seen.append(row)
    assert sorted(seen) == list(range(len(events)))


def test_nested_strips_share_a_nest_and_overlapping_ones_do_not() -> None:
    start_ns = np.array([0, 2, 3, 8])
    strips = by_start(strips_of(start_ns, np.array([10, 5, 2, 9]), np.arange(4)))
    assert nests_of(strips).tolist() == [0, 0, 0, 1]


def test_many_strips_at_once_take_no_square_of_their_number() -> None:
    n = 20_000
    start_ns = np.arange(n)
    strips = by_start(strips_of(start_ns, np.full(n, n), start_ns))
    assert sorted(nests_of(strips).tolist()) == list(range(n))
