"""An existing Dask cluster: the one place that knows Dask."""

from __future__ import annotations

import json
import logging
import lzma
import pickle
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from reportgen.engine.executor import Item, LostItemsError, Result
from reportgen.engine.software import OURS, differences, software
from reportgen.errors import PluginError, ReportgenError

if TYPE_CHECKING:
    from distributed import Client, Future

_CONNECTIONS = 3
"""Tries to reach a scheduler that goes away; work that was done by then is kept."""
_RETRIES = 2
"""A task that fails is tried this often again, on workers that the scheduler chooses."""
_LOOK_S = 1.0
_MOST_NAMED = 3
_HINT = (
    "The logs of the workers say more; --allow-missing makes the report without these parts, and "
    "says so in it."
)


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


class _SchedulerGoneError(Exception):
    """The connection to the scheduler is lost, and with it all that it was to do."""


@dataclass(slots=True, kw_only=True)
class _Run:
    """The tasks of a run, and their answers so far."""

    tasks: Sequence[bytes]
    names: Sequence[str]
    answers: dict[int, bytes] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)

    def left(self) -> list[int]:
        """Return the items without an answer."""
        done = self.answers.keys() | self.reasons.keys()
        return [index for index in range(len(self.tasks)) if index not in done]


@dataclass(frozen=True, slots=True, kw_only=True)
class DaskExecutor:
    """Runs items on the workers of a cluster, which read the parts themselves.

    Attributes:
        address: of the scheduler, ``tcp://host:8786``, or the path of its scheduler file.
        needs: what workers must have; checked before the first task.
        on_progress: hears how many items are done.
        patience_s: how long a cluster may have no worker at all.
        connect_s: how long the scheduler may take to answer.
    """

    address: str
    needs: Needs = field(default_factory=Needs)
    on_progress: Callable[[str], object] = str
    patience_s: float = 300.0
    connect_s: float = 10.0

    def map(
        self, fn: Callable[[Item], Result], items: Sequence[Item], *, names: Sequence[str] = ()
    ) -> list[Result]:
        """Return ``[fn(item) for item in items]``, in that order; see ``Executor``.

        Raises:
            ReportgenError: no Dask here, no scheduler there, or workers that run something else.
            LostItemsError: some items have no result after all attempts.
        """
        run = _Run(
            tasks=_packed(fn, items), names=names or [f"item {n}" for n in range(len(items))]
        )
        for number in range(_CONNECTIONS):
            try:
                with self._connected() as client:
                    self._check(client)
                    self._work(client, run)
                break
            except _SchedulerGoneError:
                self.on_progress("the scheduler went away; looking for it again")
            except ReportgenError:
                if not number:
                    raise
        for index in run.left():
            run.reasons[index] = f"the scheduler at {self.address} went away."
        results: list[Any] = [
            pickle.loads(lzma.decompress(run.answers[index])) if index in run.answers else None  # noqa: S301  # our own workers wrote it
            for index in range(len(items))
        ]
        if run.reasons:
            raise LostItemsError(results, run.reasons, names=run.names, hint=_HINT)
        return results

    @contextmanager
    def _connected(self) -> Iterator[Client]:
        client_type = _client_type()
        try:
            client = client_type(
                _address(self.address), timeout=self.connect_s, set_as_default=False
            )
        except (OSError, ValueError, TypeError, KeyError) as err:
            raise ReportgenError(
                f"No Dask scheduler answers at {self.address}.",
                hint="Check that it runs and can be reached from here; a scheduler's file must be "
                "the one that it wrote.",
            ) from err
        try:
            yield client
        finally:
            with suppress(Exception):
                client.close(timeout=1)  # type: ignore[no-untyped-call]  # Dask has no types there

    def _check(self, client: Client) -> None:
        """Refuse workers that run something else than we do, or do not see the job's files.

        Edge cases: a cluster that starts its workers when there is work has none yet; each task
        checks the software again, so what joins later computes nothing wrong.
        """
        try:
            answers = client.run(_probe(self.needs), on_error="return")
        except OSError as err:
            raise _SchedulerGoneError from err
        ours = software(self.needs.modules)
        wrong: list[str] = []
        for worker, answer in sorted(answers.items()):
            if not isinstance(answer, tuple):
                wrong.append(f"{worker}: {type(answer).__name__}: {answer}")
                continue
            theirs, unseen = answer
            clauses = [*differences(ours, theirs), *(f"{path} is not there" for path in unseen)]
            if clauses:
                wrong.append(f"{worker}: {', '.join(clauses)}")
        if wrong:
            raise _refusal(wrong, n_workers=len(answers))

    def _work(self, client: Client, run: _Run) -> None:
        """Let the cluster do what is left."""
        left, done = run.left(), SimpleQueue[int]()
        token, expected = uuid4().hex[:8], software(self.needs.modules)
        futures: dict[int, Future[bytes]] = dict(
            zip(
                left,
                client.map(
                    _attempt,
                    [run.tasks[index] for index in left],
                    needs=self.needs,
                    expected=expected,
                    key=[f"reportgen_part-{token}-{index}" for index in left],
                    retries=_RETRIES,
                    pure=False,
                ),
                strict=True,
            )
        )
        for index, future in futures.items():
            future.add_done_callback(partial(_tell, done, index))  # type: ignore[no-untyped-call]  # untyped
        try:
            while futures:
                index = self._next(client, done, n_left=len(futures))
                _take(futures.pop(index), index, run)
                self.on_progress(f"{len(run.answers)} of {len(run.tasks)} nodes or ranks")
        finally:
            if futures:
                with suppress(Exception):
                    client.cancel(list(futures.values()))  # type: ignore[no-untyped-call]  # untyped

    def _next(self, client: Client, done: SimpleQueue[int], *, n_left: int) -> int:
        """Wait for the next item that is done; raise when no worker is there for it."""
        seen_at = time.monotonic()
        while True:
            with suppress(Empty):
                return done.get(timeout=_LOOK_S)
            try:
                n_workers = client.scheduler_info(n_workers=1).get("n_workers", 1)
            except OSError as err:
                raise _SchedulerGoneError from err
            if n_workers:
                seen_at = time.monotonic()
            elif time.monotonic() - seen_at > self.patience_s:
                raise ReportgenError(
                    f"The cluster at {self.address} had no worker for {self.patience_s:.0f} s; "
                    f"{n_left} nodes or ranks are left to do.",
                    hint="Start workers, then try again.",
                )
            else:
                self.on_progress("waiting for workers of the cluster")


def _client_type() -> type[Client]:
    try:
        from distributed import Client
    except ImportError as err:
        raise ReportgenError(
            "--engine dask needs Dask, which is not installed.",
            hint="Install it with: pip install 'make-profiler-report[dask]'",
        ) from err
    if not logging.getLogger("reportgen").isEnabledFor(logging.INFO):
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # we say what happened
        for name in ("client", "core", "comm"):
            logging.getLogger(f"distributed.{name}").setLevel(logging.CRITICAL)
    return Client


def _address(text: str) -> str:
    """Return an address as it is, and of a scheduler's file what it says."""
    if "://" in text:
        return text
    return str(json.loads(Path(text).read_bytes())["address"])


def _tell(done: SimpleQueue[int], index: int, _: Future[bytes]) -> None:
    done.put(index)


def _packed(fn: Callable[[Item], Result], items: Sequence[Item]) -> list[bytes]:
    try:
        return [pickle.dumps((fn, item), protocol=pickle.HIGHEST_PROTOCOL) for item in items]
    except (pickle.PicklingError, AttributeError, TypeError) as err:
        raise PluginError(
            f"A rule cannot travel to the workers of a cluster ({err}).",
            hint="Define what it needs at the top of a module, or use --engine threads.",
        ) from err


def _probe(needs: Needs) -> Callable[[], tuple[Mapping[str, str], list[str]]]:
    """Return the probe for each worker; it needs nothing of ours, which may be missing there."""
    modules, folders, files, ours = needs.modules, needs.folders, needs.files, OURS

    def probe() -> tuple[Mapping[str, str], list[str]]:
        import os
        import sys

        sys.path += [folder for folder in folders if folder not in sys.path]
        unseen = [path for path in files if not os.path.exists(path)]  # noqa: PTH110
        try:
            from reportgen.engine.software import software
        except ImportError:
            return {ours: "not installed"}, unseen
        return software(modules), unseen

    return probe


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
        return lzma.compress(answer, preset=2)  # a tenth of a second, and a sixth of the bytes
    except Exception as err:  # noqa: BLE001  # named with the worker, and said to who asked
        what = str(err) if isinstance(err, ReportgenError) else f"{type(err).__name__}: {err}"
        raise RuntimeError(f"worker {get_worker().address}: {what}") from None


def _take(future: Future[bytes], index: int, run: _Run) -> None:
    """Keep an item's answer, or why it has none."""
    from distributed import CancelledError, KilledWorker

    try:
        run.answers[index] = future.result(timeout=None)
    except KilledWorker as err:
        run.reasons[index] = (
            f"{err.allowed_failures + 1} workers died while they read it, the last one was "
            f"{err.last_worker.address}; mostly they have too little memory."
        )
    except (CancelledError, OSError) as err:
        raise _SchedulerGoneError from err
    except Exception as err:  # noqa: BLE001  # whatever the task raised, three times
        run.reasons[index] = f"it failed {_RETRIES + 1} times, lastly on {err}"


def _refusal(wrong: Sequence[str], *, n_workers: int) -> ReportgenError:
    rest = len(wrong) - _MOST_NAMED
    named = "; ".join(wrong[:_MOST_NAMED]) + (f"; and {rest} more" if rest > 0 else "")
    return ReportgenError(
        f"{len(wrong)} of {n_workers} workers of the cluster cannot do the work of this version: "
        f"{named}.",
        hint="Install the same versions everywhere, restart workers after an update, and put "
        "jobs and plugins where each worker finds them under the same path.",
    )
