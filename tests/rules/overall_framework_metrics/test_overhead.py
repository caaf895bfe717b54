"""Steps whose details were recorded against the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reportgen.rules.overall_framework_metrics import RULE
from reportgen.rules.overall_framework_metrics.measure import overheads_of
from tests.builders import START_S, known, span_table, system_table
from tests.rules.framework_jobs import TRAIN, finding, node
from tests.rules.samples import run


def recorded(
    n_recorded: int, n_other: int, *, longer_s: float = 0.0, phase: str = "cpu_functions"
) -> list[tuple[Any, ...]]:
    """Return steps of 100 ms; the first ones hold an operator each and may be longer."""
    rows: list[tuple[Any, ...]] = []
    for step in range(n_recorded + n_other):
        start_s = START_S + step
        length_s = 0.1 + (longer_s if step < n_recorded else 0.0)
        rows.append((TRAIN, TRAIN, start_s, start_s + length_s, {"step": step}))
        if step < n_recorded:
            rows.append((phase, "aten::add", start_s + 0.01, start_s + 0.02))
    return rows


@pytest.mark.parametrize(
    ("n_recorded", "n_other", "is_compared"),
    [(5, 5, True), (4, 50, False), (50, 4, False), (50, 0, False)],
)
def test_five_steps_on_both_sides_are_compared(n_recorded, n_other, is_compared) -> None:
    (found,) = overheads_of(span_table(recorded(n_recorded, n_other, longer_s=0.02)))
    assert (found.n_with, found.n_without) == (n_recorded, n_other)
    assert (found.longer_pct is not None) is is_compared
    if is_compared:
        assert found.longer_pct == pytest.approx(20.0, abs=0.01)


@pytest.mark.parametrize(("longer_s", "is_told"), [(0.0049, False), (0.0051, True)])
def test_steps_that_recording_makes_longer_are_told(longer_s: float, is_told: bool) -> None:
    result = run(RULE, node(recorded(6, 30, longer_s=longer_s)))
    assert (finding(result, "FW-4") is not None) is is_told


def test_the_sampling_interval_is_told_with_it() -> None:
    part = node(recorded(6, 30, longer_s=0.05))
    system = system_table({"cpu0": [10.0] * 9}, start_s=START_S, interval_s=0.5)
    sampled, bare = run(RULE, replace(part, system=system)), run(RULE, part)
    overhead = known(finding(sampled, "FW-4"))
    assert overhead.title == "Steps whose operators were recorded take 50.0 % longer than others"
    assert "sampled every 500 ms" in overhead.text
    captions = [
        item.caption for of in (sampled, bare) for item in of.exhibits if item.id == "overhead"
    ]
    assert ["sampled every 500 ms" in caption for caption in captions] == [True, False]


def test_parts_of_the_model_are_a_detail_of_their_own() -> None:
    (found,) = overheads_of(span_table(recorded(6, 30, phase="Forward-SubModuleInternal")))
    assert found.detail == "model parts"


def test_without_details_there_is_nothing_to_compare() -> None:
    for rows in ([], recorded(0, 30)):
        result = run(RULE, node(rows))
        assert finding(result, "FW-4") is None
        assert "overhead" not in {item.id for item in result.exhibits}
