"""What StepOutlier makes of the steps: AWS's counters and details, findings, metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from reportgen.facts.breakdown import Breakdown
from reportgen.facts.inside import largest_increase
from reportgen.facts.rhythm import period_of
from reportgen.facts.steps import Loop, phase_word
from reportgen.results import (
    Counters,
    Details,
    Finding,
    Reason,
    ReasonCode,
    Where,
)
from reportgen.rules.aws.breakdown import MemberOrder, breakdown_details
from reportgen.rules.base import Outcome
from reportgen.rules.functions import cause_text
from reportgen.rules.kit import cost_severity, fault_severity, merge, reason_without_steps
from reportgen.rules.step_outlier import tables, texts
from reportgen.rules.step_outlier.measure import (
    GROWTH_FROM_RATIO,
    Integers,
    NodeSteps,
    Params,
    StepSeries,
)
from reportgen.rules.step_outlier.texts import SlowSeries
from reportgen.text import join_names, ordinal, plural, write
from reportgen.units import NS_PER_S, seconds

AT, AGAINST = "in these steps", "in the others"
MOST_NUMBERS = 8
FAIR_SHARE_FACTOR = 2
"""A worker with more than twice its fair share of outliers is named: chance spreads them evenly."""


def judge(measurements: Sequence[NodeSteps], params: Params) -> Outcome:
    """Count triggers of all workers and phases and say what the slow steps have in common."""
    job = merge([NodeSteps(), *measurements])
    many = [item for item in job.series if len(item.outliers) > params.n_outliers]
    counters = Counters(
        rule_triggered=sum(
            _triggers(item, job.minute_ns, params.n_outliers) for item in job.series
        ),
        violations=sum(len(item.outliers) for item in many),
        datapoints=job.loop.n_steps,
    )
    details: Details = {"step_details": _step_details(job.series)}
    if counters.rule_triggered:
        during = merge([Breakdown(), *(item.during_outliers for item in job.series)])
        details |= breakdown_details(during, with_others=False, order=MemberOrder.OVERALL)
    slow = [_slow(item, job.loop) for item in many]
    return Outcome(
        missing=_missing(job, params),
        findings=[
            _outliers(slow, named_worker(job.series), params) or _earlier(counters, params),
            _slower(job.series),
        ],
        exhibits=tables.exhibits_of_series(job.series, batch_size=params.batch_size),
        metrics=_metrics(job.series, params.batch_size),
        data=job.data,
        counters=counters,
        details=details,
    )


def from_details(_counters: Counters, details: Details, params: Params) -> Outcome:
    """Say which steps are slow from AWS's JSON alone."""
    slow = [item for item in _slow_of_details(details) if item.n_outliers > params.n_outliers]
    return Outcome(
        findings=[_outliers(slow, None, params)], exhibits=tables.exhibits_of_details(details)
    )


def _missing(job: NodeSteps, params: Params) -> Reason | None:
    missing = reason_without_steps(job.loop)
    if missing is not None or any(item.aws_entry for item in job.series):
        return missing
    if not job.series:
        steps = plural(job.loop.n_steps, "step")
        text = f"Of {steps} none is of mode {params.mode}."
        return Reason(code=ReasonCode.NO_STEPS, text=text)
    longest = max(job.series, key=lambda item: item.n_steps)
    text = write(
        texts.TOO_FEW,
        n=longest.n_steps,
        phase=longest.word,
        worker=longest.worker,
        least=params.min_steps,
    )
    return Reason(code=ReasonCode.TOO_FEW_SAMPLES, text=text)


# What AWS's rule counts and writes


def _triggers(series: StepSeries, minute_ns: Integers, n_outliers: int) -> int:
    """Return in how many minutes with new steps of the job a series has too many outliers.

    A series that got nothing new in a minute is judged with what it had (docs/rules.md).
    """
    latest = np.searchsorted(series.minute_ns, minute_ns, side="right") - 1
    counts = series.minute_outliers[latest[latest >= 0]]
    return int(np.count_nonzero(counts > n_outliers))


def _step_details(series: Sequence[StepSeries]) -> Details:
    by_worker: dict[str, list[StepSeries]] = {}
    for item in series:
        if item.aws_entry is not None:
            by_worker.setdefault(item.worker, []).append(item)
    return {worker: tables.preferred(its).aws_entry for worker, its in by_worker.items()}


# STEP-1: slow steps


def named_worker(series: Sequence[StepSeries]) -> str | None:
    """Return the worker with more than twice its fair share of the outliers.

    Edge cases: of two workers none can have more than twice its share, so the one that has all
    outliers is named; a worker alone is never named.
    """
    counts: dict[str, int] = {}
    for item in series:
        counts[item.worker] = counts.get(item.worker, 0) + len(item.outliers)
    total = sum(counts.values())
    if len(counts) < 2 or total == 0:
        return None
    worker, most = min(counts.items(), key=lambda item: (-item[1], item[0]))
    is_unfair = most > FAIR_SHARE_FACTOR * total / len(counts)
    return worker if is_unfair or most == total else None


def _slow(series: StepSeries, loop: Loop) -> SlowSeries:
    worst = max(series.outliers, key=lambda item: item.duration_ns)
    usual_ns = len(series.outliers) * series.p50_s * NS_PER_S
    extra_ns = sum(item.duration_ns for item in series.outliers) - usual_ns
    cause = largest_increase(series.functions, series.other_functions)
    return SlowSeries(
        worker=series.worker,
        phase=series.word,
        n_steps=series.n_steps,
        n_outliers=len(series.outliers),
        steps=tuple(item.step for item in series.outliers),
        p50_s=series.p50_s,
        longest_s=seconds(worst.duration_ns),
        threshold_s=series.threshold_s,
        extra_ratio=max(extra_ns, 0) / loop.length_ns if loop.length_ns else None,
        cause=f" {cause_text(cause, at=AT, against=AGAINST)}" if cause else "",
        where=_where(series.worker, worst.start_ns, worst.end_ns),
    )


def _where(worker: str, start_ns: int, end_ns: int) -> Where:
    return Where(
        node=worker.rpartition("-")[0] or None,
        device=worker,
        start_s=seconds(start_ns),
        end_s=seconds(end_ns),
    )


def _slow_of_details(details: Details) -> Iterator[SlowSeries]:
    entries = details.get("step_details")
    for worker, entry in entries.items() if isinstance(entries, dict) else ():
        if not isinstance(entry, dict):
            continue
        stats, numbers, bins = (entry.get(name) for name in ("step_stats", "step_numbers", "probs"))
        if not (isinstance(stats, dict) and isinstance(numbers, list) and isinstance(bins, list)):
            continue
        yield SlowSeries(
            worker=worker,
            phase=phase_word(str(entry.get("phase"))),
            n_steps=sum(count for count in bins if isinstance(count, int)) + len(numbers),
            n_outliers=len(numbers),
            steps=tuple(int(str(number)) for number in numbers if str(number).isdigit()),
            p50_s=tables.number(stats.get("p50")) or 0.0,
            longest_s=tables.number(stats.get("max")) or 0.0,
            where=Where(device=worker),
        )


def _outliers(slow: Sequence[SlowSeries], named: str | None, params: Params) -> Finding | None:
    if not slow:
        return None
    worst = max(slow, key=lambda item: (item.extra_ratio or 0.0, item.n_outliers, item.worker))
    period, share = period_of(worst.steps), worst.extra_ratio
    limit = texts.IMPORTED_LIMIT if worst.threshold_s is None else texts.LIMIT
    nth = f"every {ordinal(period)} step" if period else ""
    if named is None:
        others = _others(f"{item.worker} {item.phase}" for item in slow if item is not worst)
    else:
        others = write(texts.MOST_OF_ALL, named=named)
    return texts.SLOW.finding(
        measured=float(worst.n_outliers),
        threshold=params.n_outliers,
        where=worst.where,
        severity=cost_severity(share),
        share=share,
        exhibit="steps" if worst.threshold_s is None else None,
        advice=texts.IN_RHYTHM if period else texts.OF_ONE_WORKER if named else None,
        causes=("PERIOD-1",) if period else (),
        worst=worst,
        mark=f": {nth}" if period else f" ({worst.worker})",
        limit=write(limit, worst=worst, stddev=params.stddev),
        numbers=join_names([str(step) for step in dict.fromkeys(worst.steps)], most=MOST_NUMBERS),
        rhythm=write(texts.RHYTHM, nth=nth) if period else "",
        cost=write(texts.COST, share=100 * share) if share is not None else "",
        others=others,
        period=period,
        named=named,
    )


def _others(names: Iterable[str]) -> str:
    """Say that others are alike, after a space; empty without any."""
    alike = list(names)
    return write(texts.OTHERS, names=alike) if alike else ""


def _earlier(counters: Counters, params: Params) -> Finding | None:
    n_judged = counters.rule_triggered
    if not n_judged:
        return None
    return texts.EARLIER.finding(
        measured=float(n_judged), n_judged=n_judged, n_outliers=params.n_outliers
    )


# STEP-2: steps that grow slower


def _slower(series: Sequence[StepSeries]) -> Finding | None:
    slower = [(item, item.slowdown) for item in series if item.slowdown]
    if not slower:
        return None
    worst, found = max(slower, key=lambda item: (item[1].extra_ratio, item[0].worker, item[0].word))
    return texts.SLOWER.finding(
        measured=100 * found.growth_ratio,
        threshold=100 * GROWTH_FROM_RATIO,
        where=_where(worst.worker, found.begin_ns, found.end_ns),
        severity=fault_severity(found.extra_ratio),
        share=found.extra_ratio,
        worst=worst,
        found=found,
        extra=100 * found.extra_ratio,
        others=_others(f"{item.worker} {item.word}" for item, _ in slower if item is not worst),
    )


def _metrics(series: Sequence[StepSeries], batch_size: int | None) -> dict[str, float | int | None]:
    if not series:
        return {}
    main = tables.main_series(series)
    found: dict[str, float | int | None] = {
        "steps": sum(item.n_steps for item in main),
        "step_p50_s": float(np.median([item.p50_s for item in main])),
        "step_p99_max_s": max(item.p99_s for item in main),
        "outlier_steps": sum(len(item.outliers) for item in series),
        "steps_above_twice_median": sum(item.above_twice_median for item in series),
    }
    paces = [pace for item in main if (pace := item.per_second(1, digits=4)) is not None]
    if paces:
        found["steps_per_s"] = float(np.median(paces))
        if batch_size is not None:
            rates = [item.per_second(batch_size, digits=2) or 0.0 for item in main]
            found["samples_per_s"] = round(sum(rates), 2)
    return found
