"""A kernel that begins as a copy of this process, with everything that is imported already.

It spares the kernel half of its start. A copy has one thread, so this is for a command that has
just begun and owns its process; whoever else wants a kernel starts a new interpreter.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

_WANTED = ("ipykernel.kernelapp", "ipykernel.ipkernel", "reportgen.store", "reportgen.views")
_MOST_FILES = 1 << 16


class ForkedKernel:
    """A copy of this process that waits for its folder, then is a kernel.

    It has the methods of ``subprocess.Popen`` that a kernel needs, and ends with this process.
    """

    def __init__(self, log: Path) -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        reading, self._writing = os.pipe()
        parent = os.getpid()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads that only numpy has
            self.pid = os.fork()
        if self.pid == 0:
            _become_kernel(reading, log, parent)
        os.close(reading)
        self.returncode: int | None = None

    def begin(self, cwd: Path, env: dict[str, str], arguments: Sequence[str]) -> None:
        """Let the copy be a kernel in a folder."""
        with os.fdopen(self._writing, "w") as pipe:
            json.dump([str(cwd), env, list(arguments)], pipe)

    def poll(self) -> int | None:
        """Return how it ended; ``None`` while it runs."""
        return self.wait(os.WNOHANG)

    def wait(self, options: int = 0) -> int | None:
        """Wait for its end."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def kill(self) -> None:
        """End it at once."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def _become_kernel(reading: int, log: Path, parent: int) -> NoReturn:
    """Become a kernel: nothing of the command's own code runs in this copy again."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        for stream, place in enumerate((Path(os.devnull), log, log)):
            os.dup2(os.open(place, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), stream)
        os.dup2(reading, 3)
        os.closerange(4, _MOST_FILES)
        os.environ["JPY_PARENT_PID"] = str(parent)  # the kernel ends when that does
        for name in _WANTED:
            import_module(name)
        with os.fdopen(3) as pipe:
            said = pipe.read()
        if said:
            cwd, env, arguments = json.loads(said)
            os.chdir(cwd)
            os.environ.update(env)
            import_module("ipykernel.kernelapp").launch_new_instance(argv=arguments)
    except BaseException:  # noqa: BLE001  # whatever it is, the command's code must not run on
        traceback.print_exc()
    os._exit(0)
