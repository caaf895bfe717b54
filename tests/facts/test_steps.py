"""Steps and the pauses behind them."""

from __future__ import annotations

from typing import Any

import pytest

from reportgen.facts.steps import Loop, PhaseSteps, loop_of, steps_of, unrecorded_of
from reportgen.merging import merge
from tests.builders import START_S, span_table, system_table
from tests.rules.framework_jobs import EVAL, TRAIN


def cycles(*rows: tuple[float, float, int | None], phase: str = TRAIN) -> PhaseSteps:
    """Return the one series of steps (start, end, number), seconds after the start."""
    (found,) = steps_of(span_table([_row(phase, *row) for row in rows]))
    return found


def _row(phase: str, start_s: float, end_s: float, step: int | None) -> tuple[Any, ...]:
    more = {} if step is None else {"step": step}
    return (phase, phase, START_S + start_s, START_S + end_s, more)


def lengths_s(found: PhaseSteps) -> list[float]:
    return [round(length / 1e9, 6) for length in found.cycle_ns.tolist()]


def test_a_cycle_lasts_until_the_next_step() -> None:
    found = cycles((0, 1, 0), (1.5, 2, 1), (4, 5, 2))
    assert lengths_s(found) == [1.5, 2.5, 1.0]
    assert found.loop_ns == 5_000_000_000


def test_a_step_of_another_phase_ends_the_pause() -> None:
    rows = [_row(TRAIN, 0, 1, 0), _row(EVAL, 1.2, 9, 0), _row(TRAIN, 10, 11, 1)]
    train = next(found for found in steps_of(span_table(rows)) if found.phase == TRAIN)
    assert lengths_s(train) == [1.2, 1.0]


def test_steps_that_overlap_have_no_pause() -> None:
    assert lengths_s(cycles((0, 3, 0), (1, 4, 1))) == [3.0, 3.0]


def test_steps_that_are_missing_are_no_pause() -> None:
    assert lengths_s(cycles((0, 1, 0), (9, 10, 7), (10.5, 11, 8))) == [1.0, 1.5, 0.5]


def test_time_of_steps_that_were_not_recorded_is_no_part_of_the_loop() -> None:
    found = cycles((0, 1, 0), (9, 10, 7), (10.5, 11, 8))

    assert found.loop_ns == 3_000_000_000
    assert found.skipped.length_ns == 8_000_000_000


@pytest.mark.parametrize(("number", "is_skipped"), [(7, True), (2, False), (0, False)])
def test_a_counter_of_all_phases_shows_what_is_missing_where_one_ends(number, is_skipped) -> None:
    # A counter of each phase alone begins with 0 here, and says nothing.
    rows = [_row(TRAIN, 0, 1, 0), _row(TRAIN, 1, 2, 1), _row(EVAL, 9, 10, number)]
    spans = span_table([*rows, _row(EVAL, 10, 11, number + 1)])
    train = next(found for found in steps_of(spans) if found.phase == TRAIN)

    assert lengths_s(train) == [1.0, 1.0 if is_skipped else 8.0]
    assert unrecorded_of(system_table({}), spans).length_ns == 7_000_000_000 * is_skipped


def test_only_what_no_worker_recorded_is_unknown() -> None:
    rows = [
        (*_row(TRAIN, *row)[:4], {"worker": f"algo-1-{27 + rank}", "step": row[2]})
        for rank, late in enumerate((5, 0))
        for row in ((0, 1 + late, 0), (9, 10, 7))
    ]

    assert unrecorded_of(system_table({}), span_table(rows)).length_ns == 3_000_000_000


def test_numbers_that_begin_anew_or_are_absent_or_are_no_numbers_give_way_to_places() -> None:
    assert cycles((0, 1, 5), (1, 2, 6), (2, 3, 7)).number.tolist() == [5, 6, 7]
    assert cycles((0, 1, 5), (1, 2, 6), (2, 3, 0)).number.tolist() == [0, 1, 2]
    assert cycles((0, 1, None), (1, 2, None)).number.tolist() == [0, 1]
    assert cycles((0, 1, 10), (1, 2, 10**15)).number.tolist() == [0, 1]


def test_workers_are_apart() -> None:
    rows = [
        (TRAIN, TRAIN, START_S + at, START_S + at + 1, {"worker": f"algo-1-{27 + at % 2}"})
        for at in range(4)
    ]
    assert [(found.worker, found.step.size) for found in steps_of(span_table(rows))] == [
        ("algo-1-27", 2),
        ("algo-1-28", 2),
    ]


def test_the_loops_of_nodes_become_one() -> None:
    rows = [_row(TRAIN, 1, 2, 0), _row(EVAL, 3, 5, 0)]
    early, late = loop_of(span_table(rows)), loop_of(span_table([_row(TRAIN, 4, 9, 0)]))
    both = merge([Loop(), early, late])

    assert (both.n_spans, both.n_steps, both.length_ns) == (3, 3, 8_000_000_000)
    assert merge([Loop(), loop_of(span_table([]))]) == Loop()
    assert Loop().length_ns == 0


def test_some_of_the_steps_keep_their_places() -> None:
    found = cycles((0, 1, None), (1, 2, None), (4, 5, None))

    assert found.where(found.cycle_ns > 1_000_000_000).number.tolist() == [1]
