"""Equal input, equal bytes: whatever the machine, the order of files and the number of threads."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import pytest

from reportgen.engine import LocalExecutor
from reportgen.intake import discover
from reportgen.intake import system as intake_system
from reportgen.pipeline.compose import compose_report
from reportgen.pipeline.work import work_on
from reportgen.profile import JobProfile
from reportgen.report import codec as report_codec
from reportgen.results import codec as result_codec
from reportgen.rules.registry import SAMPLED_RULES
from reportgen.rules.runner import judge_all
from sample_data.make import make_job
from sample_data.spec import Fault, JobSpec
from tests.end_to_end.command import run_command

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def two_nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job of two nodes with late groups and damaged files, which is hard to keep in order."""
    spec = JobSpec(
        name="job",
        nodes=2,
        gpus=2,
        cores=4,
        duration_s=200.0,
        init_s=20.0,
        epochs=2,
        interval_ms=200,
        faults=frozenset({Fault.LATE_GROUPS, Fault.GARBAGE_LINE, Fault.TRUNCATED_LAST_LINE}),
    )
    return make_job(spec, output=tmp_path_factory.mktemp("jobs"))


def copied_in_another_order(job: Path, target: Path, *, seed: int) -> None:
    """Copy a job so that a listing of its folders gives the files in another order."""
    files = [path.relative_to(job) for path in sorted(job.rglob("*")) if path.is_file()]
    for path in Random(seed).sample(files, len(files)):
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(job / path, target / path)


def made_in(folder: Path, job: Path, env: Mapping[str, str], *, seed: int) -> dict[str, bytes]:
    """Return the files of a report that was made in a folder of its own."""
    copied_in_another_order(job, folder / "job", seed=seed)
    run = run_command("job", "-o", "out", "--format", "html,ipynb,md", cwd=folder, env=env)
    assert run.code == 0, run.stderr
    out = folder / "out"
    files = [path for path in out.rglob("*") if path.is_file() and path.name != "Input.sha256"]
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


@pytest.mark.notebook
def test_a_report_is_the_same_bytes_wherever_it_is_made(tmp_path: Path, two_nodes: Path) -> None:
    here = made_in(
        tmp_path / "here", two_nodes, {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C"}, seed=1
    )
    elsewhere = {
        "PYTHONHASHSEED": "4242",
        "TZ": "Asia/Kathmandu",
        "LC_ALL": "de_DE.UTF-8",
        "LANG": "tr_TR.UTF-8",
        "COLUMNS": "40",
        "NO_COLOR": "1",
    }
    there = made_in(tmp_path / "a folder" / "farther äway", two_nodes, elsewhere, seed=2)

    assert sorted(here) == sorted(there)
    assert [name for name in sorted(here) if here[name] != there[name]] == []
    assert len(here) > len(SAMPLED_RULES)


def results_of(job: JobProfile, executor: LocalExecutor) -> list[bytes]:
    """Return the bytes of all files of results."""
    params = {rule.id: rule.params() for rule in SAMPLED_RULES}
    measured = executor.map(partial(work_on, rules=SAMPLED_RULES, params=params), job.parts)
    results = judge_all([part.measurements for part in measured], SAMPLED_RULES, params)
    report = compose_report(job, measured, results)
    return [*map(result_codec.encode, results), report_codec.encode(report)]


@pytest.fixture(scope="module")
def usual(two_nodes: Path) -> list[bytes]:
    return results_of(discover(str(two_nodes)), LocalExecutor(max_threads=1))


@pytest.mark.parametrize(("n_duckdb", "n_parts"), [(1, 1), (1, 2), (2, 1), (4, 2), (4, 4)])
def test_the_number_of_threads_changes_nothing(two_nodes, usual, monkeypatch, n_duckdb, n_parts):
    monkeypatch.setattr(intake_system, "SMALL_BYTES", 0)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(intake_system, "MAX_THREADS", n_duckdb)

    assert results_of(discover(str(two_nodes)), LocalExecutor(max_threads=n_parts)) == usual


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_listing_changes_nothing(two_nodes: Path, usual: list[bytes], seed):
    job, chance = discover(str(two_nodes)), Random(seed)
    parts = [
        replace(part, files=tuple(chance.sample(part.files, len(part.files)))) for part in job.parts
    ]

    assert results_of(replace(job, parts=tuple(parts)), LocalExecutor()) == usual


@pytest.mark.parametrize("block_bytes", [1, 100_000, 1_000_000])
def test_how_much_is_read_at_once_changes_no_number(two_nodes, usual, monkeypatch, block_bytes):
    monkeypatch.setattr(intake_system, "SMALL_BYTES", 0)
    monkeypatch.setattr(intake_system, "BLOCK_BYTES", block_bytes)

    assert results_of(discover(str(two_nodes)), LocalExecutor()) == usual
