"""A kernel that is a copy of the command's process."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.notebook,
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a new interpreter is started"),
]

_RUN = """
import sys
from contextlib import closing
from pathlib import Path
from reportgen.publish import ReadyKernel, read_notebook, run_notebook

folder = Path(sys.argv[1])
with closing(ReadyKernel()) as kernel:
    kernel.prepare()
    kernel.start(folder)
    manager = kernel.manager()
    print(manager.process.pid, type(manager.process).__name__, flush=True)
    run_notebook(
        read_notebook(folder / "in.ipynb"), output=folder / "out.ipynb", report_dir="x",
        manager=manager,
    )
"""
_WAIT = """
import sys, time
from reportgen.publish import ReadyKernel
kernel = ReadyKernel()
kernel.prepare()
print(kernel._copy.pid, flush=True)
time.sleep(60)
"""


def test_a_copy_of_this_process_runs_the_notebook_in_its_folder(tmp_path: Path) -> None:
    import nbformat
    from nbformat.v4 import new_code_cell, new_notebook

    tagged = new_code_cell('report_dir = "y"', metadata={"tags": ["parameters"]})
    shown = new_code_cell(
        "import os, sys\nprint(os.getcwd(), report_dir, '__main__' in sys.modules)"
    )
    nbformat.write(new_notebook(cells=[tagged, shown]), tmp_path / "in.ipynb")
    run = subprocess.run(
        [sys.executable, "-c", _RUN, str(tmp_path)], capture_output=True, text=True, check=True
    )
    pid, kind = run.stdout.split()
    assert kind == "ForkedKernel"
    (said,) = nbformat.read(tmp_path / "out.ipynb", 4).cells[-1].outputs
    assert said.text == f"{tmp_path.resolve()} x True\n"
    assert not Path("/proc", pid).exists()


def test_a_copy_that_is_never_needed_ends_with_its_process() -> None:
    with subprocess.Popen([sys.executable, "-c", _WAIT], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.kill()
    deadline = time.monotonic() + 60
    while _runs(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        state = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
