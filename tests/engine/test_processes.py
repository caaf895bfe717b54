"""Work in processes answers as work in this one does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from reportgen.engine import LostItemsError, ProcessExecutor
from reportgen.errors import LocationError
from reportgen.storage import open_location
from tests.engine.clusters import wait_until


def test_items_keep_their_order_and_run_elsewhere() -> None:
    assert ProcessExecutor().map(abs, [-3, 2, -1]) == [3, 2, 1]
    assert os.getpid() not in ProcessExecutor().map(_process_id, [0, 1])


def _process_id(_: int) -> int:
    return os.getpid()


def test_an_error_arrives_as_it_was_raised() -> None:
    with pytest.raises(LocationError, match="gone"):
        ProcessExecutor().map(open_location, ["/gone/1", "/gone/2"])


def test_an_error_that_cannot_travel_says_the_same() -> None:
    with pytest.raises(RuntimeError, match="OddError: 7"):
        ProcessExecutor().map(_fail, [7])


class OddError(Exception):
    def __init__(self, number: int, more: int) -> None:
        super().__init__(number + more - more)


def _fail(number: int) -> None:
    raise OddError(number, number)


def test_what_cannot_travel_is_worked_on_here() -> None:
    seen: list[int] = []
    assert ProcessExecutor().map(lambda item: seen.append(item), [1, 2]) == [None, None]
    assert sorted(seen) == [1, 2]


@pytest.mark.parametrize("more", [[], [""]], ids=["alone", "with plugins there"])
def test_modules_in_the_current_folder_are_not_taken_for_pythons_own(more, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*more, *sys.path])
    (tmp_path / "pickle.py").write_text("raise SystemExit('somebody else wrote me')")
    monkeypatch.chdir(tmp_path)
    assert ProcessExecutor().map(abs, [-3]) == [3]


def test_what_a_rule_prints_does_not_disturb_the_answer() -> None:
    assert ProcessExecutor().map(_printing, [7]) == [7]


def _printing(number: int) -> int:
    sys.stdout.write("seen\n")
    return number


def test_an_item_that_kills_its_process_is_named_and_the_others_have_results() -> None:
    items = [0, signal.SIGKILL, 0, 0]
    with pytest.raises(LostItemsError, match="rank 1: the process that read it was killed") as lost:
        ProcessExecutor(max_processes=2).map(_kill, items, names=[f"rank {n}" for n in range(4)])
    assert lost.value.results == [0, None, 0, 0]
    assert "memory" in lost.value.hint


def _kill(number: int) -> int:
    if number:
        os.kill(os.getpid(), number)
    return number


def test_processes_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    code = f"""if __name__ == "__main__":
        from pathlib import Path
        from reportgen.engine import ProcessExecutor
        from tests.engine.test_processes import _wait_beside
        ProcessExecutor(max_processes=1).map(_wait_beside, [Path({str(tmp_path)!r})])
    """
    starter = subprocess.Popen([sys.executable, "-c", code])
    wait_until(lambda: any(tmp_path.iterdir()))
    (child,) = (int(path.name) for path in tmp_path.iterdir())
    starter.kill()
    starter.wait()
    wait_until(lambda: not _is_alive(child))


def _wait_beside(folder: Path) -> None:
    (folder / str(os.getpid())).touch()
    threading.Event().wait()


def _is_alive(process_id: int) -> bool:
    try:
        return "Z (" not in Path(f"/proc/{process_id}/status").read_text()
    except FileNotFoundError:
        return False
