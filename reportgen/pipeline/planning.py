"""What is to be done with a job: its rules and their parameters, and whether that is allowed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reportgen.pipeline.measuring import Work
from reportgen.pipeline.options import Options, Watcher
from reportgen.pipeline.places import check_output, check_upload
from reportgen.pipeline.ranges import Wanted, apply_range
from reportgen.pipeline.report_timeline import without_timeline
from reportgen.pipeline.timing import timed
from reportgen.pipeline.work import rules_for
from reportgen.profile import JobProfile
from reportgen.rules.base import AnyRule
from reportgen.rules.registry import SAMPLED_RULES, all_rules
from reportgen.rules.settings import resolve_params, select_rules


def plan(job: JobProfile, options: Options, scheduler: str) -> Work:
    """Return the work on a job, of which nothing was read yet.

    Raises:
        ConfigError: a rule, a parameter or a place that cannot be; nothing may be written there.
    """
    rules = _rules(job, options)
    chosen = select_rules(rules, options.rules) if options.rules else rules_for(job, rules)
    params = resolve_params(rules, options.settings)
    check_output(options.output, job_root=_job_root(job))
    if options.uploads_to is not None:
        check_upload(options.uploads_to, job=job.parts[0].root)
    return Work(
        job=job,
        rules=without_timeline(chosen, options.timeline),
        params=params,
        scheduler=scheduler,
        may_miss=options.allows_missing,
    )


def cut(work: Work, wanted: Wanted | None, watcher: Watcher) -> Work:
    """Return the work on the range that was asked for."""
    if wanted is None:
        return work
    with timed(watcher, "range") as step:
        job, range_text = apply_range(work.job, wanted)
        step.text = f"cut to {range_text}"
    return replace(work, job=job, range_text=range_text)


def _rules(job: JobProfile, options: Options) -> tuple[AnyRule, ...]:
    """Return all rules, or only those of samples where no other can run or be named."""
    has_ranks = any(part.rank is not None for part in job.parts)
    names_any = bool(options.rules or options.settings)
    return all_rules(options.plugins, builtin=None if has_ranks or names_any else SAMPLED_RULES)


def _job_root(job: JobProfile) -> Path | None:
    """Return the folder that no output may go to; beside a single file there is room."""
    root, source = job.parts[0].root, Path(job.info.source)
    is_one_file = source.is_file() or (len(job.parts) == 1 and not source.is_dir())
    return None if "://" in root or is_one_file else Path(root)
