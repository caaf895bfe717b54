"""An existing Dask cluster: reached, checked, and watched while it works."""

from __future__ import annotations

import gc
import json
import logging
import lzma
import pickle
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from reportgen.engine.dispatch import Dispatch, Needs, Run, SchedulerGoneError, packed, take
from reportgen.engine.executor import Item, LostItemsError, Result
from reportgen.engine.software import OURS, differences, software
from reportgen.errors import ReportgenError

if TYPE_CHECKING:
    from distributed import Client

_CONNECTIONS = 3
"""Tries to reach a scheduler that goes away; work that was done by then is kept."""
_LOOK_S = 1.0
_MOST_NAMED = 3
_HINT = (
    "The logs of the workers say more; --allow-missing makes the report without these parts, and "
    "says so in it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DaskExecutor:
    """Runs items on the workers of a cluster, which read the parts themselves.

    Attributes:
        address: of the scheduler, ``tcp://host:8786``, or the path of its scheduler file.
        needs: what workers must have; checked before the first task.
        on_progress: hears how many items are done.
        patience_s: how long a cluster may have no worker at all.
        connect_s: how long the scheduler may take to answer.
        silence_s: how long a worker may give no sign of life; others get its items then.
        task_s: how long a worker may end none of its items; others get them then.
    """

    address: str
    needs: Needs = field(default_factory=Needs)
    on_progress: Callable[[str], object] = str
    patience_s: float = 300.0
    connect_s: float = 10.0
    silence_s: float = 120.0
    task_s: float = 3600.0

    def map(
        self, fn: Callable[[Item], Result], items: Sequence[Item], *, names: Sequence[str] = ()
    ) -> list[Result]:
        """Return ``[fn(item) for item in items]``, in that order; see ``Executor``.

        Raises:
            ReportgenError: no Dask here, no scheduler there, or workers that run something else.
            LostItemsError: some items have no result after all attempts.
        """
        run = Run(tasks=packed(fn, items), names=names or [f"item {n}" for n in range(len(items))])
        for number in range(_CONNECTIONS):
            try:
                with self._connected() as client:
                    self._check(client)
                    self._work(client, run)
                break
            except SchedulerGoneError:
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
        # A client that failed to connect closes itself when it is collected, and takes a lock for
        # it that the start of the next client holds: it goes now, not then.
        gc.collect()
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
        checks the software again, so what joins later computes nothing wrong. The same holds where
        a worker does not answer.
        """
        answers = self._answers(client)
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

    def _answers(self, client: Client) -> Mapping[str, Any]:
        """Return the answer of each worker; none when one of them gives none."""
        found: SimpleQueue[Any] = SimpleQueue()

        def ask() -> None:
            try:
                found.put(client.run(_probe(self.needs), on_error="return"))
            except Exception as err:  # noqa: BLE001  # raised again where it is waited for
                found.put(err)

        Thread(target=ask, daemon=True).start()
        with suppress(Empty):
            answers = found.get(timeout=self.silence_s)
            if isinstance(answers, Exception):
                raise SchedulerGoneError from answers
            return dict(answers)
        self.on_progress("a worker of the cluster does not answer")
        return {}

    def _work(self, client: Client, run: Run) -> None:
        """Let the cluster do what is left."""
        dispatch = Dispatch(client=client, run=run, needs=self.needs)
        dispatch.start(run.left())
        try:
            while dispatch.futures:
                index = self._next(dispatch)
                if index is None:
                    continue
                if take(dispatch.futures[index], index, run, patience_s=self.silence_s):
                    del dispatch.futures[index]
                else:
                    dispatch.move(
                        index, to=None, why="the worker that had the result did not send it"
                    )
                self.on_progress(f"{len(run.answers)} of {len(run.tasks)} nodes or ranks")
        finally:
            if dispatch.futures:
                with suppress(Exception):
                    client.cancel(list(dispatch.futures.values()))  # type: ignore[no-untyped-call]  # untyped

    def _next(self, dispatch: Dispatch) -> int | None:
        """Wait for the next item that is done; raise when no worker is there for it.

        Hanging parts are moved meanwhile; ``None`` when nothing is left to wait for.
        """
        seen_at = time.monotonic()
        while dispatch.futures:
            with suppress(Empty):
                index, key = dispatch.done.get(timeout=_LOOK_S)
                if index in dispatch.futures and dispatch.futures[index].key == key:
                    return index
                continue
            try:
                alive = self._alive(dispatch)
                self._move_stuck(dispatch, alive)
            except OSError as err:
                raise SchedulerGoneError from err
            if alive:
                seen_at = time.monotonic()
            elif time.monotonic() - seen_at > self.patience_s:
                raise ReportgenError(
                    f"The cluster at {self.address} had no worker that answers for "
                    f"{self.patience_s:.0f} s; "
                    f"{len(dispatch.futures)} nodes or ranks are left to do.",
                    hint="Start workers, then try again.",
                )
            else:
                self.on_progress("waiting for workers of the cluster")
        return None

    def _alive(self, dispatch: Dispatch) -> Sequence[str]:
        """Return the workers that gave a sign of life of late."""
        workers = dispatch.client.scheduler_info(n_workers=-1)["workers"]
        return [
            address
            for address, said in workers.items()
            if dispatch.unchanged_s(f"{address} lives", said["last_seen"]) < self.silence_s
        ]

    def _move_stuck(self, dispatch: Dispatch, alive: Sequence[str]) -> None:
        """Move the items of workers that are silent, or that end nothing, to others."""
        items = {str(future.key): index for index, future in dispatch.futures.items()}
        held: Mapping[str, Sequence[str]] = dispatch.client.processing()  # type: ignore[no-untyped-call]  # untyped
        for worker, keys in held.items():
            own = sorted(items[key] for key in map(str, keys) if key in items)
            held_s = dispatch.unchanged_s(f"{worker} works", own)
            others = [other for other in alive if other != worker]
            if worker not in alive and others:
                why = f"worker {worker} gave no sign of life for {self.silence_s:.0f} s"
            elif held_s > self.task_s:
                why = f"worker {worker} did not end it in {self.task_s:.0f} s"
            else:
                continue
            for index in own:
                self.on_progress(f"{dispatch.run.names[index]}: {why}")
                dispatch.move(index, to=others, why=why)


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


def _probe(needs: Needs) -> Callable[[], tuple[Mapping[str, str], list[str]]]:
    """Return the probe for each worker; it needs nothing of ours, which may be missing there."""
    modules, folders, files, ours = needs.modules, needs.folders, needs.files, OURS

    def probe() -> tuple[Mapping[str, str], list[str]]:
        import os

        sys.path += [folder for folder in folders if folder not in sys.path]
        unseen = [path for path in files if not os.path.exists(path)]  # noqa: PTH110
        try:
            from reportgen.engine.software import software
        except ImportError:
            return {ours: "not installed"}, unseen
        return software(modules), unseen

    return probe


def _refusal(wrong: Sequence[str], *, n_workers: int) -> ReportgenError:
    rest = len(wrong) - _MOST_NAMED
    named = "; ".join(wrong[:_MOST_NAMED]) + (f"; and {rest} more" if rest > 0 else "")
    return ReportgenError(
        f"{len(wrong)} of {n_workers} workers of the cluster cannot do the work of this version: "
        f"{named}.",
        hint="Install the same versions everywhere, restart workers after an update, and put "
        "jobs and plugins where each worker finds them under the same path.",
    )
