"""Little memory, few file handles, signals, and code of others that is named or lies about."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from reportgen.publish import kernel as kernel_module
from reportgen.scratch import scratch_folder
from tests.end_to_end.command import folder_of_nobody, run_as_nobody, run_command, run_here
from tests.end_to_end.test_hostile_input import plain_job

LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_AS, (200 << 20,) * 2); "
KILLED = "import os; os.kill(os.getpid(), 9)"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    return plain_job(tmp_path / "job")


def in_temporary(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.notebook
@pytest.mark.parametrize("line", [KILLED, LIMITED + kernel_module._FIRST_LINE])
def test_a_kernel_that_dies_is_one_message_and_leaves_nothing(job, tmp_path, monkeypatch, line):
    scratch = in_temporary(monkeypatch, tmp_path / "t")
    arguments = (*kernel_module._ARGUMENTS[:-1], f"--IPKernelApp.exec_lines={line}")
    monkeypatch.setattr(kernel_module, "_ARGUMENTS", arguments)

    run = run_here(job, "-o", tmp_path / "out")

    assert run.code == 1
    assert run.stderr.startswith("error: The notebook's kernel died (it did not answer)")
    assert len(run.stderr.splitlines()) == 2
    assert list((tmp_path / "out").iterdir()) == []
    assert list(scratch.iterdir()) == []


@pytest.mark.notebook
@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [(resource.RLIMIT_NOFILE, 20, "open files"), (resource.RLIMIT_AS, 500 << 20, "memory")],
)
def test_limits_too_low_for_a_kernel_are_named(job: Path, tmp_path: Path, limit, value, said):
    run = run_command(job, "-o", "out", cwd=tmp_path, limits={limit: value})
    assert run.code == 1
    assert run.stderr.startswith("error: The notebook's kernel needs ")
    assert said in run.stderr
    assert len(run.stderr.splitlines()) == 2

    assert run_command(job, "-o", "out", "--format", "md", cwd=tmp_path, limits={limit: value})


def test_too_little_memory_is_a_message(job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def no_memory(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("reportgen.pipeline.make.save", no_memory)
    run = run_here(job, "-o", tmp_path / "out", "--format", "md")
    assert run.code == 1
    assert run.stderr.startswith("error: The report cannot be made: there is too little memory.")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.notebook
def test_sigterm_leaves_neither_kernel_nor_folders(job: Path, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "t").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "reportgen", str(job), "-o", "out"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path / "t")},
    )
    ends_at = time.monotonic() + 60
    while not list(tmp_path.glob("t/*/kernel.json")) and time.monotonic() < ends_at:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=60)

    assert process.returncode == 143
    assert stderr.strip().startswith("Interrupted")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "t"))  # on a busy machine the next run clears up
    assert run_command(job, "-o", "out", "--format", "md", cwd=tmp_path).code == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == _OF_A_SUMMARY
    assert list((tmp_path / "t").iterdir()) == []


_OF_A_SUMMARY = ["profiler-report", "profiler-report.md"]


def test_folders_of_a_killed_run_in_tmpdir_go_with_the_next(tmp_path: Path, monkeypatch) -> None:
    there = in_temporary(monkeypatch, tmp_path / "t")
    left = there / "reportgen-scratch-abc"
    (left / "inside").mkdir(parents=True)
    with scratch_folder() as mine:
        assert not left.exists()
        with scratch_folder() as other:
            assert mine.is_dir()
            assert other.is_dir()
    assert list(there.iterdir()) == []


PLUGINS = {
    "leaves": "import sys; sys.exit(7)",
    "raises": "raise BaseException('no')",
    "closes": "raise GeneratorExit",
}


@pytest.mark.parametrize("name", PLUGINS)
def test_a_plugin_that_ends_the_program_is_a_message(job: Path, tmp_path: Path, monkeypatch, name):
    (tmp_path / f"plugin_{name}.py").write_text(PLUGINS[name])
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    run = run_here(job, "-o", tmp_path / "out", "--format", "md", "--plugin", f"plugin_{name}")
    assert run.code == 1
    assert f"The plugin plugin_{name} cannot be imported" in run.stderr


def test_a_module_beside_a_plugin_shadows_no_library(job: Path, tmp_path: Path) -> None:
    for name in ("duckdb", "msgspec", "reportgen", "queue"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('shadowed')")
    (tmp_path / "mine.py").write_text("RULES = ()")
    words = ["-P", "-m", "reportgen", job, "-o", "out", "--format", "md", "--plugin", "mine"]
    run = subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "shadowed" not in run.stderr
    assert "mine holds no rule" in run.stderr


@pytest.mark.parametrize("option", ["--config", "--notebook", "--profiler-config"])
def test_a_pipe_as_an_option_is_refused(job: Path, tmp_path: Path, option: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    run = run_here(job, "-o", tmp_path / "out", option, tmp_path / "pipe")
    assert run.code == 2
    assert "is not a plain file" in run.stderr


@pytest.mark.notebook
def test_templates_of_the_user_are_not_merged_with_ours(job: Path, tmp_path: Path, monkeypatch):
    mine = tmp_path / "jupyter" / "nbconvert" / "templates" / "page"
    mine.mkdir(parents=True)
    runs = {"type": "nbconvert.no_such_thing", "enabled": True}
    (mine / "conf.json").write_text(json.dumps({"preprocessors": {"50-mine": runs}}))
    (mine / "index.html.j2").write_text("mine")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    run = run_here(job, "-o", tmp_path / "out")
    assert run.code == 0, run.stderr
    assert "make-profiler-report" in (tmp_path / "out" / "profiler-report.html").read_text()


@pytest.mark.slow
def test_a_user_who_is_not_root_makes_a_report_and_spares_folders_of_others(job: Path) -> None:
    with scratch_folder() as mine, folder_of_nobody() as folder:
        shutil.copytree(job, folder / "job")
        (folder / "job").chmod(0o755)
        run = run_as_nobody(folder / "job", "-o", folder / "out", cwd=folder, job=job)
        assert run.code == 0, run.stderr
        assert (folder / "out" / "profiler-report" / "report.json").is_file()
        assert mine.is_dir()
