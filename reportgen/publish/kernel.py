"""A Jupyter kernel that warms up in the background while the data are read.

The kernel is this very interpreter, talks over files in a private folder (no ports), and sees
neither the user's IPython profile nor its history, nor what ``PYTHONSTARTUP`` names.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Thread, active_count
from typing import Any

from reportgen.errors import OutputError
from reportgen.publish.forked import ForkedKernel
from reportgen.publish.lean import IMPORTING, SCHEMA_CHECKERS, import_papermill
from reportgen.scratch import scratch_folder

logger = logging.getLogger(__name__)

_PACKAGE_HOME = str(Path(__file__).resolve().parents[2])
_FIRST_LINE = (
    # The kernel must find this very package, also when it runs from a checkout; importing it
    # here warms the kernel up while the data are being read.
    f"import sys; sys.path.append({_PACKAGE_HOME!r}); import reportgen.store, reportgen.views"
)
_ARGUMENTS = (
    "-P", "-m", "ipykernel_launcher", "-f", "{connection_file}", "--HistoryManager.enabled=False",
    "--IPKernelApp.exec_PYTHONSTARTUP=False", f"--IPKernelApp.exec_lines={_FIRST_LINE}",
)  # fmt: skip
_START_TIMEOUT_S = 60
_LONGEST_SOCKET_PATH = 100
"""Bytes; the systems allow 104 to 108. Source: unix(7)."""

_CLOSE_TIMEOUT_S = 3
"""An interrupt in the middle of an import can leave its lock taken, and the launch waiting for it
for good; a kernel that comes up after all ends by itself when its parent is gone."""


class ReadyKernel:
    """A kernel on its way up: ``start()`` begins, ``manager()`` waits, ``close()`` ends it.

    The work is done by a daemon thread: whatever an interrupt leaves half-imported, the process
    can end.
    """

    def __init__(self, *, is_ours: bool = True) -> None:
        """``is_ours``: the notebook is the one that comes with this package, which is valid."""
        for checker in () if is_ours else SCHEMA_CHECKERS:
            import_module(checker)
        self._exits = ExitStack()
        self._private_dir = self._exits.enter_context(scratch_folder())
        self._log = self._private_dir / "stderr.log"
        self._copy: ForkedKernel | None = None
        self._launched: Future[Any] = Future()
        self._preloaded: Future[Any] = Future()
        self._thread: Thread | None = None

    def prepare(self) -> None:
        """Begin to warm up before the folder is known, in a copy of this process where it has one.

        Only for a command that has just begun, and only on Linux: macOS lets no copy use its
        libraries.

        Raises:
            OutputError: the limits of this process are so low that ZeroMQ would abort it.
        """
        if sys.platform != "linux" or active_count() > 1:
            return
        _check_limits()
        with suppress(Exception):  # said when it is imported for the second time
            import_papermill()
            import_module("reportgen.store")
            self._copy = ForkedKernel(self._log)

    def start(self, cwd: Path) -> None:
        """Begin to start a kernel whose working directory is ``cwd``.

        Raises:
            OutputError: the limits of this process are so low that ZeroMQ would abort it.
        """
        _check_limits()
        self._thread = Thread(target=self._work, args=(cwd,), name="kernel", daemon=True)
        self._thread.start()

    def manager(self) -> Any:
        """Return the running kernel's manager, once all that was begun in the background is done.

        Raises:
            OutputError: the kernel did not start.
        """
        try:
            manager = self._launched.result(timeout=_START_TIMEOUT_S)
            self._preloaded.result(timeout=_START_TIMEOUT_S)
        except Exception as err:
            raise OutputError(
                f"The notebook's kernel did not start ({type(err).__name__}: {err}).",
                hint="Check that `python -m ipykernel_launcher --version` works here.",
            ) from err
        return manager

    def close(self) -> None:
        """End the kernel at once and remove its private folder."""
        process: Any = self._copy
        if self._thread is not None:
            with suppress(Exception):  # whatever kept it from starting
                manager = self._launched.result(timeout=_CLOSE_TIMEOUT_S)
                process = manager.process
                manager.cleanup_resources()
        if process is not None:
            # It has nothing to save: killing it is ten times faster than asking it to go.
            process.kill()
            process.wait()
        self._exits.close()

    def _work(self, cwd: Path) -> None:
        with IMPORTING:
            for future, task in (
                (self._launched, partial(self._launch, cwd)),
                (self._preloaded, import_papermill),
            ):
                try:
                    future.set_result(task())
                except Exception as err:  # noqa: BLE001  # raised again where it is waited for
                    future.set_exception(err)
        with suppress(Exception):  # the page's library is not needed before the notebook ran
            import_module("reportgen.publish.library").own_library()

    def _launch(self, cwd: Path) -> Any:
        manager = _manager(self._private_dir)
        arguments = [part.format(connection_file=manager.connection_file) for part in _ARGUMENTS]
        env = {
            "IPYTHONDIR": str(self._private_dir / "ipython"),
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        }
        if self._copy is not None and self._copy.poll() is None:
            self._copy.begin(cwd, env, arguments[3:])
            manager.process = self._copy
        else:
            with self._log.open("wb") as log:
                manager.process = import_module("jupyter_client.launcher").launch_kernel(
                    [sys.executable, *arguments],
                    cwd=str(cwd), env={**os.environ, **env}, stdout=log, stderr=log,
                )  # fmt: skip
        logger.debug("kernel started, its errors go to %s", self._log)
        return manager


_LEAST = (
    ("RLIMIT_NOFILE", 64, "open files", "ulimit -n 256"),
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


def _eager_client() -> Any:
    from queue import Empty

    from jupyter_client.asynchronous.client import AsyncKernelClient

    class EagerClient(AsyncKernelClient):
        """A client that begins as soon as the kernel answers on both channels.

        The stock client then listens 0.2 s for leftovers, which belong to no cell anyway.
        """

        async def wait_for_ready(self, timeout: float | None = None) -> None:
            deadline = time.monotonic() + (timeout or _START_TIMEOUT_S)
            while time.monotonic() < deadline:
                self.kernel_info()
                try:
                    await self.shell_channel.get_msg(timeout=1)
                    await self.iopub_channel.get_msg(timeout=1)
                    return
                except Empty:
                    if not await self.is_alive():
                        break
            raise RuntimeError("the kernel died or did not answer")

    return EagerClient


def _manager(private_dir: Path) -> Any:
    """Return the manager of a kernel that another process starts, its sockets named."""
    from jupyter_client.manager import KernelManager
    from zmq.error import ZMQError

    class OwnKernelManager(KernelManager):
        """A manager of a process of ours, whatever kernels are installed."""

        process: Any = None
        has_kernel = True

        def is_alive(self) -> bool:
            return self.process is not None and self.process.poll() is None

        async def _async_is_alive(self) -> bool:
            return self.is_alive()

        def shutdown_kernel(self, **_: object) -> None:
            self.process.kill()

    manager = OwnKernelManager(
        connection_file=str(private_dir / "kernel.json"),
        transport="ipc" if _can_hold_sockets(private_dir) else "tcp",
        client_factory=_eager_client(),
    )
    try:
        manager.write_connection_file()
    except ZMQError as err:
        raise RuntimeError(f"its sockets cannot be opened: {err}") from err
    return manager


def _can_hold_sockets(folder: Path) -> bool:
    """Return whether sockets can have their names in a folder; TMPDIR may be a long one."""
    return os.name != "nt" and len(os.fsencode(folder / "kernel-ipc-5")) <= _LONGEST_SOCKET_PATH
