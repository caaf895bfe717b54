"""The data-loader analysis, by hand (docs/rules.md, Slow batches)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import reportgen
from reportgen.explore import loading
from tests.builders import START_S, timeline_lines, write_timeline

INIT, ITER, WORKER = "DataLoaderIterInitialize", "DataLoaderIter", "DataLoaderWorker"
MULTI, SINGLE = "_MultiProcessingDataLoaderIter", "_SingleProcessDataLoaderIter"


def event(phase: str, name: str, start_s: float, lasts_s: float, **more: object):
    begin = START_S + start_s
    return (phase, name, begin, begin + lasts_s, {"os_pid": 27, **more})


ROWS = [
    event(INIT, f"{MULTI}.__init__", 0.0, 0.100, num_workers=4, pin_memory=True),
    event(INIT, f"{MULTI}.__init__", 50.0, 0.100, num_workers=4, pin_memory=True),
    event(INIT, f"{MULTI}.__init__", 20.0, 0.200, num_workers=2, pin_memory=False),
    event(INIT, f"{SINGLE}.__init__", 21.0, 0.001, num_workers=0, pin_memory=False),
    *(event(ITER, f"{MULTI}::GetNext", 1.0 + k, 0.010, worker_id=k % 4) for k in range(10)),
    event(ITER, f"{MULTI}::GetNext", 14.0, 0.020, worker_id=2),  # exactly twice the median
    event(ITER, f"{MULTI}::GetNext", 51.0, 0.010, worker_id=0),  # a new epoch began at 50
    event(ITER, f"{MULTI}::GetNext", 52.0, 0.010, worker_id=1),
    *(event(WORKER, WORKER, 0.1, 10.0 + k, worker_id=k) for k in range(4)),
]


@pytest.fixture(scope="module")
def frame(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    job = tmp_path_factory.mktemp("job")
    write_timeline(job, timeline_lines(ROWS))
    return reportgen.open(str(job)).dataloader_metrics()


def test_iterators_are_told_by_type_with_their_settings(frame: pd.DataFrame) -> None:
    multi, single = loading.initializations(frame).to_dict("records")

    assert multi == {
        "iterator": MULTI,
        "count": 3,
        "num_workers": "2, 4",  # the loaders of training and validation differ
        "pin_memory": "False, True",
        "median_us": 100_000.0,
        "max_us": 200_000,
        "outliers": 0,  # with two processes one, which has no other to compare with
    }
    assert (single["iterator"], single["count"], single["num_workers"]) == (SINGLE, 1, "0")


def test_outliers_of_initialization_are_those_of_their_type_of_iterator(tmp_path: Path) -> None:
    lengths_s = {MULTI: (0.1, 0.1, 0.1, 0.21), SINGLE: (0.001,) * 9 + (0.002,)}
    rows = [
        event(INIT, f"{name}.__init__", 2.0 * number + (name == SINGLE), length_s)
        for name, lengths in lengths_s.items()
        for number, length_s in enumerate(lengths)
    ]
    write_timeline(tmp_path, timeline_lines(rows))
    frame = reportgen.open(str(tmp_path)).dataloader_metrics()
    found = loading.initialization_outliers(frame)

    # The median of all is 1.5 ms: measured by it, every iterator with processes were an outlier.
    rows = found[["iterator", "start_time_us", "end_time_us"]].to_numpy().tolist()
    assert rows == [[MULTI, 6_000_000, 6_210_000], [SINGLE, 19_000_000, 19_002_000]]
    assert loading.initializations(frame)["outliers"].tolist() == [1, 1]


def test_twice_the_median_is_an_outlier(frame: pd.DataFrame) -> None:
    calls = loading.waits(frame)
    found = loading.outliers(calls)

    assert len(calls) == 13
    assert calls["duration_us"].median() == 10_000
    assert found[["duration_us", "worker_id"]].to_numpy().tolist() == [[20_000, 2]]


def test_outliers_of_waits_are_those_of_their_loader_where_two_are_of_one_type(tmp_path: Path):
    rows = [
        event(INIT, f"{MULTI}.__init__", 0.0, 0.1),
        event(INIT, f"{MULTI}.__init__", 1.0, 0.1),
        event(WORKER, WORKER, 0.0, 60.0, os_pid=60),
        event(WORKER, WORKER, 1.0, 59.0, os_pid=80),
        *(
            event(ITER, f"{MULTI}::GetNext", 2.0 + k, lasts_s, worker_id=0, os_pid=60)
            for k, lasts_s in enumerate([0.01] * 9 + [0.02])
        ),
        *(
            event(ITER, f"{MULTI}::GetNext", 20.0 + k, 0.1, worker_id=0, os_pid=80)
            for k in range(4)
        ),
    ]
    write_timeline(tmp_path, timeline_lines(rows))
    found = loading.wait_outliers(reportgen.open(str(tmp_path)).dataloader_metrics())

    assert found["duration_us"].tolist() == [20_000]
    assert "loader" not in found


def test_life_times_of_workers_are_counted(frame: pd.DataFrame) -> None:
    workers = loading.worker_times(frame)

    assert len(workers) == 4
    assert workers["duration_us"].median() == 11_500_000
    assert workers["duration_us"].max() == 13_000_000


def test_the_batch_time_is_from_start_to_start(frame: pd.DataFrame) -> None:
    times = loading.batch_times(frame)

    assert times["batch_time_s"].isna().tolist() == [True, *[False] * 12]
    assert times["batch_time_s"].tolist()[1:] == [*[1.0] * 9, 4.0, 37.0, 1.0]
    assert times["previous_batch_start"].tolist()[0] == ""
    assert times["previous_batch_start"].tolist()[1] == times["start_time"].tolist()[0]


def test_a_gap_between_epochs_is_no_outlier(frame: pd.DataFrame) -> None:
    times = loading.batch_times(frame)
    slow = loading.batch_outliers(frame)

    assert times.loc[times["is_epoch_gap"], "batch_time_s"].tolist() == [37.0]
    assert slow["batch_time_s"].tolist() == [4.0]
    assert slow["worker_id"].tolist() == [2]


def test_two_persistent_loaders_of_one_process_never_chain(tmp_path: Path) -> None:
    rows = [
        event(INIT, f"{MULTI}.__init__", 0.0, 0.1),
        event(INIT, f"{MULTI}.__init__", 1.0, 0.1),
        event(WORKER, WORKER, 0.0, 60.0, os_pid=60),
        event(WORKER, WORKER, 1.0, 59.0, os_pid=80),
        *(
            event(ITER, f"{MULTI}::GetNext", 2.0 + k, 0.01, worker_id=0, os_pid=60)
            for k in range(40)
        ),
        *(
            event(ITER, f"{MULTI}::GetNext", at + k / 10, 0.01, worker_id=0, os_pid=80)
            for at in (12.3, 32.3)
            for k in range(4)
        ),
    ]
    write_timeline(tmp_path, timeline_lines(rows))
    frame = reportgen.open(str(tmp_path)).dataloader_metrics()

    batches = loading.only_batches(loading.batch_times(frame))["batch_time_s"].round(6)
    # Training goes on behind a validation, and a validation behind training: no batch is there.
    assert batches.value_counts().to_dict() == {1.0: 37, 0.1: 6}


def test_where_calls_were_not_recorded_is_no_batch(tmp_path: Path) -> None:
    train = "Step:ModeKeys.TRAIN"
    rows = [
        *(event(train, train, k + 0.1, 0.5) for k in range(20)),
        *(event(ITER, f"{MULTI}::GetNext", k, 0.01) for k in (0, 1, 2, 5, 6, 10, 11, 12)),
    ]
    write_timeline(tmp_path, timeline_lines(rows))
    job = reportgen.open(str(tmp_path))
    loader, framework = job.dataloader_metrics(), job.framework_metrics()
    times = loading.batch_times(loader, framework)

    # One step a batch is usual. From 2 to 5 s there are three, no more than three times that: a
    # slow batch; from 6 to 10 s there are four: calls of the others were not recorded.
    assert times.loc[times["is_unrecorded"], "batch_time_s"].tolist() == [4.0]
    assert loading.batch_outliers(loader, framework)["batch_time_s"].tolist() == [3.0]
    assert loading.batch_outliers(loader)["batch_time_s"].tolist() == [4.0, 3.0]


def test_processes_are_kept_apart(tmp_path: Path) -> None:
    rows = [
        event(ITER, f"{MULTI}::GetNext", 0.0, 0.01, os_pid=1),
        event(ITER, f"{MULTI}::GetNext", 0.5, 0.01, os_pid=2),
        event(ITER, f"{MULTI}::GetNext", 1.0, 0.01, os_pid=1),
    ]
    write_timeline(tmp_path, timeline_lines(rows))
    times = loading.batch_times(reportgen.open(str(tmp_path)).dataloader_metrics())

    assert times["pid"].tolist() == [1, 1, 2]
    assert times["batch_time_s"].fillna(-1).tolist() == [-1, 1.0, -1]


def test_of_nested_calls_of_tensorflow_the_outermost_waits(tmp_path: Path) -> None:
    rows = [
        event("DataIterator", "ParallelMapIterator::GetNext", 0.0, 0.5, os_pid=1),
        event("DataIterator", "RepeatDatasetOp::GetNext", 0.1, 0.3, os_pid=1),
        event("DataIterator", "ParallelMapIterator::GetNext", 1.0, 0.2, os_pid=1),
        event("DataIterator", "Prefetch", 1.5, 0.2, os_pid=1),
    ]
    write_timeline(tmp_path, timeline_lines(rows))
    calls = loading.waits(reportgen.open(str(tmp_path)).dataloader_metrics())

    assert calls["duration_us"].tolist() == [500_000, 200_000]
    assert set(calls["pin_memory"]) == {"NA"}


def test_a_job_without_a_loader_gives_empty_tables(tmp_path: Path) -> None:
    write_timeline(tmp_path, timeline_lines([event("Forward", "conv", 0.0, 1.0)]))
    frame = reportgen.open(str(tmp_path)).dataloader_metrics()

    for table in (
        loading.initializations(frame),
        loading.waits(frame),
        loading.worker_times(frame),
        loading.batch_times(frame),
        loading.batch_outliers(frame),
    ):
        assert table.empty


def test_with_loader_workers_the_batch_time_is_that_of_a_batch(tmp_path: Path) -> None:
    calls = [
        event(ITER, f"{MULTI}::GetNext", 1.0 + k, 0.01, os_pid=60 + k % 4, worker_id=k % 4)
        for k in range(8)
    ]
    later = [
        event(ITER, f"{MULTI}::GetNext", 40.0 + k, 0.01, os_pid=64 + k % 4, worker_id=k % 4)
        for k in range(8)
    ]
    set_up = [event(INIT, f"{MULTI}.__init__", at, 0.1) for at in (0.5, 39.5)]
    write_timeline(tmp_path, timeline_lines([*set_up, *calls, *later]))
    times = loading.batch_times(reportgen.open(str(tmp_path)).dataloader_metrics())

    # Each of the four workers makes a batch in 4 s; training asks for one each second.
    assert loading.only_batches(times)["batch_time_s"].tolist() == [1.0] * 14
    assert times.loc[times["is_epoch_gap"], "batch_time_s"].tolist() == [32.0]


def test_steps_that_began_without_a_recorded_wait_are_seen_by_their_number() -> None:
    n_steps = np.array([1, 1, 3, 4, 9])
    is_usual = np.array([True, True, True, True, False])

    assert loading._too_many_steps(n_steps, is_usual).tolist() == [False, False, False, False, True]
    assert not loading._too_many_steps(n_steps, np.zeros(5, dtype=bool)).any()
