"""An existing Dask cluster reads the parts; Dask itself repeats and moves the work."""

from __future__ import annotations

import json
import logging
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reportgen.engine.executor import Item, LostItemsError, Result
from reportgen.engine.software import differences, software
from reportgen.errors import ConfigError, PluginError, ReportgenError

if TYPE_CHECKING:
    from distributed import Client, Future

_RETRIES = 2
"""A task that fails is tried this often again, on workers that the scheduler chooses."""
_HINT = "The logs of the workers say more; --allow-missing makes the report without these parts."


def scheduler_of(engine: str) -> str:
    """Return the address of the scheduler that ``--engine`` names; empty for this machine.

    Threads and processes, which earlier versions let people choose, are chosen by the input.

    Raises:
        ConfigError: it names neither.

    Example:
        >>> scheduler_of("dask:tcp://scheduler:8786"), scheduler_of("auto")
        ('tcp://scheduler:8786', '')
    """
    name, _, address = engine.partition(":")
    if name not in (("dask",) if address else ("auto", "threads", "processes")):
        raise ConfigError(
            f"--engine {engine!r} is no engine.",
            hint="Write auto, dask:tcp://HOST:PORT or dask:FILE (the scheduler's file).",
        )
    return address


@dataclass(frozen=True, slots=True, kw_only=True)
class DaskExecutor:
    """Runs items on the workers of a cluster, which read the parts themselves.

    Attributes:
        address: of the scheduler, ``tcp://host:8786``, or the path of its scheduler file.
        modules, folders: modules with rules of the user's own, and where they lie, on a shared
            file system also for workers.
        on_progress: hears how many items are done.
        connect_s, patience_s: how long the scheduler may take to answer, and to have a worker.
        task_s: when no item was done for this long, those that are left are given up.
    """

    address: str
    modules: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    on_progress: Callable[[str], object] = str
    connect_s: float = 10.0
    patience_s: float = 300.0
    task_s: float = 3600.0

    def map(
        self, fn: Callable[[Item], Result], items: Sequence[Item], *, names: Sequence[str] = ()
    ) -> list[Result]:
        """Return ``[fn(item) for item in items]``, in that order; see ``Executor``.

        Raises:
            ReportgenError: no Dask here, no scheduler there, or no worker.
        """
        try:
            packed = pickle.dumps(fn, protocol=pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, AttributeError, TypeError) as err:
            raise PluginError(
                f"A rule cannot travel to the workers of a cluster ({err}).",
                hint="Define what it needs at the top of a module, or leave --engine out.",
            ) from err
        do = partial(_attempt, packed, software(self.modules), self.folders)
        results: list[Any] = [None] * len(items)
        with self._connected() as client:
            self._wait_for_worker(client)
            futures = client.map(do, items, retries=_RETRIES, pure=False, key="reportgen_part")
            reasons = self._collect(futures, results)
        if reasons:
            raise LostItemsError(results, reasons, names=names, hint=_HINT)
        return results

    @contextmanager
    def _connected(self) -> Iterator[Client]:
        """Yield a client; when it closes, the tasks that are left are cancelled."""
        if not logging.getLogger("reportgen").isEnabledFor(logging.INFO):
            for name in ("", ".client", ".core", ".comm"):  # we say what happened
                logging.getLogger(f"distributed{name}").setLevel(logging.CRITICAL)
        at = self.address
        try:
            at = at if "://" in at else str(json.loads(Path(at).read_bytes())["address"])
            try:
                client = self._client(at)
            except AssertionError:
                # Dask gives its own thread ten seconds to start, in which this machine may sleep.
                client = self._client(at)
        except ImportError as err:
            raise ReportgenError(
                "--engine dask needs Dask, which is not installed.",
                hint="Install it with: pip install 'make-profiler-report[dask]'",
            ) from err
        except (OSError, ValueError, TypeError, KeyError, AssertionError) as err:
            raise ReportgenError(
                f"No Dask scheduler answers at {self.address}.",
                hint="Check that it runs and can be reached from here, and its file's content.",
            ) from err
        try:
            with client.as_current():
                yield client
        finally:
            with suppress(Exception):
                client.close(timeout=1)  # type: ignore[no-untyped-call]  # Dask has no types there

    def _client(self, at: str) -> Client:
        from distributed import Client

        return Client(at, timeout=self.connect_s, set_as_default=False)  # type: ignore[no-untyped-call]  # Dask has no types there

    def _wait_for_worker(self, client: Client) -> None:
        """Wait for a worker."""
        try:
            client.wait_for_workers(1, timeout=self.patience_s)
        except TimeoutError as err:
            raise ReportgenError(
                f"The cluster at {self.address} had no worker for {self.patience_s:.0f} s.",
                hint="Start workers, then try again.",
            ) from err

    def _collect(self, futures: Sequence[Future[Any]], results: list[Any]) -> dict[int, str]:
        """Fill in the results as they come, and return why there is none of some items."""
        from distributed import wait

        places = {future: place for place, future in enumerate(futures)}
        reasons: dict[int, str] = {}
        while places:
            try:
                done = wait([*places], timeout=self.task_s, return_when="FIRST_COMPLETED").done  # type: ignore[no-untyped-call]  # Dask has no types there
            except Exception as err:  # noqa: BLE001  # no more answers will come
                return reasons | dict.fromkeys(places.values(), self._reason(err))
            for future in done:
                place = places.pop(future)
                try:
                    results[place] = future.result(timeout=self.task_s)
                except Exception as err:  # noqa: BLE001  # whatever the task or the cluster raised
                    reasons[place] = self._reason(err)
            self.on_progress(f"{len(futures) - len(places)} of {len(futures)} nodes or ranks")
        return reasons

    def _reason(self, err: Exception) -> str:
        """Return in words why an item has no result."""
        from distributed import CancelledError, KilledWorker

        if isinstance(err, KilledWorker):
            return (
                f"{err.allowed_failures + 1} workers died while they read it, the last one was "
                f"{err.last_worker.address}; mostly they have too little memory."
            )
        if isinstance(err, TimeoutError):
            return f"no part was done for {self.task_s:.0f} s while it was in work."
        if isinstance(err, CancelledError | OSError):
            return f"the scheduler at {self.address} went away."
        return f"it failed {_RETRIES + 1} times, lastly on {err}"


def _attempt(packed: bytes, needs: Mapping[str, str], folders: Sequence[str], item: object) -> Any:
    """Return the result of a function for an item; an error names the worker. Runs in a worker."""
    from distributed import get_worker

    try:
        sys.path += [folder for folder in folders if folder not in sys.path]
        wrong = differences(needs, software(tuple(needs.keys() - software().keys())))
        if wrong:
            raise ReportgenError(f"{', '.join(wrong)}.")  # noqa: TRY301  # named with the worker
        return pickle.loads(packed)(item)  # noqa: S301  # who asked for the work wrote it
    except Exception as err:  # noqa: BLE001  # named with the worker, and said to who asked
        what = str(err) if isinstance(err, ReportgenError) else f"{type(err).__name__}: {err}"
        raise RuntimeError(f"worker {get_worker().address}: {what}") from None
