"""A step's own time, waits left out; which steps are slow for their time; steady growth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reportgen.facts.slow_steps import slow_steps_of
from reportgen.facts.step_times import StepTimes, slowdown_of, step_times_of
from tests.builders import START_S, known, span_table
from tests.rules.framework_jobs import TRAIN


def times_of(rows: list[tuple[Any, ...]]) -> StepTimes:
    (found,) = step_times_of(span_table(rows))
    return found


def grown(total: float, n_steps: int = 240) -> StepTimes:
    """Return steps of 0.3 s that grow by a share of that until the end."""
    lengths = 0.3 * (1 + total * np.arange(n_steps) / n_steps)
    starts = START_S + np.cumsum(lengths + 0.02) - lengths
    return times_of(
        [
            (TRAIN, TRAIN, float(begin), float(begin + length), {"step": step})
            for step, (begin, length) in enumerate(zip(starts, lengths, strict=True))
        ]
    )


def test_waits_are_neither_of_the_step_nor_of_what_lies_behind_it() -> None:
    rows: list[tuple[Any, ...]] = [
        (TRAIN, TRAIN, START_S, START_S + 1, {"step": 0}),
        (TRAIN, TRAIN, START_S + 2, START_S + 3, {"step": 1}),
        ("DataLoaderIter", "It::GetNext", START_S + 0.8, START_S + 1.5, {}),
    ]
    found = times_of(rows)

    assert found.own_ns.tolist() == [800_000_000, 1_000_000_000]
    assert found.rest_ns.tolist() == [500_000_000, 0]


def test_steps_half_as_long_again_as_those_around_them_are_slow() -> None:
    steps = grown(1.0)
    lengths = steps.own_ns.copy()
    lengths[[40, 200]] = (1.6 * lengths[[40, 200]]).astype(np.int64)
    slow = slow_steps_of(replace(steps, own_ns=lengths))

    assert np.flatnonzero(slow.step.is_slow).tolist() == [40, 200]
    assert slow.step.excess_ns[200] == pytest.approx(0.6 * steps.own_ns[200], rel=0.1)


@pytest.mark.parametrize(("moved", "grows"), [(0.0, True), (1.0, False)])
def test_work_between_steps_that_ends_does_not_hide_that_steps_grow(moved, grows) -> None:
    """In the middle a second between the steps ends, or moves into the steps."""
    steps = grown(0.8 * (1 - moved))
    is_late = np.arange(240) >= 120
    found = slowdown_of(
        replace(
            steps,
            own_ns=steps.own_ns + int(moved * 1e9) * is_late,
            rest_ns=steps.rest_ns + 1_000_000_000 * ~is_late,
        )
    )
    assert bool(found and found.extra_ns > 0.05 * steps.own_ns.sum()) is grows


def test_steps_that_warm_up_are_not_slow() -> None:
    steps = grown(0.0)
    lengths = steps.own_ns.copy()
    lengths[[0, 1, 2]] *= 20
    times = replace(steps, own_ns=lengths)

    assert np.flatnonzero(slow_steps_of(times).step.is_slow).tolist() == [2]


@pytest.mark.parametrize(("total", "is_told"), [(0.9, True), (0.15, False)])
def test_a_growth_that_begins_in_the_middle_is_told(total: float, is_told: bool) -> None:
    """Work of the host hides behind that of the GPU until it takes longer."""
    steps = grown(0.0)
    early, late = (np.maximum(at, 0) / 120 for at in (120 - np.arange(240), np.arange(240) - 120))
    times = replace(steps, own_ns=(3e8 * (1 + 0.03 * early + total * late)).astype(np.int64))

    assert (slowdown_of(times) is not None) is is_told


def test_a_steady_growth_counts_from_the_first_step_on() -> None:
    found = known(slowdown_of(grown(0.5)))

    assert not found.is_between
    assert (found.first_ns, found.last_ns) == pytest.approx((0.3e9, 0.45e9), rel=0.01)
    assert found.extra_ns == pytest.approx(0.3e9 * 0.5 / 2 * 240, rel=0.02)


@given(seed=st.integers(0, 40), growth=st.floats(0.05, 2.0))
@settings(max_examples=25, deadline=None)
def test_the_lengths_that_a_growth_states_occurred(seed: int, growth: float) -> None:
    rng = np.random.default_rng(seed)
    steps = grown(growth)
    own_ns = (steps.own_ns * rng.lognormal(0, 0.1, steps.own_ns.size)).astype(np.int64)
    found = slowdown_of(replace(steps, own_ns=own_ns))

    if found is not None and not found.is_between:
        assert own_ns.min() <= found.first_ns <= found.last_ns <= own_ns.max()


@pytest.mark.parametrize(
    ("set_up_at", "within", "is_told"),
    [((), 0.0, True), ((0, 80, 160), 0.0, False), ((0, 80, 160), 0.3, True)],
    ids=["one training", "three of other sizes", "each grows"],
)
def test_trainings_of_several_models_in_one_process_do_not_grow_slower(set_up_at, within, is_told):
    rows: list[tuple[Any, ...]] = []
    for step in range(240):
        length_s = 0.3 * (1 + step // 80) * (1 + within * (step % 80) / 80)
        rows.append((TRAIN, TRAIN, START_S + step, START_S + step + length_s, {"step": step}))
    for step in set_up_at:
        more = {"num_workers": 0, "pin_memory": False}
        rows.append(("DataLoaderIterInitialize", "It", START_S + step - 0.01, START_S + step, more))
    (times,) = step_times_of(span_table(rows))

    assert (slowdown_of(times) is not None) is is_told


def test_steps_that_scatter_more_than_they_grow_within_an_epoch_grow_over_epochs() -> None:
    rng, rows, at_s = np.random.default_rng(4), list[tuple[Any, ...]](), START_S
    for step in range(960):
        if step % 192 == 0:
            more = {"num_workers": 0, "pin_memory": False}
            rows.append(("DataLoaderIterInitialize", "It", at_s, at_s + 0.01, more))
            at_s += 0.02
        length_s = 0.5 * (1 + step / 960) * rng.lognormal(0, 0.4)
        rows.append((TRAIN, TRAIN, at_s, at_s + length_s, {"step": step}))
        at_s += length_s + 0.003
    (times,) = step_times_of(span_table(rows))

    assert slowdown_of(times) is not None


def test_times_between_steps_that_scatter_do_not_end_and_hide_nothing() -> None:
    levels = np.random.default_rng(38).lognormal(0, 0.5, 12)
    rest_ns = (np.repeat(levels, 20) * 3e8).astype(np.int64)

    assert slowdown_of(replace(grown(0.0), rest_ns=rest_ns)) is None
