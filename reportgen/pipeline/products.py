"""Products of a run, made from its results: notebook, page, summary."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from reportgen import store
from reportgen.assets import notebook_path
from reportgen.errors import writing
from reportgen.pipeline.options import MadeReport, Options, OutputFormat, Watcher, timed
from reportgen.pipeline.places import check_output, check_upload
from reportgen.profile import JobProfile
from reportgen.publish import (
    PageOptions,
    ReadyKernel,
    export_page,
    is_unchanged,
    read_notebook,
    run_notebook,
    with_sections,
)
from reportgen.report import Report
from reportgen.text import format_bytes
from reportgen.views import markdown_summary, section_ids

FILES = {
    OutputFormat.HTML: store.OUTPUT_PAGE,
    OutputFormat.MD: store.OUTPUT_SUMMARY,
    OutputFormat.IPYNB: store.OUTPUT_NOTEBOOK,
}


@contextmanager
def kernel_for(formats: frozenset[OutputFormat], folder: Path) -> Iterator[ReadyKernel | None]:
    """Start the kernel that will run our or the user's notebook; a summary alone needs none."""
    if formats <= {OutputFormat.MD}:
        yield None
        return
    kernel = ReadyKernel()
    try:
        kernel.start(folder)
        yield kernel
    finally:
        kernel.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Products:
    """What is being made of a report: where it is staged, and the kernel of its notebook.

    ``keeps_results``: the results lie in the output folder already, and stay as they are.
    ``shares_kernel``: it runs the notebooks of other reports, too.
    """

    options: Options
    staging: store.Staging
    kernel: ReadyKernel | None
    watcher: Watcher
    keeps_results: bool
    shares_kernel: bool


@contextmanager
def open_products(
    options: Options,
    watcher: Watcher,
    *,
    job: JobProfile | None = None,
    keeps_results: bool = False,
    kernel: ReadyKernel | None = None,
) -> Iterator[Products]:
    """Yield a folder for a report, beside its place, while the kernel of its notebook starts.

    Args:
        options: where, and what is wanted.
        watcher: hears how far each product is.
        job: its raw data are no place for the report; ``None`` for the report of results.
        keeps_results: they lie in the output folder already.
        kernel: one that was started for several reports, and goes on.

    Raises:
        ConfigError: the place lies in raw data.
        WouldOverwriteError: naming a file of somebody else, or an edited one, that is in the way.
    """
    check_output(options.output, job)
    if options.uploads_to is not None and job is not None:
        check_upload(options.uploads_to, job=job.parts[0].root)
    check_old(options, keeps_results=keeps_results)
    with (
        store.open_staging(options.output) as staging,
        nullcontext(kernel) if kernel else kernel_for(options.formats, staging.folder) as chosen,
    ):
        yield Products(
            options=options,
            staging=staging,
            kernel=chosen,
            watcher=watcher,
            keeps_results=keeps_results,
            shares_kernel=kernel is not None,
        )


def check_old(options: Options, *, keeps_results: bool) -> None:
    """Refuse to replace what is not ours or was edited, unless that is wanted.

    Raises:
        WouldOverwriteError: naming the file that is in the way.
    """
    if options.force:
        return
    old = options.output / store.OUTPUT_NOTEBOOK
    store.check_replaceable(
        options.output,
        keeps_results=keeps_results,
        notebook_is_ours=_runs_in_place(options) or is_unchanged(old),
        writes=[FILES[wanted] for wanted in options.formats],
    )


def _runs_in_place(options: Options) -> bool:
    """Return whether the notebook to be run is the one that the last report left."""
    old = options.output / store.OUTPUT_NOTEBOOK
    return options.notebook is not None and old.exists() and old.samefile(options.notebook)


def publish(products: Products, report: Report) -> MadeReport:
    """Make what was asked for in the staging folder, then put all of it in its place.

    Where the results are kept, their earlier products are kept too.

    Raises:
        ReportgenError: something cannot be made or written; the old report stays.
    """
    options, staging = products.options, products.staging
    _write_summary(products, report)
    if products.kernel is not None:
        _make_page(products, report, products.kernel)
    if products.keeps_results:
        shutil.rmtree(staging.results)
    every = (path for path in sorted(staging.folder.rglob("*")) if path.is_file())
    files = tuple(path.relative_to(staging.folder) for path in every)
    old = () if products.keeps_results else tuple(outdated(options))
    store.publish_staging(staging, outdated=old)
    made = [name for wanted, name in FILES.items() if wanted in options.formats]
    path = Path(*made[:1]) if made else Path(store.OUTPUT_FOLDER, store.REPORT_FILE)
    return MadeReport(path=options.output / path, files=files, report=report)


def make_page(report: Report, saved: Path | None, options: Options, watcher: Watcher) -> MadeReport:
    """Make the page of a report whose results are there, into the folder around them or another.

    ``saved`` is the folder of the results; ``None`` where they are not saved yet.
    """
    target = options.output / store.OUTPUT_FOLDER
    keeps_results = saved is not None and target.exists() and target.samefile(saved)
    with open_products(options, watcher, keeps_results=keeps_results) as products:
        results = products.staging.results
        if saved is None:
            store.save(report, results)
        else:
            store.copy_results(saved, results)
            if report.timeline_data is not None:
                (results / store.TIMELINE_FILE).write_bytes(report.timeline_data)
        return publish(products, report)


def _write_summary(products: Products, report: Report) -> None:
    if OutputFormat.MD in products.options.formats:
        with timed(products.watcher, "summary") as step:
            step.text = "wrote the summary"
            with writing(products.staging.summary):
                products.staging.summary.write_text(markdown_summary(report), encoding="utf-8")


def _make_page(products: Products, report: Report, kernel: ReadyKernel) -> None:
    options, staging, watcher = products.options, products.staging, products.watcher
    with timed(watcher, "notebook") as step:
        manager = kernel.manager()
        notebook = read_notebook(options.notebook or notebook_path())
        if options.notebook is None:
            notebook = with_sections(notebook, section_ids(report))
        executed = run_notebook(
            notebook,
            output=staging.notebook,
            manager=manager,
            keeps_mark=_runs_in_place(options),
            shows_errors=options.notebook is not None,
            begins_anew=products.shares_kernel,
        )
        step.text = f"ran the notebook of {len(notebook.cells)} cells"
    if OutputFormat.HTML in options.formats:
        with timed(watcher, "page") as step:
            title = f"{report.job.name} · profiling report"
            page_options = PageOptions(title=title, theme=options.theme, report_id=report.report_id)
            export_page(executed, staging.page, page_options)
            step.text = f"made a page of {format_bytes(staging.page.stat().st_size)}"
    if OutputFormat.IPYNB not in options.formats:
        staging.notebook.unlink()


def outdated(options: Options) -> Iterator[Path]:
    """Yield files of ours that this run does not make anew and whose results it replaces.

    An edited notebook is kept: it can be run again.
    """
    for wanted, name in FILES.items():
        path = options.output / name
        if wanted in options.formats or not path.is_file():
            continue
        if is_unchanged(path) if wanted is OutputFormat.IPYNB else store.is_made_by_us(path):
            yield path
