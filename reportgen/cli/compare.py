"""``reportgen compare``: did a change help, and where does the difference come from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reportgen.cli.places import Grouped, bucket_options, cycle_option, output_option, theme_option
from reportgen.cli.settings import named_formats
from reportgen.cli.streams import print_path, say, watching

if TYPE_CHECKING:
    from reportgen.comparison import Comparison
    from reportgen.comparison.gates import Gate

EXIT_GATE_MET = 3
EXIT_NOT_COMPARABLE = 4


@click.command(cls=Grouped)
@click.argument("paths", metavar="[BEFORE] AFTER", nargs=-1, required=True)
@click.option(
    "--baseline",
    metavar="PATH",
    help="The report to compare with, instead of BEFORE: a folder, or its report.json.",
)
@click.option(
    "--label",
    "labels",
    nargs=2,
    default=None,
    metavar="BEFORE AFTER",
    help="How the text calls the jobs. [default: by their names, if they differ]",
)
@click.option(
    "--fail-if",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help='Exit with 3 if this condition is met: "step_mean > +3%", "finding:new:critical". '
    "Repeatable.",
)
@click.option(
    "--allow-different",
    "allowed",
    multiple=True,
    type=click.Choice(["hardware"]),
    help="Judge --fail-if although the hardware differs.",
)
@output_option(click.Path(path_type=Path, file_okay=False), "Folder of the comparison.")
@click.option(
    "--format",
    "formats",
    type=named_formats,
    default="html,ipynb,md",
    show_default=True,
    metavar="FORMAT,…",
    help="Files to make in addition to the JSON.",
)
@cycle_option
@theme_option
@click.option("--force", is_flag=True, help="Replace edited files and those of other programs.")
@bucket_options
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def command(
    paths: tuple[str, ...],
    baseline: str | None,
    conditions: tuple[str, ...],
    allowed: tuple[str, ...],
    formats: frozenset[str],
    quiet: bool,
    **passed_on: Any,
) -> int:
    """Compare two jobs: is the second one faster, how sure is that, and why.

    BEFORE and AFTER are saved reports (profiler-report/), or jobs and kernel traces, which are
    reported first; folders or s3://bucket/prefix. The path of the page is printed to stdout.

    Exit codes: 0 compared, 1 could not be made, 2 wrong usage or would overwrite, 3 a condition of
    --fail-if is met, 4 the two cannot be compared.
    """
    if len(paths) != (1 if baseline is not None else 2):
        raise click.UsageError("Give two paths, BEFORE and AFTER, or --baseline and one path.")
    from reportgen.pipeline.compare import CompareOptions, make_comparison
    from reportgen.pipeline.options import OutputFormat

    wanted = _gates(conditions)
    options = CompareOptions(
        before=baseline if baseline is not None else paths[0],
        after=paths[-1],
        formats=frozenset(map(OutputFormat, formats)),
        **passed_on,
    )
    with watching(is_shown=not quiet) as watcher:
        path, comparison = make_comparison(options, watcher)
    if not quiet or comparison.reason:
        say(f"{comparison.headline} {comparison.lead}")
    print_path(str(path))
    return _exit_code(comparison, wanted, may_differ=bool(allowed))


def _gates(conditions: Sequence[str]) -> Sequence[Gate]:
    if not conditions:
        return ()
    from reportgen.comparison.gates import parse_gate

    return [parse_gate(text) for text in conditions]


def _exit_code(comparison: Comparison, wanted: Sequence[Gate], *, may_differ: bool) -> int:
    from reportgen.comparison import Verdict, gates
    from reportgen.comparison.conditions import hardware_changes

    if comparison.verdict is Verdict.NOT_COMPARABLE:
        return EXIT_NOT_COMPARABLE
    different = () if may_differ else hardware_changes(comparison.comparability)
    if wanted and different:
        names = ", ".join(different)
        say(
            f"error: The jobs differ in {names}; --fail-if is not judged.\n"
            "       Pass --allow-different hardware to judge it all the same."
        )
        return EXIT_NOT_COMPARABLE
    found = gates.met(comparison, wanted)
    for text in found:
        say(f"--fail-if is met: {text}")
    for text in gates.unjudged(comparison, wanted):
        say(f"--fail-if is not judged: {text}")
    return EXIT_GATE_MET if found else 0
