"""A process that has loaded what the command needs, and runs each call in a copy of itself.

A call is a process of its own, as a user's is, with its own folder, environment and streams. It
only saves what is the same every time: to start Python, to import, to pack plotly's library.
"""

from __future__ import annotations

import atexit
import json
import os
import pkgutil
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import NoReturn

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_LIBRARIES = ("duckdb", "jupyter_client.manager", "nbconvert.filters", "obstore", "papermill")
"""What the command imports when it needs it, beside its own modules."""


class WarmPython:
    """Runs ``python -m reportgen`` again and again, one call at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.end_to_end.warm"],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        atexit.register(self._process.communicate)

    def run(self, args: Sequence[str], *, cwd: Path, timeout_s: float) -> tuple[int, str, str]:
        """Return exit code, stdout and stderr of a call in today's environment."""
        with tempfile.TemporaryDirectory(prefix="reportgen-test-") as name:
            streams = [Path(name, stream) for stream in ("stdout", "stderr")]
            call = [args, str(cwd), dict(os.environ), list(map(str, streams))]
            with self._lock:
                code = self._answer_to(json.dumps(call), timeout_s)
            stdout, stderr = (stream.read_text(encoding="utf-8") for stream in streams)
        return code, stdout, stderr

    def _answer_to(self, call: str, timeout_s: float) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{call}\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], timeout_s)[0]:
            os.killpg(self._process.pid, signal.SIGKILL)
            pytest.fail(f"no end after {timeout_s:g} s")
        return int(self._process.stdout.readline())

    @property
    def is_alive(self) -> bool:
        """Return whether it takes calls."""
        return self._process.poll() is None


def _serve() -> None:
    """Answer each call with its exit code, until there are no more."""
    for module in pkgutil.walk_packages([str(_ROOT / "reportgen")], "reportgen."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    for library in _LIBRARIES:
        import_module(library)
    from reportgen.publish.policy import plotly_script

    plotly_script()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become(*json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)  # noqa: T201


def _become(args: list[str], cwd: str, environ: dict[str, str], streams: list[str]) -> NoReturn:
    """Be ``python -m reportgen`` from here on."""
    for stream, path in enumerate([os.devnull, *streams]):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), stream)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    sys.path[0] = cwd
    sys.argv[1:] = args
    runpy.run_module("reportgen", run_name="__main__", alter_sys=True)
    sys.exit()


if __name__ == "__main__":
    _serve()
