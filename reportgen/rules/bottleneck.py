"""Common part of CPUBottleneck and IOBottleneck: ticks with an idle GPU and hot cores.

``limits`` are the parameters of either: ``hot_threshold`` has another name in each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reportgen.facts.bottlenecks import Bottlenecks, bottlenecks_of, stretches_of
from reportgen.facts.breakdown import largest_increase
from reportgen.facts.starving import STARVED_FROM_RATIO, Starving, worst_of
from reportgen.facts.usage import USED_UP_RATIO
from reportgen.merging import merge
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.results import Cause, Finding, Reason, Severity
from reportgen.rules.aws import aws_bottleneck as aws
from reportgen.rules.aws.bottleneck_tables import DURING, exhibits_of
from reportgen.rules.base import Outcome
from reportgen.rules.functions import cause_text
from reportgen.rules.kit import Message, fault_severity, not_sampled, reason_to_skip, stretch

REPORTED_FROM_RATIO = 0.2
"""Without a trigger, a bottleneck that takes a fifth of the training loop is still reported: the
rule's threshold is meant for the whole job, with its start and its end."""
NARROW_RATIO = 0.1
"""Where less than a tenth of the cores is hot, a few threads are busy rather than the host."""
LOOP_FROM_RATIO = 0.1
"""A bottleneck that takes less of the training loop than this is a reading: there is little to
win."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """The differences of the two rules.

    Attributes:
        cores: the series in which cores are hot.
        finding_id: ``CPU-1`` or ``IO-1``.
        waits_for: the heading of the finding.
        hot: verb for a hot core: ``above 90.0 %`` follows.
        over: the state of a hot core.
        part: name of the slice of bottleneck ticks.
        advice: where some of the cores are hot.
        narrow_advice, used_up_advice: where few of them, or nearly all, are; the second may be the
            same as ``advice``.
        narrow: meaning of few hot cores among many.
        narrow_severity: how much that matters at most.
        cause: the cause that idle GPUs then have.
        starving: finds the minutes in which GPUs idle in gaps shorter than a tick.
    """

    cores: SeriesKind
    finding_id: str
    waits_for: str
    hot: str
    over: str
    part: str
    advice: str
    narrow_advice: str
    used_up_advice: str = ""
    narrow: str
    narrow_severity: Severity
    cause: Cause
    starving: Callable[[NodeProfile], tuple[Starving, ...]]


HELD_UP = Message(
    id="",
    title="{words.waits_for}: {lost_pct:pct} of {whole}",
    text="",
    advice="",
    unit="% of the samples of nodes with GPUs",
    exhibit="slices",
)
STARVED = replace(
    HELD_UP,
    title="{words.waits_for}: {measured:pct} of the working time",
    text="""In {worst.n_minutes:count minute} the GPUs that {worst.node} uses were idle, also in
        gaps between two samples: {measured:pct} of the time from their first to their last work
        (in each sample the GPU that is idle most counts). During this time
        {worst.waiting_cores:.1f} of {worst.n_cores} cores waited for I/O and
        {worst.busy_cores:.1f} computed (means).""",
    unit="%",
    exhibit=None,
)
COUNTED = """In {job.n_in_use:n} of {job.n_gpu_ticks:count sample} ({measured:pct}) a GPU that the
    job uses was below {limits.gpu_threshold:pct} while {words.hot} {limits.hot_threshold:pct}; that
    is {against} the threshold of {threshold:pct}."""
LOOP_UNKNOWN = " Without step events it is unknown how many of them lie in the training loop."
IN_LOOP = """ {in_use[1]:n} of them {in_use[1]:verb lie} in the training loop ({lost_pct:pct} of its
    samples), {in_use[0]:n} before and {in_use[2]:n} after it."""
WIDTH = " In these samples {hot_pct:pct} of the cores were {words.over} (median)."
LONGEST = """ The samples form {n_stretches:count interval}; the longest lasts {length:ns} on
    {longest.node} and has {longest.n_ticks:count such sample}."""


def measure(part: NodeProfile, limits: Any, *, words: Wording) -> Bottlenecks:
    """Measure one node."""
    found = bottlenecks_of(
        part, words.cores, gpu_below=limits.gpu_threshold, hot_above=limits.hot_threshold
    )
    return replace(found, starving=words.starving(part))


def judge(parts: Sequence[Bottlenecks], limits: Any, *, words: Wording) -> Outcome:
    """Add up the nodes; say when and how widely the host held up the GPUs."""
    job = merge([Bottlenecks(), *parts])
    counted = aws.counted_bottlenecks(job, share_pct=limits.threshold, patience=limits.patience)
    starved = _starved(job, words)
    return Outcome(
        missing=None if starved else _reason(job, limits, words),
        **counted,
        metrics=_metrics(job),
        findings=[_larger(_finding(job, limits, words), starved)],
        exhibits=exhibits_of(
            job,
            counted["counters"],
            gpu_below=limits.gpu_threshold,
            hot_above=limits.hot_threshold,
            part=words.part,
        )
        if job.n_gpus and any(node.n_cores for node in job.nodes)
        else (),
    )


def _reason(job: Bottlenecks, limits: Any, words: Wording) -> Reason | None:
    reason = reason_to_skip(
        n_ticks=job.n_ticks, n_gpus=job.n_gpus, n_samples=job.n_ticks, patience=limits.patience
    )
    if reason is None and not any(node.n_cores for node in job.nodes):
        what = "I/O wait" if words.cores is SeriesKind.IO_WAIT else "use"
        return not_sampled(f"The {what} of the CPU cores was not sampled.")
    return reason


def _metrics(job: Bottlenecks) -> Mapping[str, float | int | None]:
    if not job.n_gpu_ticks:
        return {}
    loop_ratio = job.loop_ratio if job.n_found else 0.0 if job.n_loops else None
    return {
        "bottleneck_ratio": round(job.in_use_ratio, 6),
        "bottleneck_loop_ratio": None if loop_ratio is None else round(loop_ratio, 6),
        "hot_core_median_ratio": round(job.hot_median_ratio, 6) if job.n_found else None,
        "busy_cores_ratio": job.busy_cores_ratio and round(job.busy_cores_ratio, 6),
        "low_gpu_ticks": job.n_low_ticks,
    }


def _finding(job: Bottlenecks, limits: Any, words: Wording) -> Finding | None:
    in_use_pct = 100 * job.in_use_ratio
    is_over = in_use_pct > limits.threshold
    is_told = is_over or (job.loop_ratio or 0.0) >= REPORTED_FROM_RATIO
    if not is_told or job.n_ticks <= limits.patience:
        return None
    stretches = stretches_of(job)
    longest = max(stretches, key=lambda item: (item.n_ticks, -item.start_ns))
    cause = largest_increase(job.functions, job.functions_at_work)
    parts = {
        COUNTED: True,
        LOOP_UNKNOWN if job.loop_ratio is None else IN_LOOP: True,
        WIDTH: True,
        " {words.narrow}": job.hot_median_ratio < NARROW_RATIO,
        LONGEST: True,
        " {cause}": cause is not None,
    }
    text = "".join(part for part, applies in parts.items() if applies)
    return replace(HELD_UP, id=words.finding_id, text=text, cause=words.cause).finding(
        measured=in_use_pct,
        threshold=limits.threshold,
        is_crossed=is_over,
        where=stretch(longest.node, None, longest.start_ns, longest.end_ns),
        severity=_severity(job, words) if is_over else Severity.INFO,
        share=job.lost_ratio,
        advice=_advice(job, words),
        job=job,
        words=words,
        limits=limits,
        against="above" if is_over else "below",
        lost_pct=100 * job.lost_ratio,
        whole="the job" if job.loop_ratio is None else "the training loop",
        in_use=job.loop_in_use.tolist(),
        hot_pct=100 * job.hot_median_ratio,
        n_stretches=len(stretches),
        longest=longest,
        length=longest.end_ns - longest.start_ns,
        cause=cause_text(cause, at=DURING.strip(), against="while a GPU works") if cause else "",
    )


def _starved(job: Bottlenecks, words: Wording) -> Finding | None:
    """Return the finding from means over minutes, where they show a notable loss."""
    worst = worst_of(job.starving)
    if worst is None:
        return None
    return replace(STARVED, id=words.finding_id, cause=words.cause).fault(
        100 * worst.ratio,
        threshold=100 * STARVED_FROM_RATIO,
        where=stretch(worst.node, None, worst.first_ns, worst.last_ns),
        advice=words.used_up_advice or words.advice,
        words=words,
        worst=worst,
    )


def _larger(ticks: Finding | None, minutes: Finding | None) -> Finding | None:
    """Return the finding that shows the larger loss; a reading of single ticks shows none."""
    if ticks is None or minutes is None:
        return ticks or minutes
    seen = ticks.estimate.share_ratio if ticks.estimate else 0.0
    lost = minutes.estimate.share_ratio if minutes.estimate else 0.0
    return minutes if ticks.severity is Severity.INFO or lost > seen else ticks


def _advice(job: Bottlenecks, words: Wording) -> str:
    if job.hot_median_ratio < NARROW_RATIO:
        return words.narrow_advice
    is_used_up = job.hot_median_ratio >= USED_UP_RATIO
    return (is_used_up and words.used_up_advice) or words.advice


def _severity(job: Bottlenecks, words: Wording) -> Severity:
    if job.lost_ratio < LOOP_FROM_RATIO:
        return Severity.INFO
    is_narrow = job.hot_median_ratio < NARROW_RATIO
    return words.narrow_severity if is_narrow else fault_severity(job.lost_ratio)
