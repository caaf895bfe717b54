"""Processes of this machine: for work that holds the interpreter lock."""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from reportgen.allocation import set_up_memory
from reportgen.engine.executor import (
    MAX_THREADS,
    Item,
    LocalExecutor,
    LostItemsError,
    Result,
)
from reportgen.text_safety import TerminalFormatter

_OURS = __name__.partition(".")[0]
_SAFE_PATH = "PYTHONSAFEPATH"
_KILLED = "the process that read it was killed; mostly there is too little memory."
_HINT = "Pass fewer traces at once, or give the report more memory."


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessExecutor:
    """Runs items in a pool of ``max_processes`` processes, one per core and at most 4.

    ``on_progress`` hears how many items are done.
    """

    max_processes: int | None = None
    on_progress: Callable[[str], object] = str

    def map(
        self, fn: Callable[[Item], Result], items: Sequence[Item], *, names: Sequence[str] = ()
    ) -> list[Result]:
        """Return ``[fn(item) for item in items]``, in that order; see ``Executor``.

        When a process is killed, each item that has no result then runs again, alone in a process.

        Raises:
            LostItemsError: some items kill their process.

        Edge cases: a function or an item that cannot travel is worked on in this process.
        """
        limit = self.max_processes or min(os.cpu_count() or 1, MAX_THREADS)
        try:
            tasks = {index: pickle.dumps((fn, item)) for index, item in enumerate(items)}
        except (pickle.PicklingError, AttributeError, TypeError):
            return LocalExecutor(max_threads=limit).map(fn, items)
        answers: dict[int, Any] = {}
        self._run(tasks, answers, n_processes=min(limit, len(tasks)), n_items=len(items))
        for index in [index for index in tasks if index not in answers]:
            self._run({index: tasks[index]}, answers, n_processes=1, n_items=len(items))
        lost = {index: _KILLED for index in tasks if index not in answers}
        results: list[Any] = [answers.get(index) for index in tasks]
        if lost:
            raise LostItemsError(results, lost, names=names, hint=_HINT)
        return results

    def _run(
        self, tasks: Mapping[int, bytes], answers: dict[int, Any], *, n_processes: int, n_items: int
    ) -> None:
        """Add the answer of each task, until one kills its process; raise what a task raises."""
        if not tasks:
            return
        pool = ProcessPoolExecutor(
            n_processes,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_begin,
            initargs=(logging.getLogger(_OURS).getEffectiveLevel(),),
        )
        is_waited_for, futures = True, dict[int, Future[bytes]]()
        try:
            with suppress(BrokenProcessPool), _without_modules_of_this_folder():
                for index, task in tasks.items():
                    futures[index] = pool.submit(_attempt, task)
            for index, future in futures.items():
                with suppress(BrokenProcessPool):
                    is_done, result = pickle.loads(future.result())  # noqa: S301  # our own process wrote it
                    if not is_done:
                        raise result
                    answers[index] = result
                    self.on_progress(f"{len(answers)} of {n_items}")
        except KeyboardInterrupt:
            is_waited_for = False  # who wants the end waits for no part
            raise
        finally:
            pool.shutdown(wait=is_waited_for, cancel_futures=True)


@contextmanager
def _without_modules_of_this_folder() -> Iterator[None]:
    """Start interpreters that take no module from the current folder.

    A ``queue.py`` that lies beside a user's traces must not be run.
    """
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


def _begin(level: int) -> None:
    """Prepare a process of the pool: it ends with the one that started it, and prints to stderr.

    Ctrl-C is for the process that started it, and stdout for the path of the page.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_up_memory()
    threading.Thread(target=_end_with_starter, daemon=True).start()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TerminalFormatter("%(message)s"))
    logging.basicConfig(handlers=[handler])
    logging.getLogger(_OURS).setLevel(level)


def _end_with_starter() -> None:
    starter = multiprocessing.parent_process()
    if starter is not None:
        starter.join()
        os._exit(1)


def _attempt(task: bytes) -> bytes:
    """Return, pickled, what a function returns for an item, or an error that says what it raised.

    Edge cases: an error that cannot travel becomes a ``RuntimeError`` with the same words.
    """
    try:
        fn, item = pickle.loads(task)  # noqa: S301  # the process that started us wrote it
        return pickle.dumps((True, fn(item)), protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as err:  # noqa: BLE001  # raised again where the work was asked for
        try:
            packed = pickle.dumps((False, err))
            pickle.loads(packed)  # noqa: S301  # written one line above
        except Exception:  # noqa: BLE001  # whatever keeps it from travelling
            packed = pickle.dumps((False, RuntimeError(f"{type(err).__name__}: {err}")))
        return packed
