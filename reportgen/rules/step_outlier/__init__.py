"""StepOutlier: steps that take much longer than the others of their worker and phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reportgen import results
from reportgen.arrays import Instants
from reportgen.facts.breakdown import Breakdown, largest_increase
from reportgen.facts.loader import is_waiting
from reportgen.facts.pauses import HANDFUL
from reportgen.facts.rhythm import period_of
from reportgen.facts.step_times import N_BLOCKS
from reportgen.results import Counters, Details, Finding, Place, TimelineTrack, Track, Where
from reportgen.rules import kit
from reportgen.rules.aws.breakdown import breakdown_details
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.functions import cause_text
from reportgen.rules.step_outlier import tables
from reportgen.rules.step_outlier.measure import (
    NodeSteps,
    Params,
    StepSeries,
    listed,
    measure,
)
from reportgen.text import join_names, mode_word, ordinal, plural, write
from reportgen.units import NS_PER_S, seconds

AT, AGAINST = "in these steps", "in the others"
MOST_NUMBERS = 8
FAIR_SHARE_FACTOR = 2
"""A worker with more than twice its fair share of outliers is named: chance spreads them evenly."""

ABOUT = About(
    checks="Whether some steps take much longer than usual for their training process and phase.",
    reading="""A step is an outlier if it is longer than the mean plus a few standard deviations of
        all steps of its training process and phase. More outliers than allowed are a finding, and
        trigger the rule. Long steps raise the mean and the deviation that they are measured with:
        where there are fewer outliers, the steps are counted that take at least 1.5 times as long
        as the steps around them (the column slow_steps). They are a finding if their extra time is
        at least 3 % of the time from the first to the last step. A second table lists steps that
        take more than twice the median.""",
    advice="""Find out what ran in these steps (callbacks, checkpoints, logging, validation, a slow
        read); run it less often or in a separate thread.""",
    section=results.Section(id="step-durations", title="Step durations", order=140),
    at_a_glance=(
        results.AtAGlance(
            card="Step durations",
            order=40,
            exhibits=("step_histogram", "step_histogram_*"),
            missing="""Record the training steps (for example with `reportgen record`) to see how
                long they take.""",
        ),
        results.AtAGlance(
            card="Step durations", order=41, exhibits=("step_percentiles",), is_only_here=True
        ),
    ),
    has_counters=True,
)
SLOW = kit.Message(
    id="STEP-1",
    cause=results.Cause.RANDOM_SLOW_STEPS,
    title="{worst.n_outliers:n} of {worst.n_steps:n} {worst.phase:mode} steps are slow{mark}",
    text="""The training process {worst.worker} has {worst.n_outliers:n} {worst.phase:mode} steps
        longer than {limit}; more than {threshold} are too many. The usual step takes
        {worst.p50_s:s}, the longest {worst.longest_s:s}: step
        {numbers}.{rhythm}{cost}{worst.cause}{others}""",
    advice="""Compare the times of the slow steps with callbacks, checkpoints, reads, garbage
        collection and the CPU and GPU curves; events that occur only then are the cause.""",
    unit="steps",
    exhibit="outliers",
)
FEW = replace(
    SLOW,
    text="""The training process {worst.worker} has {worst.n_outliers:n} {worst.phase:mode} steps
        that take at least 1.5 times as long as the steps around them. The usual step takes
        {worst.p50_s:s}, the longest {worst.longest_s:s}: step
        {numbers}.{rhythm}{cost}{worst.cause}{others}""",
    unit="%",
    exhibit="steps",
)
"""So few that mean and deviation hide them: they are costly all the same."""
MOST_SLOW_RATIO = 0.2
"""A few long steps (``HANDFUL``) are single pauses, a matter of LongPause. Where more than a fifth
of all steps is slow, there are two kinds of steps, and neither is an exception."""
LIMIT = "{worst.threshold_s:s} (mean plus {stddev:g} standard deviations)"
RHYTHM = " They repeat regularly: {nth}."
COST = " Their extra time is {share:pct} of the time from the first to the last step."
MOST_OF_ALL = " {named} has most of the outliers of all training processes."
OTHERS = " The same holds for {names:names}."
IN_RHYTHM = """Find what runs every {period} steps (callback, checkpoint, logging, validation); run
    it less often, in a separate thread, or on the GPU."""
DEBUGGER_STEPS = 500
OF_DEBUGGER = """ On SageMaker, Debugger saves tensors every 500 steps unless the job starts with
    debugger_hook_config=False."""
LATE = " During most of it some training process waits for its batch."
OF_ONE_WORKER = "Look at {named} alone: its GPU, its share of the data, other load on its node."
EARLIER = kit.Message(
    id="STEP-1",
    cause=results.Cause.RANDOM_SLOW_STEPS,
    title="Step outliers in the first minutes only",
    text="""{n_judged:count check} during the job found more than {params.n_outliers} outliers; over
        the whole job there are not more than that.""",
    advice="Nothing to do: early steps (warm-up, compilation, first reads) are often slower.",
    unit="judgements",
    exhibit="steps",
)
SLOWER = kit.Message(
    id="STEP-2",
    cause=results.Cause.SLOWING_DOWN,
    title="{what} {worst.word:mode} steps {grows}: from {found.first_ns:ns} to {found.last_ns:ns}"
    "{mark}",
    text=f"""{{usual}} {{worst.word:mode}} step of {{worst.worker}} takes {{found.first_ns:ns}} at
        the start and {{found.last_ns:ns}} at the end, and rises in between (a line through the
        medians of {N_BLOCKS - 1} blocks of steps, the warm-up left out). At the speed of the start
        the loop would take {{measured:pct}} less.{{others}}""",
    advice="""Look for something that grows during the job: lists and logs that are read again in
        each step, memory that swaps, GPU clocks that fall with heat, longer inputs.""",
    severity=results.Severity.WARNING,
    exhibit="step_series",
)
JUMPED = replace(
    SLOWER,
    cause=results.Cause.WORK_BETWEEN_STEPS,
    advice="""Look for what the script does between two steps since this time: metrics that are read
        with .item(), logging, callbacks. Do it less often, in its own thread, or on the GPU.""",
)
"""Pauses that become longer at once and stay so do not grow: some work began between the steps."""
IN_STEPS: Mapping[str, Any] = {"what": "The", "grows": "grow slower", "usual": "The usual"}
BETWEEN: Mapping[str, Any] = {
    "what": "The pauses behind",
    "grows": "grow longer",
    "usual": "The usual pause behind a",
}

TOO_FEW = """Too few steps to judge: {s.n_steps:n} {s.word:mode} steps of {s.worker} at most, more
    than {least:n} are needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowSeries:
    """A series with too many outliers or slow steps, as far as it is known; ``phase`` in a word."""

    worker: str
    phase: str
    n_steps: int
    n_outliers: int
    steps: tuple[int, ...]
    p50_s: float
    longest_s: float
    where: Where
    threshold_s: float | None = None
    extra_ratio: float | None = None
    cause: str = ""
    are_outliers: bool = True
    is_late: bool = False


def judge(measurements: Sequence[NodeSteps], params: Params) -> Outcome:
    """Count triggers of all workers and phases and say what the slow steps have in common."""
    job = kit.merge([NodeSteps(), *measurements])
    many = [item for item in job.series if len(item.outliers) > params.n_outliers]
    n_judged = sum(_triggers(item, job.minute_ns, params.n_outliers) for item in job.series)
    counters = Counters(
        rule_triggered=n_judged,
        violations=sum(len(item.outliers) for item in many),
        datapoints=job.loop.n_steps,
    )
    judged = kit.sum_by_key({item.worker: (item,)} for item in job.series if item.aws_entry)
    entries: dict[str, results.JsonValue] = {
        worker: tables.preferred(its).aws_entry for worker, its in judged.items()
    }
    details: Details = {"step_details": entries}
    if counters.rule_triggered:
        during = kit.merge([Breakdown(), *(item.during_outliers for item in job.series)])
        details |= breakdown_details(during, with_others=False, phases_first=True)
    costly = [item for item in job.series if _is_costly(item, job.loop.length_ns)]
    slow = [_slow(item, job, params) for item in (many or costly)]
    workers = [item.worker for item in job.series]
    finding = _outliers(slow, workers, named_worker(job.series), params)
    if n_judged and not slow:
        finding = EARLIER.finding(measured=float(n_judged), n_judged=n_judged, params=params)
    findings = [found for found in (finding, _slower(job.series)) if found]
    return Outcome(
        missing=None if findings else _missing(job, params),
        findings=findings,
        exhibits=tables.exhibits_of_series(job.series, job.use, batch_size=params.batch_size),
        metrics=_metrics(job.series, params.batch_size),
        data=job.data,
        counters=counters,
        details=details,
    )


def _missing(job: NodeSteps, params: Params) -> results.Reason | None:
    missing = kit.reason_without_steps(job.loop.n_spans, job.loop.n_steps)
    if missing is not None or any(item.aws_entry for item in job.series):
        return missing
    if not job.series:
        text = f"Of {plural(job.loop.n_steps, 'step')} not one is of mode {params.mode}."
        return results.Reason(code=results.ReasonCode.NO_STEPS, text=text)
    longest = max(job.series, key=lambda item: item.n_steps)
    return kit.too_few(TOO_FEW, s=longest, least=params.min_steps)


def _triggers(series: StepSeries, minute_ns: Instants, n_outliers: int) -> int:
    """Return in how many minutes with new steps of the job a series has too many outliers.

    A series that got nothing new in a minute is judged with what it had (docs/rules.md).
    """
    latest = np.searchsorted(series.minute_ns, minute_ns, side="right") - 1
    counts = series.minute_outliers[latest[latest >= 0]]
    return int(np.count_nonzero(counts > n_outliers))


def named_worker(series: Sequence[StepSeries]) -> str | None:
    """Return the worker with more than twice its fair share of the outliers, or with all of them.

    A worker alone is never named.
    """
    counts = kit.sum_by_key({item.worker: len(item.outliers)} for item in series)
    total = sum(counts.values())
    if len(counts) < 2 or total == 0:
        return None
    worker, most = min(counts.items(), key=lambda item: (-item[1], item[0]))
    is_unfair = most > FAIR_SHARE_FACTOR * total / len(counts)
    return worker if is_unfair or most == total else None


def _is_costly(series: StepSeries, loop_ns: int) -> bool:
    """Return whether steps that are slow for their time cost enough, and come without a rhythm."""
    cost = series.slow_extra_ns / max(loop_ns, 1)
    is_some = HANDFUL < series.slow.n_steps <= MOST_SLOW_RATIO * series.n_steps
    is_random = is_some and period_of(series.slow.step.tolist()) is None
    return is_random and cost >= kit.CHEAP_RATIO


def _slow(series: StepSeries, job: NodeSteps, params: Params) -> SlowSeries:
    """Return the outliers of a series, or where there are few, its slow steps."""
    loop_ns, is_many = job.loop.length_ns, len(series.outliers) > params.n_outliers
    edges, marks = ((its.start_ns, its.end_ns) for its in (series.slow, series.marks))
    is_late = is_waiting(job.waits, edges, marks, extra_ns=series.slow_extra_ns)
    slow = series.outliers if is_many else listed(series.slow, series.p50_s)
    # Extra time of the first step belongs to the start.
    later_ns = [item.duration_ns for item in slow if item.start_ns > series.start_ns]
    above_median_ns = sum(later_ns) - len(later_ns) * series.p50_s * NS_PER_S
    extra_ns = max(series.slow_extra_ns, above_median_ns if is_many else 0.0)
    cause = largest_increase(series.functions, series.other_functions)
    return SlowSeries(
        worker=series.worker,
        phase=series.word,
        n_steps=series.n_steps,
        n_outliers=len(slow),
        steps=tuple(item.step for item in slow),
        p50_s=series.p50_s,
        longest_s=seconds(max(item.duration_ns for item in slow)),
        threshold_s=series.threshold_s,
        extra_ratio=min(extra_ns / loop_ns, 1.0) if loop_ns else None,
        cause=f"{LATE * is_late}{f' {cause_text(cause, at=AT, against=AGAINST)}' if cause else ''}",
        where=kit.at_worker(
            series.worker, min(item.start_ns for item in slow), max(item.end_ns for item in slow)
        ),
        are_outliers=is_many,
        is_late=is_late,
    )


def _outliers(
    slow: Sequence[SlowSeries], workers: Sequence[str], named: str | None, params: Params
) -> Finding | None:
    if not slow:
        return None
    worst = max(slow, key=lambda item: (item.extra_ratio or 0.0, item.n_outliers, item.worker))
    period, share = period_of(worst.steps), worst.extra_ratio
    nth = f"every {ordinal(period)} step" if period else ""
    others = _others(
        [f"{item.worker} {mode_word(item.phase)}" for item in slow if item is not worst]
    )
    message = SLOW if worst.are_outliers else FEW
    message = replace(message, cause=results.Cause.PERIODIC_SLOW_STEPS) if period else message
    message = replace(message, cause=results.Cause.SLOW_INPUT) if worst.is_late else message
    severity, advice = kit.cost_severity(share), IN_RHYTHM if period else None
    if period == DEBUGGER_STEPS:
        advice = IN_RHYTHM + OF_DEBUGGER
    elif named and not period:
        advice = OF_ONE_WORKER
    measured, threshold = float(worst.n_outliers), float(params.n_outliers)
    if not worst.are_outliers:
        measured, threshold = 100 * (share or 0.0), 100 * kit.CHEAP_RATIO
    return message.finding(
        measured=measured,
        threshold=threshold,
        where=worst.where,
        severity=severity,
        share=share,
        exhibit="steps" if worst.threshold_s is None else None,
        advice=advice,
        worst=worst,
        mark=f": {nth}" if period else _mark(worst.worker, workers),
        limit=write(LIMIT, worst=worst, stddev=params.stddev) if worst.are_outliers else "",
        numbers=join_names([str(step) for step in dict.fromkeys(worst.steps)], most=MOST_NUMBERS),
        rhythm=write(RHYTHM, nth=nth) if period else "",
        cost=write(COST, share=100 * share) if share is not None else "",
        others=write(MOST_OF_ALL, named=named) if named else others,
        period=period,
        named=named,
    )


def _mark(worker: str, workers: Sequence[str]) -> str:
    """Return which training process a title is about, in brackets; nothing where it is the only."""
    return f" ({kit.process_name(worker, workers)})" if len({*workers}) > 1 else ""


def _others(names: list[str]) -> str:
    return write(OTHERS, names=names) if names else ""


def _slower(series: Sequence[StepSeries]) -> Finding | None:
    slower = [
        (item.slowdown.extra_ns / item.loop_ns, item, item.slowdown)
        for item in series
        if item.slowdown and item.slowdown.extra_ns >= kit.CHEAP_RATIO * item.loop_ns
    ]
    if not slower:
        return None
    share, worst, found = max(slower, key=lambda item: (item[0], item[1].worker, item[1].word))
    return (JUMPED if found.is_between and found.is_jump else SLOWER).fault(
        100 * share,
        threshold=100 * kit.CHEAP_RATIO,
        where=kit.at_worker(worst.worker, found.begin_ns, found.end_ns),
        worst=worst,
        found=found,
        mark=_mark(worst.worker, [item.worker for item in series]),
        others=_others(
            [f"{item.worker} {mode_word(item.word)}" for _, item, _ in slower if item is not worst]
        ),
        **(BETWEEN if found.is_between else IN_STEPS),
    )


def _metrics(series: Sequence[StepSeries], batch_size: int | None) -> dict[str, float | int | None]:
    if not series:
        return {}
    main = tables.main_series(series)
    paces = [item.steps_per_s for item in main if item.steps_per_s is not None]
    rates = [item.per_second(batch_size, digits=2) or 0.0 for item in main] if batch_size else []
    return {
        "steps": sum(item.n_steps for item in main),
        "step_p50_s": float(np.median([item.p50_s for item in main])),
        "step_p99_max_s": max(item.p99_s for item in main),
        "outlier_steps": sum(len(item.outliers) for item in series),
        "slow_steps": sum(item.slow.n_steps for item in series),
        "steps_above_twice_median": sum(item.above_twice_median for item in series),
        **({"steps_per_s": float(np.median(paces))} if paces else {}),
        **({"samples_per_s": round(sum(rates), 2)} if paces and rates else {}),
    }


def _describe(params: Params) -> str:
    """Return ``RuleParameters``; AWS prints ``stddev`` twice, first under another name."""
    return (
        f"threshold:{params.stddev}\nmode:{params.mode}\n"
        f"n_outliers:{params.n_outliers}\nstddev:{params.stddev}"
    )


_SLOW_STEPS = TimelineTrack(kind=Track.LANE, title="Slow steps", role=results.Role.WARNING)
_STEP_DURATION = TimelineTrack(kind=Track.PANEL, title="Step duration", order=20)
_NUMBERS = TimelineTrack(kind=Track.STEPS, is_only_here=True)

RULE = Rule(
    id=results.RuleId("StepOutlier"),
    title="Step durations",
    about=ABOUT,
    needs=(Need.FRAMEWORK,),
    params=Params,
    measure=measure,
    judge=judge,
    describe_params=_describe,
    param_aliases={"threshold": "stddev"},
    folded=("intervals", "median_outliers", "step_series", "*_in_slow_steps"),
    places={
        "step_series": Place(timeline=_STEP_DURATION),
        "step_numbers": Place(timeline=_NUMBERS),
        "intervals": Place(timeline=_SLOW_STEPS),
        "outliers": Place(timeline=replace(_SLOW_STEPS, order=1)),
    },
)
