"""Work on a cluster: answers in order, and plain words for whatever dies."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from reportgen.engine import LostItemsError
from reportgen.engine.cluster import DaskExecutor
from reportgen.engine.software import software
from reportgen.errors import LocationError, PluginError, ReportgenError
from tests.engine.clusters import Cluster, running_cluster, wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers that no test kills."""
    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Cluster]:
    """Two workers to kill."""
    with running_cluster(tmp_path) as running:
        yield running


def test_items_keep_their_order_and_run_elsewhere(cluster: Cluster) -> None:
    said: list[str] = []
    executor = DaskExecutor(address=cluster.address, on_progress=said.append)
    assert executor.map(abs, list(range(-20, 0))) == list(range(20, 0, -1))
    assert said[-1] == "20 of 20 nodes or ranks"
    assert os.getpid() not in executor.map(_process_id, [0, 1])


def _process_id(_: int) -> int:
    return os.getpid()


def test_a_scheduler_is_found_by_its_file(cluster: Cluster) -> None:
    assert DaskExecutor(address=str(cluster.file)).map(abs, [-3]) == [3]


def test_no_items_give_no_results(cluster: Cluster) -> None:
    assert DaskExecutor(address=cluster.address).map(abs, []) == []


def test_a_task_that_fails_is_tried_three_times_and_said_with_item_and_worker(cluster, tmp_path):
    with pytest.raises(LostItemsError) as caught:
        DaskExecutor(address=cluster.address).map(
            partial(_fail_on_odd, tmp_path), [0, 1, 2], names=["rank 0", "rank 1", "rank 2"]
        )
    assert caught.value.results == [0, None, 2]
    assert list(caught.value.reasons) == [1]
    assert "rank 1: it failed 3 times, lastly on worker tcp://127.0.0.1:" in caught.value.message
    assert "1 is odd" in caught.value.message
    assert len(list(tmp_path.iterdir())) == 3


def _fail_on_odd(folder: Path, item: int) -> int:
    if item % 2:
        (folder / f"{len(list(folder.iterdir()))}").touch()
        raise LocationError(f"{item} is odd.")
    return item


def test_a_task_that_fails_twice_is_no_loss(cluster: Cluster, tmp_path: Path) -> None:
    assert DaskExecutor(address=cluster.address).map(partial(_fail_twice, tmp_path), [7]) == [7]


def _fail_twice(folder: Path, item: int) -> int:
    n_tries = len(list(folder.iterdir()))
    (folder / f"{n_tries}").touch()
    if n_tries < 2:
        raise OSError(5, "Input/output error")
    return item


def test_an_item_that_kills_its_workers_is_named_and_the_others_have_results(tmp_path: Path):
    with running_cluster(tmp_path, n_workers=5) as many:
        with pytest.raises(LostItemsError, match="node b: 4 workers died while they read it"):
            DaskExecutor(address=many.address).map(_die_on_one, [0, 1], names=["node a", "node b"])
        assert sum(worker.poll() is None for worker in many.workers) == 1


def _die_on_one(item: int) -> int:
    if item == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def test_a_killed_worker_costs_nothing(own: Cluster, tmp_path: Path) -> None:
    do = partial(_die_once, tmp_path / "died")
    assert DaskExecutor(address=own.address).map(do, [*range(6)]) == [*range(6)]
    assert sum(worker.poll() is None for worker in own.workers) == 1


def _die_once(flag: Path, item: int) -> int:
    if item == 3 and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def test_a_task_that_never_ends_is_given_up_and_the_others_have_results(own: Cluster) -> None:
    with pytest.raises(LostItemsError, match=r"b: no part was done for 10 s") as lost:
        DaskExecutor(address=own.address, task_s=10).map(_hang_on_two, [1, 2, 3], names=[*"abc"])
    assert lost.value.results == [1, None, 3]


def _hang_on_two(item: int) -> int:
    if item == 2:
        threading.Event().wait()
    return item


def _wait_for(gate: Path, begun: Path, item: int) -> int:
    if item > 1:
        begun.touch()
        wait_until(gate.exists)
    return item


def test_a_scheduler_that_goes_away_is_said(own: Cluster, tmp_path: Path) -> None:
    gate, begun = tmp_path / "gate", tmp_path / "begun"

    def stop() -> None:
        wait_until(begun.exists)
        own.stop()

    thread = threading.Thread(target=stop)
    thread.start()
    address = own.address
    with pytest.raises(LostItemsError, match=f"the scheduler at {address} went away"):
        DaskExecutor(address=address, connect_s=1).map(partial(_wait_for, gate, begun), [2, 3])
    thread.join()


def test_no_scheduler_there(tmp_path: Path) -> None:
    with pytest.raises(ReportgenError, match=r"No Dask scheduler answers at tcp:"):
        DaskExecutor(address="tcp://127.0.0.1:1", connect_s=1).map(abs, [1])
    for content in ("", "[1]", '{"address": 7}'):
        file = tmp_path / "scheduler.json"
        file.write_text(content)
        with pytest.raises(ReportgenError, match=r"No Dask scheduler answers at .*scheduler.json"):
            DaskExecutor(address=str(file), connect_s=1).map(abs, [1])
    with pytest.raises(ReportgenError, match=r"No Dask scheduler answers at .*gone.json"):
        DaskExecutor(address=str(tmp_path / "gone.json")).map(abs, [1])


def test_a_cluster_without_workers_is_waited_for_and_then_said(tmp_path: Path) -> None:
    with running_cluster(tmp_path, n_workers=0) as empty:
        executor = DaskExecutor(address=empty.address, patience_s=1, connect_s=60)
        with pytest.raises(ReportgenError, match="had no worker for 1 s"):
            executor.map(abs, [1])


def test_a_machine_that_slept_while_dask_started_connects_again(cluster: Cluster, monkeypatch):
    from distributed.utils import LoopRunner

    start, starts = LoopRunner._start_unlocked, []

    def start_late(runner: LoopRunner) -> None:
        starts.append(runner)
        assert len(starts) > 1
        start(runner)

    monkeypatch.setattr(LoopRunner, "_start_unlocked", start_late)
    assert DaskExecutor(address=cluster.address).map(abs, [-3]) == [3]


def test_a_worker_with_another_version_is_named(cluster: Cluster, monkeypatch: pytest.MonkeyPatch):
    ours = {**software(), "make-profiler-report": "0.0.9"}
    monkeypatch.setattr("reportgen.engine.cluster.software", lambda _=(): ours)
    with pytest.raises(LostItemsError, match=r"worker tcp://.*: make-profiler-report is .* there"):
        DaskExecutor(address=cluster.address).map(abs, [1])


def test_a_plugin_is_found_in_its_folder_or_refused(cluster: Cluster, tmp_path: Path, monkeypatch):
    (tmp_path / "rules_of_mine.py").write_text("def double(n): return 2 * n\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    from rules_of_mine import double  # type: ignore[import-not-found]  # written above

    lacking = DaskExecutor(address=cluster.address, modules=("rules_of_mine",))
    with pytest.raises(LostItemsError, match="rules_of_mine is source not installed there"):
        lacking.map(double, [2])
    software.cache_clear()
    with running_cluster(tmp_path, n_workers=1) as fresh:
        finding = DaskExecutor(
            address=fresh.address, modules=("rules_of_mine",), folders=(str(tmp_path),)
        )
        assert finding.map(double, [2]) == [4]


def test_what_cannot_travel_is_refused(cluster: Cluster) -> None:
    with pytest.raises(PluginError, match="cannot travel"):
        DaskExecutor(address=cluster.address).map(lambda item: item, [1])


def test_without_dask_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ReportgenError) as caught:
        DaskExecutor(address="tcp://127.0.0.1:1").map(abs, [1])
    assert "pip install 'make-profiler-report[dask]'" in caught.value.hint
