"""CPUBottleneck: a GPU idles while CPU cores are busy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.profile import NodeProfile, SeriesKind
from reportgen.results import Counters, Details, RuleId, RuleResult, Section, Severity
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.bottlenecks.host_load import USED_UP_RATIO
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

ID = RuleId("CPUBottleneck")
ABOUT = About(
    checks="How much of the time a GPU idles while at least one CPU core is busy.",
    reading=(
        "A tick is a bottleneck when a GPU is below its threshold and a core above its own; the "
        "rule triggers in each minute by whose end more than the given share of all ticks are "
        "bottlenecks. One hot core of many is weak evidence, so the number of hot cores is told."
    ),
    advice=(
        "Give the data loader more workers and let it prefetch; preprocess ahead of time or on "
        "the GPU; take an instance with more cores per GPU."
    ),
    section=Section(id="cpu-bottlenecks", title="CPU bottlenecks", order=210),
    is_quiet=True,
    has_counters=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order."""

    threshold: float = percentage(50, "triggers when more ticks than this are bottlenecks")
    cpu_threshold: float = percentage(90, "a CPU core above this is busy")
    gpu_threshold: float = percentage(10, "a GPU below this idles")
    patience: int = patience()


def _advice(hot_ratio: float) -> str:
    if hot_ratio < NARROW_RATIO:
        return (
            "Find the one busy thread (a sampling profiler shows it): a loader without workers, a "
            "callback or a lock may hold up the GPU while the other cores have room."
        )
    if hot_ratio < USED_UP_RATIO:
        return (
            "Spread the work over the cores that have room: more data-loader workers, prefetching, "
            "and heavy preprocessing out of the main process."
        )
    return (
        "The cores are used up: preprocess ahead of time or on the GPU, use cheaper decoding, or "
        "take an instance with more cores per GPU."
    )


WORDS = Words(
    finding_id="CPU-1",
    waits_for="A GPU idles while the CPU is busy",
    hot="a CPU core was above",
    part="a GPU below, a CPU core busy (bottleneck)",
    advice=_advice,
    narrow="So few hot cores are hardly a bottleneck of the host: a single thread is busy.",
    narrow_severity=Severity.INFO,
    causes=("DL-1", "DL-2", "DL-5", "IO-1"),
)


def measure(part: NodeProfile, params: Params) -> NodeBottlenecks:
    """Measure one node."""
    return measure_bottlenecks(part, SeriesKind.CPU_UTILIZATION, _limits(params))


def judge(measurements: Sequence[NodeBottlenecks], params: Params) -> RuleResult:
    """Add up the nodes and say when and how widely the CPU held up the GPUs."""
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
        hot_pct=params.cpu_threshold,
        gpu_pct=params.gpu_threshold,
        patience=params.patience,
    )


RULE = Rule(
    id=ID,
    title="CPU bottlenecks",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    folded=("intervals",),
)
