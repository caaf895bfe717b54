"""Standard streams as people really leave them: closed, full, or read by nobody."""

from __future__ import annotations

import os
import sys

import click

from reportgen.errors import OutputError


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


def say_path(path: str) -> None:
    """Write where the report is to stdout.

    A reader that is gone does not unmake the report.

    Raises:
        OutputError: it cannot be written; whoever waits for it must know.
    """
    try:
        click.echo(path)
    except BrokenPipeError:
        return
    except OSError as err:
        raise OutputError(
            f"The report is made ({path}), but its path cannot be written to stdout: "
            f"{err.strerror}.",
            hint="Look where stdout goes.",
            path=path,
        ) from err
