"""Standard streams as people really leave them, and what a run writes to them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from reportgen.errors import OutputError
from reportgen.text_safety import terminal_text

if TYPE_CHECKING:
    from rich.status import Status

    from reportgen.report import Report

_COLOURS = {"critical": "red", "warning": "yellow", "ok": "green"}


def open_closed_streams() -> None:
    """Open the null device in place of standard streams that are closed.

    Without that, the next files to be opened get their numbers, and what a child process says
    ends up in them.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is given out, and those below are open by now.
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


def say(text: str, *, err: bool = True, **style: Any) -> None:
    """Print a text to stderr, or to stdout, without what a terminal would obey and secrets."""
    click.secho(terminal_text(text), err=err, **style)


def print_verdict(report: Report) -> None:
    """Print the verdict and the top findings to stderr."""
    from reportgen.views import terminal_lines

    for line in terminal_lines(report):
        say(line.text, fg=_COLOURS.get(line.kind), bold=bool(line.kind))


def print_path(path: str) -> None:
    """Write where the report is to stdout: as it is for programs, harmless on a terminal.

    A reader that is gone does not unmake the report.

    Raises:
        OutputError: it cannot be written; whoever waits for it must know.
    """
    try:
        click.echo(terminal_text(path) if sys.stdout.isatty() else path)
    except BrokenPipeError:
        return
    except OSError as err:
        raise OutputError(
            f"The report is made ({path}), but its path cannot be written to stdout: "
            f"{err.strerror}.",
            hint="Look where stdout goes.",
            path=path,
        ) from err


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
    """Yield a line that shows each step on a terminal, or one that shows nothing."""
    if not (is_shown and sys.stderr.isatty()):
        yield _Line()
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield _Line(status)
