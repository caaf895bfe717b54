"""The steps from a path to a page, in order."""

from __future__ import annotations

from dataclasses import replace

from reportgen.engine import scheduler_of
from reportgen.intake import Listing, discover, list_files, settings_of, with_settings
from reportgen.pipeline.compose import judge
from reportgen.pipeline.from_results import make_from_results
from reportgen.pipeline.measuring import measure, plan, with_lanes
from reportgen.pipeline.options import MadeReport, Options, Watcher, timed
from reportgen.pipeline.products import make_page, open_products, publish
from reportgen.pipeline.ranges import cut
from reportgen.pipeline.report_timeline import add_timeline
from reportgen.pipeline.same_input import input_digest, note_input, report_of_same_input
from reportgen.profile import JobProfile
from reportgen.publish import ReadyKernel, read_notebook, thresholds_of
from reportgen.storage import is_job_name, training_job
from reportgen.store import OUTPUT_FOLDER, save


def make_report(
    options: Options, watcher: Watcher, *, kernel: ReadyKernel | None = None
) -> MadeReport:
    """Make the report of a job, or without one the page of results that are saved there.

    ``kernel`` runs the notebooks of several reports, one after the other.

    Raises:
        ReportgenError: with the exit code that the command will return.
    """
    scheduler = scheduler_of(options.engine)
    asked = None if options.profiler_config is None else settings_of(options.profiler_config)
    options = _with_thresholds(_named(options))
    found = _discovered(options, watcher)
    if isinstance(found, Listing):
        return make_from_results(found, options, watcher)
    whole = plan(found if asked is None else with_settings(found, asked), options, scheduler)
    digest = input_digest(whole, options)
    earlier = report_of_same_input(digest, options)
    if earlier is not None:
        return make_page(earlier, options.output / OUTPUT_FOLDER, options, watcher)
    work = cut(whole, options.wanted, watcher)
    with open_products(options, watcher, job=whole.job, kernel=kernel) as products:
        results = products.staging.results
        work = with_lanes(work, products.staging.folder)
        outcome = measure(work, watcher)
        report = judge(work, outcome, options, watcher)
        save(report, results)
        report = add_timeline(
            report, work, outcome, detail=options.timeline, watcher=watcher, folder=results
        )
        note_input(digest, whole, options, outcome=outcome, folder=results)
        return publish(products, report)


def _named(options: Options) -> Options:
    """Return the options with the place of a job that was named as SageMaker knows it."""
    if not is_job_name(options.path):
        return options
    named = training_job(options.path)
    name = options.name or named.name
    return replace(options, path=named.profiler_path, name=name, described=named)


def _with_thresholds(options: Options) -> Options:
    """Return the options with the parameters of rules that the user's notebook sets."""
    if options.notebook is None:
        return options
    asked = thresholds_of(read_notebook(options.notebook))
    return replace(options, settings={**options.settings, **asked})


def _discovered(options: Options, watcher: Watcher) -> JobProfile | Listing:
    """Return the job that lies there; where there is none, the files that do."""
    with timed(watcher, "listing") as step:
        listing = list_files(options.path)
        if not listing.has_job and listing.denied is None:
            step.text = f"listed {len(listing.objects)} files, none of a job"
            return listing
        job = discover(
            listing,
            name=options.name,
            source=options.source,
            cycle=options.cycle,
            utc_offset_s=options.utc_offset_s,
        )
        n_files = sum(len(part.files) for part in job.parts)
        step.text = f"listed {n_files} files of {len(job.parts)} nodes or ranks"
    return job
