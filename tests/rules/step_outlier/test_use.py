"""How busy devices are within outlier steps, against a plain recount of the samples."""

from __future__ import annotations

from statistics import median
from typing import Any

import pytest

from reportgen.results import Exhibit
from reportgen.rules.step_outlier import RULE
from tests.builders import START_S, node_profile
from tests.rules.framework_jobs import EVAL, step_rows
from tests.rules.samples import run

SLOW = (20, 45, 80)
N_STEPS = 120


def steps(slow_s: float = 1.9) -> list[Any]:
    """Return steps of 0.5 s every two seconds, three of them slow, and validation at the end."""
    rows = step_rows([slow_s if number in SLOW else 0.5 for number in range(N_STEPS)], every_s=2.0)
    return rows + step_rows([9.0], start_s=START_S + 300, phase=EVAL)


def exhibits(
    rows: list[Any], gpu: list[float], cpu: list[float], **params: Any
) -> dict[str, Exhibit]:
    columns = {"gpu0": gpu, "cpu0": cpu, "cpu1": [50.0] * len(cpu)}
    part = node_profile({k: v for k, v in columns.items() if v}, rows=rows)
    return {item.id: item for item in run(RULE, part).exhibits}


def sampled(inside: float, outside: float, rows: list[Any]) -> list[float]:
    """Return two samples a second for 320 s: one value within the slow steps, another elsewhere."""
    slow = [(row[2], row[3]) for row in rows if row[3] - row[2] > 1 and row[0] != EVAL]
    return [
        inside if any(start <= START_S + tick / 2 <= end for start, end in slow) else outside
        for tick in range(640)
    ]


def columns_of(shown: Exhibit) -> dict[str, list[Any]]:
    return {column.name: list(column.values) for column in shown.columns}


def test_samples_within_outlier_steps_stand_beside_those_within_the_others() -> None:
    rows = steps()
    gpu = [float(tick % 101) for tick in range(640)]
    shown = exhibits(rows, gpu, sampled(30.0, 90.0, rows))
    within: dict[str, list[float]] = {"outlier steps": [], "other steps": []}
    for tick, value in enumerate(gpu):
        held = [row for row in rows if row[0] != EVAL and row[2] <= START_S + tick / 2 <= row[3]]
        if held:
            is_slow = any(row[4]["step"] in SLOW for row in held)
            within["outlier steps" if is_slow else "other steps"].append(value)
    found = columns_of(shown["gpu_in_slow_steps"])
    expected = {
        name: [sum(low <= min(value, 99) < low + 2 for value in values) for low in range(0, 100, 2)]
        for name, values in within.items()
    }

    assert {name: found[name] for name in expected} == expected
    n_slow, n_others = (len(values) for values in within.values())
    assert shown["gpu_in_slow_steps"].caption.startswith(
        f"{n_slow} samples within 3 outlier steps, median {median(within['outlier steps']):.1f} %; "
        f"{n_others} samples within other steps, median {median(within['other steps']):.1f} %."
    )
    assert sum(columns_of(shown["cpu_in_slow_steps"])["outlier steps"]) == 2 * n_slow


@pytest.mark.parametrize(("gpu", "cpu", "is_told"), [(80.0, 40.0, True), (80.1, 40.0, False)])
def test_a_stall_is_told_where_both_medians_are_lower_by_the_margin(gpu, cpu, is_told) -> None:
    rows = steps()
    shown = exhibits(rows, sampled(gpu, 90.0, rows), sampled(cpu, 90.0, rows))
    caption = shown["gpu_in_slow_steps"].caption

    assert (
        "CPU and GPU are both less busy in outlier steps than in other steps" in caption
    ) is is_told
    assert ("(medians lower by 25.0 and 10.0 points; 10 are required)" in caption) is is_told


def test_outlier_steps_between_two_samples_are_said_to_hold_none() -> None:
    rows = [
        (*row[:2], row[2] + 0.1, row[2] + 0.1 + (row[3] - row[2]) / 5, row[4]) for row in steps()
    ]
    caption = exhibits(rows, [90.0] * 640, [90.0] * 640)["gpu_in_slow_steps"].caption

    assert caption.startswith("No sample lies within 3 outlier steps;")


def test_without_slow_steps_or_samples_nothing_is_compared() -> None:
    for shown in (exhibits(steps(0.5), [90.0] * 640, [90.0] * 640), exhibits(steps(), [], [])):
        assert not [item for item in shown if item.endswith("_in_slow_steps")]
