"""Kernel traces give the same frames as framework events: by hand, and against the raw file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pandas as pd
import pytest

import reportgen
from reportgen.explore import Job, causes, loading
from tests.shared_data import SHARED_DATA, needs_shared_data
from tests.traces import (
    BASE_NS,
    START_US,
    kernel,
    launch,
    small_events,
    span,
    trace_text,
    write_trace,
)

NEXT = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
STEP = "Step:ModeKeys.GLOBAL"


@pytest.fixture
def job(tmp_path: Path) -> Job:
    events = [
        *small_events(),
        span("user_annotation", NEXT, 2.0, 3.0),
        span("user_annotation", NEXT, 101.0, 90.0),
        span("python_function", "train.py(3): main", -50.0, 300.0, tid=4101),
        kernel(250.0, 10.0, 99, device=1, stream=9),
    ]
    write_trace(tmp_path / "rank-0.pt.trace.json", trace_text(events))
    return reportgen.open(str(tmp_path))


def named(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    return frame[frame["framework_metric"] == name].reset_index(drop=True)


def test_operators_kernels_and_steps_are_events(job: Job) -> None:
    frame = job.framework_metrics()
    zero_us = BASE_NS // 1000 + int(START_US) - job.origin_us

    assert len(frame) == 2 + 2 + 4 + 4 + 2 + 1 + 1
    steps = named(frame, STEP)
    assert steps["step"].tolist() == [0, 1]
    assert (steps["start_time_us"] - zero_us).tolist() == [0, 100]
    assert (steps["end_time_us"] - zero_us).tolist() == [100, 200]
    gemm = named(frame, "gemm")
    assert (gemm["start_time_us"] - zero_us).tolist() == [20, 120, 250]
    assert gemm["process"].tolist() == [*["gpu_functions-dev:0"] * 2, "gpu_functions-dev:1"]
    assert gemm["tid"].tolist() == [7, 7, 9]
    assert gemm["step"].tolist() == [0, 1, -1]  # of the step that launched it; nobody launched one
    assert named(frame, "aten::mm")["process"].tolist() == ["cpu_functions"] * 2
    assert named(frame, "aten::mm")["pid"].tolist() == [4100, 4100]
    assert named(frame, "train.py(3): main")["step"].tolist() == [-1]
    assert set(frame["nodeID"]) == {"rank 0"}


def test_frames_of_a_trace_are_cut_like_those_of_events(job: Job) -> None:
    kernels = job.framework_metrics(processes="gpu_functions-dev:.*", steps=(1, 1))
    assert kernels["framework_metric"].tolist() == ["gemm", "relu"]
    origin_us = BASE_NS // 1000 + int(START_US)
    late = job.framework_metrics(since=(origin_us + 240) / 1e6)
    assert late["framework_metric"].tolist() == ["train.py(3): main", "gemm"]


def test_waits_for_a_batch_are_those_of_the_data_loader(job: Job) -> None:
    loader = job.dataloader_metrics()

    assert loading.waits(loader)["duration_us"].tolist() == [3, 90]
    assert loading.batch_times(loader)["batch_time_s"].tolist()[1:] == [pytest.approx(99e-6)]
    assert loading.initializations(loader).empty


def test_what_ran_in_steps_of_a_trace_is_told(job: Job) -> None:
    rows = named(job.framework_metrics(), STEP)
    found = causes.functions_in_rows(job, rows[rows["step"] == 0])

    counts = dict(zip(found["function"], found["count"], strict=True))
    assert counts == {"train.py(3): main": 1, "gemm": 1, "relu": 1, NEXT: 1, "aten::mm": 1,
                    "cudaLaunchKernel": 2}  # fmt: skip


def test_a_trace_of_kernels_alone_has_no_steps(tmp_path: Path) -> None:
    events = [launch(0.0, 1), kernel(10.0, 5.0, 1)]
    write_trace(tmp_path / "rank-0.pt.trace.json", trace_text(events))
    frame = reportgen.open(str(tmp_path)).framework_metrics()

    assert frame["framework_metric"].tolist() == ["cudaLaunchKernel", "gemm"]
    assert frame["step"].tolist() == [-1, -1]


@needs_shared_data
@pytest.mark.parametrize("workers", [0, 4])
def test_the_waits_of_a_real_trace_are_those_of_its_file(workers: int) -> None:
    [path] = (SHARED_DATA / "kineto" / f"resnet50_num_workers_{workers}").iterdir()
    with gzip.open(path) as file:
        raw = json.load(file)["traceEvents"]
    expected = sorted(
        (event["ts"], event["dur"])
        for event in raw
        if event.get("ph") == "X" and "enumerate(DataLoader)#" in event["name"]
    )
    job = reportgen.open(str(path))
    waits = loading.waits(job.dataloader_metrics())

    assert len(expected) == len(waits) > 0
    assert (waits["start_time_us"] + job.origin_us).tolist() == [start for start, _ in expected]
    assert waits["duration_us"].tolist() == [lasted for _, lasted in expected]
    frame = job.framework_metrics()
    n_kernels = sum(event.get("cat") == "Kernel" for event in raw)
    n_others = sum(event.get("cat") in {"Memcpy", "Memset"} for event in raw)
    is_gpu = frame["process"].str.startswith("gpu_functions")
    assert int(is_gpu.sum()) == n_kernels + n_others


def test_another_cycle_of_the_profiler_is_opened(tmp_path: Path) -> None:
    older = [*small_events(), span("user_annotation", "only then", 2.0, 3.0)]
    for stamp, events in ((1694128201545, older), (1694128301545, small_events())):
        write_trace(tmp_path / f"rank0.{stamp}.pt.trace.json", trace_text(events))

    frames = [reportgen.open(str(tmp_path), cycle=at).framework_metrics() for at in (1, 2)]

    assert [len(named(frame, "only then")) for frame in frames] == [0, 1]
