"""Frames of a job: columns, rows, ranges, and what a running job wrote since the last look."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import reportgen
from reportgen.errors import ConfigError, LocationError, PlaceError
from reportgen.explore import causes, functions_at, wait_for_job
from reportgen.explore import job as job_module
from reportgen.explore.frames import DATALOADER_COLUMNS, FRAMEWORK_COLUMNS, SYSTEM_COLUMNS
from reportgen.storage import DescribedJob, LocalLocation
from sample_data.horovod import horovod_bytes, late_rank, negotiation_lines
from tests.builders import (
    START_S,
    Row,
    system_line,
    timeline_lines,
    write_minute,
    write_system,
    write_timeline,
)
from tests.intake.test_spans import mark, write_marks
from tests.shared_data import SHARED_DATA, needs_shared_data
from tests.traces import small_events, trace_text, write_trace

TRAIN = "Step:ModeKeys.TRAIN"
ROWS = [
    (TRAIN, TRAIN, START_S + 10, START_S + 12, {"step": 0, "os_pid": 27}),
    ("DataLoaderIter", "It::GetNext", START_S + 12, START_S + 12.5, {"worker_id": 3}),
    (TRAIN, TRAIN, START_S + 13, START_S + 15, {"step": 1, "os_pid": 27}),
    (
        "DataLoaderIterInitialize",
        "It.__init__",
        START_S + 9,
        START_S + 9.25,
        {"num_workers": 4, "pin_memory": True},
    ),
]


@pytest.fixture
def job(tmp_path: Path) -> Path:
    columns = {"gpu0": [10.0] * 20, "gpu0_memory": [5.0] * 20, "cpu0": [50.0] * 20}
    write_system(tmp_path, columns, start_s=START_S + 5)
    write_timeline(tmp_path, timeline_lines(ROWS))
    return tmp_path


def test_the_system_frame_has_the_documented_columns_and_a_row_per_sample(job: Path) -> None:
    frame = reportgen.open(str(job)).system_metrics()

    assert tuple(frame.columns) == SYSTEM_COLUMNS
    assert len(frame) == 60
    first = frame.iloc[0]
    moment = datetime.fromtimestamp(START_S + 5, UTC)
    assert first["timestamp"] == moment.strftime("%Y-%m-%dT%H:%M:%S:%f")
    assert first["timestamp_us"] == 5_000_000
    assert set(frame["nodeID"]) == {"algo-1"}
    assert frame.loc[frame["dimension"] == "GPUUtilization", "value"].eq(10.0).all()


def test_frames_are_cut_by_time_name_dimension_and_node(job: Path) -> None:
    opened = reportgen.open(str(job))
    until = datetime.fromtimestamp(START_S + 6, UTC)

    assert len(opened.system_metrics(metrics="gpu0")) == 40
    assert len(opened.system_metrics(metrics="gpu0", dimensions="GPUUtilization")) == 20
    assert len(opened.system_metrics(metrics=["cpu.*"], until=until)) == 3
    assert len(opened.system_metrics(since=START_S + 6, until=until.isoformat())) == 3
    assert opened.system_metrics(nodes="algo-2").empty
    assert tuple(opened.system_metrics(nodes=[]).columns) == SYSTEM_COLUMNS
    assert len(opened.system_metrics(since=np.datetime64(int(START_S) + 14, "s"))) == 6


def test_the_framework_frame_counts_from_the_minute_of_the_first_system_file(job: Path) -> None:
    frame = reportgen.open(str(job)).framework_metrics()

    assert tuple(frame.columns) == FRAMEWORK_COLUMNS
    assert frame["start_time_us"].tolist() == [9_000_000, 10_000_000, 12_000_000, 13_000_000]
    assert frame["step"].tolist() == [-1, 0, -1, 1]
    assert frame["pid"].tolist() == [0, 27, 0, 27]
    assert set(frame["nodeID"]) == {"algo-1-27"}


def test_events_are_cut_by_step_name_and_process(job: Path) -> None:
    opened = reportgen.open(str(job))

    assert len(opened.framework_metrics(steps=(1, 5))) == 1
    assert len(opened.framework_metrics(names=".*GetNext")) == 1
    assert len(opened.framework_metrics(processes=TRAIN)) == 2
    # An event that overlaps the range comes in full length.
    assert len(opened.framework_metrics(since=START_S + 11, until=START_S + 11.5)) == 1


def test_an_event_is_called_by_its_layer_then_by_its_argument_name(tmp_path: Path) -> None:
    rows: list[Row] = [
        ("Forward", "call", START_S, START_S + 1, {"layer_name": "conv1", "name": "outer"}),
        ("Forward", "FunctionRun", START_S + 2, START_S + 3, {"name": "__inference_7"}),
        ("Forward", "conv1", START_S + 4, START_S + 6),
        ("Forward", "call", START_S + 7, START_S + 8, {"layer_name": "", "name": 12}),
        ("Forward", "call", START_S + 9, START_S + 10, {"layer_name": None, "pid": "x"}),
    ]
    write_timeline(tmp_path, timeline_lines(rows))
    job = reportgen.open(str(tmp_path))

    shown = job.framework_metrics()["framework_metric"].tolist()
    assert shown == ["conv1", "__inference_7", "conv1", "12", "call"]
    assert len(job.framework_metrics(names="conv1")) == 2
    [spans] = job.spans(names="conv1")
    sums = functions_at(spans, np.array([0]), np.array([2**62]))
    assert sums[["function", "count", "total_us"]].to_numpy().tolist() == [["conv1", 2, 3e6]]
    assert set(spans.names) == {"FunctionRun", "call", "conv1"}


def test_the_dataloader_frame_tells_workers_and_pinned_memory(job: Path) -> None:
    frame = reportgen.open(str(job)).dataloader_metrics()

    assert tuple(frame.columns) == DATALOADER_COLUMNS
    assert frame["duration_us"].tolist() == [250_000, 500_000]
    assert frame["pin_memory"].tolist() == ["True", "NA"]
    assert frame["num_workers"].tolist() == [4, -1]
    assert frame["worker_id"].tolist() == [-1, 3]


def test_microseconds_of_the_frames_are_times(job: Path) -> None:
    opened = reportgen.open(str(job))
    system, framework = opened.system_metrics(), opened.framework_metrics()
    first, last = system["timestamp_us"].iloc[0], int(system["timestamp_us"].iloc[-1])

    assert len(opened.system_metrics(since=first, until=last)) == len(system)
    assert len(opened.system_metrics(since=opened.origin_us + last)) == 3
    step = framework[framework["step"] == 1].iloc[0]
    inside = opened.framework_metrics(since=step["start_time_us"], until=step["end_time_us"])
    assert inside["step"].tolist() == [1]
    by_text = opened.framework_metrics(since=step["start_time"], until=step["end_time"])
    pd.testing.assert_frame_equal(by_text, inside)
    sums = causes.functions_between(opened, 12_100_000, 12_200_000)
    assert sums["function"].tolist() == ["It::GetNext"]
    with pytest.raises(ConfigError, match=r"Unix seconds are 1783071006\.0, microseconds of"):
        opened.system_metrics(since=int(START_S) + 6)
    with pytest.raises(ConfigError, match="microseconds are an int"):
        opened.system_metrics(since=float(last))


def test_an_empty_answer_says_why(job: Path, caplog: pytest.LogCaptureFixture) -> None:
    opened = reportgen.open(str(job))

    opened.system_metrics(metrics="gpu7")
    opened.framework_metrics(steps=(70, 80))
    minute = "2026-07-03T09:30:00.000000Z"
    no_sample, no_event = caplog.messages
    assert no_sample.endswith(f"the job has files of samples for the minutes {minute} to {minute}.")
    assert no_event == (
        f"No event fits: the job has 4 from {minute.replace('00.0', '09.0')} to "
        f"{minute.replace('00.0', '15.0')}."
    )
    caplog.clear()
    opened.system_metrics(metrics="gpu0")
    opened.system_metrics(nodes=())
    assert not caplog.messages
    opened.system_metrics(until=0)
    assert caplog.messages == [no_sample]


def test_what_is_no_time_or_no_pattern_is_said(job: Path) -> None:
    opened = reportgen.open(str(job))

    with pytest.raises(ConfigError, match="'yesterday' is not a time"):
        opened.system_metrics(since="yesterday")
    with pytest.raises(ConfigError, match="lies after"):
        opened.system_metrics(since=START_S + 1, until=START_S)
    with pytest.raises(ConfigError, match=r"metrics: .* is not a pattern"):
        opened.system_metrics(metrics="gpu(")


def test_latest_returns_each_row_once_and_together_they_are_a_full_load(tmp_path: Path) -> None:
    lines = [
        [system_line("cpu0", 10.0 + second, START_S + 60 * minute + second) for second in range(9)]
        for minute in range(3)
    ]
    write_minute(tmp_path, lines[0], minute_s=START_S)
    running = reportgen.open(str(tmp_path))
    first = running.latest()
    write_minute(tmp_path, lines[1][:4], minute_s=START_S + 60)
    second = running.latest()
    write_minute(tmp_path, lines[1], minute_s=START_S + 60)  # the file grew
    write_minute(tmp_path, lines[2], minute_s=START_S + 120)
    write_timeline(tmp_path, timeline_lines(ROWS))
    third = running.latest()

    assert [len(part.system) for part in (first, second, third)] == [9, 4, 14]
    assert [len(part.framework) for part in (first, second, third)] == [0, 0, 4]
    assert running.latest().system.empty
    parts = [part.system for part in (first, second, third)]
    together = pd.concat(parts, ignore_index=True).sort_values("timestamp_us", ignore_index=True)
    pd.testing.assert_frame_equal(together, reportgen.open(str(tmp_path)).system_metrics())


def test_an_event_that_ends_in_a_later_file_is_there_once_that_file_is(tmp_path: Path) -> None:
    write_marks(tmp_path, mark("B", START_S + 59, "NEGOTIATE"), end_s=START_S + 60)
    running = reportgen.open(str(tmp_path))
    before = running.latest()
    write_marks(tmp_path, mark("E", START_S + 61), end_s=START_S + 120)
    after = running.latest()

    assert before.framework.empty
    assert after.framework["framework_metric"].tolist() == ["NEGOTIATE"]
    assert (after.framework["end_time_us"] - after.framework["start_time_us"]).tolist() == [
        2_000_000
    ]
    assert running.latest().framework.empty


def test_files_that_were_read_are_not_read_again(job: Path, monkeypatch: pytest.MonkeyPatch):
    running = reportgen.open(str(job))
    read: list[str] = []
    plain = LocalLocation.read_bytes

    def noted(self: LocalLocation, key: str) -> bytes:
        read.append(key)
        return plain(self, key)

    monkeypatch.setattr(LocalLocation, "read_bytes", noted)
    running.latest()
    assert len(read) == 2
    later = [(TRAIN, TRAIN, START_S + 70, START_S + 71, {"step": 2, "os_pid": 27})]
    write_timeline(job, timeline_lines(later), end_s=START_S + 120)
    assert running.latest().framework["step"].tolist() == [2]
    assert len(read) == 3


def test_a_timeline_of_horovods_own_may_be_called_like_a_node(job: Path) -> None:
    before = reportgen.open(str(job))
    alone, extent_us = len(before.framework_metrics()), before.events_extent_us()
    horovod = horovod_bytes(negotiation_lines(late_rank(2)))
    (job / "profiler-output" / "algo-1.json").write_bytes(horovod)
    both = reportgen.open(str(job))
    assert both.nodes == ("algo-1", "algo-1")

    assert both.events_extent_us() == extent_us
    for _ in range(2):  # read, then kept
        names = both.framework_metrics()["framework_metric"]
        assert len(names) > alone
        assert (names == "ALLREDUCE").sum() == 2
        assert (names == "It::GetNext").sum() == sum(row[1] == "It::GetNext" for row in ROWS)


def test_a_job_is_opened_by_its_name(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    described = DescribedJob(
        name="bert-7", region="eu-west-1", status="Completed", profiler_path=str(job)
    )
    asked: list[str] = []

    def asking(path: str) -> DescribedJob:
        asked.append(path)
        return described

    monkeypatch.setattr(job_module, "training_job", asking)
    opened = reportgen.open("sagemaker:eu-west-1/bert-7")

    assert (opened.name, len(opened.system_metrics()), len(opened.latest().system)) == (
        "bert-7", 60, 60,
    )  # fmt: skip
    assert opened.python_profiles().table.empty
    assert asked == ["sagemaker:eu-west-1/bert-7"]


def test_waiting_ends_when_the_first_file_arrives(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = tmp_path / "later"
    timer = threading.Timer(
        0.3, write_system, args=(path, {"cpu0": [1.0, 2.0]}), kwargs={"start_s": START_S}
    )
    timer.start()
    waited = wait_for_job(str(path), timeout_s=20.0, poll_s=0.05)
    timer.join()

    assert len(waited.system_metrics()) == 2
    assert caplog.messages == [f"Waiting up to 20 s for the first profiler files under {path}."]


def test_a_file_that_was_opened_and_not_yet_written_has_not_arrived(tmp_path: Path) -> None:
    path = write_minute(tmp_path, b"")
    with pytest.raises(LocationError, match=r"in 0 s\. Its files are still empty\."):
        wait_for_job(str(tmp_path), timeout_s=0)

    write_minute(tmp_path, [system_line("cpu0", 1.0, START_S)])
    assert path.stat().st_size
    assert len(wait_for_job(str(tmp_path), timeout_s=0).system_metrics()) == 1


def test_waiting_in_vain_says_so(tmp_path: Path) -> None:
    with pytest.raises(LocationError, match=r"No profiler files arrived .* in 0\.1 s"):
        wait_for_job(str(tmp_path), timeout_s=0.1, poll_s=0.02)


@needs_shared_data
def test_the_counts_that_smdebug_expects_of_its_samples() -> None:
    opened = reportgen.open(str(SHARED_DATA / "smdebug" / "test_traces"))

    def count(since: float, until: float, **more: str) -> int:
        return len(opened.system_metrics(since=since, until=until, **more))

    assert count(1_591_100_000.0, 1_692_300_000.0) == 78
    assert count(1_591_100_000.0, 1_692_300_000.0, types="cpu") == 68
    assert count(1_591_100_000.0, 1_591_167_699.0) == 10
    assert count(1_591_748_165.0, 1_600_000_000.0) == 32
    assert len(opened.framework_metrics(since=1_589_930_980.0, until=1_589_930_995.0)) == 4


def test_a_place_that_cannot_be_used_is_not_waited_for() -> None:
    with pytest.raises(PlaceError, match="not the address of a bucket"):
        wait_for_job("s3:///job", timeout_s=5.0)


def test_kernel_traces_alone_have_no_frames_and_beside_nodes_they_are_left_out(job: Path) -> None:
    traces = job / "traces"
    write_trace(traces / "rank-0.pt.trace.json", trace_text(small_events()))
    with pytest.raises(ConfigError, match="holds kernel traces alone"):
        reportgen.open(str(traces))
    with pytest.raises(ConfigError, match="holds kernel traces alone"):
        wait_for_job(str(traces), timeout_s=60)

    assert len(reportgen.open(str(job)).framework_metrics()) == len(ROWS)
