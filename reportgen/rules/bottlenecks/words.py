"""What the bottleneck rules say: one finding, weighed by when it happened and how wide it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.results import Counters, Details, Finding, Severity, Where
from reportgen.rules.base import Presentation
from reportgen.rules.bottlenecks.exhibits import (
    Interval,
    exhibits_of,
    exhibits_of_details,
    intervals_of,
)
from reportgen.rules.bottlenecks.ticks import (
    HOT_CORES,
    IDLE_GPUS,
    Bottlenecks,
    Limits,
    NodeBottlenecks,
)
from reportgen.rules.framework.breakdown import Breakdown
from reportgen.rules.framework.causes import main_cause
from reportgen.rules.saying.verdict import estimate_of, fault_severity
from reportgen.rules.saying.wording import say_does, say_times
from reportgen.units import NS_PER_S, say_duration, say_pct, seconds

TOLD_FROM_RATIO = 0.2
"""Without a trigger, a share of the loop from here on is still told. Source: ours."""
LOOP_FROM_RATIO = 0.1
"""A bottleneck that takes less of the training loop than this is a reading. Source: ours."""
NARROW_RATIO = 0.1
"""Fewer hot cores than a tenth of the host are no bottleneck of the CPU. Source: ours."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """How much the bottlenecks of a job matter.

    Attributes:
        share: of the ticks of nodes with GPUs, 0-1; a GPU idled in them that the job uses at other
            times.
        loop_share: of their ticks in the training loop, ``None`` when it is unknown.
        hot_ratio: median share of hot cores over the bottlenecks.
    """

    share: float
    loop_share: float | None
    hot_ratio: float

    @property
    def relevant(self) -> float:
        """Return the share that training could win."""
        return self.share if self.loop_share is None else self.loop_share

    @property
    def is_narrow(self) -> bool:
        """Return whether only a few cores of many were hot."""
        return self.hot_ratio < NARROW_RATIO


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


def weigh(nodes: Sequence[NodeBottlenecks]) -> Weight | None:
    """Return how much the bottlenecks matter, ``None`` without any."""
    nodes = [node for node in nodes if node.n_gpus]
    n_ticks = sum(node.n_ticks for node in nodes)
    hot = [node.n_cores_hot / max(node.n_cores, 1) for node in nodes if node.n_bottlenecks]
    if not hot:
        return None
    loops = [node.loop for node in nodes if node.loop]
    in_loop = sum(loop.ticks[1] for loop in loops)
    return Weight(
        share=sum(node.n_felt for node in nodes) / n_ticks,
        loop_share=sum(loop.bottlenecks[1] for loop in loops) / in_loop if in_loop else None,
        hot_ratio=float(np.median(np.concatenate(hot))),
    )


def bottleneck_metrics(job: Bottlenecks) -> dict[str, float | int | None]:
    """Return the numbers that comparisons read; none without GPUs."""
    weight = weigh(job.nodes)
    if not job.counters.datapoints or not any(node.n_gpus for node in job.nodes):
        return {}
    has_loop = any(node.loop for node in job.nodes)
    loop_share = weight.loop_share if weight else 0.0 if has_loop else None
    return {
        "bottleneck_ratio": round(weight.share, 6) if weight else 0.0,
        "bottleneck_loop_ratio": None if loop_share is None else round(loop_share, 6),
        "bottleneck_peak_ratio": round(job.peak_pct / 100, 6),
        "hot_core_median_ratio": round(weight.hot_ratio, 6) if weight else None,
        "low_gpu_ticks": sum(node.n_low_ticks for node in job.nodes),
    }


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
        f"{say_pct(limits.hot_pct)}; {_against(job, weight, limits, share_pct)}."
    )
    sentences = [
        how_much,
        *_unfelt(job),
        _when(job.nodes, weight),
        _how_wide(job.nodes, weight, words),
        _longest(longest),
        *_what_ran(job.breakdown),
        *_what_stands_out(job),
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
    said = _say_unfelt(job.counters.violations - sum(node.n_felt for node in job.nodes))
    return [said.strip()] if said else []


def _say_unfelt(n_unfelt: int) -> str:
    if not n_unfelt:
        return ""
    return f" In {n_unfelt:,} of them only GPUs idled that never work; these do not count."


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


def _against(job: Bottlenecks, weight: Weight, limits: Limits, share_pct: float) -> str:
    if share_pct > limits.share_pct:
        return f"the rule triggers above {say_pct(limits.share_pct)}"
    if job.counters.rule_triggered:
        return (
            f"earlier it was up to {say_pct(job.peak_pct)}, and the rule triggers above "
            f"{say_pct(limits.share_pct)}"
        )
    if 100 * weight.share > limits.share_pct:
        return (
            f"of the ticks of nodes with GPUs these are {say_pct(100 * weight.share)}, above the "
            f"threshold of {say_pct(limits.share_pct)}"
        )
    return f"that is below the threshold of {say_pct(limits.share_pct)}"


def _when(nodes: Sequence[NodeBottlenecks], weight: Weight) -> str:
    if weight.loop_share is None:
        return "Without step events it is unknown how many of them lie in the training loop."
    loops = [node.loop for node in nodes if node.loop]
    before, inside, after = (sum(loop.bottlenecks[part] for loop in loops) for part in range(3))
    n_known = len(loops)
    only = "" if n_known == len(nodes) else f" (on the {n_known} of {len(nodes)} nodes with steps)"
    return (
        f"{inside:,} {say_does(inside, 'lie')} in the training loop "
        f"({say_pct(100 * weight.loop_share)} of its ticks), "
        f"{before:,} before and {after:,} after it{only}."
    )


def _how_wide(nodes: Sequence[NodeBottlenecks], weight: Weight, words: Words) -> str:
    hot = np.concatenate([node.n_cores_hot for node in nodes])
    n_single = int((hot == 1).sum())
    cores = sorted({node.n_cores for node in nodes if node.n_bottlenecks})
    host = f"{cores[0]}" if len(cores) == 1 else f"{cores[0]} to {cores[-1]}"
    single = (
        f"; in {say_pct(100 * n_single / hot.size)} of them it was one core" if n_single else ""
    )
    text = f"The median bottleneck had {float(np.median(hot)):g} hot of {host} cores{single}."
    return f"{text} {words.narrow}" if weight.is_narrow else text


def _longest(interval: Interval) -> str:
    length_s = (interval.end_ns - interval.start_ns) / NS_PER_S
    return (
        f"The longest stretch took {say_duration(length_s)} on {interval.node} "
        f"({say_times(interval.n_ticks, 'tick')})."
    )


def _what_ran(breakdown: Breakdown) -> Sequence[str]:
    """Name the framework work that took most time at the bottlenecks, if anything ran."""
    general = _largest(breakdown.general_ns)
    return [f"Most other framework time then went to {general}."] if general else []


def _what_stands_out(job: Bottlenecks) -> Sequence[str]:
    """Name the function that takes much more of the time than while a GPU works, if one does."""
    cause = main_cause(
        job.functions,
        job.functions_at_work,
        at="during bottlenecks",
        against="while a GPU works",
    )
    return [cause.text] if cause else []


def _largest(total_ns: Mapping[str, int]) -> str:
    whole = sum(total_ns.values())
    if not whole:
        return ""
    name, value = max(total_ns.items(), key=lambda item: (item[1], item[0]))
    return f"{name} ({say_pct(100 * value / whole)})"


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
            f"{say_times(counters.rule_triggered, 'minute')}.{_say_unfelt(n_unfelt)}"
            f"{_say_width(counts)} What lies before the first step counts too, and one busy core "
            "of many is hardly a bottleneck."
        ),
        advice=words.advice(UNKNOWN_RATIO) if n_felt else _UNUSED_ADVICE,
        measured=round(100 * counters.violations / max(counters.datapoints, 1), 4),
        threshold=float(limits.share_pct),
        unit="%",
        estimate=estimate_of(share_pct / 100),
        exhibit="slices",
    )


def _say_width(counts: Sequence[tuple[int, int]]) -> str:
    hot = [n_hot for n_idle, n_hot in counts if n_idle]
    if not hot:
        return ""
    share = say_pct(100 * hot.count(1) / len(hot))
    return f" In {share} of those that count it was one core."


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
