"""Run the command as a user does: a process of its own."""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from reportgen.cli.command import command
from reportgen.cli.family import family
from reportgen.cli.running import run_command as run_in_process
from tests.end_to_end.warm import WarmPython

NOBODY = 65_534


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a run of the command answered."""

    code: int
    stdout: str
    stderr: str


def run_command(
    *args: str | Path,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    limits: Mapping[int, int] | None = None,
    timeout_s: float = 120,
) -> Run:
    """Run ``make-profiler-report`` in a folder and return what it answered.

    With ``env`` or ``limits``, which matter from its start on, Python is started anew.

    Args:
        args: of the command.
        cwd: the current folder.
        env: variables beside those of this process.
        limits: ``resource.RLIMIT_*`` to its value.
        timeout_s: the test fails when it takes longer.
    """
    if env is None and limits is None:
        code, stdout, stderr = _warm().run([*map(str, args)], cwd=cwd, timeout_s=timeout_s)
        return Run(code=code, stdout=stdout, stderr=stderr)
    return _run(["-m", "reportgen", *map(str, args)], cwd, env or {}, limits or {}, timeout_s)


def _warm() -> WarmPython:
    """Return the process that runs the calls; another one where a call that hung took it along."""
    if not _started().is_alive:
        _started.cache_clear()
    return _started()


@cache
def _started() -> WarmPython:
    return WarmPython()


def run_as_nobody(*args: str | Path, cwd: Path, job: Path) -> Run:
    """Run the command without rights, whoever runs the tests; without the notebook.

    Root gives its rights away after everything was imported, which may lie where only root may
    look: a first report, of ``job``, is made for that.
    """
    if os.geteuid() != 0:
        return run_command(*args, "--format", "md", cwd=cwd)
    return _run(["-c", _AS_NOBODY, str(job), *map(str, args), "--format", "md"], cwd, {}, {}, 120)


_AS_NOBODY = f"""
import contextlib, io, os, sys, tempfile
from reportgen.cli.command import command, main
from reportgen.cli.running import run_command
_, job, *args = sys.argv
with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
    sys.argv = ["", job, "--output", folder, "--format", "md", "--quiet"]
    assert run_command(command) == 0
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
sys.argv = ["make-profiler-report", *args]
main()
"""


def _run(
    arguments: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    limits: Mapping[int, int],
    timeout_s: float,
) -> Run:
    def limit() -> None:
        for kind, value in limits.items():
            resource.setrlimit(kind, (value, value))

    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        preexec_fn=limit if limits else None,  # nothing else runs in this process
    )
    return Run(code=done.returncode, stdout=done.stdout, stderr=done.stderr)


def run_here(*args: str | Path, of_family: bool = False) -> Run:
    """Run the command in this process, whose modules are loaded already: ten times faster.

    With ``of_family`` it is ``reportgen``, whose first argument is the name of a command.
    Whatever escapes from the command escapes from here too.
    """
    stdout, stderr = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["make-profiler-report", *map(str, args)]
    try:
        with redirect_stdout(stdout), redirect_stderr(stderr):
            code = run_in_process(family if of_family else command)
    finally:
        sys.argv = before
    return Run(code=code, stdout=stdout.getvalue(), stderr=stderr.getvalue())


@contextmanager
def folder_of_nobody() -> Iterator[Path]:
    """Yield a new folder that belongs to whom ``run_as_nobody`` runs as."""
    with tempfile.TemporaryDirectory(prefix="reportgen-test-") as name:
        folder = Path(name)
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        yield folder
