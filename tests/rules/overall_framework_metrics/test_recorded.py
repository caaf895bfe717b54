"""What was recorded when: against a plain recount in Python's own statistics."""

from __future__ import annotations

from statistics import fmean, quantiles
from typing import Any

import pytest

from reportgen.rules.overall_framework_metrics import RULE
from tests.builders import START_S, node_profile, span_table, system_table
from tests.rules.framework_jobs import EVAL, TRAIN, rows_of, step_rows
from tests.rules.samples import run

KINDS = {
    "Step:ModeKeys.TRAIN": "steps (TRAIN)",
    "Step:ModeKeys.EVAL": "steps (EVAL)",
    "Forward": "forward",
    "Backward(post-forward)": "backward",
    "DataLoaderIter": "wait for a batch",
    "cpu_functions": "operators (cpu_functions)",
    "gpu_functions-dev:0": "operators (gpu_functions-dev:0)",
    "gpu_functions-dev:1": "operators (gpu_functions-dev:1)",
    "Whatever": "other events",
}


def events() -> list[Any]:
    """Return 40 steps with their passes and waits; operators of the steps 5 to 8 only."""
    rows: list[Any] = step_rows([0.5 + 0.01 * number for number in range(40)])
    for number in range(40):
        at_s = START_S + number
        rows.append(("DataLoaderIter", "It::GetNext", at_s - 0.1, at_s - 0.09 + 0.001 * number))
        rows.append(("Forward", "Net", at_s + 0.1, at_s + 0.2 + 0.002 * number))
        rows.append(("Backward(post-forward)", "Net", at_s + 0.2, at_s + 0.4))
        if 5 <= number <= 8:
            end_s = at_s + 0.11 * (1 + number % 3)
            rows += [(phase, "aten::conv", at_s + 0.1, end_s) for phase in KINDS if "func" in phase]
    rows += step_rows([2.0, 3.0], every_s=4.0, start_s=START_S + 45, phase=EVAL)
    return [*rows, ("Whatever", "fit", START_S + 44, START_S + 44.5)]


def test_each_kind_has_its_durations_its_times_and_its_steps() -> None:
    rows = events()
    found = {
        row["what"]: row
        for row in rows_of(run(RULE, node_profile(spans=span_table(rows))), "recorded")
    }

    assert set(found) == set(KINDS.values())
    for phase, what in KINDS.items():
        own = [row for row in rows if row[0] == phase]
        lasted = [row[3] - row[2] for row in own]
        cuts = quantiles(lasted, n=100, method="inclusive") if len(own) > 1 else lasted * 99
        covered = [
            step
            for step in range(40)
            if any(
                row[2] < START_S + step + 0.5 + 0.01 * step
                and row[3] > START_S + step - (0.1 if phase == "DataLoaderIter" else 0.0)
                for row in own
            )
        ]
        expected = {
            "count": len(own),
            "total_s": sum(lasted),
            "mean_s": fmean(lasted),
            "p50_s": cuts[49],
            "p95_s": cuts[94],
            "max_s": max(lasted),
            "start_s": min(row[2] for row in own),
            "end_s": max(row[3] for row in own),
            "steps": len(covered),
        }
        assert {name: found[what][name] for name in expected} == pytest.approx(expected, rel=1e-5)
        ends = (covered[0], covered[-1]) if covered else (None, None)
        assert (found[what]["first_step"], found[what]["last_step"]) == ends
    assert found["operators (cpu_functions)"]["first_step"] == 5


def test_the_sampling_interval_is_said_beside_it() -> None:
    part = node_profile(spans=span_table(events()), system=system_table({"cpu0": [1.0] * 90}))
    shown = next(item for item in run(RULE, part).exhibits if item.id == "recorded")

    assert shown.caption.endswith("System metrics were sampled every 500 ms.")


@pytest.mark.parametrize(
    ("recorded", "said"),
    [({6, 7, 20, 30, 31}, "6–7, 20, 30–31"), (set(range(40)), "0–39"), (set(range(0, 40, 3)), "")],
)
def test_windows_of_profiled_steps_are_named_and_not_what_lies_between(recorded, said) -> None:
    rows: list[tuple[Any, ...]] = []
    for step in range(40):
        begin = START_S + step
        rows.append((TRAIN, TRAIN, begin, begin + 0.9, {"step": step}))
        if step in recorded:
            rows.append(("cpu_functions", "aten::add", begin + 0.1, begin + 0.6, {}))
    result = run(RULE, node_profile(spans=span_table(rows)))

    steps_of = {row["what"]: row["which_steps"] for row in rows_of(result, "recorded")}
    assert steps_of["operators (cpu_functions)"] == said
    (text,) = (item.text for item in result.findings if item.id == "FW-3")
    assert text.startswith(f"In the recorded steps{' ' * bool(said)}{said}, aten::add ran")
