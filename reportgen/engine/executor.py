"""Executors run one function over the parts of a job: in threads of this process, or elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from reportgen.errors import ReportgenError

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
        is_waited_for = True
        try:
            return [future.result() for future in futures]
        except KeyboardInterrupt:
            is_waited_for = False  # who wants the end waits for no part
            raise
        finally:
            pool.shutdown(wait=is_waited_for, cancel_futures=True)
