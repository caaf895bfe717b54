"""The tasks of a run on a Dask cluster: sent to workers, moved to others, and answered."""

from __future__ import annotations

import lzma
import pickle
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING
from uuid import uuid4

from reportgen.engine.executor import Item, Result
from reportgen.engine.software import differences, software
from reportgen.errors import PluginError, ReportgenError

if TYPE_CHECKING:
    from distributed import Client, Future

_PACKING = {"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 0, "pb": 0}
"""Answers are numbers, not text: 4 to 8 % less than with preset 2, in a tenth of a second."""
_RETRIES = 2
"""A task that fails is tried this often again, on workers that the scheduler chooses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Conditions of each worker before it gets work.

    Attributes:
        modules: modules with rules of the user's own; their source must be the same as here.
        folders: where these modules lie here: on a shared file system workers find them there.
        files: files of the job that a worker must see; none where they lie in an object store.
    """

    modules: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class SchedulerGoneError(Exception):
    """The connection to the scheduler is lost, and with it all that it was to do."""


@dataclass(slots=True, kw_only=True)
class Run:
    """The tasks of a run, and their answers so far."""

    tasks: Sequence[bytes]
    names: Sequence[str]
    answers: dict[int, bytes] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)

    def left(self) -> list[int]:
        """Return the items without an answer."""
        done = self.answers.keys() | self.reasons.keys()
        return [index for index in range(len(self.tasks)) if index not in done]


@dataclass(slots=True, kw_only=True)
class Dispatch:
    """The present work of the cluster, and the time of its last change."""

    client: Client
    run: Run
    needs: Needs
    futures: dict[int, Future[bytes]] = field(default_factory=dict)
    done: SimpleQueue[tuple[int, str]] = field(default_factory=SimpleQueue)
    n_moved: Counter[int] = field(default_factory=Counter)
    marks: dict[str, tuple[object, float]] = field(default_factory=dict)

    def start(self, items: Sequence[int], *, workers: Sequence[str] | None = None) -> None:
        """Let workers, by default any, work on some items."""
        token = uuid4().hex[:8]
        futures = self.client.map(
            _attempt,
            [self.run.tasks[index] for index in items],
            needs=self.needs,
            expected=software(self.needs.modules),
            key=[f"reportgen_part-{token}-{index}" for index in items],
            retries=_RETRIES,
            pure=False,
            workers=workers,
            allow_other_workers=workers is not None,
        )
        for index, future in zip(items, futures, strict=True):
            self.futures[index] = future
            future.add_done_callback(partial(_tell, self.done, index))  # type: ignore[no-untyped-call]  # untyped

    def move(self, index: int, *, to: Sequence[str] | None, why: str) -> None:
        """Give an item to other workers, or give it up when it was moved too often."""
        future = self.futures.pop(index)
        with suppress(Exception):
            self.client.cancel([future])  # type: ignore[no-untyped-call]  # untyped
        self.n_moved[index] += 1
        if self.n_moved[index] > _RETRIES or (to is not None and not to):
            self.run.reasons[index] = f"{why} (try {self.n_moved[index]})."
        else:
            self.start([index], workers=to)

    def unchanged_s(self, name: str, value: object) -> float:
        """Return how long ago a value was seen first."""
        now = time.monotonic()
        if name not in self.marks or self.marks[name][0] != value:
            self.marks[name] = (value, now)
        return now - self.marks[name][1]


def packed(fn: Callable[[Item], Result], items: Sequence[Item]) -> list[bytes]:
    """Return a task for each item.

    Raises:
        PluginError: the function cannot travel.
    """
    try:
        return [pickle.dumps((fn, item), protocol=pickle.HIGHEST_PROTOCOL) for item in items]
    except (pickle.PicklingError, AttributeError, TypeError) as err:
        raise PluginError(
            f"A rule cannot travel to the workers of a cluster ({err}).",
            hint="Define what it needs at the top of a module, or use --engine threads.",
        ) from err


def _tell(done: SimpleQueue[tuple[int, str]], index: int, future: Future[bytes]) -> None:
    done.put((index, str(future.key)))


def _attempt(task: bytes, *, needs: Needs, expected: Mapping[str, str]) -> bytes:
    """Return, packed, the result of a function for an item. Runs in a worker."""
    from distributed import get_worker

    try:
        sys.path += [folder for folder in needs.folders if folder not in sys.path]
        wrong = differences(expected, software(needs.modules))
        if wrong:
            raise ReportgenError(f"{', '.join(wrong)}.")  # noqa: TRY301  # named with the worker
        fn, item = pickle.loads(task)  # noqa: S301  # who asked for the work wrote it
        answer = pickle.dumps(fn(item), protocol=pickle.HIGHEST_PROTOCOL)
        return lzma.compress(answer, filters=[_PACKING])
    except Exception as err:  # noqa: BLE001  # named with the worker, and said to who asked
        what = str(err) if isinstance(err, ReportgenError) else f"{type(err).__name__}: {err}"
        raise RuntimeError(f"worker {get_worker().address}: {what}") from None


def take(future: Future[bytes], index: int, run: Run, *, patience_s: float) -> bool:
    """Keep an item's answer, or why it has none; return whether there is either."""
    from distributed import CancelledError, KilledWorker

    try:
        run.answers[index] = future.result(timeout=patience_s)
    except TimeoutError:
        return False
    except KilledWorker as err:
        run.reasons[index] = (
            f"{err.allowed_failures + 1} workers died while they read it, the last one was "
            f"{err.last_worker.address}; mostly they have too little memory."
        )
    except (CancelledError, OSError) as err:
        raise SchedulerGoneError from err
    except Exception as err:  # noqa: BLE001  # whatever the task raised, three times
        run.reasons[index] = f"it failed {_RETRIES + 1} times, lastly on {err}"
    return True
