"""``reportgen index``: many jobs in one page."""

from __future__ import annotations

from pathlib import Path

import click

from reportgen.cli.places import Grouped, bucket_options, former_option, output_option
from reportgen.cli.streams import print_path, say, watching


@click.command(cls=Grouped)
@click.argument("paths", metavar="PATH…", nargs=-1, required=True)
@output_option(
    click.Path(path_type=Path, file_okay=False),
    "Folder for profiler-index.html and profiler-index.json.",
)
@former_option("--update", "every report is read.", is_flag=True)
@click.option("--make", "makes", is_flag=True, help="Report the jobs that have no report yet.")
@click.option(
    "--processes",
    type=click.IntRange(1),
    metavar="N",
    help="Reports made at once with --make. [default: one more than cores]",
)
@click.option("--force", is_flag=True, help="Replace a page that another program made.")
@bucket_options
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def command(
    paths: tuple[str, ...],
    output: Path,
    makes: bool,
    processes: int | None,
    force: bool,
    quiet: bool,
) -> None:
    """List the reports below some folders or prefixes in one page, those that waste most first.

    PATH is a folder or s3://bucket/prefix with any number of reports below it. Only their small
    file report.json is read. With --make the jobs directly below are reported first. The path of
    the page is printed to stdout.
    """
    from reportgen.pipeline.index import IndexOptions, make_index

    options = IndexOptions(
        places=paths, output=output, makes=makes, force=force,
        **({} if processes is None else {"n_processes": processes}),
    )  # fmt: skip
    with watching(is_shown=not quiet) as watcher:
        page, index = make_index(options, watcher)
    if index.n_unreadable and not quiet:
        say(f"{index.n_unreadable} could not be read; the page says why.")
    print_path(str(page))
