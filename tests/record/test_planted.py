"""A folder that somebody else prepared: the recorder writes nowhere else because of it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import reportgen
from reportgen.record.api import recording
from reportgen.record.folder import boot_token, open_recording
from reportgen.record.injected.reportgen_injected.output import Event, Output
from reportgen.record.injected.reportgen_injected.settings import Settings
from reportgen.record.readings import MinuteFiles
from tests.record.running import python, record

CONTENT = "not yours\n"
LOOP = "import reportgen\nfor _ in reportgen.steps(range(4)): pass"


@pytest.fixture
def canaries(tmp_path: Path) -> Iterator[Path]:
    """Make a folder with a file; fail where anything in it has changed at the end."""
    folder = tmp_path / "canaries"
    folder.mkdir()
    (folder / "kept").write_text(CONTENT)
    yield folder
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"kept": CONTENT}


def planted(out: Path, name: str, target: Path) -> None:
    """Put a link into a recording's folder that exists before the recording."""
    path = out / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["recorder.json", "system/training_job_end.ts",
     "recorder/nodes/node-1.json", "recorder/nodes/node-1.sampler-1"],
)  # fmt: skip
def test_a_planted_link_to_a_file_is_not_written_through(tmp_path: Path, canaries: Path, name):
    planted(tmp_path / "out", name, canaries / "kept")
    answer = record("--out", "out", *python("print(7)"), cwd=tmp_path)

    assert (answer.returncode, answer.stdout) == (0, "7\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["recorder", "recorder/nodes", "recorder/runs", "recorder/ranks", "system",
     "system/incremental", "framework", "framework/pevents"],
)  # fmt: skip
def test_a_planted_link_to_a_folder_is_not_written_into(tmp_path: Path, canaries: Path, name):
    planted(tmp_path / "out", name, canaries)
    answer = record("--out", "out", *python(LOOP), cwd=tmp_path)

    assert answer.returncode == 0
    assert "Traceback" not in answer.stderr


@pytest.mark.slow
def test_a_pipe_in_place_of_a_claim_is_not_waited_for(tmp_path: Path) -> None:
    runs = tmp_path / "out" / "recorder" / "runs"
    runs.mkdir(parents=True)
    os.mkfifo(runs / "node-1-1-1.json")

    assert record("--out", "out", *python("print(7)"), cwd=tmp_path).stdout == "7\n"


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder to another user")
def test_the_open_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    out.chmod(0o777)
    os.chown(out, 12_345, 12_345)
    answer = record("--out", "out", *python("print(7)"), cwd=tmp_path)

    assert answer.stdout == "7\n"
    assert answer.stderr == (
        f"reportgen: not recorded: {out}: it belongs to another user and others write to it too; "
        "name a new folder with --out; the command runs anyway\n"
    )
    assert not list(out.iterdir())


def _other_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 54_321)


def test_a_with_block_in_such_a_folder_runs_without_a_recording(tmp_path: Path, monkeypatch, capfd):
    tmp_path.chmod(0o777)
    _other_user(monkeypatch)
    with recording(out=tmp_path):
        ran = list(reportgen.steps([1, 2]))

    assert ran == [1, 2]
    assert "not recorded" in capfd.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_a_folder_of_another_user_that_nobody_else_writes_to_is_taken(tmp_path, monkeypatch, mode):
    """Root in a container sees a folder of the host so."""
    tmp_path.chmod(mode)
    _other_user(monkeypatch)
    assert open_recording(tmp_path, with_host_name=False).node == "node-1"


def test_a_new_folder_where_everybody_writes_is_our_own(tmp_path: Path, monkeypatch) -> None:
    tmp_path.chmod(0o1777)
    assert open_recording(tmp_path / "new", with_host_name=False).node == "node-1"


def test_the_folder_that_the_user_names_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk")
    assert open_recording(tmp_path / "out", with_host_name=False).node == "node-1"
    assert (tmp_path / "disk" / "recorder").is_dir()


# In the program


def _hour() -> str:
    return time.strftime("%Y%m%d%H", time.gmtime())


@pytest.mark.parametrize(
    "link",
    ["framework", "framework/pevents/{hour}", "framework/pevents/{hour}/p{pid}", "recorder/ranks"],
)
def test_a_program_writes_into_no_planted_folder(tmp_path: Path, canaries: Path, link: str) -> None:
    out = tmp_path / "out"
    planted(out, link.format(pid=os.getpid(), hour=_hour()), canaries)
    _write_events(out)


@pytest.mark.parametrize(
    "link",
    [
        "framework/pevents/{hour}/p{pid}/{pid}-node-1_pythontimeline.json.tmp",
        "recorder/ranks/{pid}-node-1-{pid}.json",
        "recorder/ranks/{pid}-node-1-{pid}.json.tmp",
        "recorder/faults/{pid}-node-1-{pid}.jsonl",
    ],
)
@pytest.mark.parametrize("target", ["kept", "missing"])
def test_a_program_writes_through_no_planted_file(tmp_path: Path, canaries: Path, link, target):
    out = tmp_path / "out"
    planted(out, link.format(pid=os.getpid(), hour=_hour()), canaries / target)
    _write_events(out)


def _write_events(out: Path) -> None:
    now_ns, wall_ns = time.monotonic_ns(), time.time_ns()
    made = Output(Settings(str(out), (wall_ns, now_ns), boot=boot_token()))
    made.begin()
    made.add(Event("phase", "name", now_ns, now_ns + 1))
    made.report("fault", "start", "", "")
    made.flush(is_end=True)


# Packing


@pytest.mark.parametrize("target", ["kept", "missing"])
def test_a_minute_is_not_packed_through_a_link(tmp_path: Path, canaries: Path, target: str) -> None:
    out = tmp_path / "out"
    planted(out, "system/incremental/1970010100/0.node-1.json.gz", canaries / target)
    files = MinuteFiles(out, "node-1")
    for seconds in (0, 60):
        files.write("{}\n", seconds * 10**9)

    assert not files.n_lost_ticks
