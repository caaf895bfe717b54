"""A function that runs in a copy of this process, which has all modules and data at once.

Of this process a copy has one thread only: who runs more of them starts another interpreter.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, NoReturn

from reportgen.engine.helper import HelperError, spare_cores

_END = None


def may_copy() -> bool:
    """Return whether a copy helps here and runs well: macOS lets none use its libraries."""
    return sys.platform == "linux" and threading.active_count() == 1 and spare_cores() > 0


@contextmanager
def run_in_copy(fn: Callable[..., Iterable[object]], *args: object) -> Iterator[Iterator[Any]]:
    """Run a generator function in a copy of this process and give what it yields.

    The copy is gone when the context ends, whatever happened. What comes back can be pickled, and
    is never ``None``.

    Raises:
        HelperError: this process cannot be copied; or, from what is given, the copy failed or was
            killed before the end.
    """
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as incoming, os.fdopen(writing, "wb") as outgoing:
        _flush()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of threads that numpy has
                pid = os.fork()
        except OSError as err:
            raise HelperError("could not be started") from err
        if pid == 0:
            _answer(fn, args, outgoing)
        outgoing.close()
        try:
            yield _results(incoming)
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _answer(
    fn: Callable[..., Iterable[object]], args: tuple[object, ...], outgoing: IO[bytes]
) -> NoReturn:
    """Send what a function yields, and end; Ctrl-C is for the process that was copied."""
    with suppress(BaseException):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for result in fn(*args):
            pickle.dump(result, outgoing, protocol=pickle.HIGHEST_PROTOCOL)
            outgoing.flush()
        _flush()
        pickle.dump(_END, outgoing)
        outgoing.flush()
    os._exit(0)


def _flush() -> None:
    """Write what was printed: before the copy is made, so that it is not written twice."""
    if sys.stdout is not None:
        sys.stdout.flush()


def _results(incoming: IO[bytes]) -> Iterator[Any]:
    while True:
        try:
            result = pickle.load(incoming)  # noqa: S301  # our own copy wrote it
        except (EOFError, OSError, pickle.UnpicklingError) as err:
            raise HelperError("ended without an answer") from err
        if result is _END:
            return
        yield result
