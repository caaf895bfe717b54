"""The command on files of other monitoring programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reportgen.cli.index import command as index
from tests.builders import START_S
from tests.end_to_end.command import run_here
from tests.monitoring_files import (
    CANARY,
    event_file,
    private_records,
    samples,
    scalar,
    wandb_run,
    write_wandb,
)


def report(folder: Path, name: str = "report") -> Any:
    return json.loads((folder / "profiler-report" / f"{name}.json").read_bytes())


@pytest.mark.notebook
def test_a_run_gives_a_page_without_a_private_word(tmp_path: Path) -> None:
    run = write_wandb(tmp_path, wandb_run(exit_code=3))
    made = run_here(run, "--output", tmp_path / "out", "--format", "html,md,ipynb", "-v")
    assert made.code == 0, made.stderr
    for path in (tmp_path / "out").rglob("*"):
        assert path.is_dir() or CANARY.encode() not in path.read_bytes(), path
    assert CANARY not in made.stdout + made.stderr
    saved = report(tmp_path / "out")
    assert saved["setup"]["gpu_names"] == ["NVIDIA A100-SXM4-80GB"]
    assert saved["figures"]["status"] == "Failed"
    assert saved["recording"]["exit_codes"] == [3]
    page = (tmp_path / "out" / "profiler-report.html").read_text()
    assert "Weights &amp; Biases sampled the job" in page
    assert "exit code 3" in page


def test_a_run_that_goes_on_has_no_known_end(tmp_path: Path) -> None:
    run = write_wandb(tmp_path, wandb_run(exit_code=None))
    assert run_here(run, "--output", tmp_path / "out", "--format", "md").code == 0
    saved = report(tmp_path / "out")
    assert saved["figures"]["status"] == "Unknown"
    assert saved["job"]["running_until"] is not None
    notes = [note["text"] for note in saved["data_quality"]["notes"]]
    assert any(note.startswith("No end marker was found") for note in notes)


PRIVATE_TABLES = {
    "smi.csv": f"timestamp, uuid, host, {CANARY}, name, utilization.gpu [%]\n"
    + "".join(
        f"2026/07/03 09:31:{at}, GPU-{CANARY}, {CANARY}, {CANARY}, A10G, 5 %\n"
        for at in range(10, 60)
    ),
    "wandb.csv": f"_timestamp,system.gpu.0.gpu,config.{CANARY},{CANARY},name\n"
    + "".join(f"{START_S + at},5,{CANARY},{CANARY},{CANARY}\n" for at in range(50)),
}


@pytest.mark.parametrize("name", PRIVATE_TABLES)
def test_columns_that_are_not_read_are_never_shown(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(PRIVATE_TABLES[name])
    made = run_here(tmp_path / name, "--output", tmp_path / "out", "--format", "md", "-v")
    assert made.code == 0, made.stderr
    assert CANARY not in made.stdout + made.stderr
    for path in (tmp_path / "out").rglob("*"):
        assert path.is_dir() or CANARY.encode() not in path.read_bytes(), path


def test_event_files_alone_tell_when_and_how_fast(tmp_path: Path) -> None:
    events = [scalar(START_S + 2 * at, 10 * at, "loss", 0.5) for at in range(40)]
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "events.out.tfevents.1783071000.private-host.1.0").write_bytes(event_file(events))
    made = run_here(logs, "--output", tmp_path / "out", "--format", "md")
    assert made.code == 0, made.stderr
    assert report(tmp_path / "out")["summary"]["job_duration_in_seconds"] == 78.0
    assert report(tmp_path / "out", "Progress")["reportgen"]["metrics"] == {
        "logged_steps_per_s": 5.0
    }
    every = [path.read_text() for path in (tmp_path / "out").rglob("*.json")]
    assert not any("private-host" in text for text in every)


@pytest.mark.notebook
def test_a_folder_of_runs_is_a_table_of_jobs(tmp_path: Path) -> None:
    runs = tmp_path / "wandb"
    write_wandb(runs, wandb_run(70), name="whole")
    write_wandb(runs, private_records(), name="bare")
    write_wandb(runs, [samples(START_S, {"memory_percent": 50.0})], name="short")
    (write_wandb(runs, [], name="empty") / "run-empty.wandb").write_bytes(b"")
    (runs / "latest-run").symlink_to("run-20260703_093100-whole")
    (runs / "debug.log").write_text("text")
    args = [str(runs), "--make", "--processes", "1", "-o", str(tmp_path / "out")]
    assert CliRunner().invoke(index, args, standalone_mode=False).exception is None
    rows = json.loads((tmp_path / "out" / "profiler-index.json").read_text())["jobs"]
    assert sorted((row["job"], row["status"]) for row in rows) == [
        ("run-20260703_093100-bare", "Unreadable"),
        ("run-20260703_093100-empty", "Unreadable"),
        ("run-short", "Unknown"),
        ("run-whole", "Completed"),
    ]
