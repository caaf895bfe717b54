"""How far a run is, on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status


class _Silent:
    """Nobody watches: no terminal, or not wanted."""

    def step(self, name: str) -> None:
        """Ignore a step."""

    def progress(self, text: str) -> None:
        """Ignore progress."""


class _Spinner:
    """One line on the terminal that says what is going on."""

    def __init__(self, status: Status) -> None:
        self._status = status
        self._step = ""

    def step(self, name: str) -> None:
        """Show the name of the step that begins."""
        self._step = name
        self._status.update(name)

    def progress(self, text: str) -> None:
        """Show how far the step is."""
        self._status.update(f"{self._step} [dim]{text}")


@contextmanager
def watching(*, is_shown: bool) -> Iterator[_Silent | _Spinner]:
    """Yield someone who shows each step on stderr, or nobody."""
    if not is_shown:
        yield _Silent()
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield _Spinner(status)
