"""Executors run one function over the parts of a job: in threads of this process, or elsewhere."""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from reportgen.allocation import set_up_memory
from reportgen.errors import ReportgenError
from reportgen.text_safety import TerminalFormatter

MAX_THREADS = 4
"""Parts in work at once: each may hold some hundred MB while it is read."""

_MOST_NAMED = 3
"""Lost items that a message names; the others are counted."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs a function over items, somewhere, and keeps their order."""

    def map(
        self, fn: Callable[[Item], Result], items: Sequence[Item], *, names: Sequence[str] = ()
    ) -> list[Result]:
        """Return ``[fn(item) for item in items]``, in that order, computed anywhere.

        An exception of ``fn`` reaches the caller: the first one in the order of items. ``names``
        are what people call the items.

        Raises:
            LostItemsError: processes or machines that worked on some items died; those of all
                others are in it.
        """


class LostItemsError(ReportgenError):
    """Some items have no result because of what worked on them, not of what they are.

    Attributes:
        results: that of each item, ``None`` where it is lost.
        reasons: place of each lost item, in order, and a sentence that says why.
    """

    def __init__(
        self, results: Sequence[Any], reasons: Mapping[int, str], *, names: Sequence[str], hint: str
    ) -> None:
        self.results = list(results)
        self.reasons = dict(sorted(reasons.items()))
        said = [
            f"{names[index] if names else f'Item {index}'}: {reason}"
            for index, reason in self.reasons.items()
        ]
        rest = len(said) - _MOST_NAMED
        more = [f"And {rest} more."] if rest > 0 else []
        what = f"{len(said)} of {len(results)} parts of the job could not be read."
        super().__init__(" ".join([what, *said[:_MOST_NAMED], *more]), hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalExecutor:
    """Runs parts in at most ``max_threads`` threads, by default one per core and no more than 4.

    One part runs in the calling thread. DuckDB and numpy release the interpreter lock.
    """

    max_threads: int | None = None

    def map(
        self,
        fn: Callable[[Item], Result],
        items: Sequence[Item],
        *,
        names: Sequence[str] = (),  # noqa: ARG002  # threads are not lost one by one
    ) -> list[Result]:
        """Return ``[fn(item) for item in items]``, in that order."""
        limit = self.max_threads or min(os.cpu_count() or 1, MAX_THREADS)
        n_threads = min(limit, len(items))
        if n_threads <= 1:
            return [fn(item) for item in items]
        pool = ThreadPoolExecutor(n_threads, thread_name_prefix="part")
        futures = [pool.submit(fn, item) for item in items]
        with _ended(pool):
            return [future.result() for future in futures]


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
        futures: dict[int, Future[bytes]] = {}
        with _ended(pool):
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


@contextmanager
def _ended(pool: ThreadPoolExecutor | ProcessPoolExecutor) -> Iterator[None]:
    """End a pool when its work is done; whoever wants the end before waits for no part."""
    is_waited_for = True
    try:
        yield
    except KeyboardInterrupt:
        is_waited_for = False
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
