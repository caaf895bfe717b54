"""Folders made to hang, to fill the memory, or to be read where nobody may look."""

from __future__ import annotations

import gzip
import json
import os
import resource
import socket
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.builders import START_S, Row, timeline_lines, write_minute, write_system, write_timeline
from tests.end_to_end.command import Run, folder_of_nobody, run_as_nobody, run_command, run_here

pytestmark = pytest.mark.slow

TRAIN = "Step:ModeKeys.TRAIN"
STEPS: list[Row] = [
    (TRAIN, TRAIN, START_S + step, START_S + step + 0.5, {"step": step}) for step in range(20)
]
SECRET = "S3CRET-OF-SOMEBODY-ELSE"
MEMORY = {resource.RLIMIT_AS: 4 << 30, resource.RLIMIT_CPU: 60}
"""Address space, of which DuckDB and numpy reserve some GB without using them, and a minute of
computing: on a busy machine it lasts longer."""


def plain_job(folder: Path) -> Path:
    write_system(folder, {"gpu0": [50.0] * 40, "cpu0": [20.0] * 40, "memory": [5.0] * 40})
    write_timeline(folder, timeline_lines(STEPS))
    return folder


def summarized(*args: str | Path, cwd: Path, **more: Any) -> Run:
    """Run without the notebook, which these tests are not about; four minutes are a hang."""
    run = run_command(*args, "--format", "md", cwd=cwd, timeout_s=240, **more)
    assert "Traceback" not in run.stderr, run.stderr[-3000:]
    return run


def report_in(folder: Path) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads((folder / "profiler-report" / "report.json").read_bytes())
    return tree


def test_pipes_devices_and_links_are_named_and_never_opened(tmp_path: Path, monkeypatch) -> None:
    job = plain_job(tmp_path / "job")
    system = job / "profiler-output" / "system"
    minutes = next(system.rglob("*.algo-1.json")).parent
    pevents = next((job / "profiler-output" / "framework").rglob("*.json")).parent
    outside = write_minute(tmp_path / "elsewhere", [f"{SECRET} in a line"], minute_s=START_S + 120)
    os.mkfifo(minutes / "1783071060.algo-1.json")
    os.mkfifo(pevents / "1783071060000000_28-algo-1_pythontimeline.json")
    (minutes / "1783071120.algo-1.json").symlink_to(outside)
    (minutes / "1783071180.algo-1.json").symlink_to("/dev/zero")
    (minutes / "loop").symlink_to(minutes)
    (system / "up").symlink_to("../..")
    (system / "dangling").symlink_to("nowhere")
    (minutes / "round").symlink_to("round")
    listening = socket.socket(socket.AF_UNIX)
    monkeypatch.chdir(minutes)  # the address of a socket may not be long
    listening.bind("1783071240.algo-1.json")
    with listening:
        run = summarized(job, "-o", "out", cwd=tmp_path)

    assert run.code == 0, run.stderr
    report = report_in(tmp_path / "out")
    assert report["data_quality"]["files_read"] == 2
    assert report["data_quality"]["files_skipped"] == 9
    texts = " ".join(note["text"] for note in report["data_quality"]["notes"])
    assert "cannot be read: a link" in texts
    assert "cannot be read: a socket" in texts
    made = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*.*") if path.is_file())
    assert SECRET.encode() not in made


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make devices")
@pytest.mark.parametrize("name", ["job\udcff", "~nobody-of-that-name"])
def test_a_folder_may_have_any_name(name: str, tmp_path: Path) -> None:
    plain_job(tmp_path / name)
    run = summarized(name, "-o", "out", cwd=tmp_path)
    assert run.code == 0, run.stderr
    job = report_in(tmp_path / "out")["job"]
    assert job["name"] == job["source"] == name.replace("\udcff", "\\udcff")


def test_a_name_that_is_no_text_is_written_as_far_as_it_can_be(tmp_path: Path) -> None:
    plain_job(tmp_path / "job")
    run = summarized("job", "--name", "run \udcff", "-o", "out", cwd=tmp_path)
    assert run.code == 0, run.stderr
    assert report_in(tmp_path / "out")["job"]["name"] == "run \\udcff"


def test_a_device_is_not_read(tmp_path: Path) -> None:
    job = plain_job(tmp_path / "job")
    minutes = next((job / "profiler-output" / "system").rglob("*.algo-1.json")).parent
    try:
        os.mknod(minutes / "1783071060.algo-1.json", 0o020_666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("devices cannot be made here")

    assert summarized(job, "-o", "out", cwd=tmp_path).code == 0
    assert report_in(tmp_path / "out")["data_quality"]["files_skipped"] == 1


def test_a_pipe_instead_of_a_job_a_report_or_a_result_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    assert summarized("pipe.json", cwd=tmp_path).code == 1

    (tmp_path / "saved").mkdir()
    os.mkfifo(tmp_path / "saved" / "report.json")
    assert summarized("saved", cwd=tmp_path).code == 1

    (tmp_path / "profiler-reports").mkdir()
    os.mkfifo(tmp_path / "profiler-reports" / "OverallSystemUsage.json")
    assert summarized("profiler-reports", cwd=tmp_path).code == 1


@pytest.mark.parametrize("name", ["profiler-report.md", "profiler-report.ipynb"])
def test_a_pipe_in_the_place_of_the_output_is_not_ours_to_replace(tmp_path: Path, name) -> None:
    job = plain_job(tmp_path / "job")
    (tmp_path / "out").mkdir()
    os.mkfifo(tmp_path / "out" / name)

    run = run_command(job, "-o", "out", "--format", "md,ipynb", cwd=tmp_path, timeout_s=60)

    assert run.code == 2, run.stderr
    assert name in run.stderr


def test_a_link_to_the_raw_data_says_that_links_are_not_followed(tmp_path: Path) -> None:
    plain_job(tmp_path / "real")
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "profiler-output").symlink_to(tmp_path / "real" / "profiler-output")

    run = summarized("job", "-o", "out", cwd=tmp_path)

    assert run.code == 1
    assert "link" in run.stderr
    assert "profiler-output" in run.stderr

    (tmp_path / "whole").symlink_to(tmp_path / "real")
    assert summarized("whole", "-o", "out", cwd=tmp_path).code == 0


@pytest.fixture(scope="module")
def plain_results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("plain")
    assert run_here(plain_job(folder / "job"), "-o", folder, "--format", "md").code == 0
    return results_in(folder)


def results_in(folder: Path) -> dict[str, bytes]:
    paths = (folder / "profiler-report").glob("[A-Z]*.json")
    return {path.name: path.read_bytes() for path in paths}


@pytest.mark.parametrize(
    ("line", "n_broken"),
    [
        (b"x" * 20_000_000, 2),
        (b'{"Type":"' + b"g" * 20_000_000 + b'","Value":1,"Timestamp":1783071000}', 1),
        (b"[" * 100_000, 2),
        (b"[" * 100_000 + b"]" * 100_000, 2),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, 2),
        (b'{"Type":"gpu","Name":"gpu0","Dimension":' + b"[" * 100_000 + b"]" * 100_000 + b"}", 2),
        (b"{" * 5_000_000, 2),
    ],
    ids=["20-MB", "20-MB-name", "open", "closed", "objects", "field", "braces"],
)
def test_one_monstrous_line_costs_one_line(tmp_path, plain_results, line, n_broken) -> None:
    job = plain_job(tmp_path / "job")
    for path in job.rglob("*.json"):
        rest = path.read_bytes().split(b"\n")
        path.write_bytes(b"\n".join([*rest[:5], line, *rest[5:]]))

    run = run_here(job, "-o", tmp_path, "--format", "md")

    assert run.code == 0, run.stderr
    assert report_in(tmp_path)["data_quality"]["lines_broken"] == n_broken
    assert results_in(tmp_path) == plain_results


@cache
def packed_blanks() -> bytes:
    return gzip.compress(b" " * (64 << 20), compresslevel=9)


def gz_bomb(path: Path, head: bytes) -> Path:
    """Write 4 MB that become 4.5 GB, more than there is: many times the same packed 64 MB."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(head) + packed_blanks() * 68)
    return path


BOMBS = (
    "trace.json.gz",
    "rank0.pt.trace.json.gz",
    "framework/pevents/2026070309/1783071060000000_27-algo-1_pythontimeline.json.gz",
    "system/incremental/2026070309/1783071060.algo-1.json.gz",
    "framework/tensorflow/detailed_profiling/2026070309/000000005/plugins/profile/2026/h.trace.json.gz",
)


def test_gz_bombs_eat_neither_memory_nor_minutes(tmp_path: Path) -> None:
    for place in BOMBS:
        gz_bomb(tmp_path / "job" / "profiler-output" / place, b'{"traceEvents": [')
    gz_bomb(tmp_path / "job" / "horovod.json.gz", b'[{"ph": "i", "name": "CYCLE_START"},')
    alone = gz_bomb(tmp_path / "alone" / "rank0.pt.trace.json.gz", b'{"traceEvents": [')

    run = summarized(alone, "-o", "out", cwd=tmp_path, limits=MEMORY)
    assert run.code == 1, run.stderr
    assert "rror: " in run.stderr

    write_system(tmp_path / "job", {"gpu0": [50.0] * 40})
    assert summarized("job", "-o", "out", cwd=tmp_path, limits=MEMORY).code == 0


def test_what_may_not_be_read_is_skipped_and_named(input_bound_job: Path) -> None:
    with folder_of_nobody() as folder:
        job = plain_job(folder / "job")
        locked = write_minute(job, ["{}"], minute_s=START_S + 120)
        locked.chmod(0)
        (job / "profiler-output" / "framework" / "closed").mkdir(mode=0)

        run = run_as_nobody("job", "-o", "out", cwd=folder, job=input_bound_job)

        assert run.code == 0, run.stderr
        quality = report_in(folder / "out")["data_quality"]
        assert quality["files_skipped"] == 2
        assert any(note["path"].endswith(locked.name) for note in quality["notes"])

        (folder / "closed").mkdir(mode=0)
        run = run_as_nobody("closed", "-o", "out", cwd=folder, job=input_bound_job)

        assert run.code == 1
        assert "permission denied" in run.stderr.lower()
