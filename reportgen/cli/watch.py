"""``reportgen watch``: the report of a job that still runs, made again and again."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from reportgen.cli.places import Grouped, OutputType, bucket_options
from reportgen.cli.streams import print_path, say, watching

_SHORTEST_S = 1.0
_SECONDS_PER_MINUTE = 60


@click.command(cls=Grouped)
@click.argument("path")
@click.option(
    "-o",
    "--output",
    type=OutputType(),
    metavar="DIR",
    help="Folder or s3://bucket/prefix of the report. [default: PATH-report, of a bucket here]",
)
@click.option(
    "--every",
    type=click.FloatRange(_SHORTEST_S),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between two reports; without new data no report is made.",
)
@click.option(
    "--idle",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    metavar="MINUTES",
    help="End when no new data came for so long.",
)
@click.option("--name", metavar="JOB", help="The job's name. [default: from the path]")
@bucket_options
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def command(
    path: str, output: Path | str | None, every: float, idle: float, name: str | None, quiet: bool
) -> None:
    """Make the report of a running job again and again, until the job has ended.

    PATH is that of `reportgen report`, a folder or s3://bucket/prefix. The page says until when it
    has data; whoever reads it sees the old page or the new one. Of a bucket only what is new is
    fetched, into a copy among the temporary files. The path of the page is printed to stdout once.
    """
    from reportgen.pipeline.options import Options
    from reportgen.pipeline.watch import WatchOptions, watch
    from reportgen.record.session import report_folder
    from reportgen.storage import is_remote

    if output is None:
        output = Path() if is_remote(path) else report_folder(Path(path).absolute())
    options = WatchOptions(
        report=Options(path=path, output=output if isinstance(output, Path) else Path(), name=name),
        upload_to=output if isinstance(output, str) else None,
        every_s=every,
        idle_s=idle * _SECONDS_PER_MINUTE,
    )
    made: list[str] = []

    def say_made(address: str) -> None:
        if not made:
            print_path(address)
            sys.stdout.flush()
        made.append(address)

    with watching(is_shown=not quiet) as watcher:
        has_ended = watch(options, watcher, on_made=say_made)
    if not has_ended and not quiet:
        say(f"Nothing new for {idle:g} minutes: the job is not watched any more.")
