"""The command ``reportgen``: a family of subcommands, each loaded when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import NoReturn

import click

from reportgen import __version__
from reportgen.cli.places import CONTEXT
from reportgen.cli.running import leave_with, run_command
from reportgen.cli.streams import open_closed_streams

FAMILY = {
    "report": ("reportgen.cli.command", "Make the report of a job, like make-profiler-report."),
    "compare": ("reportgen.cli.compare", "Compare two jobs: did a change help, and why."),
    "index": ("reportgen.cli.index", "List many jobs in one page: which wastes most."),
    "query": ("reportgen.cli.query", "Ask a saved report one question; scripts get JSON or CSV."),
    "record": ("reportgen.cli.record", "Run a training command and record it."),
    "timeline": ("reportgen.cli.timeline", "Write a timeline that Perfetto opens."),
    "watch": ("reportgen.cli.watch", "Make the report of a running job again and again."),
    "doctor": ("reportgen.cli.doctor", "Say what is installed and what would be recorded here."),
}
"""The home of each subcommand, whose name there is ``command``, and a line for ``--help``."""


class _Family(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """Return the names in the order of their use."""
        return list(FAMILY)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # click's signature
        """Import a member."""
        if cmd_name not in FAMILY:
            return None
        found: click.Command = import_module(FAMILY[cmd_name][0]).command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  # click's signature
        """Write the list of members."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in FAMILY.items()])


@click.command(cls=_Family, context_settings=CONTEXT)
@click.version_option(__version__, prog_name="reportgen")
def family() -> None:
    """Profile training jobs: record them, watch them, and make their reports."""


def main() -> NoReturn:
    """Run a member of the family and leave with its code."""
    open_closed_streams()
    leave_with(run_command(family))
