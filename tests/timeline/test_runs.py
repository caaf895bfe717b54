"""Runs hold the events of their interval, however often they were made coarser."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reportgen.timeline.lanes import CounterTrack, Strips, strips_of
from reportgen.timeline.runs import coarser, count_runs, pieces_of, runs_of, thinned


def lane(*events: tuple[int, int, int]) -> Strips:
    starts, lengths, names = np.array(events, dtype=np.int64).reshape(-1, 3).T
    return strips_of(starts, lengths, names)


def test_events_of_an_interval_are_one_run_named_by_most_time() -> None:
    runs = runs_of(pieces_of(lane((0, 3, 7), (5, 4, 8), (10, 1, 7), (102, 5, 1)), 0), 50)
    assert runs.start_ns.tolist() == [0, 102]
    assert runs.end_ns.tolist() == [11, 107]
    assert runs.count.tolist() == [3, 1]
    assert runs.busy_ns.tolist() == [8, 5]
    assert runs.name.tolist() == [7, 1]


def test_a_long_event_stands_alone() -> None:
    runs = runs_of(pieces_of(lane((0, 3, 7), (5, 90, 8), (96, 1, 7)), 0), 50)
    assert runs.count.tolist() == [1, 1, 1]
    assert runs.end_ns.tolist() == [3, 95, 97]


_EVENTS = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 80), st.integers(0, 3)), min_size=1, max_size=60
)


@given(_EVENTS, st.integers(1, 5), st.integers(1, 3))
def test_coarser_pieces_give_the_same_runs(events, finest, doublings) -> None:
    strips = lane(*events)
    pieces = pieces_of(strips, 0)
    direct = runs_of(pieces, finest << doublings)
    for doubling in range(doublings):
        pieces = coarser(pieces, finest << doubling)
    runs = runs_of(pieces, finest << doublings)

    for column in ("row", "start_ns", "end_ns", "name", "count", "busy_ns"):
        assert getattr(runs, column).tolist() == getattr(direct, column).tolist()
    assert runs.count.sum() == len(events)
    assert runs.busy_ns.sum() == strips.duration_ns.sum()
    assert count_runs(pieces, finest << doublings) == runs.n


def test_a_counter_keeps_its_peaks() -> None:
    track = CounterTrack(
        time_ns=np.array([0, 1, 2, 10, 11, 25]), value=np.array([1.0, 9.0, 2.0, 3.0, 3.0, 0.0])
    )
    thin = thinned(track, 10)
    assert thin.time_ns.tolist() == [1, 2, 11, 25]
    assert thin.value.tolist() == [9.0, 2.0, 3.0, 0.0]
