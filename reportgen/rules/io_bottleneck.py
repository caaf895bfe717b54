"""IOBottleneck: a GPU idles while CPU cores wait for I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.profile import NodeProfile, SeriesKind
from reportgen.results import Counters, Details, RuleId, RuleResult, Section, Severity
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.bottlenecks.ticks import (
    Bottlenecks,
    Limits,
    NodeBottlenecks,
    bottleneck_details,
    bottleneck_reason,
    join_bottlenecks,
    measure_bottlenecks,
)
from reportgen.rules.bottlenecks.weight import NARROW_RATIO, bottleneck_metrics
from reportgen.rules.bottlenecks.words import Words, present_bottlenecks
from reportgen.rules.declare import patience, percentage
from reportgen.rules.saying.verdict import conclude

ID = RuleId("IOBottleneck")
ABOUT = About(
    checks="How much of the time a GPU idles while at least one CPU core waits for I/O.",
    reading=(
        "A tick is a bottleneck when a GPU is below its threshold and the I/O wait of a core above "
        "its own; the rule triggers in each minute by whose end more than the given share of all "
        "ticks are bottlenecks."
    ),
    advice=(
        "Read fewer and larger files, use faster storage or stream the data, and prefetch or cache "
        "what is read again."
    ),
    section=Section(id="io-bottlenecks", title="I/O bottlenecks", order=220),
    is_quiet=True,
    has_counters=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order."""

    threshold: float = percentage(50, "triggers when more ticks than this are bottlenecks")
    io_threshold: float = percentage(50, "a core whose I/O wait is above this waits")
    gpu_threshold: float = percentage(10, "a GPU below this idles")
    patience: int = patience()


def _advice(hot_ratio: float) -> str:
    if hot_ratio < NARROW_RATIO:
        return (
            "Find what the one waiting thread reads or writes: read ahead in several loader "
            "processes, and write checkpoints in the background."
        )
    return (
        "Read fewer and larger files, put the data on faster or local storage, and prefetch or "
        "cache what is read again."
    )


WORDS = Words(
    finding_id="IO-1",
    waits_for="A GPU idles while the host waits for I/O",
    hot="the I/O wait of a core was above",
    part="a GPU below, a core waiting for I/O (bottleneck)",
    advice=_advice,
    narrow="So few waiting cores mean that a single thread waits, not that storage is used up.",
    narrow_severity=Severity.WARNING,
)


def measure(part: NodeProfile, params: Params) -> NodeBottlenecks:
    """Measure one node."""
    return measure_bottlenecks(part, SeriesKind.IO_WAIT, _limits(params))


def judge(measurements: Sequence[NodeBottlenecks], params: Params) -> RuleResult:
    """Add up the nodes and say when and how widely I/O held up the GPUs."""
    job = join_bottlenecks(measurements, _limits(params))
    details = bottleneck_details(job)
    return conclude(
        ID,
        params=params,
        reason=bottleneck_reason(job, _limits(params)),
        counters=job.counters,
        details=details,
        metrics=bottleneck_metrics(job),
        presentation=present(job.counters, details, params, job),
    )


def present(
    counters: Counters, details: Details, params: Params, context: Bottlenecks | None
) -> Presentation:
    """Say what was found; ``context`` is what was measured on all nodes."""
    return present_bottlenecks(counters, details, _limits(params), context, WORDS)


def _limits(params: Params) -> Limits:
    return Limits(
        share_pct=params.threshold,
        hot_pct=params.io_threshold,
        gpu_pct=params.gpu_threshold,
        patience=params.patience,
    )


RULE = Rule(
    id=ID,
    title="I/O bottlenecks",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    folded=("intervals",),
)
