"""The made-up jobs have the real format, and what is planted in them can be found again."""

from __future__ import annotations

import io
import json
import re
import tarfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from reportgen.intake import discover, read
from reportgen.rules.registry import all_rules
from reportgen.rules.runner import judge_all, measure_part
from reportgen.rules.settings import resolve_params
from sample_data.make import make_job, parse_specs
from sample_data.spec import NAMED_JOBS, Fault, JobSpec

KEYS = ["Type", "Name", "Dimension", "Value", "NodeId", "Timestamp"]
LINE = re.compile(
    r'\{"Type":"[a-z/]+","Name":"\w+","Dimension":"[\w/]*","Value":\d+\.\d\d,'
    r'"NodeId":"algo-\d+","Timestamp":\d{10}\.\d{6}\}'
)
SMALL = JobSpec(name="small", duration_s=150.0, init_s=12.0, epochs=2)


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    output = tmp_path_factory.mktemp("jobs")
    return {name: make_job(spec, output=output) for name, spec in NAMED_JOBS.items()}


def truth_of(job: Path) -> dict[str, Any]:
    return dict(json.loads((job / "truth.json").read_text(encoding="utf-8")))


def system_files(job: Path) -> list[Path]:
    return sorted((job / "profiler-output" / "system").rglob("*.json"))


def system_lines(job: Path) -> list[str]:
    return [line for path in system_files(job) for line in path.read_text().splitlines()]


@cache
def timeline_events(job: Path) -> list[dict[str, Any]]:
    """Read pevents: absolute µs, phase names of each file, the file's worker."""
    found = []
    for path in sorted((job / "profiler-output" / "framework").rglob("*.json")):
        base_us, phases = 0, {}
        for event in json.loads(path.read_text()):
            args = event.get("args", {})
            if event["ph"] == "M":
                base_us = args.get("start_time_since_epoch_in_micros", base_us)
                if "name" in args:
                    phases[event["pid"]] = args["name"]
                continue
            start_us = base_us + event["ts"]
            found.append(
                {
                    "worker": path.name.split("_")[1],
                    "path": path,
                    "phase": phases[event["pid"]],
                    "name": event["name"],
                    "start_us": start_us,
                    "end_us": start_us + event["dur"],
                    "args": args,
                }
            )
    return found


def snapshot(job: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(job)): path.read_bytes() for path in job.rglob("*") if path.is_file()
    }


def test_every_line_has_the_modern_shape_to_the_byte(named: dict[str, Path]) -> None:
    for job in named.values():
        lines = system_lines(job)
        assert all(LINE.fullmatch(line) for line in lines)
        assert list(json.loads(lines[0])) == KEYS
        assert all(path.read_bytes().endswith(b"}\n") for path in system_files(job))


def test_the_truth_counts_what_was_written(named: dict[str, Path]) -> None:
    for name, job in named.items():
        planted = truth_of(job)["planted"]
        lines = system_lines(job)
        assert planted["system_lines"] == len(lines)
        of_a_gpu = '"Name":"gpu0","Dimension":"GPUUtilization"'
        n_ticks = sum(of_a_gpu in line and '"algo-1"' in line for line in lines)
        assert planted["ticks_per_node"] == n_ticks
        assert planted["ticks_per_node"] > 1000  # or no rule would judge it
        events = timeline_events(job)
        assert planted["events"] == len(events)
        for worker in {event["worker"] for event in events}:
            for mode, n_steps in planted["steps_per_worker"].items():
                phase = f"Step:ModeKeys.{mode}"
                steps = [e for e in events if e["worker"] == worker and e["phase"] == phase]
                assert [int(e["args"]["step_num"]) for e in steps] == list(range(n_steps)), name


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not(tmp_path: Path) -> None:
    spec = replace(SMALL, faults=frozenset({Fault.LATE_GROUPS, Fault.CALLBACK}))
    first = snapshot(make_job(spec, output=tmp_path / "a"))
    again = snapshot(make_job(spec, output=tmp_path / "b"))
    other = snapshot(make_job(replace(spec, seed=1), output=tmp_path / "c"))
    assert first == again
    assert first != other


def test_named_jobs_are_small_enough_to_mail(named: dict[str, Path]) -> None:
    for job in named.values():
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            archive.add(job, arcname=job.name)
        assert packed.tell() < 500_000


def findings_of(job: Path) -> set[str]:
    rules = all_rules()
    params = resolve_params(rules, {})
    measured = [measure_part(read(ref), rules, params) for ref in discover(str(job)).parts]
    results = judge_all(measured, rules, params)
    return {finding.id for result in results for finding in result.findings}


def assert_truth_is_told(job: Path) -> None:
    truth, found = truth_of(job), findings_of(job)
    assert set(truth["expect"]) <= found
    assert not set(truth["forbid"]) & found
    assert all(set(group) & found for group in truth["expect_any"])


def test_a_checkpoint_stands_between_steps_and_is_found_by_its_name(tmp_path: Path) -> None:
    job = make_job(
        JobSpec(name="checkpoint", faults=frozenset({Fault.CHECKPOINT})), output=tmp_path
    )
    truth = truth_of(job)
    assert truth["expect"] == ["GPU-2", "PERIOD-1"]
    events = timeline_events(job)
    saved = [event for event in events if event["name"] == "save_checkpoint"]
    steps = [event for event in events if event["phase"] == "Step:ModeKeys.TRAIN"]
    assert len(saved) == len(truth["planted"]["slow_steps"])
    assert not any(
        step["start_us"] < event["end_us"] and event["start_us"] < step["end_us"]
        for event in saved
        for step in steps
    )
    assert_truth_is_told(job)


@pytest.mark.parametrize(
    ("name", "expect"),
    [
        ("healthy", ""),
        ("input_bound", "CPU-1 DL-1 DL-3 FW-1 GPU-2"),
        ("callback", "GPU-2 PERIOD-1"),
        ("straggler", "BAL-1 STRAG-1"),
    ],
)
def test_the_rules_find_what_was_planted_and_nothing_else(named: dict[str, Path], name, expect):
    assert truth_of(named[name])["expect"] == expect.split()
    assert_truth_is_told(named[name])


@pytest.mark.parametrize(
    ("options", "expect"),
    [
        ("--gpus 4 --cores 16 --hours 0.2 --fault imbalance", "BAL-1 GPU-1"),
        ("--gpus 2 --cores 8 --hours 0.2 --fault io_bound", "DL-1 FW-1 IO-1"),
        ("--gpus 1 --cores 8 --hours 0.2 --fault memory_leak --steps-per-second 0", "MEM-2"),
        ("--gpus 2 --nodes 2 --cores 8 --hours 0.2 --fault straggler --fault late_groups", None),
        ("--gpus 2 --cores 8 --hours 0.2 --interval 100 --fault input_bound", None),
        ("--gpus 2 --cores 8 --hours 0.4 --interval 1000 --fault input_bound", None),
        ("--hours 0.25 --fault gap --fault garbage_line --fault truncated_last_line", None),
        ("--gpus 0 --hours 0.2", None),
    ],
)
def test_the_rules_find_every_fault_at_other_sizes(tmp_path: Path, options, expect) -> None:
    (spec,), _ = parse_specs(options.split())
    job = make_job(spec, output=tmp_path)
    assert expect is None or truth_of(job)["expect"] == expect.split()
    assert_truth_is_told(job)


@pytest.mark.parametrize(
    "args",
    [
        ["--interval", "300"],
        ["--nodes", "0"],
        ["--hours", "0.001"],
        ["--seed", "-1"],
        ["--fault", "typo"],
        ["unknown_job"],
    ],
)
def test_impossible_jobs_are_refused(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refusal:
        parse_specs(args)
    assert refusal.value.code == 2
    assert "error" in capsys.readouterr().err
