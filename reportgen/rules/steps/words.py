"""What StepOutlier says: which steps are slow, whose they are, and in which rhythm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.facts.inside import largest_increase
from reportgen.facts.rhythm import period_of
from reportgen.facts.steps import Loop, phase_word
from reportgen.results import (
    Counters,
    Details,
    Finding,
    Severity,
    Where,
)
from reportgen.rules.base import Presentation
from reportgen.rules.functions import cause_text
from reportgen.rules.saying.verdict import estimate_of, fault_severity
from reportgen.rules.saying.wording import ordinal, say_some, say_times
from reportgen.rules.steps.exhibits import exhibits_of_series
from reportgen.rules.steps.imported_exhibits import exhibits_of_details
from reportgen.rules.steps.series import StepSeries
from reportgen.rules.steps.slowdown import slowdown_finding
from reportgen.units import NS_PER_S, say_count, say_duration, say_pct, seconds

OUTLIERS = "outliers"
IN_THESE, IN_OTHERS = "in these steps", "in the others"
FAIR_SHARE_FACTOR = 2
"""A worker with more than twice its fair share of outliers is named. Source: features 004-35."""

CHEAP_RATIO = 0.01
"""Slow steps that cost less than 1 % of the loop are only told. Of many thousand steps with plain
random scatter some always lie above three deviations. Source: ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What only raw data give: the loop of the job and the series of all workers."""

    loop: Loop
    series: tuple[StepSeries, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The parameters that the texts quote."""

    stddev: float
    n_outliers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowSeries:
    """A series with too many outliers, as far as it is known."""

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


def present_series(
    counters: Counters, context: Context, limits: Limits, *, batch_size: int | None
) -> Presentation:
    """Return findings and exhibits from the series of all workers."""
    many = [item for item in context.series if item.outliers.step.size > limits.n_outliers]
    findings: list[Finding] = []
    if many:
        slow = [_slow(item, context.loop) for item in many]
        findings.append(_finding(slow, named_worker(context.series), limits))
    elif counters.rule_triggered:
        findings.append(_earlier(counters, limits))
    slower = slowdown_finding(
        [
            (item.worker, phase_word(item.phase), item.slowdown)
            for item in context.series
            if item.slowdown
        ]
    )
    if slower:
        findings.append(slower)
    return Presentation(
        findings=tuple(findings),
        exhibits=exhibits_of_series(context.series, batch_size=batch_size),
    )


def present_details(details: Details, limits: Limits) -> Presentation:
    """Return findings and exhibits from AWS's JSON alone."""
    slow = [item for item in _slow_of_details(details) if item.n_outliers > limits.n_outliers]
    findings = (_finding(slow, None, limits),) if slow else ()
    return Presentation(findings=findings, exhibits=exhibits_of_details(details))


def named_worker(series: Sequence[StepSeries]) -> str | None:
    """Return the worker with more than twice its fair share of the outliers.

    Edge cases: of two workers none can have more than twice its share, so the one that has all
    outliers is named; a worker alone is never named.
    """
    counts: dict[str, int] = {}
    for item in series:
        counts[item.worker] = counts.get(item.worker, 0) + int(item.outliers.step.size)
    total = sum(counts.values())
    if len(counts) < 2 or total == 0:
        return None
    worker, most = min(counts.items(), key=lambda item: (-item[1], item[0]))
    is_unfair = most > FAIR_SHARE_FACTOR * total / len(counts)
    return worker if is_unfair or most == total else None


def _slow(series: StepSeries, loop: Loop) -> SlowSeries:
    outliers = series.outliers
    worst = int(outliers.duration_ns.argmax())
    start_ns = int(outliers.start_ns[worst])
    extra_ns = int(outliers.duration_ns.sum()) - outliers.step.size * series.stats.p50_s * NS_PER_S
    loop_ns = loop.length_ns
    assert series.judgement is not None
    cause = largest_increase(series.functions, series.other_functions)
    return SlowSeries(
        worker=series.worker,
        phase=series.phase,
        n_steps=series.n_steps,
        n_outliers=int(outliers.step.size),
        steps=tuple(outliers.step.tolist()),
        p50_s=series.stats.p50_s,
        longest_s=seconds(int(outliers.duration_ns[worst])),
        threshold_s=series.judgement.threshold_s,
        extra_ratio=max(extra_ns, 0) / loop_ns if loop_ns else None,
        cause=f" {cause_text(cause, at='in these steps', against='in the others')}"
        if cause
        else "",
        where=Where(
            node=series.worker.rpartition("-")[0] or None,
            device=series.worker,
            start_s=seconds(start_ns),
            end_s=seconds(start_ns + int(outliers.duration_ns[worst])),
        ),
    )


def _slow_of_details(details: Details) -> list[SlowSeries]:
    entries = details.get("step_details")
    found = []
    for worker, entry in entries.items() if isinstance(entries, dict) else ():
        if not isinstance(entry, dict):
            continue
        stats, numbers, bins = (entry.get(name) for name in ("step_stats", "step_numbers", "probs"))
        if not (isinstance(stats, dict) and isinstance(numbers, list) and isinstance(bins, list)):
            continue
        n_normal = sum(count for count in bins if isinstance(count, int))
        found.append(
            SlowSeries(
                worker=worker,
                phase=str(entry.get("phase")),
                n_steps=n_normal + len(numbers),
                n_outliers=len(numbers),
                steps=tuple(int(str(number)) for number in numbers if str(number).isdigit()),
                p50_s=_number(stats.get("p50")),
                longest_s=_number(stats.get("max")),
                where=Where(device=worker),
            )
        )
    return found


def _finding(slow: Sequence[SlowSeries], named: str | None, limits: Limits) -> Finding:
    worst = max(slow, key=lambda item: (item.extra_ratio or 0.0, item.n_outliers, item.worker))
    period = period_of(worst.steps)
    rhythm = f" They come in a rhythm: every {ordinal(period)} step." if period else ""
    share = worst.extra_ratio
    cost = f" Their extra time is {say_pct(100 * share)} of the loop." if share is not None else ""
    return Finding(
        id="STEP-1",
        severity=_severity(share),
        title=(
            f"{say_count(worst.n_outliers)} of {say_count(worst.n_steps)} "
            f"{phase_word(worst.phase)} steps are slow"
            + (f": every {ordinal(period)} step" if period else f" ({worst.worker})")
        ),
        text=(
            f"{worst.worker} has {say_count(worst.n_outliers)} {phase_word(worst.phase)} steps "
            f"{_above(worst, limits)}; more than {limits.n_outliers} are too many. The usual "
            f"step takes {say_duration(worst.p50_s)}, the longest {say_duration(worst.longest_s)}: "
            f"{_numbers(worst.steps)}.{rhythm}{cost}{worst.cause}"
            f"{_whose(slow, worst, named)}"
        ),
        advice=_advice(period, named),
        where=worst.where,
        measured=float(worst.n_outliers),
        threshold=float(limits.n_outliers),
        unit="steps",
        estimate=estimate_of(share),
        exhibit=OUTLIERS if worst.threshold_s is not None else "steps",
        causes=("PERIOD-1",) if period else (),
    )


def _severity(extra_ratio: float | None) -> Severity:
    is_cheap = extra_ratio is not None and extra_ratio < CHEAP_RATIO
    return Severity.INFO if is_cheap else fault_severity(extra_ratio)


def _above(worst: SlowSeries, limits: Limits) -> str:
    rule = f"mean plus {limits.stddev:g} standard deviations"
    if worst.threshold_s is None:
        return f"longer than the {rule}"
    return f"longer than {say_duration(worst.threshold_s)} ({rule})"


def _numbers(steps: Sequence[int]) -> str:
    """Name the first steps, each once: AWS's result repeats a number that two epochs share."""
    return f"step {say_some([str(step) for step in dict.fromkeys(steps)], most=8)}"


def _whose(slow: Sequence[SlowSeries], worst: SlowSeries, named: str | None) -> str:
    if named is not None:
        return f" {named} has most of the outliers of all workers."
    others = [item for item in slow if item is not worst]
    if not others:
        return ""
    names = say_some([f"{item.worker} {phase_word(item.phase)}" for item in others])
    return f" The same holds for {names}."


def _advice(period: int | None, named: str | None) -> str:
    if period is not None:
        return (
            f"Find what runs every {period} steps (callback, checkpoint, logging, validation); "
            "run it less often, in a thread of its own, or on the GPU."
        )
    if named is not None:
        return f"Look at {named} alone: its device, its share of the data, its node's other load."
    return ABOUT_ADVICE


ABOUT_ADVICE = (
    "Compare the times of these steps with callbacks, checkpoints, reads and the CPU and GPU "
    "curves; what happens only then is the cause."
)


def _earlier(counters: Counters, limits: Limits) -> Finding:
    return Finding(
        id="STEP-1",
        severity=Severity.INFO,
        title="Step outliers in the first minutes only",
        text=(
            f"{say_times(counters.rule_triggered, 'judgement')} along the job found more than "
            f"{limits.n_outliers} outliers; over the whole job there are no more than that."
        ),
        advice="Nothing to do: early steps (warm-up, compilation, first reads) are often slower.",
        measured=float(counters.rule_triggered),
        unit="judgements",
        exhibit="steps",
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
