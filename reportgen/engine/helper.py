"""A second Python process that computes beside this one: for work that holds the interpreter lock.

A plain subprocess with pickles on its pipes. ``multiprocessing`` would import the caller's main
module again, and forking a process with threads can lock up.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self

from reportgen.engine.interpreter import command_to_run, stdout_for_answers

_END = None


class HelperError(Exception):
    """The process did not answer to the end; the work has to be done here."""


class Helper:
    """Runs one generator function in another process.

    Use as a context manager; the process is gone afterwards, whatever happened.
    """

    def __init__(self, fn: Callable[..., Iterator[object]], *args: object) -> None:
        """Start the process.

        Args:
            fn: a module's function; yields what can be pickled, and never ``None``.
            args: what it is called with; can be pickled.

        Raises:
            HelperError: no process can be started here.
        """
        try:
            self._process = subprocess.Popen(  # noqa: S603  # our own interpreter and module
                command_to_run(serve),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except (OSError, ValueError) as err:
            raise HelperError("cannot start a process") from err
        self._task = (fn, args)
        self._send()

    def _send(self) -> None:
        assert self._process.stdin is not None
        try:
            pickle.dump(self._task, self._process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
            self._process.stdin.close()
        except OSError as err:
            self._stop()
            raise HelperError("the process ended at once") from err

    def __enter__(self) -> Self:
        """Return the helper."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process."""
        self._stop()

    def _stop(self) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()

    def results(self) -> Iterator[Any]:
        """Yield what the function yields.

        Raises:
            HelperError: the process failed or was killed before the end.
        """
        assert self._process.stdout is not None
        while True:
            try:
                result = pickle.load(self._process.stdout)  # noqa: S301  # our own process wrote it
            except (EOFError, OSError, pickle.UnpicklingError) as err:
                raise HelperError("the process ended too early") from err
            if result is _END:
                return
            yield result


def serve() -> None:
    """Do one task that comes on stdin; what it yields goes to stdout. Runs in the helper."""
    out = stdout_for_answers()
    fn, args = pickle.load(sys.stdin.buffer)  # noqa: S301  # the process that started us wrote it
    with out:
        for result in fn(*args):
            pickle.dump(result, out, protocol=pickle.HIGHEST_PROTOCOL)
            out.flush()
        pickle.dump(_END, out)


def spare_cores() -> int:
    """Return how many cores this process may use beside the one it runs on."""
    try:
        n_cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        n_cores = os.cpu_count() or 1
    return n_cores - 1


def split(sizes: Sequence[int], n_helpers: int, head_start: int) -> list[int]:
    """Return where to cut a sequence of work so that all finish together.

    Args:
        sizes: of each item.
        n_helpers: how many others work.
        head_start: what is done here before a helper is ready.

    Returns:
        ``n_helpers + 2`` ascending positions, the first 0 and the last ``len(sizes)``; what lies
        between the first two is done here.

    Example:
        >>> split([1] * 10, 1, head_start=2)
        [0, 6, 10]
    """
    total = sum(sizes)
    own = min(total, (total + n_helpers * head_start) / (n_helpers + 1))
    each = (total - own) / max(n_helpers, 1)
    cuts, done = [0], 0.0
    for index, size in enumerate(sizes):
        if len(cuts) <= n_helpers and done >= own + (len(cuts) - 1) * each:
            cuts.append(index)
        done += size
    return [*cuts, *[len(sizes)] * (n_helpers + 2 - len(cuts))]
