"""NetworkBottleneck: a GPU idles while its node receives as much as the network gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reportgen import results
from reportgen.arrays import Mask, Rows
from reportgen.facts import usage
from reportgen.facts.intervals import runs_of
from reportgen.facts.samples import minutes_of
from reportgen.facts.starving import STARVED_FROM_RATIO, Starving, starved_by_network, worst_of
from reportgen.profile import NodeId, NodeProfile, SeriesKind, SystemTable
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule, param
from reportgen.units import NS_PER_S, seconds

MAX_HOLE_TICKS = 2
"""An episode goes on over this many ticks: the rate of a loader that never stops still swings."""

ABOUT = About(
    checks="Whether a GPU is idle while its node receives data as fast as the network allows.",
    reading="""An episode is a time in which a GPU is below its threshold while the node receives
        data at nearly the limit of its network. If the limit is not given, the job's own 99th
        percentile is used instead: then an episode only says that input and idle GPUs occur
        together, not that the network is fully used.""",
    advice="""Send less: smaller or compressed records, a local copy or cache of data that are read
        again. Or take an instance with more network bandwidth.""",
    section=results.Section(id="network-bottlenecks", title="Network bottlenecks", order=230),
    at_a_glance=(
        results.AtAGlance(
            card=kit.BOTTLENECKS, order=52, exhibits=("network_share",), is_only_here=True
        ),
    ),
    is_quiet=True,
)
_TEXT = """In {n_episodes:count episode} a GPU was below {gpu_threshold:pct} while its node received
    data at nearly its limit; in the longest one {longest.node} received
    {longest.mean_bytes_per_s:bytes}/s for {longest.duration_s:s}. """
AT_LIMIT = kit.Message(
    id="SYS-5",
    cause=results.Cause.NETWORK_INPUT,
    title="A GPU is idle while the network is busy: {share_pct:pct} of the job",
    text=_TEXT + "The limit is {longest.limit_bytes_per_s:bytes}/s, as given.",
    advice="""Read smaller or compressed records, keep a local copy of data that are read again, or
        take an instance with more network bandwidth.""",
    unit="bytes/s",
    exhibit="episodes",
)
AT_OWN_MAXIMUM = replace(
    AT_LIMIT,
    text=_TEXT + "The limit of {longest.limit_bytes_per_s:bytes}/s is the job's own maximum (99th "
    "percentile); the network may be faster.",
)

IN_GAPS = replace(
    AT_LIMIT,
    title="GPUs are idle while the network is at its limit: {measured:pct} of the working time",
    text="""In {worst.n_minutes:count minute} the GPUs that {worst.node} uses were idle in gaps that
        single samples hardly show: {measured:pct} of the time from their first to their last work
        (in each sample the GPU that is idle most counts). During this time the node received
        {worst.bytes_per_s:bytes}/s more than it sent, at a steady rate that does not fall when GPUs
        are idle, and {worst.busy_cores:.1f} of {worst.n_cores} cores computed.""",
    unit="%",
    exhibit=None,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """When a node is held up by its network."""

    gpu_threshold: float = kit.percentage(usage.IDLE_BELOW_PCT, "a GPU below this idles")
    network_threshold: float = kit.percentage(
        usage.NETWORK_BUSY_PCT, "received bytes above this share of the limit are a bottleneck"
    )
    limit_bytes_per_s: float | None = param(
        None,
        unit="bytes/s",
        meaning="the receiving rate of the node's network; None takes the node's p99",
        source="no sample says what the network of an instance can do",
        minimum=1,
        may_be_none=True,
    )
    floor_bytes_per_s: float = param(
        usage.FLOOR_BYTES_PER_S,
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
    patience: int = kit.count(
        usage.LEAST_JUDGED,
        "judge only once more than this many samples exist",
        source="as GPUs are judged: an episode is as plain in a job of some minutes",
    )


@kit.row
class Episode:
    """A time in which a GPU idled while its node received close to the limit."""

    lane: str = kit.derived(lambda item: item.node)
    name: str = kit.derived(lambda _: "network busy, GPU idle")
    node: str = kit.col()
    start_s: float = kit.col("s")
    end_s: float = kit.col("s")
    length_s: float = kit.derived(lambda item: item.duration_s, "s", name="duration_s")
    mean_bytes_per_s: float = kit.col("bytes/s", name="received")
    limit_bytes_per_s: float = kit.col("bytes/s", name="limit")
    gpu_mean_pct: float = kit.col("%")

    @property
    def duration_s(self) -> float:
        """Return the time from the first to the last tick."""
        return self.end_s - self.start_s

    @property
    def where(self) -> results.Where:
        """Return the place and the time."""
        return results.Where(node=self.node, start_s=self.start_s, end_s=self.end_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeNetwork:
    """One node.

    Attributes:
        n_both: ticks with a sample of a GPU and of received bytes.
        limit_bytes_per_s: given, or the node's own; ``None`` without received bytes.
        n_starved: starved ticks in the episodes.
        in_use: the episodes of GPUs that the job uses; one that it never uses waits for nothing.
        n_in_use: ticks in ``in_use`` in which such a GPU is starved.
        n_minutes: minutes after the patience that touch an episode.
        starving: minutes in which GPUs idle in gaps shorter than a tick.
    """

    node: NodeId
    n_ticks: int
    n_gpus: int
    n_both: int
    limit_bytes_per_s: float | None
    episodes: tuple[Episode, ...]
    n_starved: int
    in_use: tuple[Episode, ...]
    n_in_use: int
    n_minutes: int
    starving: tuple[Starving, ...]


def measure(part: NodeProfile, params: Params) -> NodeNetwork:
    """Measure one node."""
    system = part.system
    found = usage.starvation_of(
        system,
        gpu_pct=params.gpu_threshold,
        busy_pct=params.network_threshold,
        floor_bytes_per_s=params.floor_bytes_per_s,
        limit_bytes_per_s=params.limit_bytes_per_s,
    )
    low_used = usage.low_used_gpus(system, below=params.gpu_threshold)
    is_in_use = found.is_starved & (low_used > 0)
    spans, in_use = (_spans(system, its, params) for its in (found.is_starved, is_in_use))
    rows = _rows(spans)
    stop = minutes_of(system.tick_ns).stop
    touched = stop[np.unique(np.searchsorted(stop, rows, side="right"))]
    return NodeNetwork(
        node=part.node,
        n_ticks=system.n_ticks,
        n_gpus=len(system.names(SeriesKind.GPU_UTILIZATION)),
        n_both=int(np.count_nonzero(found.has_both)),
        limit_bytes_per_s=found.limit_bytes_per_s,
        episodes=tuple(_episode(part, found, span) for span in spans),
        n_starved=int(found.is_starved[rows].sum()),
        in_use=tuple(_episode(part, found, span) for span in in_use),
        n_in_use=int(is_in_use[_rows(in_use)].sum()),
        n_minutes=int((np.cumsum(found.has_both)[touched - 1] > params.patience).sum()),
        starving=starved_by_network(part),
    )


def _spans(system: SystemTable, is_starved: Mask, params: Params) -> list[slice]:
    """Return the rows of each episode; a gap in the sampling ends one."""
    rows, interval_ns = np.flatnonzero(is_starved), system.interval_ns
    if interval_ns is None or not rows.size:
        return []
    longest_ns = (MAX_HOLE_TICKS + 1) * interval_ns + interval_ns // 2
    runs = runs_of(system.tick_ns[rows], max_step=longest_ns)
    first, last = rows[runs.first], rows[runs.last]
    length_ns = system.tick_ns[last] - system.tick_ns[first] + interval_ns
    is_long = length_ns >= params.min_duration_s * NS_PER_S
    return list(map(slice, first[is_long].tolist(), (last[is_long] + 1).tolist()))


def _rows(spans: Sequence[slice]) -> Rows:
    return np.concatenate([np.arange(0), *(np.arange(span.start, span.stop) for span in spans)])


def _episode(part: NodeProfile, found: usage.Starvation, span: slice) -> Episode:
    tick_ns, is_starved = part.system.tick_ns[span], found.is_starved[span]
    use = part.system.matrix(SeriesKind.GPU_UTILIZATION)[span]
    return Episode(
        node=part.node,
        start_s=seconds(tick_ns[0]),
        end_s=seconds(tick_ns[-1]),
        mean_bytes_per_s=float(found.received[span][is_starved].mean()),
        limit_bytes_per_s=found.limit_bytes_per_s or 0.0,
        gpu_mean_pct=float(np.nanmean(use[is_starved])),
    )


def judge(nodes: Sequence[NodeNetwork], params: Params) -> Outcome:
    """Add up the nodes and say when the network held a GPU up."""
    counters = results.Counters(
        rule_triggered=sum(node.n_minutes for node in nodes),
        violations=sum(node.n_starved for node in nodes),
        datapoints=sum(node.n_both for node in nodes),
    )
    n_both = max(counters.datapoints, 1)
    share, in_use_share = counters.violations / n_both, sum(its.n_in_use for its in nodes) / n_both
    in_use = kit.concat(node.in_use for node in nodes)
    is_found = in_use and counters.rule_triggered
    worst = max((its.n_in_use / its.n_both for its in nodes if its.n_both), default=0.0)
    in_gaps = _in_gaps(nodes)
    return Outcome(
        missing=None if in_gaps else _reason(nodes, params),
        counters=counters,
        details=_details(nodes, params),
        metrics={"starved_ratio": round(share, 6)} if counters.datapoints else {},
        findings=in_gaps or ([_finding(in_use, in_use_share, worst, params)] if is_found else []),
        exhibits=[
            *([_share(share)] if counters.datapoints else []),
            *([_episodes(in_use)] if in_use else []),
        ],
    )


def _reason(nodes: Sequence[NodeNetwork], params: Params) -> results.Reason | None:
    with_gpu = [node for node in nodes if node.n_gpus]
    reason = kit.reason_to_skip(
        n_ticks=sum(node.n_ticks for node in nodes),
        n_gpus=sum(node.n_gpus for node in nodes),
        n_samples=max((node.n_ticks for node in with_gpu), default=0),
        patience=params.patience,
    )
    if reason is not None:
        return reason
    if all(node.limit_bytes_per_s is None for node in with_gpu):
        return kit.too_few("The bytes that the training container received were not sampled.")
    n_both = max(node.n_both for node in nodes)
    return kit.reason_to_skip(n_ticks=1, n_gpus=None, n_samples=n_both, patience=params.patience)


def _details(nodes: Sequence[NodeNetwork], params: Params) -> results.Details:
    limits: dict[str, results.JsonValue] = {
        node.node: node.limit_bytes_per_s for node in nodes if node.limit_bytes_per_s is not None
    }
    episodes: dict[str, results.JsonValue] = {
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


def _finding(
    episodes: Sequence[Episode], share: float, worst: float, params: Params
) -> results.Finding:
    """Return the finding; ``share`` is of all nodes, ``worst`` that of the node with most of it.

    That the job's own maximum is the limit is a guess, hence no more than a warning.
    """
    longest = max(episodes, key=lambda item: item.duration_s)
    least = usage.busy_from(
        longest.limit_bytes_per_s,
        busy_pct=params.network_threshold,
        floor_bytes_per_s=params.floor_bytes_per_s,
    )
    is_own = params.limit_bytes_per_s is None
    own = results.Severity.INFO if worst < kit.CHEAP_RATIO else results.Severity.WARNING
    return (AT_OWN_MAXIMUM if is_own else AT_LIMIT).finding(
        measured=round(longest.mean_bytes_per_s, 1),
        threshold=round(least, 1),
        where=longest.where,
        severity=own if is_own else kit.fault_severity(share),
        share=None if is_own else share,
        share_pct=100 * share,
        n_episodes=len(episodes),
        gpu_threshold=params.gpu_threshold,
        longest=longest,
    )


def _in_gaps(nodes: Sequence[NodeNetwork]) -> list[results.Finding]:
    worst = worst_of(kit.concat(node.starving for node in nodes))
    if worst is None:
        return []
    found = IN_GAPS.fault(
        100 * worst.ratio,
        threshold=100 * STARVED_FROM_RATIO,
        where=kit.stretch(worst.node, None, worst.first_ns, worst.last_ns),
        worst=worst,
    )
    return [found]


def _share(ratio: float) -> results.Exhibit:
    return results.exhibit(
        "network_share",
        results.ExhibitKind.BARS,
        title="Network",
        caption="Share of the samples of GPU and network.",
        columns=[
            results.column(
                "name", "", ["a GPU low, the network at its limit"], type=results.ColumnType.TEXT
            ),
            *kit.floats(("pct", "%", [round(100 * ratio, 3)])),
        ],
        role=results.Role.NETWORK,
    )


def _episodes(episodes: Sequence[Episode]) -> results.Exhibit:
    return kit.table(
        "episodes",
        episodes,
        Episode,
        title="When a GPU was idle while the network was busy",
        caption="""Means over the samples in which a GPU was idle and the node received at its
            limit.""",
        drawn_as=results.ExhibitKind.SPANS,
        role=results.Role.IDLE,
    )


RULE = Rule(
    id=results.RuleId("NetworkBottleneck"),
    title="Network bottlenecks",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
)
