"""A Jupyter kernel that starts in the background while the data are read.

The kernel is this very interpreter, talks over files in a private folder (no ports), and sees
neither the user's IPython profile nor its history, nor what ``PYTHONSTARTUP`` names.
"""

from __future__ import annotations

import os
import subprocess
import time
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from queue import Empty
from threading import Thread
from typing import Any

from reportgen.errors import OutputError
from reportgen.publish.policy import plotly_script
from reportgen.scratch import scratch_folder

_PACKAGE_HOME = str(Path(__file__).resolve().parents[2])
_FIRST_LINE = (
    # The kernel must find this very package, also when it runs from a checkout; importing it
    # here warms the kernel up while the data are being read.
    f"import sys; sys.path.append({_PACKAGE_HOME!r}); "
    "from reportgen.allocation import set_up_memory; set_up_memory(); "
    "import reportgen.store, reportgen.views"
)
_ARGUMENTS = (
    "--HistoryManager.enabled=False", "--IPKernelApp.exec_PYTHONSTARTUP=False",
    f"--IPKernelApp.exec_lines={_FIRST_LINE}",
)  # fmt: skip
_START_TIMEOUT_S = 60
_LONGEST_SOCKET_PATH = 100
"""Bytes; the systems allow 104 to 108. Source: unix(7)."""

_CLOSE_TIMEOUT_S = 3
"""An interrupt in the middle of an import can leave its lock taken, and the launch waiting for it
for good; a kernel that comes up after all ends by itself when its parent is gone."""


class ReadyKernel:
    """A kernel on its way up: ``start()`` begins, ``manager()`` waits, ``close()`` ends it.

    A daemon thread does the work, so an interrupt that comes in the middle of an import does not
    keep the process from ending.
    """

    def __init__(self) -> None:
        self._exits = ExitStack()
        self._private_dir = self._exits.enter_context(scratch_folder())
        self._launched: Future[Any] = Future()
        self._imported: Future[None] = Future()
        self._thread: Thread | None = None

    def start(self, cwd: Path) -> None:
        """Begin to start a kernel whose working directory is ``cwd``.

        Raises:
            OutputError: the limits of this process are so low that ZeroMQ would abort it.
        """
        _check_limits()
        self._thread = Thread(target=self._work, args=(cwd,), name="kernel", daemon=True)
        self._thread.start()

    def manager(self) -> Any:
        """Return the manager of the running kernel, once papermill and nbconvert are imported too.

        Raises:
            OutputError: the kernel did not start.
        """
        try:
            manager = self._launched.result(timeout=_START_TIMEOUT_S)
            self._imported.result(timeout=_START_TIMEOUT_S)
        except Exception as err:
            raise OutputError(
                f"The notebook's kernel did not start ({type(err).__name__}: {err}).",
                hint="Check that `python -m ipykernel_launcher --version` works here.",
            ) from err
        return manager

    def close(self) -> None:
        """End the kernel at once and remove its private folder."""
        if self._thread is not None:
            with suppress(Exception):  # whatever kept it from starting
                manager = self._launched.result(timeout=_CLOSE_TIMEOUT_S)
                # It has nothing to save: killing it is ten times faster than asking it to go.
                manager.shutdown_kernel(now=True)
                manager.stop_clients()
        self._exits.close()

    def _work(self, cwd: Path) -> None:
        try:
            self._launched.set_result(_launch(cwd, self._private_dir))
            import_libraries()
            self._imported.set_result(None)
        except Exception as err:  # noqa: BLE001  # raised again where it is waited for
            waiting = self._imported if self._launched.done() else self._launched
            waiting.set_exception(err)


def import_libraries() -> None:
    """Import what runs the notebook and makes the page, and pack plotly, while data are read."""
    import_module("papermill")
    import_module("reportgen.publish.exporter")
    plotly_script()


def _launch(cwd: Path, private_dir: Path) -> Any:
    from jupyter_client.asynchronous.client import AsyncKernelClient
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import KernelManager

    class Client(AsyncKernelClient):
        """Is ready when the kernel has answered; Jupyter's own listens for 0.2 s more.

        What the kernel says late of its start names no cell, so no cell takes it for its output.
        """

        async def wait_for_ready(self, timeout: float | None = None) -> None:
            ends_s = time.monotonic() + (timeout or _START_TIMEOUT_S)
            while await self.is_alive() and time.monotonic() < ends_s:
                self.kernel_info()
                with suppress(Empty):
                    await self.get_shell_msg(timeout=1)
                    await self.get_iopub_msg(timeout=1)
                    return
            raise RuntimeError("it did not answer")

    class Manager(KernelManager):
        """Ends its clients too: nbclient leaves those of a manager that it was given running.

        Each notebook has one; it complains when it is freed while it runs.
        """

        _made: Any = None

        def client(self, **options: Any) -> Any:
            self.stop_clients()
            self._made = super().client(**options)
            return self._made

        def stop_clients(self) -> None:
            if self._made is not None:
                self._made.stop_channels()

    manager = Manager(
        connection_file=str(private_dir / "kernel.json"),
        transport="ipc" if _can_hold_sockets(private_dir) else "tcp",
        client_factory=Client,
        kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),  # this interpreter's kernel alone
    )
    manager.start_kernel(
        cwd=str(cwd),
        env={
            **os.environ,
            "IPYTHONDIR": str(private_dir / "ipython"),
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
            "PYTHONSAFEPATH": "1",  # not the modules of the folder
        },
        extra_arguments=list(_ARGUMENTS),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return manager


_LEAST = (
    ("RLIMIT_NOFILE", 128, "open files", "ulimit -n 256"),
    ("RLIMIT_AS", 1 << 30, "bytes of memory", "ulimit -v unlimited"),
)
"""Least limits for Jupyter and ZeroMQ, with a margin over the measured need."""


def _check_limits() -> None:
    """Raise a limit of this process as far as it may be; refuse to work below what is needed."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    for name, least, noun, remedy in _LEAST:
        limit = getattr(resource, name)
        soft, hard = resource.getrlimit(limit)
        if soft == resource.RLIM_INFINITY or soft >= least:
            continue
        if hard != resource.RLIM_INFINITY and hard < least:
            raise OutputError(
                f"The notebook's kernel needs {least:,} {noun}; the limit here is {hard:,}.",
                hint=f"Raise it (`{remedy}`), or make a summary alone with --format md.",
            )
        resource.setrlimit(limit, (least, hard))


def _can_hold_sockets(folder: Path) -> bool:
    """Return whether sockets can have their names in a folder; TMPDIR may be a long one."""
    return os.name != "nt" and len(os.fsencode(folder / "kernel-ipc-5")) <= _LONGEST_SOCKET_PATH
