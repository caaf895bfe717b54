"""From two reports or jobs to the page of their comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reportgen.assets import notebook_path
from reportgen.errors import writing
from reportgen.pipeline.options import Options, OutputFormat, TimelineDetail, Watcher, timed
from reportgen.pipeline.places import check_output
from reportgen.pipeline.products import kernel_for
from reportgen.publish import (
    PageOptions,
    ReadyKernel,
    export_page,
    is_unchanged,
    read_notebook,
    run_notebook,
)
from reportgen.report import Report
from reportgen.scratch import scratch_folder
from reportgen.store import is_made_by_us, load, open_staging, refuse, saved_report

if TYPE_CHECKING:
    from reportgen.comparison import Comparison

STEM = "profiler-comparison"
PAGE, NOTEBOOK, SUMMARY = f"{STEM}.html", f"{STEM}.ipynb", f"{STEM}.md"
ALL_FORMATS = frozenset(OutputFormat)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """One run of ``reportgen compare``.

    Attributes:
        before, after: saved reports, or jobs and traces, which are reported first.
        labels: names of the two, by default those of the jobs.
        cycle: which cycle of a profiler with a schedule, 1 is the newest, where a job is reported.
        output: where the files are written.
        formats: what to make beside ``profiler-comparison.json``.
        theme: of the page.
        force: replace files that are not ours or were edited.
    """

    before: str
    after: str
    labels: tuple[str, str] | None = None
    cycle: int = 1
    output: Path = Path()
    formats: frozenset[OutputFormat] = ALL_FORMATS
    theme: str = "auto"
    force: bool = False


def make_comparison(options: CompareOptions, watcher: Watcher) -> tuple[Path, Comparison]:
    """Compare two jobs and write the comparison: JSON, Markdown, notebook, page, in this order.

    The path is that of the page, or without one of the JSON.

    Raises:
        ReportgenError: with the exit code that the command will return.
    """
    check_output(options.output)
    _check_old(options)
    with (
        open_staging(options.output) as staging,
        kernel_for(options.formats, staging.folder) as kernel,
    ):
        from reportgen.comparison import codec, compare  # while the kernel starts

        paths = (options.before, options.after)
        before, after = (report_of(path, watcher, cycle=options.cycle) for path in paths)
        with timed(watcher, "comparing") as step:
            comparison = compare(before, after, labels=options.labels)
            step.text = f"compared {before.job.name} with {after.job.name}"
        made = _write(comparison, options, staging.folder, kernel, watcher)
        with writing(options.output, action=f"write the comparison in {options.output}"):
            for name in made:
                (staging.folder / name).replace(options.output / name)
    has_page = OutputFormat.HTML in options.formats
    return options.output / (PAGE if has_page else codec.FILE), comparison


def report_of(path: str, watcher: Watcher, *, cycle: int = 1) -> Report:
    """Return a saved report, or report a job first, without leaving anything behind."""
    with saved_report(path) as saved:
        if saved is not None:
            return load(saved)
    from reportgen.pipeline.make import make_report  # half of what a comparison would import

    with scratch_folder() as folder:
        off, nothing = TimelineDetail.OFF, frozenset[OutputFormat]()
        options = Options(path=path, output=folder, formats=nothing, timeline=off, cycle=cycle)
        return make_report(options, watcher).report


def _check_old(options: CompareOptions) -> None:
    if options.force:
        return
    for name in (PAGE, SUMMARY):
        path = options.output / name
        if path.exists() and not is_made_by_us(path):
            refuse(path, "was not made by reportgen compare")
    if not is_unchanged(options.output / NOTEBOOK):
        refuse(options.output / NOTEBOOK, "was edited since it was made, or is not ours")


def _write(
    comparison: Comparison,
    options: CompareOptions,
    folder: Path,
    kernel: ReadyKernel | None,
    watcher: Watcher,
) -> Sequence[str]:
    """Write what was asked for into a folder and return the names in order; the page comes last."""
    from reportgen.comparison import codec
    from reportgen.comparison.summary import comparison_summary

    made = [codec.FILE]
    with writing(folder / codec.FILE):
        (folder / codec.FILE).write_bytes(codec.encode(comparison))
    if OutputFormat.MD in options.formats:
        with writing(folder / SUMMARY):
            (folder / SUMMARY).write_text(comparison_summary(comparison), encoding="utf-8")
        made.append(SUMMARY)
    if kernel is None:
        return made
    with timed(watcher, "notebook") as step:
        notebook = read_notebook(notebook_path("profiler_comparison"))
        output = folder / NOTEBOOK
        executed = run_notebook(notebook, output=output, manager=kernel.manager())
        step.text = f"ran the notebook of {len(notebook.cells)} cells"
    if OutputFormat.HTML in options.formats:
        title = f"{comparison.before.name} → {comparison.after.name} · comparison"
        page = PageOptions(title=title, theme=options.theme, report_id=comparison.after.report_id)
        export_page(executed, folder / PAGE, page)
    if OutputFormat.IPYNB in options.formats:
        made.append(NOTEBOOK)
    return [*made, PAGE] if OutputFormat.HTML in options.formats else made
