"""The notebooks for analysis by hand, cell by cell in this process: every count is the API's."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest

import reportgen
from reportgen import views
from reportgen.assets import notebook_path
from reportgen.explore import Job, statistics
from reportgen.explore.notebook import NOT_RECORDED
from reportgen.pipeline.make import make_report
from reportgen.pipeline.options import Options
from sample_data.make import make_job
from sample_data.spec import NAMED_JOBS
from tests.builders import Quiet
from tests.shared_data import ORACLE_JOBS, SHARED_DATA

GPU, CPU = "GPUUtilization", "CPUUtilization"
SAMPLES = Path(__file__).resolve().parents[2] / "sample_data"
OTHERS = ("tensorflow_training",)
JOBS = ["input_bound", "straggler", *OTHERS, *ORACLE_JOBS]
_RECORDED = {text.partition(".")[0] for text in NOT_RECORDED.values()}


def cells_of(name: str) -> dict[str, str]:
    notebook = nbformat.read(str(notebook_path(name)), as_version=4)
    return {cell.id: cell.source for cell in notebook.cells if cell.cell_type == "code"}


def run(name: str, **parameters: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what each cell shows, and the names that the notebook leaves behind."""
    names: dict[str, Any] = {}
    shown = {}
    for cell_id, source in cells_of(name).items():
        *before, last = ast.parse(source).body
        body = before if isinstance(last, ast.Expr) else [*before, last]
        exec(compile(ast.Module(body, []), cell_id, "exec"), names)
        if isinstance(last, ast.Expr):
            shown[cell_id] = eval(compile(ast.Expression(last.value), cell_id, "eval"), names)
        if cell_id == "parameters":
            assert set(parameters) < set(names)
            names.update(parameters)
    return shown, names


@pytest.fixture(scope="module", params=JOBS)
def job(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Job:
    if request.param in ORACLE_JOBS:
        return reportgen.open(str(SHARED_DATA / "oracle" / request.param))
    if request.param in OTHERS:
        return reportgen.open(str(SAMPLES / request.param))
    folder = tmp_path_factory.mktemp("jobs")
    return reportgen.open(str(make_job(NAMED_JOBS[request.param], output=folder)))


def numbers_of(shown: Any, pattern: str) -> int:
    """Return the sum of the columns that match, as a reader of the table adds them up."""
    chosen = shown.filter(regex=pattern)
    assert chosen.shape[1]
    return sum(int(text.replace(",", "").replace("–", "0")) for text in chosen.to_numpy().ravel())


def count_in(shown: Any) -> int:
    """Return how many a histogram counts, or a sentence names first; 0 of one that says none."""
    if isinstance(shown, str):
        found = re.match(r"[\d,]+", shown)
        return int(found[0].replace(",", "")) if found else 0
    return sum(int(np.sum(trace.y)) for trace in shown.data)


def is_missing(shown: Any) -> bool:
    """Return whether a cell says that what it is about was not recorded."""
    return isinstance(shown, str) and shown.partition(".")[0] in _RECORDED


def training(events: pd.DataFrame) -> pd.DataFrame:
    """The steps of training, in traces those of no mode."""
    train = events[events["process"] == "Step:ModeKeys.TRAIN"]
    return train if len(train) else events[events["process"] == "Step:ModeKeys.GLOBAL"]


def inside(samples: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """The samples within steps of their node."""
    kept = np.zeros(len(samples), dtype=bool)
    for worker, start_us, end_us in steps[["nodeID", "start_time_us", "end_time_us"]].to_numpy():
        is_inside = samples["timestamp_us"].between(start_us, end_us)
        kept |= (is_inside & (samples["nodeID"] == worker.rpartition("-")[0])).to_numpy()
    return samples[kept]


def expected_counts(job: Job) -> dict[str, tuple[Callable[[Any], int], int]]:
    """What a reader counts in a cell, and the number by the frames of the API."""
    system, framework = job.system_metrics(), job.framework_metrics()
    gpu, cpu = (system[system["dimension"] == name] for name in (GPU, CPU))
    steps = framework[framework["process"].str.startswith("Step:")]
    train = training(steps)
    loop = (train["start_time_us"].min(), train["end_time_us"].max())
    gpu_loop, cpu_loop = (rows[rows["timestamp_us"].between(*loop)] for rows in (gpu, cpu))
    lasted = steps["end_time_us"] - steps["start_time_us"]
    median = lasted.groupby([steps["process"], steps["nodeID"]]).transform("median")
    slow, normal = steps[lasted > 2 * median], steps[lasted <= 2 * median]
    low_place = gpu_loop if len(steps) else gpu

    def rows(shown: Any) -> int:
        return 0 if isinstance(shown, str) else len(shown)

    def column(pattern: str) -> Callable[[Any], int]:
        return lambda shown: 0 if isinstance(shown, str) else numbers_of(shown, pattern)

    def of_devices(name: str) -> Callable[[Any], int]:
        return lambda shown: column(name)(shown[shown["nodeID"] != "all nodes"])

    def below_50(samples: pd.DataFrame) -> int:
        return int((samples["value"] < 50).sum())

    return {
        "samples": (rows, min(len(system), 5)),
        "events": (rows, min(len(framework), 5)),
        "phases": (rows, 3),
        "step-times": (column("count"), len(steps)),
        "step-histogram": (count_in, len(steps)),
        "low-samples": (of_devices("below_50"), below_50(gpu) + below_50(cpu)),
        "low-samples-in-loop": (of_devices("samples"), len(gpu_loop) + len(cpu_loop)),
        "low-moments": (rows, min(below_50(low_place), 7)),
        "gpu-histogram": (count_in, len(gpu)),
        "cpu-histogram": (count_in, len(cpu)),
        "gpu-histogram-in-loop": (count_in, len(gpu_loop)),
        "cpu-histogram-in-loop": (count_in, len(cpu_loop)),
        "classes": (column("%|idle|ization"), len(gpu)),
        "slow-steps": (count_in, len(slow)),
        "slowest-steps": (rows, min(len(slow), 7)),
        "gpu-histogram-in-slow-steps": (count_in, len(inside(gpu, slow))),
        "cpu-histogram-in-slow-steps": (count_in, len(inside(cpu, slow))),
        "gpu-histogram-in-normal-steps": (count_in, len(inside(gpu, normal))),
        "cpu-histogram-in-normal-steps": (count_in, len(inside(cpu, normal))),
    }


def test_every_count_and_every_sentence_is_that_of_the_frames(job: Job) -> None:
    shown, names = run("interactive_analysis", job_path=job._path, n_rows=7)
    for cell_id, (count, expected) in expected_counts(job).items():
        found = shown[cell_id]
        if not is_missing(found):
            assert count(found) == expected, cell_id
            assert isinstance(found, str) == (expected == 0 or cell_id == "slow-steps"), cell_id

    system, framework = job.system_metrics(), job.framework_metrics()
    train = training(framework)
    if not is_missing(shown["phases"]):
        lasted_us = names["job_phases"]["duration_us"]
        first_us = min(
            system["timestamp_us"].min() if len(system) else framework["start_time_us"].min(),
            train["start_time_us"].min(),
        )
        assert lasted_us.iloc[0] == train["start_time_us"].min() - first_us
        assert lasted_us.iloc[1] == train["end_time_us"].max() - train["start_time_us"].min()
        row = names["step_times"].set_index("process").loc[train["process"].iloc[0]]
        assert row["p50_us"] == np.median(train["end_time_us"] - train["start_time_us"])
    if not is_missing(shown["bottlenecks"]):
        n_told = [
            int(text.replace(",", "")) for text in re.findall("[\\d,]*\\d", shown["bottlenecks"])
        ]
        assert n_told[0] == len(names["bottlenecks"]) == sum(n_told[1:])
        assert names["classes"]["initialization"].sum() == int(
            (
                (system["dimension"] == GPU)
                & (system["timestamp_us"] < train["start_time_us"].min())
            ).sum()
        )
    says_none = {
        "functions-at-bottlenecks": "at_bottlenecks",
        "functions-at-bottlenecks-bars": "at_bottlenecks",
        "functions-at-bottlenecks-pie": "at_bottlenecks",
        "functions-at-work-pie": "at_work",
        "phases-at-bottlenecks": "at_phases",
        "functions-in-slow-steps": "in_slow",
        "functions-in-slow-steps-bars": "in_slow",
        "functions-in-slow-steps-pie": "in_slow",
        "functions-in-normal-steps-pie": "in_normal",
        "first-bottlenecks": "bottlenecks",
    }
    for cell_id, name in says_none.items():
        if not is_missing(shown[cell_id]):
            assert isinstance(shown[cell_id], str) == names[name].empty, cell_id


def test_every_count_of_the_loader_is_that_of_the_frames(job: Job) -> None:
    shown, names = run("dataloader_analysis", job_path=job._path)
    process = job.dataloader_metrics()["process"]
    n_set_up, n_lives = (
        (process == f"DataLoader{kind}").sum() for kind in ("IterInitialize", "Worker")
    )
    n_waits = len(process) - n_set_up - n_lives
    for cell_id, expected in {"load-3": n_set_up, "load-5": n_lives, "load-7": n_waits}.items():
        found = shown[cell_id]
        assert expected == (0 if is_missing(found) else numbers_of(found, "^count$")), cell_id
    assert n_waits == (0 if is_missing(shown["load-8"]) else count_in(shown["load-8"]))
    slow = names["batches"]["slow batches"]
    assert len(slow) == len(names["slow"])
    for cell_id in ("load-11", "load-13"):
        says_none = str(shown[cell_id]) == "No batch is slow."
        assert says_none == (slow.empty and n_waits > 0), cell_id
    if n_waits:
        n_batches = len(slow) + len(names["batches"]["other batches"])
        is_batch = names["times"]["batch_time_s"].notna()
        n_gaps = (names["times"]["is_epoch_gap"] | names["times"]["is_unrecorded"])[is_batch].sum()
        assert n_batches + n_gaps == is_batch.sum()


def test_the_first_answers_are_those_of_the_page(input_bound_job: Path, tmp_path: Path) -> None:
    options = Options(path=str(input_bound_job), output=tmp_path, formats=frozenset())
    report = make_report(options, Quiet()).report
    _, names = run("interactive_analysis", job_path=str(input_bound_job))

    lasted_s = names["job_phases"]["duration_us"] / 1e6
    assert lasted_s.tolist() == [
        report.summary.initialization_in_seconds,
        report.summary.training_loop_duration_in_seconds,
        report.summary.finalization_in_seconds,
    ]
    page = views.frame(report, "OverallSystemUsage", "sample_counts").set_index("device")
    for samples, prefix in ((names["system"], ""), (names["in_loop"], "loop_")):
        ours = statistics.low_samples(samples).set_index("device")
        for name in ("samples", "at_zero", "below_50"):
            assert ours[name].to_dict() == page[f"{prefix}{name}"].to_dict()


def test_the_parameters_are_thresholds(input_bound_job: Path) -> None:
    """Feature 000-18: ``<= 10`` of the seed and ``< 10`` of the rule are both selectable."""
    usual, _ = run("interactive_analysis", job_path=str(input_bound_job))
    other, names = run(
        "interactive_analysis",
        job_path=str(input_bound_job),
        gpu_idle_pct=80,
        cpu_hot_pct=60,
        slow_factor=1.1,
    )

    assert 60 < names["bottlenecks"]["cpu_pct"].min() < 90
    assert 10 < names["bottlenecks"]["gpu_pct"].max() <= 80
    assert "80 to 90 %" in other["classes"]
    assert count_in(other["slow-steps"]) > count_in(usual["slow-steps"])
