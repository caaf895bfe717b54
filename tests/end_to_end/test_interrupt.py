"""Ctrl-C in the middle of a run."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.notebook


def test_ctrl_c_leaves_the_old_report_and_nothing_visible(input_bound_job: Path, tmp_path: Path):
    process = subprocess.Popen(
        [sys.executable, "-m", "reportgen", str(input_bound_job)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".profiler-report-*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)

    assert process.returncode == 130
    assert stdout == ""
    assert stderr.strip().startswith("Interrupted")
    assert "Traceback" not in stderr
    # A busy machine may take longer than a signal may: then the next run clears up.
    assert not [
        path for path in tmp_path.iterdir() if not path.name.startswith(".profiler-report-")
    ]
