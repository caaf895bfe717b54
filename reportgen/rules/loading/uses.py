"""Data loaders as they were set up: iterator, workers, pinned memory, and how they did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.facts.groups import joint_codes, rows_by_code
from reportgen.facts.loader import LoaderRows, waits_of
from reportgen.profile import SpanTable
from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.units import NS_PER_S

UNKNOWN = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Loader:
    """One way in which a worker set up its loaders.

    Attributes:
        iterator: class of the iterator, ``_MultiProcessingDataLoaderIter``.
        num_workers, pin_memory: as set; ``None`` when not recorded.
        n_initialized: how often.
        active_ns: time from each set-up to the next one of the worker (or its last event).
        n_waits, median_wait_ns, longest_wait_ns: of the batches asked for meanwhile.
    """

    worker: str
    iterator: str
    num_workers: int | None
    pin_memory: bool | None
    n_initialized: int
    active_ns: int
    n_waits: int
    median_wait_ns: float | None
    longest_wait_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeTimes:
    """Life times of the loader processes of one worker."""

    worker: str
    n_processes: int
    median_ns: float
    longest_ns: int


def loaders_of(spans: SpanTable, rows: LoaderRows) -> tuple[Loader, ...]:
    """Return the loaders of one node, by worker.

    A batch belongs to the loader that its worker set up last. Batches before any set-up belong to
    a loader of which nothing but the name of the iterator is known.
    """
    waits, setups = waits_of(spans, rows), spans.where(rows.initialize)
    busy = spans.where(rows.fetch | rows.next_call | rows.process | rows.initialize)
    found: list[Loader] = []
    for worker, its in rows_by_code(busy.worker):
        own_setups = setups.where(setups.worker == worker)
        own_setups = own_setups.where(np.argsort(own_setups.start_ns, kind="stable"))
        own_waits = waits.where(waits.worker == worker)
        found += _of_worker(own_setups, own_waits, last_ns=int(busy.end_ns[its].max()))
    return tuple(found)


def life_times_of(spans: SpanTable, rows: LoaderRows) -> tuple[LifeTimes, ...]:
    """Return the life times of the loader processes of one node, by worker."""
    its = spans.where(rows.process)
    return tuple(
        LifeTimes(
            worker=its.workers[worker],
            n_processes=int(members.size),
            median_ns=float(np.median(its.duration_ns[members])),
            longest_ns=int(its.duration_ns[members].max()),
        )
        for worker, members in rows_by_code(its.worker)
    )


def longest_active(loaders: Sequence[Loader]) -> Loader | None:
    """Return a loader with the set-up that was active longest over all workers."""
    active: dict[tuple[int | None, bool | None], int] = {}
    known = [loader for loader in loaders if loader.n_initialized]
    for loader in known:
        setup = (loader.num_workers, loader.pin_memory)
        active[setup] = active.get(setup, 0) + loader.active_ns
    if not active:
        return None
    chosen = max(active, key=lambda setup: (active[setup], str(setup)))
    return next(item for item in known if (item.num_workers, item.pin_memory) == chosen)


def loader_exhibits(
    loaders: Sequence[Loader], life_times: Sequence[LifeTimes]
) -> tuple[Exhibit, ...]:
    """Return the table of loaders, and that of their processes when there are any."""
    tables = []
    if loaders:
        tables.append(_loader_table(loaders))
    if life_times:
        tables.append(_process_table(life_times))
    return tuple(tables)


def _of_worker(setups: SpanTable, waits: SpanTable, *, last_ns: int) -> list[Loader]:
    setup_of = np.searchsorted(setups.start_ns, waits.start_ns, side="right") - 1
    found = _unknown(waits.where(setup_of < 0))
    until_ns = np.append(setups.start_ns[1:], last_ns)
    setup_kind = joint_codes(setups.name, setups.num_workers, setups.pin_memory)
    for _, members in rows_by_code(setup_kind):
        first = int(members[0])
        wait_ns = waits.duration_ns[np.isin(setup_of, members)]
        num_workers, pinned = int(setups.num_workers[first]), int(setups.pin_memory[first])
        found.append(
            Loader(
                worker=setups.workers[setups.worker[first]],
                iterator=_iterator(setups.names[setups.name[first]]),
                num_workers=None if num_workers == UNKNOWN else num_workers,
                pin_memory=None if pinned == UNKNOWN else bool(pinned),
                n_initialized=int(members.size),
                active_ns=int((until_ns[members] - setups.start_ns[members]).sum()),
                n_waits=int(wait_ns.size),
                median_wait_ns=float(np.median(wait_ns)) if wait_ns.size else None,
                longest_wait_ns=int(wait_ns.max()) if wait_ns.size else None,
            )
        )
    return found


def _unknown(waits: SpanTable) -> list[Loader]:
    return [
        Loader(
            worker=waits.workers[waits.worker[members[0]]],
            iterator=_iterator(waits.names[name]),
            num_workers=None,
            pin_memory=None,
            n_initialized=0,
            active_ns=int(waits.end_ns[members].max() - waits.start_ns[members].min()),
            n_waits=int(members.size),
            median_wait_ns=float(np.median(waits.duration_ns[members])),
            longest_wait_ns=int(waits.duration_ns[members].max()),
        )
        for name, members in rows_by_code(waits.name)
    ]


def _iterator(event: str) -> str:
    """Return the iterator's class: ``_SingleProcessDataLoaderIter`` of ``….__init__``."""
    bare = event.rpartition("#")[2]
    for ending in (".__init__", ".__next__", "::GetNext"):
        bare = bare.removesuffix(ending)
    return bare


def _loader_table(loaders: Sequence[Loader]) -> Exhibit:
    return exhibit(
        "loaders",
        ExhibitKind.TABLE,
        title="Data loaders by worker and set-up",
        caption="A wait is the time in which the training loop asks for the next batch.",
        columns=[
            ("worker", "", [item.worker for item in loaders]),
            ("iterator", "", [item.iterator for item in loaders]),
            ("num_workers", "", [item.num_workers for item in loaders]),
            ("pin_memory", "", [item.pin_memory for item in loaders]),
            ("initialized", "", [item.n_initialized for item in loaders]),
            ("active_s", "s", [item.active_ns / NS_PER_S for item in loaders]),
            ("waits", "", [item.n_waits for item in loaders]),
            ("median_wait_s", "s", [_seconds(item.median_wait_ns) for item in loaders]),
            ("max_wait_s", "s", [_seconds(item.longest_wait_ns) for item in loaders]),
        ],
    )


def _process_table(life_times: Sequence[LifeTimes]) -> Exhibit:
    return exhibit(
        "workers",
        ExhibitKind.TABLE,
        title="Life times of loader processes",
        caption="From start to end of a process, idle or not; they are made anew every epoch.",
        columns=[
            ("worker", "", [item.worker for item in life_times]),
            ("processes", "", [item.n_processes for item in life_times]),
            ("median_life_s", "s", [item.median_ns / NS_PER_S for item in life_times]),
            ("max_life_s", "s", [item.longest_ns / NS_PER_S for item in life_times]),
        ],
    )


def _seconds(time_ns: float | None) -> float | None:
    return None if time_ns is None else time_ns / NS_PER_S
