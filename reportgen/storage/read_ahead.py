"""Fetch many files at once, hand them over in order, and never hold more than some megabytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from reportgen.errors import LocationError, PlaceError

N_THREADS = 32
"""Objects fetched at once; 16 to 128 were measured."""

AHEAD_BYTES = 64_000_000
"""Limit of bytes that are fetched before they are needed; one larger file is fetched alone."""

_RUN_FILES = 16
_RUN_BYTES = 1_000_000
"""A thread fetches a run of tiny files in one go: handing over costs as much as fetching."""

Fetched = bytes | LocationError
Fetch = Callable[[str], bytes]
Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    keys: tuple[str, ...]
    size_bytes: int


def read_ahead(keys: Sequence[str], sizes_bytes: Sequence[int], fetch: Fetch) -> Iterator[Fetched]:
    """Yield the content of files in the order of the keys, or why one cannot be read.

    ``sizes_bytes`` is the approximate size of each, 0 where it is unknown; ``fetch`` gets one file
    and is called in several threads.

    Raises:
        PlaceError: nothing more can be read.
    """

    def fetch_all(some: Sequence[str]) -> list[Fetched]:
        return [_fetch(key, fetch) for key in some]

    runs = _runs(keys, sizes_bytes)
    waiting: deque[tuple[_Run, Future[list[Fetched]]]] = deque()
    held_bytes = 0
    with ThreadPoolExecutor(min(N_THREADS, max(len(runs), 1))) as pool:
        try:
            for run in runs:
                while waiting and (
                    len(waiting) >= 2 * N_THREADS or held_bytes + run.size_bytes > AHEAD_BYTES
                ):
                    done, future = waiting.popleft()
                    yield from future.result()
                    held_bytes -= done.size_bytes
                waiting.append((run, pool.submit(fetch_all, run.keys)))
                held_bytes += run.size_bytes
            while waiting:
                yield from waiting.popleft()[1].result()
        finally:
            for _, future in waiting:
                future.cancel()


def _runs(keys: Sequence[str], sizes_bytes: Sequence[int]) -> list[_Run]:
    most_files = max(1, min(_RUN_FILES, len(keys) // (2 * N_THREADS)))
    runs: list[_Run] = []
    run: list[str] = []
    run_bytes = 0
    for key, size_bytes in zip(keys, sizes_bytes, strict=True):
        if run and (len(run) >= most_files or run_bytes + size_bytes > _RUN_BYTES):
            runs.append(_Run(keys=tuple(run), size_bytes=run_bytes))
            run, run_bytes = [], 0
        run.append(key)
        run_bytes += size_bytes
    if run:
        runs.append(_Run(keys=tuple(run), size_bytes=run_bytes))
    return runs


def _fetch(key: str, fetch: Fetch) -> Fetched:
    try:
        return fetch(key)
    except PlaceError:
        raise
    except LocationError as err:
        return err


def of_each(ask: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
    """Return the answer for each item, many at once: a store answers slowly."""
    if len(items) < 2:
        return [ask(item) for item in items]
    with ThreadPoolExecutor(min(N_THREADS, len(items))) as pool:
        return list(pool.map(ask, items))
