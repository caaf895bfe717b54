"""Many parts are judged, and drawn over time, in another process; nobody sees a difference."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reportgen.pipeline import judging
from reportgen.pipeline.judging import judged, results_of
from reportgen.pipeline.packed_measurements import PackedMeasurements
from reportgen.profile import NodeId
from reportgen.results import RuleId
from reportgen.results.codec import PackedExhibits, encode
from reportgen.rules.base import AnyRule, Need, Outcome
from reportgen.rules.registry import BUILTIN_RULES
from reportgen.rules.runner import judge_all, measure_part
from reportgen.rules.settings import resolve_params
from reportgen.timeline import lanes_of, stage, timeline_of
from tests.rules.samples import busy_trace

RULES = tuple(rule for rule in BUILTIN_RULES if Need.KERNELS in rule.needs)
PARAMS = resolve_params(BUILTIN_RULES, {})


@pytest.fixture(autouse=True)
def _many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take two parts as many."""
    monkeypatch.setattr(judging, "MOST_PARTS_HERE", 1)


def measured(rules: Sequence[AnyRule] = RULES) -> list[PackedMeasurements]:
    parts = [replace(busy_trace(), rank=rank, node=NodeId(f"rank {rank}")) for rank in range(2)]
    return [PackedMeasurements.of(measure_part(part, rules, PARAMS)) for part in parts]


def with_judge(judge: Any) -> tuple[AnyRule, ...]:
    return (replace(RULES[0], judge=judge),)


def process_id(_: Sequence[Any], __: object) -> Outcome:
    return Outcome(metrics={"process": os.getpid()})


def dies(measurements: Sequence[Any], params: object) -> Outcome:
    """End the process, unless it is the one that runs the tests."""
    if os.getppid() == int(os.environ["TESTS_RUN_IN"]):
        os._exit(9)
    return process_id(measurements, params)


def test_results_are_those_of_one_process() -> None:
    parts = measured()
    apart, here = judged(parts, RULES, PARAMS), judge_all(measured(), RULES, PARAMS)

    assert not parts  # they would take memory for the rest of the run
    assert list(map(encode, apart)) == list(map(encode, here))
    assert all(isinstance(result.exhibits, PackedExhibits) for result in apart)
    assert [tuple(result.exhibits) for result in apart] == [result.exhibits for result in here]


def test_many_parts_are_judged_in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = with_judge(process_id)
    (apart,) = judged(measured(rules), rules, PARAMS)
    assert apart.metrics["process"] != os.getpid()

    monkeypatch.setattr(judging, "MOST_PARTS_HERE", 2)
    (here,) = judged(measured(rules), rules, PARAMS)
    assert here.metrics["process"] == os.getpid()


def test_where_the_process_is_killed_the_parts_are_judged_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TESTS_RUN_IN", str(os.getpid()))
    rules = with_judge(dies)
    (result,) = judged(measured(rules), rules, PARAMS)
    assert result.metrics["process"] == os.getpid()


def test_what_cannot_travel_is_judged_here() -> None:
    rules = with_judge(lambda *_: Outcome(metrics={"process": os.getpid()}))
    (result,) = judged(measured(rules), rules, PARAMS)
    assert result.metrics["process"] == os.getpid()

    rules = (replace(RULES[0], measure=lambda *_: lambda: None, judge=process_id),)
    (result,) = judged(measured(rules), rules, PARAMS)
    assert result.metrics["process"] == os.getpid()


def test_a_part_without_a_measurement_of_a_rule_is_left_out() -> None:
    parts = measured()
    parts[1] = PackedMeasurements({RuleId("Another"): b""})
    here, apart = judge_all(parts[:1], RULES, PARAMS), judged(parts, RULES, PARAMS)
    assert list(map(encode, apart)) == list(map(encode, here))


def test_the_timeline_of_many_parts_is_the_same(tmp_path: Path) -> None:
    folders = [tmp_path / str(rank) for rank in range(2)]
    for folder in folders:
        stage(lanes_of(busy_trace()), folder, n_parts=2)

    assert results_of(2, timeline_of, folders, []) == timeline_of(folders, [])
