"""How far a run is, on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reportgen.text_safety import terminal_text

if TYPE_CHECKING:
    from rich.status import Status


class _Line:
    def __init__(self, status: Status | None = None) -> None:
        self._status = status
        self._step = ""

    def step(self, name: str) -> None:
        """Show the name of the step that begins."""
        self._step = name
        self._show(name)

    def progress(self, text: str) -> None:
        """Show how far the step is."""
        self._show(f"{self._step} [dim]{text}")

    def _show(self, text: str) -> None:
        if self._status is not None:
            self._status.update(terminal_text(text))


@contextmanager
def watching(*, is_shown: bool) -> Iterator[_Line]:
    """Yield a line that shows each step on stderr, or one that shows nothing."""
    if not is_shown:
        yield _Line()
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield _Line(status)
