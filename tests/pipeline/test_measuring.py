"""Who works on the parts of a job, and what becomes of parts that are lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from reportgen.engine import DaskExecutor, Executor, LocalExecutor, LostItemsError, ProcessExecutor
from reportgen.intake import discover
from reportgen.pipeline import measuring
from reportgen.pipeline.measuring import MeasuringTask, executor_for, measure
from reportgen.profile import Quality
from tests.builders import Quiet, write_system
from tests.traces import ranked, write_trace


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    write_system(tmp_path, {"gpu0": [50.0] * 20})
    for rank in range(2):
        write_trace(tmp_path / f"rank{rank}.json", ranked(rank))
    return tmp_path


def work_of(job: Path, *, scheduler: str = "", may_miss: bool = False) -> MeasuringTask:
    return MeasuringTask(
        job=discover(str(job)), rules=(), params={}, scheduler=scheduler, may_miss=may_miss
    )


def chosen(job: Path, scheduler: str = "") -> Executor:
    return executor_for(work_of(job, scheduler=scheduler), Quiet())


def test_large_traces_are_worked_on_in_processes(mixed: Path, monkeypatch: pytest.MonkeyPatch):
    assert isinstance(chosen(mixed), LocalExecutor)
    monkeypatch.setattr(measuring, "LARGE_BYTES", 1_000)
    assert isinstance(chosen(mixed), ProcessExecutor)


def test_the_cluster_that_was_asked_for_is_taken(mixed: Path) -> None:
    on_cluster = chosen(mixed, "tcp://there:1")
    assert isinstance(on_cluster, DaskExecutor)
    assert on_cluster.address == "tcp://there:1"


class Loses:
    """Loses every item but the first."""

    def map(
        self, fn: Callable[[Any], Any], items: Sequence[Any], *, names: Sequence[str] = ()
    ) -> list[Any]:
        results = [fn(items[0]), *[None for _ in items[1:]]]
        reasons = dict.fromkeys(range(1, len(items)), "it is gone.")
        raise LostItemsError(results, reasons, names=names, hint="look")


@pytest.fixture
def losing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "executor_for", lambda *_: Loses())


def test_lost_parts_end_the_run(mixed: Path, losing: None) -> None:
    with pytest.raises(LostItemsError) as caught:
        measure(work_of(mixed), Quiet())
    assert caught.value.exit_code == 1
    assert caught.value.message == (
        "2 of 3 parts of the job could not be read. rank 0: it is gone. rank 1: it is gone."
    )


def test_lost_parts_are_noted_and_counted_where_that_is_allowed(mixed: Path, losing: None) -> None:
    measured, notes = measure(work_of(mixed, may_miss=True), Quiet())
    assert [part.rank for part in measured] == [None]
    assert [note.text for note in notes] == [
        "rank 0 is missing in this report: it is gone.",
        "rank 1 is missing in this report: it is gone.",
    ]
    assert [note.counts for note in notes] == [{Quality.FILES_SKIPPED: 1}] * 2


def test_nothing_but_losses_is_no_report(mixed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(self: object, fn: object, items: Sequence[Any], *, names: Sequence[str]) -> None:
        raise LostItemsError([None], {0: "gone."}, names=names, hint="")

    monkeypatch.setattr(LocalExecutor, "map", lose)
    with pytest.raises(LostItemsError):
        measure(work_of(mixed, may_miss=True), Quiet())
