"""Steps and samples per second: over the loop and over time."""

from __future__ import annotations

import pytest

from reportgen.results import Exhibit, RuleResult
from reportgen.rules.step_outlier import RULE
from tests.builders import START_S, known
from tests.rules.framework_jobs import EVAL, node, rows_of, step_rows
from tests.rules.samples import run


def paces(result: RuleResult) -> Exhibit:
    return known(result.exhibit("step_pace"))


def test_the_time_between_steps_counts() -> None:
    result = run(RULE, node(step_rows([0.1] * 201, every_s=0.5)))

    assert result.metrics["steps_per_s"] == pytest.approx(201 / 100.1, abs=1e-4)
    assert "samples_per_s" not in result.metrics
    rates = [row["algo-1-27"] for row in rows_of(result, "step_pace")]
    assert len(rates) > 10
    # A stretch holds at least ten steps: one more or less is no more than a tenth.
    assert all(rate == pytest.approx(2.0, rel=0.1) for rate in rates if rate is not None)


def test_steps_of_all_stretches_add_up_to_all_steps() -> None:
    # A stretch is 2**34 ns here: the loop begins with one.
    width_s = 2**34 / 1e9
    start_s = -(-START_S // width_s) * width_s + 1e-6
    rows = step_rows([width_s / 32] * 128, every_s=width_s / 16, start_s=start_s)
    rates = [row["algo-1-27"] for row in rows_of(run(RULE, node(rows)), "step_pace")]

    # The last stretch ends with the last step, half a step before its edge.
    n_steps = sum(rate for rate in rates if rate is not None) * width_s
    assert n_steps == pytest.approx(128, abs=0.6)


def test_samples_per_second_follow_from_the_batch_size() -> None:
    rows = [
        *step_rows([0.1] * 201, every_s=0.5),
        *step_rows([0.1] * 201, every_s=0.5, worker="algo-1-28"),
    ]
    result = run(RULE, node(rows), batch_size=32)

    one = 32 * 201 / 100.1
    assert [row["samples_per_s"] for row in rows_of(result, "steps")] == pytest.approx(
        [one, one], abs=0.01
    )
    assert result.metrics["samples_per_s"] == pytest.approx(2 * one, abs=0.02)
    assert "A step of a training process has 32 samples" in paces(result).caption


def test_the_pace_is_that_of_training_steps() -> None:
    rows = [
        *step_rows([0.1] * 201, every_s=0.5),
        *step_rows([0.1] * 20, every_s=0.1, phase=EVAL, start_s=START_S + 101),
    ]
    result = run(RULE, node(rows))

    assert result.metrics["steps_per_s"] == pytest.approx(201 / 100.1, abs=1e-4)
    assert paces(result).caption.startswith("Number of TRAIN steps")


def test_a_short_loop_has_no_curve() -> None:
    assert run(RULE, node(step_rows([0.1] * 20))).exhibit("step_pace") is None


def test_many_workers_are_drawn_as_their_mean() -> None:
    rows = [
        row
        for index in range(9)
        for row in step_rows([0.1] * 101, every_s=0.5, worker=f"algo-1-{index}")
    ]
    found = paces(run(RULE, node(rows)))

    assert [column.name for column in found.columns] == ["time_s", "mean of the workers"]
    assert "Mean of 9 training processes" in found.caption


def test_workers_whose_clocks_are_years_apart_have_few_stretches() -> None:
    rows = [
        *step_rows([0.1] * 101),
        *step_rows([0.1] * 101, worker="algo-1-28", start_s=START_S - 1e9),
    ]
    found = run(RULE, node(rows)).exhibit("step_pace")

    assert found is None or found.n_rows < 500
