"""The command ``make-profiler-report``: argv to options, messages to people, exit codes."""

from __future__ import annotations

import logging
import shlex
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reportgen import __version__
from reportgen.assets import notebook_path
from reportgen.cli.places import (
    FileType,
    Grouped,
    OutputType,
    bucket_options,
    cycle_option,
    former_option,
    output_option,
    range_options,
    theme_option,
)
from reportgen.cli.running import leave_with, run_command
from reportgen.cli.settings import RULES_WITH, named_formats, settings_options, utc_offset
from reportgen.cli.streams import open_closed_streams, print_path, print_verdict, say, watching
from reportgen.errors import WouldOverwriteError, writing
from reportgen.text_safety import TerminalFormatter

if TYPE_CHECKING:
    from reportgen.pipeline.options import MadeReport
    from reportgen.report import Report
    from reportgen.results import Finding

NOTEBOOKS = {
    "interactive": "interactive_analysis",
    "dataloader": "dataloader_analysis",
    "report": "profiler_report",
}


def copy_notebook(name: str, folder: Path, *, force: bool) -> Path:
    """Copy a notebook into a folder, which is made if need be, and return its path.

    Raises:
        WouldOverwriteError: a file of that name is there already.
        OutputError: it cannot be written.
    """
    source = notebook_path(NOTEBOOKS[name])
    target = folder / source.name
    if target.exists() and not force:
        raise WouldOverwriteError(
            f"{target} is there already; it would be overwritten.",
            hint="Pass --force to replace it, or another folder.",
            path=str(target),
        )
    with writing(target, action=f"write {target}", hint="Pass another folder."):
        folder.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    return target


EXIT_FAIL_ON = 3

_GROUPS = {
    "Input": (
        "name", "since", "until", "steps", "cycle", "utc_offset_s",
        "profiler_config", "engine", "allows_missing",
    ),
    "Rules": (
        "rules", "settings", "config", "plugins", *RULES_WITH,
    ),
    "Output": (
        "output", "formats", "timeline", "notebook", "theme", "force", "opens", "init_notebook",
    ),
}  # fmt: skip
"""The options of ``--help`` by purpose; the others are under "Options"."""

_WORST_FIRST = ("critical", "warning", "info")


class _Report(Grouped):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse the name of another command in the place of a job."""
        from reportgen.cli.family import FAMILY

        if args and args[0] in FAMILY and not Path(args[0]).exists():
            raise click.UsageError(
                f"There is no job {args[0]!r} here. It is a command: reportgen {shlex.join(args)}"
            )
        return super().parse_args(ctx, args)


class _Severity(click.Choice[str]):
    """A severity; the id of a finding that new reports do not have is answered with its place."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the severity, or say what replaced a finding."""
        from reportgen.report.replaced import said_of

        if said := said_of(value):
            self.fail(f"{said} Give the least severity of a finding.", param, ctx)
        return super().convert(value, param, ctx)


@click.command(cls=_Report, groups=_GROUPS)
@click.argument("path")
@output_option(
    OutputType(),
    "Folder or s3://bucket/prefix for profiler-report.html, .ipynb and profiler-report/.",
)
@click.option("--name", metavar="JOB", help="The job's name. [default: from the path]")
@settings_options
@click.option("--rules", metavar="ID,ID", default="", help="Run only these rules.")
@click.option(
    "--plugin",
    "plugins",
    metavar="MODULE",
    multiple=True,
    help="Also run the rules of this Python module; may be repeated.",
)
@click.option(
    "--notebook",
    type=FileType(),
    metavar="FILE",
    help="Make the page from this notebook, for example an edited profiler-report.ipynb.",
)
@theme_option
@click.option(
    "--format",
    "formats",
    type=named_formats,
    default="html,ipynb",
    show_default=True,
    metavar="FORMAT,…",
    help="Files to make: html, ipynb, md (a summary for pull requests and assistants). The results "
    "(json) are always written; json alone makes nothing else.",
)
@click.option(
    "--timeline",
    type=click.Choice(["auto", "all", "off"]),
    default="auto",
    show_default=True,
    help="Events of the timeline: auto keeps all of them if they fit into the page, else those of "
    "the median and slowest step and of findings.",
)
@range_options
@cycle_option
@click.option(
    "--utc-offset",
    "utc_offset_s",
    type=utc_offset,
    metavar="+HH:MM",
    help="How far ahead of UTC times without a zone are, such as those of nvidia-smi.",
)
@click.option(
    "--init-notebook",
    type=click.Choice(list(NOTEBOOKS)),
    help="Copy a notebook for analysis by hand into the folder PATH, and do nothing else.",
)
@click.option(
    "--profiler-config",
    type=FileType(),
    metavar="FILE.json",
    help="The job's ProfilerConfig (profilerconfig.json, DescribeTrainingJob): the report then "
    "names the profiled data.",
)
@click.option(
    "--engine",
    default="auto",
    show_default=True,
    metavar="ENGINE",
    help="Who reads the nodes or ranks: this machine, or the workers of a Dask cluster "
    "(dask:tcp://HOST:PORT, dask:SCHEDULER-FILE).",
)
@click.option(
    "--allow-missing",
    "allows_missing",
    is_flag=True,
    help="Make the report also without nodes or ranks that the cluster could not read.",
)
@former_option("--cache", "--force makes the whole report again.")
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@click.option("--force", is_flag=True, help="Replace edited notebooks and files of other programs.")
@click.option(
    "--fail-on",
    type=_Severity(_WORST_FIRST),
    help="Exit with 3 if a finding has this severity or a higher one; the report is made anyway.",
)
@bucket_options
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
@click.option("-v", "--verbose", count=True, help="Log each step with counts and seconds.")
@click.version_option(__version__, prog_name="make-profiler-report")
def command(
    path: str,
    output: Path | str,
    settings: Mapping[str, object],
    rules: str,
    formats: frozenset[str],
    timeline: str,
    init_notebook: str | None,
    opens: bool,
    force: bool,
    fail_on: str | None,
    quiet: bool,
    verbose: int,
    **passed_on: Any,
) -> None:
    """Make the profiling report of a training job.

    PATH is the job's folder or s3://bucket/prefix, its profiler-output, or the folder that holds
    system/ and framework/, such as a recording; or sagemaker:REGION/JOB-NAME; or traces of PyTorch,
    TensorFlow or Nsight Systems (exported), one file or a folder; or profiler-report/, to make the
    page of a saved report again; or a folder of SageMaker's rule results. The path of the page is
    printed to stdout.

    Exit codes: 0 report made, 1 could not be made, 2 wrong usage or would overwrite,
    3 made and --fail-on was met, 130 interrupted, 143 terminated.
    """
    _configure_logging(quiet=quiet, verbose=verbose)
    if passed_on["plugins"]:
        # Modules in the current folder can be named, and shadow no module of a library.
        sys.path.append("")
    if init_notebook is not None:
        click.echo(copy_notebook(init_notebook, Path(path), force=force))
        return
    if opens and isinstance(output, str):
        raise click.UsageError("--open cannot show a page in a bucket; leave it out.")
    if opens and "html" not in formats:
        raise click.UsageError("--open needs the page; add html to --format.")
    from reportgen.pipeline.make import make_report
    from reportgen.pipeline.options import Options, OutputFormat, TimelineDetail
    from reportgen.pipeline.remote import make_remote_report

    options = Options(
        path=path,
        output=output if isinstance(output, Path) else Path(),
        settings=settings,
        rules=tuple(part for part in rules.split(",") if part.strip()),
        formats=frozenset(map(OutputFormat, formats)),
        timeline=TimelineDetail(timeline),
        force=force,
        **passed_on,
    )
    with watching(is_shown=not quiet and not verbose) as watcher:
        if isinstance(output, str):
            made, outcome = make_remote_report(options, output, watcher)
        else:
            outcome = make_report(options, watcher)
            made = str(outcome.path)
    if not quiet and sys.stderr.isatty():
        print_verdict(outcome.report)
    _list_files(outcome, output, is_wanted=verbose > 0 or (isinstance(output, str) and not quiet))
    print_path(made)
    if opens:
        webbrowser.open(outcome.path.resolve().as_uri())
    if fail_on is not None and (bad := _at_least(fail_on, outcome.report)):
        more = f" (and {len(bad) - 1} more)" if bad[1:] else ""
        say(f"--fail-on {fail_on} is met: {bad[0].id} {bad[0].title}{more}")
        raise click.exceptions.Exit(EXIT_FAIL_ON)


def _list_files(made: MadeReport, output: Path | str, *, is_wanted: bool) -> None:
    for file in made.files if is_wanted else ():
        say(f"wrote {str(output).rstrip('/')}/{file.as_posix()}")


def _at_least(fail_on: str, report: Report) -> list[Finding]:
    enough = _WORST_FIRST[: _WORST_FIRST.index(fail_on) + 1]
    return [item.finding for item in report.findings if item.finding.severity.value in enough]


def main() -> None:
    """Run the command and leave with its code."""
    open_closed_streams()
    leave_with(run_command(command))


def _configure_logging(*, quiet: bool, verbose: int) -> None:
    level = logging.WARNING
    if quiet:
        level = logging.ERROR
    elif verbose:
        level = logging.INFO if verbose == 1 else logging.DEBUG
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TerminalFormatter("%(message)s"))
    logging.basicConfig(level=logging.CRITICAL, handlers=[handler], force=True)
    logging.getLogger("reportgen").setLevel(level)
