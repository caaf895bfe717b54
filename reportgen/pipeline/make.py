"""The steps from a path to a page, in order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from reportgen.engine import parse_engine
from reportgen.errors import AmbiguousJobError, LocationError, PlaceError
from reportgen.intake import cache_for, discover, read_aws_folder, settings_of, with_settings
from reportgen.pipeline.compose import compose_report
from reportgen.pipeline.imports import check_import_options, import_results
from reportgen.pipeline.judging import folder_aside, judged
from reportgen.pipeline.measuring import Work, measure
from reportgen.pipeline.options import MadeReport, Options, Watcher
from reportgen.pipeline.packed_measurements import PackedMeasurements
from reportgen.pipeline.places import check_output, check_upload, saved_report
from reportgen.pipeline.products import (
    check_old,
    kernel_for,
    publish,
    without_evidence,
    write_summary,
)
from reportgen.pipeline.ranges import Wanted, apply_range, check_uncut, wanted_range
from reportgen.pipeline.report_timeline import add_timeline, chosen_lanes, without_timeline
from reportgen.pipeline.timing import timed
from reportgen.pipeline.work import StagedAt, rules_for
from reportgen.profile import JobProfile
from reportgen.profiler_config import Profiling
from reportgen.report import Report
from reportgen.rules.base import AnyRule
from reportgen.rules.registry import SAMPLED_RULES, all_rules
from reportgen.rules.settings import resolve_params, select_rules
from reportgen.storage import is_job_name, training_job
from reportgen.store import OUTPUT_FOLDER, TIMELINE_FILE, copy_results, load, open_staging, save


def make_report(options: Options, watcher: Watcher) -> MadeReport:
    """Make the report of a job, or make the page of a saved report again.

    A path that holds raw data and a report is read as raw data; one that holds neither, but
    SageMaker's rule results, gives the report of those.

    Raises:
        ReportgenError: with the exit code that the command will return.
    """
    parse_engine(options.engine)
    wanted = wanted_range(options.since, options.until, options.steps)
    asked = None if options.profiler_config is None else settings_of(options.profiler_config)
    if is_job_name(options.path):
        named = training_job(options.path)
        name = options.name or named.name
        options = replace(options, path=named.profiler_path, name=name, described=named)
    try:
        with timed(watcher, "listing") as step:
            job = discover(
                options.path, name=options.name, source=options.source, cycle=options.cycle
            )
            n_files = sum(len(part.files) for part in job.parts)
            step.text = f"listed {n_files} files of {len(job.parts)} nodes or ranks"
    except (AmbiguousJobError, PlaceError):
        raise
    except LocationError:
        with saved_report(options.path) as saved:
            if saved is not None:
                check_uncut(wanted, options.cycle)
                return _remake(saved, options, watcher)
        imported = _import(options, wanted, watcher)
        if imported is None:
            raise
        return imported
    return _make(job, options, wanted, asked, watcher)


def _make(
    job: JobProfile,
    options: Options,
    wanted: Wanted | None,
    asked: Profiling | None,
    watcher: Watcher,
) -> MadeReport:
    if asked is not None:
        job = with_settings(job, asked)
    rules = _rules(job, options)
    chosen = select_rules(rules, options.rules) if options.rules else rules_for(job, rules)
    chosen = without_timeline(chosen, options.timeline)
    params = resolve_params(rules, options.settings)
    check_output(options.output, job_root=_job_root(job))
    if options.uploads_to is not None:
        check_upload(options.uploads_to, job=job.parts[0].root)
    check_old(options, keeps_results=False)
    range_text = None
    if wanted is not None:
        with timed(watcher, "range") as step:
            job, range_text = apply_range(job, wanted)
            step.text = f"cut to {range_text}"
    work = Work(
        job=job,
        rules=chosen,
        params=params,
        engine=parse_engine(options.engine),
        cache=cache_for(options.cache, job),
        may_miss=options.allows_missing,
        range_text=range_text,
    )
    with open_staging(options.output) as staging, ThreadPoolExecutor(1) as later:
        lanes = StagedAt(folder=staging.folder / "lanes", n_parts=len(job.parts))
        work = replace(work, lanes=chosen_lanes(chosen, lanes), later=later)
        with kernel_for(options.formats, staging.folder) as kernel:
            report = _report_of(work, options, watcher)
            report = add_timeline(report, job, lanes, options.timeline, watcher)
            save(report, staging.results)
            write_summary(report, options, staging, watcher)
            if kernel is not None:
                report = without_evidence(report)
            return publish(report, options, staging, kernel, watcher)


def _report_of(work: Work, options: Options, watcher: Watcher) -> Report:
    """Measure all parts and return the report of what the rules say, without its timeline."""
    with folder_aside(len(work.job.parts)) as folder:
        measured, missing = measure(replace(work, aside=folder), watcher)
        with timed(watcher, "rules") as step:
            waiting = [part.measurements for part in measured]
            measured = [replace(part, measurements=PackedMeasurements({})) for part in measured]
            results = judged(waiting, work.rules, work.params)
            report = compose_report(
                replace(work.job, notes=(*work.job.notes, *missing)),
                measured,
                results,
                range_text=work.range_text,
                is_watched=options.source is not None,
                described=options.described,
            )
            step.text = f"judged {len(results)} rules with {len(report.findings)} findings"
    return report


def _rules(job: JobProfile, options: Options) -> tuple[AnyRule, ...]:
    """Return all rules, or only those of samples where no other can run or be named."""
    has_ranks = any(part.rank is not None for part in job.parts)
    names_any = bool(options.rules or options.settings)
    return all_rules(options.plugins, builtin=None if has_ranks or names_any else SAMPLED_RULES)


def _import(options: Options, wanted: Wanted | None, watcher: Watcher) -> MadeReport | None:
    rules = all_rules(options.plugins)
    try:
        folder = read_aws_folder(options.path, [rule.id for rule in rules], name=options.name)
    except (AmbiguousJobError, PlaceError):
        raise
    except LocationError:
        return None
    if folder is None:
        return None
    chosen = select_rules(rules, options.rules) if options.rules else rules
    check_import_options(options.settings)
    check_uncut(wanted)
    check_output(options.output, job_root=None)
    check_old(options, keeps_results=False)
    with (
        open_staging(options.output) as staging,
        kernel_for(options.formats, staging.folder) as kernel,
    ):
        with timed(watcher, "rules") as step:
            report = import_results(folder, chosen)
            step.text = f"imported {len(report.results)} rules of SageMaker"
        originals = {rule_id: result.raw for rule_id, result in folder.results.items()}
        save(report, staging.results, originals=originals)
        write_summary(report, options, staging, watcher)
        return publish(report, options, staging, kernel, watcher)


def _remake(saved: Path, options: Options, watcher: Watcher) -> MadeReport:
    report = load(saved)
    target = options.output / OUTPUT_FOLDER
    keeps_results = target.exists() and target.samefile(saved)
    check_output(options.output, job_root=None)
    check_old(options, keeps_results=keeps_results)
    with (
        open_staging(options.output) as staging,
        kernel_for(options.formats, staging.folder) as kernel,
    ):
        copy_results(saved, staging.results)
        if report.timeline_data is not None:
            (staging.results / TIMELINE_FILE).write_bytes(report.timeline_data)
        write_summary(report, options, staging, watcher)
        return publish(report, options, staging, kernel, watcher, keeps_results=keeps_results)


def _job_root(job: JobProfile) -> Path | None:
    """Return the folder that no output may go to; beside a single file there is room."""
    root, source = job.parts[0].root, Path(job.info.source)
    is_one_file = source.is_file() or (len(job.parts) == 1 and not source.is_dir())
    return None if "://" in root or is_one_file else Path(root)
