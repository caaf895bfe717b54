"""What runs one function over the parts of a job: threads of this process, or something else."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeVar

MAX_THREADS = 4
"""Parts in work at once: each may hold some hundred MB while it is read."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs a function over items, somewhere, and keeps their order."""

    def map(self, fn: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return ``[fn(item) for item in items]``, in that order, computed anywhere.

        An exception of ``fn`` reaches the caller: the first one in the order of items.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalExecutor:
    """Runs parts in at most ``max_threads`` threads, by default one per core and no more than 4.

    One part runs in the calling thread. DuckDB and numpy release the interpreter lock.
    """

    max_threads: int | None = None

    def map(self, fn: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return ``[fn(item) for item in items]``, in that order."""
        limit = self.max_threads or min(os.cpu_count() or 1, MAX_THREADS)
        n_threads = min(limit, len(items))
        if n_threads <= 1:
            return [fn(item) for item in items]
        with ThreadPoolExecutor(n_threads, thread_name_prefix="part") as pool:
            futures = [pool.submit(fn, item) for item in items]
            try:
                return [future.result() for future in futures]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
