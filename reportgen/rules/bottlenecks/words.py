"""What the bottleneck rules say: one finding, of raw data or of AWS's counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reportgen.results import Counters, Details, Finding, Severity, Where
from reportgen.rules.aws.details import HOT_CORES, IDLE_GPUS
from reportgen.rules.base import Presentation
from reportgen.rules.bottlenecks.exhibits import (
    exhibits_of,
    exhibits_of_details,
    intervals_of,
)
from reportgen.rules.bottlenecks.sentences import (
    say_against,
    say_longest,
    say_single_cores,
    say_unfelt,
    say_what_ran,
    say_what_stands_out,
    say_when,
    say_width,
)
from reportgen.rules.bottlenecks.ticks import (
    Bottlenecks,
    Limits,
)
from reportgen.rules.bottlenecks.weight import Weight, weigh
from reportgen.rules.saying.verdict import estimate_of, fault_severity
from reportgen.rules.saying.wording import say_times
from reportgen.units import say_pct, seconds

TOLD_FROM_RATIO = 0.2
"""Without a trigger, a share of the loop from here on is still told. Source: ours."""
LOOP_FROM_RATIO = 0.1
"""A bottleneck that takes less of the training loop than this is a reading. Source: ours."""
UNKNOWN_RATIO = 0.25
"""What is assumed of imported results, which do not tell how many cores there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What tells the two rules apart.

    Attributes:
        finding_id: ``CPU-1`` or ``IO-1``.
        waits_for: the heading of the finding.
        hot: what a hot core does: ``above 90.0 %`` follows.
        part: name of the slice of bottleneck ticks.
        advice: from the median share of hot cores to one sentence.
        narrow: what it means that only a few cores of many were hot.
        narrow_severity: how much that matters at most.
        causes: the findings that say what keeps the host busy.
    """

    finding_id: str
    waits_for: str
    hot: str
    part: str
    advice: Callable[[float], str]
    narrow: str
    narrow_severity: Severity
    causes: tuple[str, ...] = ()


def present_bottlenecks(
    counters: Counters,
    details: Details,
    limits: Limits,
    context: Bottlenecks | None,
    words: Words,
) -> Presentation:
    """Return findings and exhibits; without context from AWS's JSON alone."""
    if context is None:
        found = _imported(counters, details, limits, words) if counters.rule_triggered else None
        return Presentation(
            findings=(found,) if found else (),
            exhibits=exhibits_of_details(counters, details, limits, words.part),
        )
    if not any(node.n_gpus for node in context.nodes):
        return Presentation()
    finding = _finding(context, limits, words)
    return Presentation(
        findings=(finding,) if finding else (),
        exhibits=exhibits_of(context, limits, words.part),
    )


def _finding(job: Bottlenecks, limits: Limits, words: Words) -> Finding | None:
    weight = weigh(job.nodes)
    counters = job.counters
    if weight is None or counters.datapoints <= limits.patience:
        return None
    is_over = counters.rule_triggered > 0 or 100 * weight.share > limits.share_pct
    if not is_over and (weight.loop_share or 0.0) < TOLD_FROM_RATIO:
        return None
    longest = max(intervals_of(job.nodes), key=lambda item: (item.n_ticks, -item.start_ns))
    share_pct = 100 * counters.violations / counters.datapoints
    how_much = (
        f"In {counters.violations:,} of {say_times(counters.datapoints, 'tick')} "
        f"({say_pct(share_pct)}) a GPU was below {say_pct(limits.gpu_pct)} while {words.hot} "
        f"{say_pct(limits.hot_pct)}; {say_against(job, weight, limits, share_pct)}."
    )
    sentences = [
        how_much,
        *_unfelt(job),
        say_when(job.nodes, weight),
        say_width(job.nodes, weight, words.narrow),
        say_longest(longest),
        *say_what_ran(job.breakdown),
        *say_what_stands_out(job),
    ]
    return Finding(
        id=words.finding_id,
        severity=_severity(weight, words, is_over=is_over),
        title=_title(weight, words),
        text=" ".join(sentences),
        advice=_advice(job, weight, words),
        where=Where(
            node=longest.node,
            start_s=seconds(longest.start_ns),
            end_s=seconds(longest.end_ns),
        ),
        measured=round(_share_against(job, weight, limits, share_pct), 4),
        threshold=float(limits.share_pct),
        unit="%",
        estimate=estimate_of(weight.relevant),
        exhibit="slices",
        causes=words.causes,
    )


def _advice(job: Bottlenecks, weight: Weight, words: Words) -> str:
    if not any(node.is_any_touched for node in job.nodes):
        return _UNTOUCHED_ADVICE
    if not weight.share:
        return _UNUSED_ADVICE
    return words.advice(weight.hot_ratio)


_UNTOUCHED_ADVICE = (
    "No GPU of the job ever works: make sure first that it uses them at all (see GPU utilization)."
)
_UNUSED_ADVICE = "Nothing to do here: use these GPUs, or an instance without them."


def _title(weight: Weight, words: Words) -> str:
    if not weight.share:
        return _unused(words)
    return f"{words.waits_for}: {say_pct(100 * weight.relevant)} of {_of_what(weight)}"


def _unused(words: Words) -> str:
    return f"{words.waits_for}, but only GPUs that the job never uses"


def _unfelt(job: Bottlenecks) -> Sequence[str]:
    """Say how many bottlenecks do not count because the job does not use the GPUs that idled."""
    said = say_unfelt(job.counters.violations - sum(node.n_felt for node in job.nodes))
    return [said.strip()] if said else []


def _severity(weight: Weight, words: Words, *, is_over: bool) -> Severity:
    if not is_over or weight.relevant < LOOP_FROM_RATIO:
        return Severity.INFO
    return words.narrow_severity if weight.is_narrow else fault_severity(weight.relevant)


def _of_what(weight: Weight) -> str:
    return "the job" if weight.loop_share is None else "the training loop"


def _share_against(job: Bottlenecks, weight: Weight, limits: Limits, share_pct: float) -> float:
    """Return the share to hold against the threshold: the job's, or the one that exceeds it."""
    if share_pct > limits.share_pct:
        return share_pct
    if job.counters.rule_triggered:
        return job.peak_pct
    return max(share_pct, 100 * weight.share if 100 * weight.share > limits.share_pct else 0.0)


def _imported(counters: Counters, details: Details, limits: Limits, words: Words) -> Finding:
    """Return the finding of AWS's counters; bottlenecks without an idle GPU were not felt."""
    counts = _counts_of(details)
    n_unfelt = sum(1 for n_idle, _ in counts if n_idle == 0)
    n_felt = counters.violations - n_unfelt
    share_pct = 100 * n_felt / max(counters.datapoints, 1)
    return Finding(
        id=words.finding_id,
        severity=fault_severity(share_pct / 100) if n_felt else Severity.INFO,
        title=f"{words.waits_for}: {say_pct(share_pct)} of the job" if n_felt else _unused(words),
        text=(
            f"In {counters.violations:,} of {say_times(counters.datapoints, 'datapoint')} a GPU "
            f"was below {say_pct(limits.gpu_pct)} while {words.hot} {say_pct(limits.hot_pct)}; the "
            f"growing share exceeded {say_pct(limits.share_pct)} in "
            f"{say_times(counters.rule_triggered, 'minute')}.{say_unfelt(n_unfelt)}"
            f"{say_single_cores(counts)} What lies before the first step counts too, and one busy "
            "core of many is hardly a bottleneck."
        ),
        advice=words.advice(UNKNOWN_RATIO) if n_felt else _UNUSED_ADVICE,
        measured=round(100 * counters.violations / max(counters.datapoints, 1), 4),
        threshold=float(limits.share_pct),
        unit="%",
        estimate=estimate_of(share_pct / 100),
        exhibit="slices",
    )


def _counts_of(details: Details) -> list[tuple[int, int]]:
    """Return idle GPUs and hot cores of each bottleneck in AWS's JSON, as far as both are there."""
    bottlenecks = details.get("bottlenecks")
    entries = bottlenecks.values() if isinstance(bottlenecks, dict) else ()
    pairs = [
        (entry.get(IDLE_GPUS), entry.get(HOT_CORES)) for entry in entries if isinstance(entry, dict)
    ]
    return [
        (gpus, cores) for gpus, cores in pairs if isinstance(gpus, int) and isinstance(cores, int)
    ]
