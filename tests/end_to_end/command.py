"""Run the command as a user does: a process of its own."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a run of the command answered."""

    code: int
    stdout: str
    stderr: str


def run_command(*args: str | Path, cwd: Path) -> Run:
    """Run ``make-profiler-report`` in a folder and return what it answered."""
    done = subprocess.run(
        [sys.executable, "-m", "reportgen", *map(str, args)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Run(code=done.returncode, stdout=done.stdout, stderr=done.stderr)
