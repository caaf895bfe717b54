"""NetworkBottleneck: a GPU idles while its node receives as much as the network gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.gpu_use import IDLE_BELOW_PCT
from reportgen.facts.intervals import runs_of
from reportgen.facts.minutes import minutes_of
from reportgen.facts.network_load import FLOOR_BYTES_PER_S, NETWORK_BUSY_PCT, starvation_of
from reportgen.profile import NodeId, NodeProfile, SeriesKind
from reportgen.profile.system import Floats
from reportgen.results import (
    Counters,
    Details,
    JsonValue,
    Reason,
    ReasonCode,
    RuleId,
    RuleResult,
    Section,
)
from reportgen.rules.base import About, Need, Presentation, Rule, param
from reportgen.rules.declare import patience, percentage
from reportgen.rules.network.words import Episode, Least, present_episodes
from reportgen.rules.saying.verdict import conclude, reason_to_skip
from reportgen.units import NS_PER_S, seconds

ID = RuleId("NetworkBottleneck")
MAX_HOLE_TICKS = 2
"""An episode goes on over so many ticks. Source: rules-spec §16a."""

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
_SOURCE = "ours, rules-spec §16a"


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in the order of rules-spec §16a."""

    gpu_threshold: float = percentage(IDLE_BELOW_PCT, "a GPU below this idles")
    network_threshold: float = percentage(
        NETWORK_BUSY_PCT, "received bytes from this share of the limit on"
    )
    limit_bytes_per_s: float | None = param(
        None,
        unit="bytes/s",
        meaning="what the node's network can receive; None takes the node's own p99",
        source=_SOURCE,
        minimum=1,
        may_be_none=True,
    )
    floor_bytes_per_s: float = param(
        FLOOR_BYTES_PER_S,
        unit="bytes/s",
        meaning="slower rates are never a bottleneck",
        source=_SOURCE,
        minimum=0,
    )
    min_duration_s: float = param(
        30, unit="s", meaning="shorter episodes do not count", source=_SOURCE, minimum=0
    )
    patience: int = patience()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
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


def measure(part: NodeProfile, params: Params) -> Measurement:
    """Measure one node."""
    system = part.system
    use = system.matrix(SeriesKind.GPU_UTILIZATION)
    found = starvation_of(
        system,
        gpu_pct=params.gpu_threshold,
        busy_pct=params.network_threshold,
        floor_bytes_per_s=params.floor_bytes_per_s,
        limit_bytes_per_s=params.limit_bytes_per_s,
    )
    received, is_starved = found.received, found.is_starved
    bounds = _bounds(system.tick_ns, is_starved, system.interval_ns, params)
    episodes = tuple(
        _episode(str(part.node), system.tick_ns[rows], received[rows], use[rows], is_starved[rows])
        for rows in (slice(first, last + 1) for first, last in bounds)
    )
    return Measurement(
        node=part.node,
        n_ticks=system.n_ticks,
        n_gpus=len(system.names(SeriesKind.GPU_UTILIZATION)),
        n_both=int(np.count_nonzero(found.has_both)),
        limit_bytes_per_s=found.limit_bytes_per_s,
        episodes=episodes,
        n_starved=sum(int(is_starved[first : last + 1].sum()) for first, last in bounds),
        n_minutes=_minutes(system.tick_ns, found.has_both, bounds, params.patience),
    )


def _bounds(
    tick_ns: NDArray[np.int64],
    is_starved: NDArray[np.bool_],
    interval_ns: int | None,
    params: Params,
) -> list[tuple[int, int]]:
    """Return first and last row of each episode; a gap in the sampling ends one."""
    rows = np.flatnonzero(is_starved)
    if interval_ns is None or not rows.size:
        return []
    longest_ns = (MAX_HOLE_TICKS + 1) * interval_ns + interval_ns // 2
    runs = runs_of(tick_ns[rows], max_step=longest_ns)
    return [
        (int(rows[first]), int(rows[last]))
        for first, last in zip(runs.first, runs.last, strict=True)
        if tick_ns[rows[last]] - tick_ns[rows[first]] + interval_ns
        >= params.min_duration_s * NS_PER_S
    ]


def _episode(
    node: str,
    tick_ns: NDArray[np.int64],
    received: Floats,
    use: Floats,
    is_starved: NDArray[np.bool_],
) -> Episode:
    return Episode(
        node=node,
        start_s=seconds(tick_ns[0]),
        end_s=seconds(tick_ns[-1]),
        mean_bytes_per_s=float(received[is_starved].mean()),
        gpu_mean_pct=float(np.nanmean(use[is_starved])),
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


def judge(measurements: Sequence[Measurement], params: Params) -> RuleResult:
    """Add up the nodes."""
    counters = Counters(
        rule_triggered=sum(node.n_minutes for node in measurements),
        violations=sum(node.n_starved for node in measurements),
        datapoints=sum(node.n_both for node in measurements),
    )
    details = _details(measurements, params)
    return conclude(
        ID,
        params=params,
        reason=_reason(measurements, params),
        counters=counters,
        details=details,
        metrics={"starved_ratio": round(counters.violations / counters.datapoints, 6)}
        if counters.datapoints
        else {},
        presentation=present(counters, details, params, None),
    )


def _reason(measurements: Sequence[Measurement], params: Params) -> Reason | None:
    with_gpu = [node for node in measurements if node.n_gpus]
    reason = reason_to_skip(
        n_ticks=sum(node.n_ticks for node in measurements),
        n_gpus=sum(node.n_gpus for node in measurements),
        n_samples=max((node.n_ticks for node in with_gpu), default=0),
        patience=params.patience,
    )
    if reason is not None:
        return reason
    if all(node.limit_bytes_per_s is None for node in with_gpu):
        text = "The bytes that the training container received were not sampled."
        return Reason(code=ReasonCode.TOO_FEW_SAMPLES, text=text)
    return reason_to_skip(
        n_ticks=1,
        n_gpus=None,
        n_samples=max(node.n_both for node in measurements),
        patience=params.patience,
    )


def _details(measurements: Sequence[Measurement], params: Params) -> Details:
    limits: dict[str, JsonValue] = {
        node.node: node.limit_bytes_per_s
        for node in measurements
        if node.limit_bytes_per_s is not None
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
        for node in measurements
        if node.episodes
    }
    source = "own_p99" if params.limit_bytes_per_s is None else "parameter"
    return {"limit_bytes_per_s": limits, "limit_source": source, "episodes": episodes}


def present(
    counters: Counters,
    details: Details,
    params: Params,
    context: None,  # noqa: ARG001 - a rule's shape; the details tell everything
) -> Presentation:
    """Say when the network held a GPU up, from the details alone."""
    return present_episodes(counters, details, gpu_pct=params.gpu_threshold, least=_least(params))


def _least(params: Params) -> Least:
    return Least(share_pct=params.network_threshold, floor_bytes_per_s=params.floor_bytes_per_s)


RULE = Rule(
    id=ID,
    title="Network bottlenecks",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    folded=("intervals",),
)
