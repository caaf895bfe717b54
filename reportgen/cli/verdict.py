"""The verdict on the terminal, after a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reportgen.report import Report

_COLOURS = {"critical": "red", "warning": "yellow", "ok": "green"}


def say_verdict(report: Report) -> None:
    """Print the verdict and the top findings to stderr."""
    from reportgen.views.twins import terminal_lines

    for line in terminal_lines(report):
        click.secho(line.text, err=True, fg=_COLOURS.get(line.kind), bold=bool(line.kind))
