"""Processes of this machine: for work that holds the interpreter lock."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from reportgen.engine.executor import Item, Result
from reportgen.engine.interpreter import command_to_run, stdout_for_answers
from reportgen.engine.local import MAX_THREADS, LocalExecutor
from reportgen.errors import ReportgenError


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessExecutor:
    """Runs each item in an interpreter of its own.

    The interpreters know nothing of the program that started them, so a script without a
    ``__main__`` guard is not run again, as it would be by ``multiprocessing``.

    Attributes:
        max_processes: how many items are in work at once; ``None`` is one per core, at most 4.
    """

    max_processes: int | None = None

    def map(self, fn: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return ``[fn(item) for item in items]``, in that order.

        Edge cases: a function or an item that cannot travel is worked on in this process.

        Raises:
            ReportgenError: a process was killed.
        """
        limit = self.max_processes or min(os.cpu_count() or 1, MAX_THREADS)
        threads = LocalExecutor(max_threads=limit)
        try:
            packed = [pickle.dumps((fn, item)) for item in items]
        except (pickle.PicklingError, AttributeError, TypeError):
            return threads.map(fn, items)
        return threads.map(_run, packed)


def _run(packed: bytes) -> Any:
    """Work on one item in a new process; raise what it raised."""
    with subprocess.Popen(  # noqa: S603  # our own code, no shell
        command_to_run(work), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            answer, _ = process.communicate(packed)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise ReportgenError(
            f"A process that read a part of the job ended with {process.returncode} instead of an "
            "answer.",
            hint="A kill (-9) mostly means too little memory: pass fewer traces at once.",
        )
    is_done, result = pickle.loads(answer)  # noqa: S301  # written by our own process
    if is_done:
        return result
    raise result


def work() -> None:
    """Be such a process: read a function and an item, write what the function returns."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    out = stdout_for_answers()
    fn, item = pickle.load(sys.stdin.buffer)  # noqa: S301  # written by our parent
    try:
        answer = pickle.dumps((True, fn(item)))
    except Exception as err:  # noqa: BLE001  # raised again by the parent
        answer = _packed_error(err)
    with out:
        out.write(answer)


def _packed_error(err: Exception) -> bytes:
    """Return an exception that can travel: the same, or one that says the same."""
    try:
        packed = pickle.dumps((False, err))
        pickle.loads(packed)  # noqa: S301  # written one line above
    except Exception:  # noqa: BLE001  # whatever keeps it from travelling
        packed = pickle.dumps((False, RuntimeError(f"{type(err).__name__}: {err}")))
    return packed
