"""Processes of this machine: for work that holds the interpreter lock."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from reportgen.engine.executor import MAX_THREADS, Item, LocalExecutor, Result
from reportgen.engine.helper import HelperError, run_in_helper
from reportgen.errors import ReportgenError


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessExecutor:
    """Runs each item in a separate interpreter, ``max_processes`` (one per core, 4) at once.

    The interpreters know nothing of the program that started them, so a script without a
    ``__main__`` guard is not run again, as it would be by ``multiprocessing``.
    """

    max_processes: int | None = None

    def map(
        self,
        fn: Callable[[Item], Result],
        items: Sequence[Item],
        *,
        names: Sequence[str] = (),  # noqa: ARG002  # the first that is killed ends the run
    ) -> list[Result]:
        """Return ``[fn(item) for item in items]``, in that order; raise where a process was killed.

        Edge cases: a function or an item that cannot travel is worked on in this process.
        """
        limit = self.max_processes or min(os.cpu_count() or 1, MAX_THREADS)
        threads = LocalExecutor(max_threads=limit)
        try:
            packed = [pickle.dumps((fn, item)) for item in items]
        except (pickle.PicklingError, AttributeError, TypeError):
            return threads.map(fn, items)
        return threads.map(_run, packed)


def _run(packed: bytes) -> Any:
    try:
        with run_in_helper(_attempt, packed) as answers:
            (answer,) = answers
    except HelperError as err:
        raise ReportgenError(
            f"A process that read a part of the job {err}.",
            hint="A kill (-9) mostly means too little memory: pass fewer traces at once.",
        ) from err
    is_done, result = pickle.loads(answer)  # noqa: S301  # written by our own process
    if is_done:
        return result
    raise result


def _attempt(packed: bytes) -> Iterator[bytes]:
    """Yield what a function returns for an item, or what it raises. Runs in the helper."""
    try:
        fn, item = pickle.loads(packed)  # noqa: S301  # the process that started us wrote it
        answer = pickle.dumps((True, fn(item)))
    except Exception as err:  # noqa: BLE001  # raised again where the work was asked for
        answer = _packed_error(err)
    yield answer


def _packed_error(err: Exception) -> bytes:
    """Return an exception that can travel: the same, or one that says the same."""
    try:
        packed = pickle.dumps((False, err))
        pickle.loads(packed)  # noqa: S301  # written one line above
    except Exception:  # noqa: BLE001  # whatever keeps it from travelling
        packed = pickle.dumps((False, RuntimeError(f"{type(err).__name__}: {err}")))
    return packed
