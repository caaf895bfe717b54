"""Python profiles in the report: merged by stage, correlated with batches; by hand-made times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reportgen import intake
from reportgen.results import Finding, ReasonCode, RuleResult, Severity, Status
from reportgen.results.codec import encode
from reportgen.rules.python_functions import RULE, Params
from reportgen.rules.runner import judge_all, measure_part
from sample_data.python_profiles import (
    BETWEEN,
    FORWARD,
    Functions,
    dump_bytes,
    tree_bytes,
    write_profile,
    write_python_profiles,
)
from tests.builders import START_S, Row, known, ns, timeline_lines, write_timeline
from tests.rules.framework_jobs import rows_of

T = ns(START_S) // 1000
S = 1_000_000
LOADER, FORWARD_PHASE = "DataLoaderIter", "Forward"


def moments(steps: range) -> Any:
    """Each step takes 0.2 s for its forward pass and 0.6 s until the next one."""
    return (
        (step, T + 800_000 * step, T + 800_000 * step + 200_000, T + 800_000 * (step + 1))
        for step in steps
    )


def events(steps: range, *, gap_s: float = 0.25) -> list[Row]:
    """A wait of 0.1 s for a batch ends some time before each forward pass."""
    rows: list[Row] = []
    for step in steps:
        begin = START_S + 0.8 * step
        rows.append((LOADER, "It::GetNext", begin - gap_s - 0.1, begin - gap_s))
        rows.append((FORWARD_PHASE, "Net", begin, begin + 0.2, {"step": step}))
    return rows


def profile(job: Path, functions: Functions, *, step: int = 5, **options: str) -> None:
    """Write a profile of one step, from its start to its end."""
    start_us = T + step * S
    content = tree_bytes if options.get("profiler") == "pyinstrument" else dump_bytes
    write_profile(
        job / "profiler-output",
        content(functions),
        start=options.pop("start", f"train-{step}-stepstart-{start_us}"),
        end=f"train-{step}-stepend-{start_us + S}",
        **options,
    )


def run(job: Path, params: Params | None = None) -> RuleResult:
    chosen = {RULE.id: params or Params()}
    parts = [intake.read_node(part) for part in intake.discover(str(job)).parts]
    measured = [measure_part(part, (RULE,), chosen) for part in parts]
    (result,) = judge_all(measured, (RULE,), chosen)
    return result


def found(result: RuleResult, finding_id: str) -> list[Finding]:
    return [finding for finding in result.findings if finding.id == finding_id]


def test_functions_are_merged_by_stage_with_hand_made_sums(tmp_path: Path) -> None:
    write_python_profiles(tmp_path / "profiler-output", moments(range(4)))
    result = run(tmp_path)
    assert [(row["stage"], row["profiles"]) for row in rows_of(result, "stages")] == [
        ("training: forward", 4),
        ("training: backward, between steps", 4),
    ]
    assert [row["profiled_s"] for row in rows_of(result, "stages")] == pytest.approx([0.8, 2.4])
    assert [row["covered_s"] for row in rows_of(result, "stages")] == pytest.approx([0.8, 2.4])
    functions = rows_of(result, "functions")
    assert len(functions) == len(FORWARD) + len(BETWEEN)
    (write,) = [row for row in functions if row["function"] == "_io.TextIOWrapper.write"]
    assert (write["place"], write["calls"]) == ("built-in", 160)
    assert (write["own_s"], write["cumulative_s"]) == pytest.approx((1.0, 1.0))
    assert write["cumulative_pct"] == pytest.approx(100 * 1.0 / 2.4, abs=1e-4)
    assert result.metrics["profiled_s"] == pytest.approx(3.2)


def test_logging_that_takes_a_third_of_the_training_is_a_finding(tmp_path: Path) -> None:
    write_python_profiles(tmp_path / "profiler-output", moments(range(4)))
    result = run(tmp_path)
    (finding,) = found(result, "PY-1")
    assert result.status is Status.TRIGGERED
    assert finding.title == "35.0 % of the profiled Python time is spent on logging and printing"
    assert (finding.measured, finding.threshold) == (35.0, 10)  # 4 x 0.28 s of 4 x 0.8 s
    assert "info (logging/__init__.py:1467)" in finding.text
    assert "1.12 s in 160 calls" in finding.text


def test_each_kind_of_work_that_does_not_train_is_a_finding_of_its_own(tmp_path: Path) -> None:
    times = (1, 0.3, 0.3)
    work: Functions = {
        ("/opt/conda/lib/python3.11/logging/__init__.py", 1467, "info"): times,
        ("/opt/conda/lib/python3.11/site-packages/torch/serialization.py", 5, "save"): times,
        ("/opt/conda/lib/python3.11/site-packages/sklearn/metrics/_ranking.py", 5, "auc"): times,
    }
    profile(tmp_path, work)
    result = run(tmp_path)
    assert {item.id: item.title.rpartition(" on ")[2] for item in result.findings} == {
        "PY-1": "logging and printing",
        "PY-3": "saving",
        "PY-4": "metrics",
    }


@pytest.mark.parametrize(("share_pct", "n_found"), [(10.0, 1), (9.9, 0)])
def test_a_share_is_told_from_the_limit_on(tmp_path: Path, share_pct: float, n_found: int) -> None:
    saving = ("/opt/lib/python3.11/site-packages/torch/serialization.py", 1, "save")
    rest = ("train.py", 1, "work")
    profile(
        tmp_path, {saving: (1, share_pct, share_pct), rest: (1, 100 - share_pct, 100 - share_pct)}
    )
    assert len(found(run(tmp_path), "PY-3")) == n_found


def test_what_runs_before_the_first_step_is_no_training(tmp_path: Path) -> None:
    profile(tmp_path, BETWEEN, start=f"prestepzero-*-start-{T}")
    result = run(tmp_path)
    assert (result.status, result.findings) == (Status.OK, ())
    assert [row["stage"] for row in rows_of(result, "stages")] == ["before the first step"]


def test_the_functions_between_batch_and_forward_pass_are_named(tmp_path: Path) -> None:
    write_python_profiles(tmp_path / "profiler-output", moments(range(4)))
    write_timeline(tmp_path, timeline_lines(events(range(6))))
    result = run(tmp_path)
    (gaps,) = rows_of(result, "gaps")
    assert (gaps["worker"], gaps["gaps"], gaps["profiled_gaps"]) == ("algo-1-27", 6, 4)
    assert (gaps["gap_s"], gaps["profiled_s"]) == pytest.approx((1.5, 1.0))
    assert gaps["remark"] == ""
    (finding,) = found(result, "PY-2")
    assert finding.severity is Severity.INFO
    assert (
        finding.title
        == "Before the forward pass most of the time is spent in _io.TextIOWrapper.write"
    )
    assert "4 of 6 times from the batch to the forward pass (1 s)" in finding.text
    before = rows_of(result, "before_forward")
    assert len(before) == len(BETWEEN)
    kinds = {row["function"]: row["kind"] for row in before}
    assert kinds["__next__"] == "loading data"
    assert kinds["torch._C._EngineBase.run_backward"] == "the model"
    assert result.metrics["profiled_gap_ratio"] == pytest.approx(4 / 6, abs=1e-6)


def test_a_profile_that_covers_far_more_than_the_window_names_nobody(tmp_path: Path) -> None:
    # besides loading and the model the profiles hold 1.2 s
    write_python_profiles(tmp_path / "profiler-output", moments(range(4)))
    for gap_s, n_found in ((0.151, 1), (0.149, 0)):
        write_timeline(tmp_path, timeline_lines(events(range(6), gap_s=gap_s)))
        assert len(found(run(tmp_path), "PY-2")) == n_found


def test_windows_without_a_profile_are_said_to_have_none(tmp_path: Path) -> None:
    profile(tmp_path, FORWARD, step=500)
    write_timeline(tmp_path, timeline_lines(events(range(6))))
    result = run(tmp_path)
    assert [row["remark"] for row in rows_of(result, "gaps")] == [
        "no Python profile for this window"
    ]
    assert result.exhibit("before_forward") is None
    assert found(result, "PY-2") == []


@pytest.mark.parametrize(("early_us", "n_covered"), [(0, 1), (20_000, 1), (30_000, 0)])
def test_a_profile_may_end_a_little_before_the_forward_pass_is_noted(tmp_path, early_us, n_covered):
    # the second forward pass begins at 0.8 s, 0.25 s after its batch
    end = f"train-1-stepstart-{T + 800_000 - early_us}"
    start = f"train-0-forwardpassend-{T + 200_000}"
    write_profile(tmp_path / "profiler-output", dump_bytes(BETWEEN), start=start, end=end)
    write_timeline(tmp_path, timeline_lines(events(range(2))))
    (gaps,) = rows_of(run(tmp_path), "gaps")
    assert gaps["profiled_gaps"] == n_covered
    # names tell whole microseconds
    assert gaps["profiled_s"] == pytest.approx(n_covered * (0.25 - early_us / 1e6), abs=1.1e-6)


def test_a_profile_of_another_process_covers_nothing(tmp_path: Path) -> None:
    profile(tmp_path, BETWEEN, step=0, node_id="99-algo-1", start=f"train-0-stepstart-{T - S}")
    write_timeline(tmp_path, timeline_lines(events(range(2))))
    assert rows_of(run(tmp_path), "gaps")[0]["profiled_gaps"] == 0


def test_the_two_profilers_are_never_added_up(tmp_path: Path) -> None:
    profile(tmp_path, BETWEEN, step=5)
    profile(tmp_path, BETWEEN, step=6, profiler="pyinstrument")
    stages = rows_of(run(tmp_path), "stages")
    assert [row["profiler"] for row in stages] == ["cprofile", "pyinstrument"]
    assert [row["profiled_s"] for row in stages] == pytest.approx([0.6, 0.6])
    calls = {
        row["calls"] for row in rows_of(run(tmp_path), "functions") if row["function"] == "info"
    }
    assert calls == {40, None}


def test_nodes_are_added_up(tmp_path: Path) -> None:
    for node in (1, 2):
        profile(tmp_path, BETWEEN, node_id=f"27-algo-{node}")
    (stage,) = rows_of(run(tmp_path), "stages")
    assert (stage["profiles"], stage["functions"]) == (2, len(BETWEEN))
    assert stage["profiled_s"] == pytest.approx(1.2)


def test_no_home_folder_reaches_the_result(tmp_path: Path) -> None:
    write_python_profiles(tmp_path / "profiler-output", moments(range(2)))
    assert "ann" not in encode(run(tmp_path)).decode().replace("annotation", "")
    assert "job/train.py:30" in json.dumps(rows_of(run(tmp_path), "functions"))


def test_a_job_without_profiles_is_skipped_with_its_reason(tmp_path: Path) -> None:
    write_timeline(tmp_path, timeline_lines(events(range(6))))
    result = run(tmp_path)
    assert result.status is Status.SKIPPED
    assert (known(result.reason).code, result.metrics) == (ReasonCode.NO_EVENTS, {})


def test_a_profile_without_functions_is_shown_as_one(tmp_path: Path) -> None:
    profile(tmp_path, {})
    result = run(tmp_path)
    assert result.status is Status.OK
    (row,) = rows_of(result, "stages")
    assert (row["profiles"], row["profiled_s"]) == (1, 0.0)
