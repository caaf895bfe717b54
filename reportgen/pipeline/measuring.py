"""Measure all parts of a job, wherever that is done: which rules, and by whom."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from reportgen.engine import DaskExecutor, Executor, LocalExecutor, LostItemsError, ProcessExecutor
from reportgen.errors import LocationError
from reportgen.intake.monitoring import is_monitored
from reportgen.pipeline.options import Options, ReadingProgress, TimelineDetail, Watcher, timed
from reportgen.pipeline.work import Measured, StagedAt, work_on
from reportgen.profile import JobProfile, PartRef, Quality, SourceNote
from reportgen.results import RuleId
from reportgen.rules.base import AnyRule
from reportgen.rules.registry import SAMPLED_RULES, all_rules, foreign_modules
from reportgen.rules.runner import rules_for
from reportgen.rules.settings import resolve_params, select_rules
from reportgen.rules.timeline import RULE as TIMELINE
from reportgen.storage import is_remote, reached_as, settings_to_send

logger = logging.getLogger(__name__)

LARGE_BYTES = 48 << 20
"""Measured: traces larger than this together are worth the start of processes (0.4 s)."""

PACKED = 12
"""Ratio of unpacked traces to their packed files; measured values are 10 to 30."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuringTask:
    """The measurements of a job, and who makes them; it ``may_miss`` parts that a cluster loses.

    ``scheduler`` is the address of a Dask cluster, empty where this machine does the work.
    ``modules`` with rules of the user's own, and the ``folders`` in which they were found, are what
    it needs. ``lanes`` is where the lanes of each part wait for the timeline; ``None`` makes none.
    """

    job: JobProfile
    rules: Sequence[AnyRule]
    params: Mapping[RuleId, Any]
    scheduler: str = ""
    modules: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    lanes: StagedAt | None = None
    may_miss: bool = False
    range_text: str | None = None


def with_lanes(work: MeasuringTask, folder: Path) -> MeasuringTask:
    """Return the work with a place for its lanes, where the rule that shows them runs."""
    lanes = StagedAt(folder=folder / "lanes", n_parts=len(work.job.parts))
    return replace(
        work, lanes=lanes if any(rule.id == TIMELINE.id for rule in work.rules) else None
    )


Outcome = tuple[Sequence[Measured], Sequence[SourceNote]]


def measure(work: MeasuringTask, watcher: Watcher) -> Outcome:
    """Return the measurements of each part, in their order, and a note for each missing part.

    Raises:
        LocationError: nothing that can be read was found.
        LostItemsError: parts are missing that may not be.
    """
    with timed(watcher, "reading") as step:
        measured, missing = _run(work, watcher)
        read_s = max((part.read_s for part in measured), default=0.0)
        logger.info("read %d rows from %d files in %.2f s", *_amount(measured), read_s)
        step.text = f"measured {len(measured)} nodes or ranks"
    n_rows, n_files = _amount(measured)
    if n_rows:
        return measured, missing
    what = f"profiler files, but not one readable sample or event ({n_files} files read)"
    hint = "Check that the files were copied whole; the job may have had no time to write."
    if work.range_text:
        what = f"no sample and no event in the range {work.range_text}"
        hint = "Run without a range: the job summary says when the job ran."
    source = work.job.info.source
    raise LocationError(f"{source} holds {what}.", hint=hint, path=source)


def _amount(measured: Sequence[Measured]) -> tuple[int, int]:
    """Return the number of rows and of files."""
    return sum(part.n_rows for part in measured), sum(part.n_files for part in measured)


def executor_for(work: MeasuringTask, watcher: Watcher) -> Executor:
    """Return who works on a job's parts: the cluster that was asked for, or who suits them best.

    Large traces are read in Python, which processes do at the same time and threads do not.
    """
    if work.scheduler:
        return DaskExecutor(
            address=work.scheduler,
            modules=work.modules,
            folders=work.folders,
            on_progress=watcher.progress,
        )
    traces = [part for part in work.job.parts if part.rank is not None]
    sizes = {  # ranks of Nsight Systems share a file
        (part.root, file.key): file.size_bytes * (PACKED if file.key.endswith(".gz") else 1)
        for part in traces
        for file in part.files
    }
    is_large = len(traces) > 1 and sum(sizes.values()) > LARGE_BYTES
    return ProcessExecutor(on_progress=watcher.progress) if is_large else LocalExecutor()


def _run(work: MeasuringTask, watcher: Watcher) -> Outcome:
    """Measure all parts: here, in other processes, or on a cluster."""
    parts = work.job.parts
    executor = executor_for(work, watcher)
    do = partial(work_on, rules=work.rules, params=work.params, lanes=work.lanes)
    if work.scheduler:
        do = partial(_work_there, settings_to_send(), do)
    if isinstance(executor, LocalExecutor):
        do = partial(do, on_progress=ReadingProgress(watcher))
    try:
        return executor.map(do, parts, names=[_name(part) for part in parts]), ()
    except LostItemsError as err:
        measured = [result for result in err.results if result is not None]
        if not work.may_miss or not measured:
            raise
        return measured, [
            SourceNote(
                text=f"{_name(parts[index])} is missing in this report: {reason}",
                counts={Quality.FILES_SKIPPED: len(parts[index].files)},
            )
            for index, reason in err.reasons.items()
        ]


def _name(part: PartRef) -> str:
    return f"node {part.node}" if part.rank is None else f"rank {part.rank}"


def _work_there(settings: Mapping[str, str], do: partial[Measured], part: PartRef) -> Measured:
    """Work on a part, reaching buckets with the settings of the process that sent it.

    The folder of the lanes is not there, so their file comes back with the measurements.

    Raises:
        LocationError: the job's folder is not there.
    """
    if not is_remote(part.root) and not Path(part.root).exists():
        raise LocationError(
            f"{part.root} is not there.",
            hint="Put jobs where each worker finds them under the same path.",
            path=part.root,
        )
    lanes: StagedAt | None = do.keywords["lanes"]
    with reached_as(settings), TemporaryDirectory(prefix="reportgen-lanes-") as folder:
        if lanes is None:
            return do(part)
        here = replace(lanes, folder=Path(folder))
        return replace(do(part, lanes=here), lanes=here.of(part.node).read_bytes())


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
        chosen = rules_for(job, rules, has_progress=any(is_monitored(part) for part in job.parts))
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
