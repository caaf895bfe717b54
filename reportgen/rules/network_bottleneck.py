"""NetworkBottleneck: a GPU idles while its node receives as much as the network gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.gpu_use import IDLE_BELOW_PCT
from reportgen.facts.intervals import runs_of
from reportgen.facts.minutes import minutes_of
from reportgen.facts.network_load import (
    FLOOR_BYTES_PER_S,
    NETWORK_BUSY_PCT,
    Starvation,
    busy_from,
    starvation_of,
)
from reportgen.profile import NodeId, NodeProfile, SeriesKind, SystemTable
from reportgen.results import (
    Counters,
    Details,
    Exhibit,
    Finding,
    JsonValue,
    Reason,
    ReasonCode,
    Role,
    RuleId,
    Section,
    Severity,
    Where,
)
from reportgen.rules.base import About, Need, Outcome, Rule, param
from reportgen.rules.kit import (
    Interval,
    Message,
    col,
    concat,
    derived,
    fault_severity,
    intervals,
    patience,
    percentage,
    reason_to_skip,
    row,
    table,
)
from reportgen.units import NS_PER_S, seconds

MAX_HOLE_TICKS = 2
"""An episode goes on over so many ticks: the rate of a loader that never stops still swings."""

ABOUT = About(
    checks="Whether a GPU idles while its node receives data as fast as the network allows.",
    reading=(
        "An episode is a time in which a GPU is below its threshold and the node receives close to "
        "the limit of its network. Unless the limit is given, the job's own 99th percentile stands "
        "for it, so that an episode says that input and idling go together, not that the network "
        "is used up."
    ),
    advice=(
        "Send less: smaller or compressed records, a local copy or cache of what is read again; "
        "or take an instance with more network bandwidth."
    ),
    section=Section(id="network-bottlenecks", title="Network bottlenecks", order=230),
    is_quiet=True,
)
_TEXT = (
    "In {n_episodes:count episode} a GPU was below {gpu_threshold:pct} while its node received "
    "close to its limit; in the longest {longest.node} received {longest.mean_bytes_per_s:bytes}/s "
    "for {longest.duration_s:s}. "
)
AT_LIMIT = Message(
    id="SYS-5",
    title="A GPU idles while the network is busy: {share_pct:pct} of the job",
    text=_TEXT + "The limit is {longest.limit_bytes_per_s:bytes}/s, as given.",
    advice=(
        "Read smaller or compressed records, keep a local copy of what is read again, or take an "
        "instance with more network bandwidth."
    ),
    unit="bytes/s",
    exhibit="episodes",
)
AT_OWN_MAXIMUM = replace(
    AT_LIMIT,
    text=_TEXT + "That limit of {longest.limit_bytes_per_s:bytes}/s is the job's own maximum (99th "
    "percentile), not what the network can do.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """When a node is held up by its network."""

    gpu_threshold: float = percentage(IDLE_BELOW_PCT, "a GPU below this idles")
    network_threshold: float = percentage(
        NETWORK_BUSY_PCT, "received bytes from this share of the limit on"
    )
    limit_bytes_per_s: float | None = param(
        None,
        unit="bytes/s",
        meaning="what the node's network can receive; None takes the node's own p99",
        source="no sample says what the network of an instance can do",
        minimum=1,
        may_be_none=True,
    )
    floor_bytes_per_s: float = param(
        FLOOR_BYTES_PER_S,
        unit="bytes/s",
        meaning="slower rates are never a bottleneck",
        source="a job that hardly uses its network must not be held up by it",
        minimum=0,
    )
    min_duration_s: float = param(
        30,
        unit="s",
        meaning="shorter episodes do not count",
        source="shorter bursts, as at the start of an epoch, cost little",
        minimum=0,
    )
    patience: int = patience()


@row
class Episode:
    """A time in which a GPU idled while its node received close to the limit."""

    node: str = col()
    start_s: float = col("s")
    end_s: float = col("s")
    length_s: float = derived(lambda item: item.duration_s, "s", name="duration_s")
    mean_bytes_per_s: float = col("bytes/s", name="received")
    limit_bytes_per_s: float = col("bytes/s", name="limit")
    gpu_mean_pct: float = col("%")

    @property
    def duration_s(self) -> float:
        """Return the time from the first to the last tick."""
        return self.end_s - self.start_s


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeNetwork:
    """One node.

    Attributes:
        n_ticks, n_gpus: sampling instants and GPUs.
        n_both: ticks with a sample of a GPU and of received bytes.
        limit_bytes_per_s: given, or the node's own; ``None`` without received bytes.
        episodes: times of starvation, in order.
        n_starved: starved ticks in them.
        n_minutes: minutes after the patience that touch an episode.
    """

    node: NodeId
    n_ticks: int
    n_gpus: int
    n_both: int
    limit_bytes_per_s: float | None
    episodes: tuple[Episode, ...]
    n_starved: int
    n_minutes: int


def measure(part: NodeProfile, params: Params) -> NodeNetwork:
    """Measure one node."""
    system = part.system
    found = starvation_of(
        system,
        gpu_pct=params.gpu_threshold,
        busy_pct=params.network_threshold,
        floor_bytes_per_s=params.floor_bytes_per_s,
        limit_bytes_per_s=params.limit_bytes_per_s,
    )
    bounds = _bounds(system, found.is_starved, params)
    return NodeNetwork(
        node=part.node,
        n_ticks=system.n_ticks,
        n_gpus=len(system.names(SeriesKind.GPU_UTILIZATION)),
        n_both=int(np.count_nonzero(found.has_both)),
        limit_bytes_per_s=found.limit_bytes_per_s,
        episodes=tuple(_episode(part, found, first, last) for first, last in bounds),
        n_starved=sum(int(found.is_starved[first : last + 1].sum()) for first, last in bounds),
        n_minutes=_minutes(system.tick_ns, found.has_both, bounds, params.patience),
    )


def _bounds(
    system: SystemTable, is_starved: NDArray[np.bool_], params: Params
) -> list[tuple[int, int]]:
    """Return first and last row of each episode; a gap in the sampling ends one."""
    rows, interval_ns = np.flatnonzero(is_starved), system.interval_ns
    if interval_ns is None or not rows.size:
        return []
    runs = runs_of(
        system.tick_ns[rows], max_step=(MAX_HOLE_TICKS + 1) * interval_ns + interval_ns // 2
    )
    first, last = rows[runs.first], rows[runs.last]
    length_ns = system.tick_ns[last] - system.tick_ns[first] + interval_ns
    is_long = length_ns >= params.min_duration_s * NS_PER_S
    return list(zip(first[is_long].tolist(), last[is_long].tolist(), strict=True))


def _episode(part: NodeProfile, found: Starvation, first: int, last: int) -> Episode:
    rows = slice(first, last + 1)
    is_starved = found.is_starved[rows]
    use = part.system.matrix(SeriesKind.GPU_UTILIZATION)
    return Episode(
        node=part.node,
        start_s=seconds(part.system.tick_ns[first]),
        end_s=seconds(part.system.tick_ns[last]),
        mean_bytes_per_s=float(found.received[rows][is_starved].mean()),
        limit_bytes_per_s=found.limit_bytes_per_s or 0.0,
        gpu_mean_pct=float(np.nanmean(use[rows][is_starved])),
    )


def _minutes(
    tick_ns: NDArray[np.int64],
    has_both: NDArray[np.bool_],
    bounds: Sequence[tuple[int, int]],
    n_patience: int,
) -> int:
    """Count the minutes with ticks of an episode by whose end there was enough data."""
    stops = minutes_of(tick_ns).stop
    seen = np.concatenate(([0], np.cumsum(has_both)))
    return sum(
        bool(seen[stop] > n_patience)
        and any(first < stop and last >= begin for first, last in bounds)
        for begin, stop in pairwise([0, *stops.tolist()])
    )


def judge(nodes: Sequence[NodeNetwork], params: Params) -> Outcome:
    """Add up the nodes and say when the network held a GPU up."""
    counters = Counters(
        rule_triggered=sum(node.n_minutes for node in nodes),
        violations=sum(node.n_starved for node in nodes),
        datapoints=sum(node.n_both for node in nodes),
    )
    share = counters.violations / counters.datapoints if counters.datapoints else 0.0
    episodes = concat(node.episodes for node in nodes)
    is_found = episodes and counters.rule_triggered
    return Outcome(
        missing=_reason(nodes, params),
        counters=counters,
        details=_details(nodes, params),
        metrics={"starved_ratio": round(share, 6)} if counters.datapoints else {},
        findings=[_finding(episodes, share, params)] if is_found else [],
        exhibits=_exhibits(episodes) if episodes else [],
    )


def _reason(nodes: Sequence[NodeNetwork], params: Params) -> Reason | None:
    with_gpu = [node for node in nodes if node.n_gpus]
    reason = reason_to_skip(
        n_ticks=sum(node.n_ticks for node in nodes),
        n_gpus=sum(node.n_gpus for node in nodes),
        n_samples=max((node.n_ticks for node in with_gpu), default=0),
        patience=params.patience,
    )
    if reason is not None:
        return reason
    if all(node.limit_bytes_per_s is None for node in with_gpu):
        text = "The bytes that the training container received were not sampled."
        return Reason(code=ReasonCode.TOO_FEW_SAMPLES, text=text)
    n_both = max(node.n_both for node in nodes)
    return reason_to_skip(n_ticks=1, n_gpus=None, n_samples=n_both, patience=params.patience)


def _details(nodes: Sequence[NodeNetwork], params: Params) -> Details:
    limits: dict[str, JsonValue] = {
        node.node: node.limit_bytes_per_s for node in nodes if node.limit_bytes_per_s is not None
    }
    episodes: dict[str, JsonValue] = {
        node.node: [
            {
                "start": item.start_s,
                "end": item.end_s,
                "mean_bytes_per_s": item.mean_bytes_per_s,
                "gpu_mean": item.gpu_mean_pct,
            }
            for item in node.episodes
        ]
        for node in nodes
        if node.episodes
    }
    source = "own_p99" if params.limit_bytes_per_s is None else "parameter"
    return {"limit_bytes_per_s": limits, "limit_source": source, "episodes": episodes}


def _finding(episodes: Sequence[Episode], share: float, params: Params) -> Finding:
    longest = max(episodes, key=lambda item: item.duration_s)
    least = busy_from(
        longest.limit_bytes_per_s,
        busy_pct=params.network_threshold,
        floor_bytes_per_s=params.floor_bytes_per_s,
    )
    is_own = params.limit_bytes_per_s is None
    return (AT_OWN_MAXIMUM if is_own else AT_LIMIT).finding(
        measured=round(longest.mean_bytes_per_s, 1),
        threshold=round(least, 1),
        where=Where(node=longest.node, start_s=longest.start_s, end_s=longest.end_s),
        severity=Severity.WARNING if is_own else fault_severity(share),
        share=None if is_own else share,
        share_pct=100 * share,
        n_episodes=len(episodes),
        gpu_threshold=params.gpu_threshold,
        longest=longest,
    )


def _exhibits(episodes: Sequence[Episode]) -> list[Exhibit]:
    what = "network busy, GPU idle"
    return [
        intervals(
            [
                Interval(
                    node=item.node, device="", what=what, start_s=item.start_s, end_s=item.end_s
                )
                for item in episodes
            ],
            title="When a GPU idled while the network was busy",
            role=Role.IDLE,
        ),
        table(
            "episodes",
            episodes,
            Episode,
            title="Episodes",
            caption="Means over the ticks in which a GPU idled and the node received at its limit.",
        ),
    ]


RULE = Rule(
    id=RuleId("NetworkBottleneck"),
    title="Network bottlenecks",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
    folded=("intervals",),
)
