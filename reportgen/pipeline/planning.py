"""What is to be done with a job: its rules and their parameters."""

from __future__ import annotations

from reportgen.intake.monitoring import is_monitored
from reportgen.pipeline.measuring import MeasuringTask
from reportgen.pipeline.options import Options, TimelineDetail
from reportgen.profile import JobProfile
from reportgen.rules.registry import SAMPLED_RULES, all_rules, foreign_modules
from reportgen.rules.runner import rules_for
from reportgen.rules.settings import resolve_params, select_rules
from reportgen.rules.timeline import RULE as TIMELINE


def plan(job: JobProfile, options: Options, scheduler: str) -> MeasuringTask:
    """Return the work on a job, of which nothing was read yet.

    Of the rules only those of samples are imported, where no other can run or is named.

    Raises:
        ConfigError: a rule or a parameter that cannot be.
    """
    has_ranks = any(part.rank is not None for part in job.parts)
    needs_all = has_ranks or bool(options.rules or options.settings)
    rules = all_rules(options.plugins, builtin=None if needs_all else SAMPLED_RULES)
    params = resolve_params(rules, options.settings)
    if options.rules:
        chosen = select_rules(rules, options.rules)
    else:
        has_progress = any(is_monitored(part) for part in job.parts)
        chosen = rules_for(job, rules, has_progress=has_progress)
    if options.timeline is TimelineDetail.OFF:
        chosen = tuple(rule for rule in chosen if rule.id != TIMELINE.id)
    modules, folders = foreign_modules(chosen)
    return MeasuringTask(
        job=job,
        rules=chosen,
        params=params,
        scheduler=scheduler,
        modules=modules,
        folders=folders,
        may_miss=options.allows_missing,
    )
