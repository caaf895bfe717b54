"""``reportgen timeline``: a job in time, in one file for Perfetto and ``chrome://tracing``."""

from __future__ import annotations

import re
import sys
from typing import Any

import click

from reportgen.cli.places import Grouped, bucket_options, cycle_option, former_option, range_options
from reportgen.cli.streams import print_path, say, watching

_STDOUT = "-"


def _ranks(text: str) -> frozenset[int]:
    if not re.fullmatch(r"\s*\d{1,9}\s*(,\s*\d{1,9}\s*)*", text):
        raise click.BadParameter(f"{text!r} is not a list of ranks; write 0,7.")
    return frozenset(map(int, text.split(",")))


@click.command(cls=Grouped)
@click.argument("path")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="The file or s3://bucket/name to write, compressed if it ends in .gz; - is stdout.",
)
@former_option("--format", "the file opens in Perfetto and chrome://tracing.")
@former_option("--report", "findings are in the timeline of the page.")
@range_options
@cycle_option
@click.option("--ranks", type=_ranks, metavar="N,…", help="Show only these ranks.")
@click.option("--force", is_flag=True, help="Replace a file.")
@bucket_options
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def command(path: str, output: str, quiet: bool, **passed_on: Any) -> None:
    """Write the events of a job as a timeline that ui.perfetto.dev and chrome://tracing open.

    PATH is that of `reportgen report`: a job or kernel traces, a folder, a file or
    s3://bucket/prefix. Every event is a slice with its time and length, every launch has an arrow
    to the work it started, samples are counters, and all ranks have one axis. The path of the file
    is printed to stdout.
    """
    if output == _STDOUT and sys.stdout.isatty():
        raise click.UsageError("-o - writes bytes, and standard output is a terminal.")
    from reportgen.pipeline.timeline import TimelineOptions, make_timeline

    options = TimelineOptions(path=path, output=output, **passed_on)
    with watching(is_shown=not quiet) as watcher:
        _, remarks = make_timeline(options, watcher)
    for remark in () if quiet else remarks:
        say(remark)
    if output != _STDOUT:
        print_path(output)
