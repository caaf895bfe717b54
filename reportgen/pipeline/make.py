"""The steps from a path to a page, in order."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from reportgen.engine import LocalExecutor
from reportgen.errors import AmbiguousJobError, LocationError, PlaceError, writing
from reportgen.intake import discover, read_aws_folder, with_settings
from reportgen.pipeline.compose import compose_report
from reportgen.pipeline.imports import check_import_options, import_results
from reportgen.pipeline.options import MadeReport, Options, ReadingProgress, TimelineDetail, Watcher
from reportgen.pipeline.places import check_output, check_upload, saved_report
from reportgen.pipeline.products import check_old, kernel_for, publish
from reportgen.pipeline.ranges import Wanted, apply_range, check_uncut, wanted_range
from reportgen.pipeline.timing import timed
from reportgen.pipeline.work import Measured, StagedAt, executor_for, rules_for, work_on
from reportgen.profile import JobProfile
from reportgen.report import Report
from reportgen.rules.base import AnyRule
from reportgen.rules.registry import SAMPLED_RULES, all_rules
from reportgen.rules.runner import judge_all
from reportgen.rules.settings import resolve_params, select_rules
from reportgen.storage import is_job_name, training_job
from reportgen.store import OUTPUT_FOLDER, TIMELINE_FILE, load, open_staging, save, with_timeline
from reportgen.text import format_bytes
from reportgen.timeline import BUDGET_BYTES, Mark, timeline_of
from reportgen.units import NS_PER_S

logger = logging.getLogger(__name__)


TIMELINE_RULE = "Timeline"
_LANES = "lanes"
_ALONE_BYTES = 512 << 20
"""Above this the kernel warms up after the data were read, not meanwhile: what is half a second of
many is 60 MiB of memory when there is least. Source: measured."""


def make_report(options: Options, watcher: Watcher) -> MadeReport:
    """Make the report of a job, or make the page of a saved report again.

    A path that holds raw data and a report is read as raw data; one that holds neither, but
    SageMaker's rule results, gives the report of those.

    Raises:
        ReportgenError: with the exit code that the command will return.
    """
    wanted = wanted_range(options.since, options.until, options.steps)
    if is_job_name(options.path):
        named = training_job(options.path)
        name = options.name or named.name
        options = replace(options, path=named.profiler_path, name=name, described=named)
    try:
        with timed(watcher, "listing") as step:
            job = discover(options.path, name=options.name, source=options.source)
            n_files = sum(len(part.files) for part in job.parts)
            step.text = f"listed {n_files} files of {len(job.parts)} nodes or ranks"
    except (AmbiguousJobError, PlaceError):
        raise
    except LocationError:
        with saved_report(options.path) as saved:
            if saved is not None:
                check_uncut(wanted)
                return _remake(saved, options, watcher)
        imported = _import(options, wanted, watcher)
        if imported is None:
            raise
        return imported
    return _make(job, options, wanted, watcher)


def _make(job: JobProfile, options: Options, wanted: Wanted | None, watcher: Watcher) -> MadeReport:
    if options.profiler_config is not None:
        job = with_settings(job, options.profiler_config)
    rules = _rules(job, options)
    chosen = select_rules(rules, options.rules) if options.rules else rules_for(job, rules)
    if options.timeline is TimelineDetail.OFF:
        chosen = tuple(rule for rule in chosen if rule.id != TIMELINE_RULE)
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
    with open_staging(options.output) as staging:
        lanes = StagedAt(folder=staging.folder / _LANES, n_parts=len(job.parts))
        work = partial(
            work_on, rules=chosen, params=params, lanes=lanes if _has_timeline(chosen) else None
        )
        measure = partial(_measure, job, work, watcher, range_text=range_text)
        size_bytes = sum(file.size_bytes for part in job.parts for file in part.files)
        before = measure() if size_bytes > _ALONE_BYTES else ()
        with kernel_for(options.formats, staging.folder) as kernel:
            measured = before or measure()
            with timed(watcher, "rules") as step:
                results = judge_all([part.measurements for part in measured], chosen, params)
                report = compose_report(
                    job,
                    measured,
                    results,
                    range_text=range_text,
                    is_watched=options.source is not None,
                    described=options.described,
                )
                step.text = f"judged {len(results)} rules with {len(report.findings)} findings"
            if _has_timeline(chosen):
                report = _with_timeline(report, job, lanes, options, watcher)
            save(report, staging.results)
            return publish(report, options, staging, kernel, watcher)


def _has_timeline(rules: Sequence[AnyRule]) -> bool:
    return any(rule.id == TIMELINE_RULE for rule in rules)


def _with_timeline(
    report: Report, job: JobProfile, lanes: StagedAt, options: Options, watcher: Watcher
) -> Report:
    """Return a report with its timeline, made of the lanes that were staged, which are removed."""
    is_cut = options.timeline is not TimelineDetail.ALL
    with timed(watcher, "timeline") as step:
        marks = [
            Mark(
                title=item.finding.title,
                said_by=f"{item.rule} {item.finding.id}",
                start_ns=round(where.start_s * NS_PER_S),
                end_ns=round((where.start_s if where.end_s is None else where.end_s) * NS_PER_S),
                node=where.node,
            )
            for item in report.findings
            if (where := item.finding.where).start_s is not None
        ]
        with writing(lanes.folder):
            folders = [lanes.of(part) for part in job.parts]
            pieces = timeline_of(folders, marks, budget_bytes=BUDGET_BYTES if is_cut else None)
            shutil.rmtree(lanes.folder)
        content = b"".join(pieces)
        step.text = f"made a timeline of {format_bytes(len(content))}"
    return with_timeline(report, content)


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
        shutil.copytree(saved, staging.results, ignore=_all_but_json)
        if report.timeline_data is not None:
            (staging.results / TIMELINE_FILE).write_bytes(report.timeline_data)
        return publish(report, options, staging, kernel, watcher, keeps_results=keeps_results)


def _measure(
    job: JobProfile, work: partial[Measured], watcher: Watcher, *, range_text: str | None
) -> Sequence[Measured]:
    with timed(watcher, "reading") as step:
        executor = executor_for(job)
        if isinstance(executor, LocalExecutor):
            work = partial(work, on_progress=ReadingProgress(watcher))
        measured = executor.map(work, job.parts)
        n_rows = sum(part.n_rows for part in measured)
        n_files = sum(part.n_files for part in measured)
        read_s = max((part.read_s for part in measured), default=0.0)
        logger.info("read %d rows from %d files in %.2f s", n_rows, n_files, read_s)
        step.text = f"measured {len(measured)} nodes or ranks"
    if n_rows:
        return measured
    what = f"profiler files, but not one readable sample or event ({n_files} files read)"
    hint = "Check that the files were copied whole; the job may have had no time to write."
    if range_text:
        what = f"no sample and no event in the range {range_text}"
        hint = "Run without a range: the job summary says when the job ran."
    raise LocationError(f"{job.info.source} holds {what}.", hint=hint, path=job.info.source)


def _job_root(job: JobProfile) -> Path | None:
    """Return the folder that no output may go to; beside a single trace there is room."""
    root = job.parts[0].root
    is_one_file = len(job.parts) == 1 and not Path(job.info.source).is_dir()
    return None if "://" in root or is_one_file else Path(root)


def _all_but_json(_: str, names: list[str]) -> set[str]:
    return {name for name in names if not name.endswith(".json")}
