from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reportgen.rules.maths.runs import runs_of


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
