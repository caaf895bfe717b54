"""The table of events: selection by phase, steps, rows."""

from __future__ import annotations

from reportgen.profile.spans import empty_spans
from tests.builders import START_S, span_table

TRAIN, EVAL = "Step:ModeKeys.TRAIN", "Step:ModeKeys.EVAL"
SPANS = span_table(
    [
        (TRAIN, TRAIN, START_S + 2, START_S + 3, {"step": 1}),
        (EVAL, EVAL, START_S + 4, START_S + 6, {"step": 0}),
        ("Forward", "Net", START_S + 2, START_S + 2.5, {"step": 1}),
    ]
)


def test_rows_are_in_order_of_start_then_end() -> None:
    assert SPANS.duration_ns.tolist() == [500_000_000, 1_000_000_000, 2_000_000_000]


def test_steps_are_the_events_of_step_phases() -> None:
    steps = SPANS.steps()
    assert [steps.phases[code] for code in steps.phase] == [TRAIN, EVAL]
    assert steps.step.tolist() == [1, 0]


def test_phases_are_selected_by_name_and_unknown_ones_by_nothing() -> None:
    assert SPANS.in_phases(["Forward", "nothing"]).tolist() == [True, False, False]


def test_an_empty_table_has_no_steps() -> None:
    assert empty_spans().steps().n_spans == 0
