"""What runs one function over the parts of a job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs a function over items, somewhere, and keeps their order."""

    def map(self, fn: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return ``[fn(item) for item in items]``, in that order, computed anywhere.

        An exception of ``fn`` reaches the caller: the first one in the order of items.
        """
        ...
