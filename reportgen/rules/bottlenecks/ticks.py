"""Ticks in which a GPU idles while the host is busy: what CPU and IO bottlenecks share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.activity import training_loop_ns
from reportgen.facts.breakdown import Breakdown, breakdown_of
from reportgen.facts.inside import FunctionSums, function_sums
from reportgen.facts.intervals import spans_any_moment
from reportgen.facts.minutes import minutes_of
from reportgen.merging import merge
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.results import Counters, Details, JsonValue, Reason, ReasonCode
from reportgen.rules.aws.breakdown import breakdown_details
from reportgen.rules.aws.details import HOT_CORES, IDLE_GPUS
from reportgen.rules.bottlenecks.host_load import UNTOUCHED_PCT, hot_cores, low_gpus, low_used_gpus
from reportgen.rules.saying.verdict import reason_to_skip
from reportgen.units import NS_PER_MINUTE, NS_PER_US, seconds_key

GPU_WORKS_PCT = 90.0
"""A GPU above this works: what runs then is compared with bottlenecks. Source: seed 000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The parameters under the names that both rules share.

    Attributes:
        share_pct: triggers when more than this share of the ticks is a bottleneck.
        hot_pct: a core above this is hot.
        gpu_pct: a GPU below this idles.
        patience: ticks that must be exceeded.
    """

    share_pct: float
    hot_pct: float
    gpu_pct: float
    patience: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopCounts:
    """Ticks and bottlenecks of one node before, in and after its training loop."""

    ticks: tuple[int, int, int]
    bottlenecks: tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeBottlenecks:
    """Bottlenecks of one node.

    Attributes:
        n_low_ticks: ticks with at least one idle GPU.
        n_unsampled_ticks: ticks without any GPU sample.
        minute_ns, minute_ticks, minute_bottlenecks: counts of each minute with ticks.
        time_ns, n_gpus_low, n_cores_hot: (k,) of each bottleneck, in order of time.
        n_felt: bottlenecks in which a GPU idled that the job uses at other times.
        is_any_touched: whether any GPU ever does anything.
        loop: of the bottlenecks in ``n_felt``; ``None`` when the node has no step events.
        breakdown: framework events that ran at any bottleneck, each once.
        functions, functions_at_work: what ran at any bottleneck, and at any tick with a GPU above
            ``GPU_WORKS_PCT``; each event once. Both are empty without a bottleneck.
    """

    node: str
    n_gpus: int
    n_cores: int
    n_ticks: int
    interval_ns: int
    n_low_ticks: int
    n_unsampled_ticks: int
    minute_ns: NDArray[np.int64]
    minute_ticks: NDArray[np.int64]
    minute_bottlenecks: NDArray[np.int64]
    time_ns: NDArray[np.int64]
    n_gpus_low: NDArray[np.int64]
    n_cores_hot: NDArray[np.int64]
    n_felt: int
    is_any_touched: bool
    loop: LoopCounts | None
    breakdown: Breakdown
    functions: FunctionSums
    functions_at_work: FunctionSums

    @property
    def n_bottlenecks(self) -> int:
        """Return the number of bottleneck ticks."""
        return int(self.time_ns.size)


def measure_bottlenecks(part: NodeProfile, kind: SeriesKind, limits: Limits) -> NodeBottlenecks:
    """Find the ticks of a node with an idle GPU and a hot core, both in the same tick.

    Source: rules-spec §1; strict comparisons.
    """
    system = part.system
    low = low_gpus(system, below=limits.gpu_pct)
    hot = hot_cores(system, kind, above=limits.hot_pct)
    is_bottleneck = (low > 0) & (hot > 0)
    time_ns = system.tick_ns[is_bottleneck]
    is_felt = is_bottleneck & (low_used_gpus(system, below=limits.gpu_pct) > 0)
    felt_ns = system.tick_ns[is_felt]
    minutes = minutes_of(system.tick_ns)
    use = system.matrix(SeriesKind.GPU_UTILIZATION)
    is_unsampled = np.isnan(use).all(axis=1)
    spans = part.spans
    active = spans_any_moment(spans.start_ns, spans.end_ns, time_ns)
    return NodeBottlenecks(
        node=part.node,
        n_gpus=len(system.names(SeriesKind.GPU_UTILIZATION)),
        n_cores=len(system.names(kind)),
        n_ticks=system.n_ticks,
        interval_ns=system.interval_ns or 0,
        n_low_ticks=int((low > 0).sum()),
        n_unsampled_ticks=int(is_unsampled.sum()),
        minute_ns=minutes.start_ns,
        minute_ticks=np.diff(minutes.stop, prepend=0),
        minute_bottlenecks=_per_minute(time_ns, minutes.start_ns),
        time_ns=time_ns,
        n_gpus_low=low[is_bottleneck],
        n_cores_hot=hot[is_bottleneck],
        n_felt=felt_ns.size,
        is_any_touched=bool((use >= UNTOUCHED_PCT).any()),
        loop=_loop_counts(training_loop_ns(spans), system.tick_ns, felt_ns),
        breakdown=breakdown_of(spans.where(active)),
        functions=function_sums(spans, active),
        functions_at_work=_at_work(part) if time_ns.size else FunctionSums(),
    )


def _at_work(part: NodeProfile) -> FunctionSums:
    """Return what ran at the ticks with a GPU at work."""
    system, spans = part.system, part.spans
    works = (system.matrix(SeriesKind.GPU_UTILIZATION) > GPU_WORKS_PCT).any(axis=1)
    return function_sums(
        spans, spans_any_moment(spans.start_ns, spans.end_ns, system.tick_ns[works])
    )


def _per_minute(time_ns: NDArray[np.int64], minute_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    place = np.searchsorted(minute_ns, time_ns // NS_PER_MINUTE * NS_PER_MINUTE)
    return np.bincount(place, minlength=minute_ns.size).astype(np.int64)


def _loop_counts(
    loop_ns: tuple[int, int] | None, tick_ns: NDArray[np.int64], time_ns: NDArray[np.int64]
) -> LoopCounts | None:
    if loop_ns is None:
        return None

    def split(moments: NDArray[np.int64]) -> tuple[int, int, int]:
        first = int(np.searchsorted(moments, loop_ns[0], side="left"))
        stop = int(np.searchsorted(moments, loop_ns[1], side="right"))
        return first, stop - first, moments.size - stop

    return LoopCounts(ticks=split(tick_ns), bottlenecks=split(time_ns))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottlenecks:
    """Bottlenecks of a job.

    Attributes:
        counters: AWS's counters.
        peak_pct: largest share at the end of any judged minute; 0 when none was judged.
        breakdown: framework events at the bottlenecks of all nodes.
        functions, functions_at_work: of all nodes.
    """

    nodes: tuple[NodeBottlenecks, ...]
    counters: Counters
    peak_pct: float
    breakdown: Breakdown
    functions: FunctionSums
    functions_at_work: FunctionSums


def join_bottlenecks(nodes: Sequence[NodeBottlenecks], limits: Limits) -> Bottlenecks:
    """Add up the nodes and judge the growing share at the end of each minute.

    A minute triggers when more than ``patience`` ticks have been seen and more than
    ``share_pct`` of them are bottlenecks. Source: rules-spec §1.
    """
    minutes = [node.minute_ns for node in nodes]
    every = np.unique(np.concatenate(minutes)) if minutes else np.empty(0, dtype=np.int64)
    ticks, bottlenecks = np.zeros(every.size, np.int64), np.zeros(every.size, np.int64)
    for node in nodes:
        place = np.searchsorted(every, node.minute_ns)
        ticks[place] += node.minute_ticks
        bottlenecks[place] += node.minute_bottlenecks
    ticks, bottlenecks = ticks.cumsum(), bottlenecks.cumsum()
    is_judged = ticks > limits.patience
    is_triggered = is_judged & (100 * bottlenecks > limits.share_pct * ticks)
    shares_pct = 100 * bottlenecks[is_judged] / ticks[is_judged]
    return Bottlenecks(
        nodes=tuple(nodes),
        counters=Counters(
            rule_triggered=int(is_triggered.sum()),
            violations=sum(node.n_bottlenecks for node in nodes),
            datapoints=sum(node.n_ticks for node in nodes),
        ),
        peak_pct=float(shares_pct.max(initial=0.0)),
        breakdown=merge([Breakdown(), *(node.breakdown for node in nodes)]),
        functions=merge([FunctionSums(), *(node.functions for node in nodes)]),
        functions_at_work=merge([FunctionSums(), *(node.functions_at_work for node in nodes)]),
    )


def bottleneck_reason(job: Bottlenecks, limits: Limits) -> Reason | None:
    """Return why nothing can be said: no metrics, no GPU, no cores, or too few ticks."""
    n_ticks = job.counters.datapoints
    reason = reason_to_skip(
        n_ticks=n_ticks,
        n_gpus=sum(node.n_gpus for node in job.nodes),
        n_samples=n_ticks,
        patience=limits.patience,
    )
    if reason is None and not any(node.n_cores for node in job.nodes):
        return Reason(code=ReasonCode.TOO_FEW_SAMPLES, text="The CPU cores were not sampled.")
    return reason


def bottleneck_details(job: Bottlenecks) -> Details:
    """Return AWS's ``Details``: every bottleneck by its time, and what ran if it triggered.

    Ordered by minute, node and time. Two nodes may share an instant to the microsecond; the
    later key then moves on by a microsecond, so that no bottleneck is lost.

    Source: rules-spec §1; keys are ``str`` of Unix seconds.
    """
    rows = [
        (int(time_ns) // NS_PER_MINUTE, place, int(time_ns), int(gpus), int(cores))
        for place, node in enumerate(job.nodes)
        for time_ns, gpus, cores in zip(
            node.time_ns.tolist(), node.n_gpus_low.tolist(), node.n_cores_hot.tolist(), strict=True
        )
    ]
    bottlenecks: dict[str, JsonValue] = {}
    for _, _, time_ns, gpus, cores in sorted(rows):
        free_ns = time_ns
        while seconds_key(free_ns) in bottlenecks:
            free_ns += NS_PER_US
        bottlenecks[seconds_key(free_ns)] = {IDLE_GPUS: gpus, HOT_CORES: cores}
    details: Details = {
        "low_gpu_utilization": sum(node.n_low_ticks for node in job.nodes),
        "bottlenecks": bottlenecks,
    }
    if job.counters.rule_triggered:
        details |= breakdown_details(job.breakdown, with_others=False)
    return details
