"""A function that runs in a copy of this process, which has all modules and data at once.

Of this process a copy has one thread only: who runs more of them starts another interpreter.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from typing import IO, Any

from reportgen.engine.helper import HelperError, spare_cores

_END = None
_SILENT_S, _SILENT_TIMES = 60.0, 2.0
"""A copy may be silent for a minute and twice as long as this process was at work beside it."""

_ENDING: set[int] = set()
"""Copies that have said everything: the system takes their memory back while work goes on here."""


def may_copy() -> bool:
    """Return whether a copy helps here and runs well: macOS lets none use its libraries."""
    return sys.platform == "linux" and threading.active_count() == 1 and spare_cores() > 0


@contextmanager
def run_in_copy(fn: Callable[..., Iterable[object]], *args: object) -> Iterator[Iterator[Any]]:
    """Run a generator function in a copy of this process and give what it yields.

    As with ``run_in_helper`` the copy is gone when the context ends, or ends at once where all was
    taken, and what comes back can be pickled and is never ``None``; but anything can go there.

    Raises:
        HelperError: this process cannot be copied; or, from what is given, the copy failed or was
            killed before the end.
    """
    while _ENDING:
        _wait_for(_ENDING.pop())
    reading, writing = os.pipe()
    # A megabyte at once takes two thirds of the time of 64 kB. Other systems lack the call.
    with suppress(OSError, ImportError, AttributeError):
        import fcntl

        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 1 << 20)
    with os.fdopen(reading, "rb") as incoming, os.fdopen(writing, "wb") as outgoing:
        if sys.stdout is not None:
            sys.stdout.flush()  # or both processes would write what waits
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of threads that numpy has
                pid = os.fork()
        except OSError as err:
            raise HelperError("could not be started") from err
        if pid == 0:
            _ENDING.clear()
            with suppress(BaseException):
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the process of the user
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                for result in chain(fn(*args), [_END]):
                    pickle.dump(result, outgoing, protocol=pickle.HIGHEST_PROTOCOL)
                    outgoing.flush()
                if sys.stdout is not None:
                    sys.stdout.flush()
            os._exit(0)
        outgoing.close()
        try:
            yield _results(incoming, pid)
        finally:
            if pid not in _ENDING:
                os.kill(pid, signal.SIGKILL)
                _wait_for(pid)


def _wait_for(pid: int) -> None:
    with suppress(ChildProcessError):  # where the signal of their end is ignored, it is gone
        os.waitpid(pid, 0)


def _results(incoming: IO[bytes], pid: int) -> Iterator[Any]:
    """Yield the results; end a copy that is silent for too long.

    A library that has threads may hang in a copy, which has one: then the work is done here.
    """
    began = time.monotonic()
    try:
        while True:
            limit_s = _SILENT_S + _SILENT_TIMES * (time.monotonic() - began)
            watch = threading.Timer(limit_s, os.kill, (pid, signal.SIGKILL))
            watch.start()
            try:
                result = pickle.load(incoming)  # noqa: S301  # our own copy wrote it
            finally:
                watch.cancel()
                watch.join()
            if result is _END:
                _ENDING.add(pid)
                return
            yield result
    except (EOFError, OSError, pickle.UnpicklingError) as err:
        raise HelperError("ended without an answer") from err
