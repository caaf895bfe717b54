"""NetworkBottleneck: a GPU idles while its node receives as much as the network gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reportgen import results
from reportgen.arrays import Mask
from reportgen.facts import usage
from reportgen.facts.intervals import runs_of
from reportgen.facts.samples import minutes_of
from reportgen.facts.starving import STARVED_FROM_RATIO, Starving, starved_by_network, worst_of
from reportgen.profile import NodeId, NodeProfile, SeriesKind, SystemTable
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule, param
from reportgen.units import NS_PER_S

MAX_HOLE_TICKS = 2
"""An episode goes on over this many ticks: the rate of a loader that never stops still swings."""
LEAST_EPISODE_S = 30.0
"""Shorter bursts, as at the start of an epoch, cost little."""
STEADY_RATIO = 0.7
"""A minute whose mean is this share of the highest rates is steady; bursts lie far below."""

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
    {longest.mean_bytes_per_s:bytes}/s for {longest.length_ns:ns}. """
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
    text="""In {worst.n_minutes:count minute} the GPUs that the job uses on {worst.node} were idle
        again and again, each time for less than a sample: together {measured:pct} of the time from
        their first to their last work (of several GPUs the one that is idle most counts). In these
        minutes the node received {worst.bytes_per_s:bytes}/s more than it sent. This rate was
        steady: it did not fall while GPUs were idle. {worst.busy_cores:.1f} of
        {worst.n_cores} cores computed.""",
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


@kit.row
class Episode:
    """A time in which a GPU idled while its node received close to the limit."""

    lane: str = kit.derived(lambda item: item.node)
    name: str = kit.derived(lambda _: "network busy, GPU idle")
    node: str = kit.col()
    start_ns: int = kit.col("s", name="start_s", per=NS_PER_S)
    end_ns: int = kit.col("s", name="end_s", per=NS_PER_S)
    length_ns: int = kit.derived(
        lambda item: item.end_ns - item.start_ns, "s", name="duration_s", per=NS_PER_S
    )
    mean_bytes_per_s: float = kit.col("bytes/s", name="received")
    limit_bytes_per_s: float = kit.col("bytes/s", name="limit")
    gpu_mean_pct: float = kit.col("%")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeNetwork:
    """One node.

    Attributes:
        n_both: ticks with a sample of a GPU and of received bytes.
        limit_bytes_per_s: given, or the node's own; ``None`` without received bytes.
        steady_ratio: share of the minutes at work in which it receives steadily; ``None`` without
            received bytes.
        episodes: those of GPUs that the job uses; one that it never uses waits for nothing.
        n_starved: ticks in them in which such a GPU is starved.
        starving: minutes in which GPUs idle in gaps shorter than a tick.
    """

    node: NodeId
    n_ticks: int
    n_gpus: int
    n_both: int
    limit_bytes_per_s: float | None
    steady_ratio: float | None
    episodes: tuple[Episode, ...]
    n_starved: int
    starving: tuple[Starving, ...]


def measure(part: NodeProfile, params: Params) -> NodeNetwork:
    """Measure one node."""
    system = part.system
    found = usage.starvation_of(
        system,
        gpu_pct=params.gpu_threshold,
        busy_pct=params.network_threshold,
        limit_bytes_per_s=params.limit_bytes_per_s,
    )
    is_starved = found.is_starved & (usage.low_used_gpus(system, below=params.gpu_threshold) > 0)
    spans = _spans(system, is_starved)
    return NodeNetwork(
        node=part.node,
        n_ticks=system.n_ticks,
        n_gpus=len(system.names(SeriesKind.GPU_UTILIZATION)),
        n_both=int(np.count_nonzero(found.has_both)),
        limit_bytes_per_s=found.limit_bytes_per_s,
        steady_ratio=_steady_ratio(system),
        episodes=tuple(_episode(part, found, is_starved, span) for span in spans),
        n_starved=sum(int(is_starved[span].sum()) for span in spans),
        starving=starved_by_network(part),
    )


def _spans(system: SystemTable, is_starved: Mask) -> list[slice]:
    """Return the rows of each episode; a gap in the sampling ends one."""
    rows, interval_ns = np.flatnonzero(is_starved), system.interval_ns
    if interval_ns is None or not rows.size:
        return []
    longest_ns = (MAX_HOLE_TICKS + 1) * interval_ns + interval_ns // 2
    first, last = rows[runs_of(system.tick_ns[rows], max_step=longest_ns)]
    length_ns = system.tick_ns[last] - system.tick_ns[first] + interval_ns
    is_long = length_ns >= LEAST_EPISODE_S * NS_PER_S
    return list(map(slice, first[is_long].tolist(), (last[is_long] + 1).tolist()))


def _episode(part: NodeProfile, found: usage.Starvation, is_starved: Mask, span: slice) -> Episode:
    tick_ns, rows = part.system.tick_ns[span], is_starved[span]
    use = part.system.matrix(SeriesKind.GPU_UTILIZATION)[span]
    return Episode(
        node=part.node,
        start_ns=int(tick_ns[0]),
        end_ns=int(tick_ns[-1]),
        mean_bytes_per_s=float(found.received[span][rows].mean()),
        limit_bytes_per_s=found.limit_bytes_per_s or 0.0,
        gpu_mean_pct=float(np.nanmean(use[rows])),
    )


def _steady_ratio(system: SystemTable) -> float | None:
    """Return the share of the minutes at work with a mean input close to the highest rates."""
    inputs = usage.input_bytes_per_s(system)
    is_known = usage.while_at_work(system) & np.isfinite(inputs)
    if not is_known.any():
        return None
    known, minutes = inputs[is_known], minutes_of(system.tick_ns[is_known])
    counts = np.diff(minutes.stop, prepend=0)
    means = np.add.reduceat(known, minutes.stop - counts) / counts
    limit = float(np.percentile(known, usage.OWN_LIMIT_PCT))
    return float((means >= max(STEADY_RATIO * limit, usage.FLOOR_BYTES_PER_S)).mean())


def judge(nodes: Sequence[NodeNetwork], params: Params) -> Outcome:
    """Add up the nodes and say when the network held a GPU up."""
    n_both = sum(node.n_both for node in nodes)
    share = sum(node.n_starved for node in nodes) / max(n_both, 1)
    episodes = kit.concat(node.episodes for node in nodes)
    in_gaps, missing = _in_gaps(nodes), _reason(nodes)
    steady = [node.steady_ratio for node in nodes if node.steady_ratio is not None]
    is_told = not in_gaps and episodes and not missing
    return Outcome(
        missing=None if in_gaps else missing,
        metrics={
            **({"starved_ratio": round(share, 6)} if n_both else {}),
            **({"steady_input_ratio": round(max(steady), 6)} if steady else {}),
        },
        findings=[_finding(nodes, episodes, share, params) if is_told else in_gaps],
        exhibits=[
            *([_share(share)] if n_both else []),
            *kit.filled_table(
                "episodes",
                episodes,
                Episode,
                title="When a GPU was idle while the network was busy",
                caption="""Means over the samples in which a GPU was idle and the node received at
                    its limit.""",
                drawn_as=results.ExhibitKind.SPANS,
                role=results.Role.IDLE,
            ),
        ],
    )


def _reason(nodes: Sequence[NodeNetwork]) -> results.Reason | None:
    with_gpu = [node for node in nodes if node.n_gpus]
    reason = kit.reason_to_skip(
        n_ticks=sum(node.n_ticks for node in nodes),
        n_gpus=sum(node.n_gpus for node in nodes),
        n_samples=max((node.n_ticks for node in with_gpu), default=0),
        patience=usage.LEAST_JUDGED,
    )
    if reason is None and all(node.limit_bytes_per_s is None for node in with_gpu):
        return kit.not_sampled("The bytes that the training container received were not sampled.")
    return reason


def _finding(
    nodes: Sequence[NodeNetwork], episodes: Sequence[Episode], share: float, params: Params
) -> results.Finding:
    """Return the finding; ``share`` is of all nodes.

    That the job's own maximum is the limit is a guess, hence no more than a warning.
    """
    longest = max(episodes, key=lambda item: item.length_ns)
    worst = max(node.n_starved / node.n_both for node in nodes if node.n_both)
    is_given = params.limit_bytes_per_s is not None
    guessed = results.Severity.INFO if worst < kit.CHEAP_RATIO else results.Severity.WARNING
    return (AT_LIMIT if is_given else AT_OWN_MAXIMUM).finding(
        measured=round(longest.mean_bytes_per_s, 1),
        threshold=round(
            usage.busy_from(longest.limit_bytes_per_s, busy_pct=params.network_threshold), 1
        ),
        where=kit.stretch(longest.node, None, longest.start_ns, longest.end_ns),
        severity=kit.fault_severity(share) if is_given else guessed,
        share=share if is_given else None,
        share_pct=100 * share,
        n_episodes=len(episodes),
        gpu_threshold=params.gpu_threshold,
        longest=longest,
    )


def _in_gaps(nodes: Sequence[NodeNetwork]) -> results.Finding | None:
    worst = worst_of(kit.concat(node.starving for node in nodes))
    if worst is None:
        return None
    where = kit.stretch(worst.node, None, worst.first_ns, worst.last_ns)
    limit_pct = 100 * STARVED_FROM_RATIO
    return IN_GAPS.fault(100 * worst.ratio, threshold=limit_pct, where=where, worst=worst)


def _share(ratio: float) -> results.Exhibit:
    return results.exhibit(
        "network_share",
        results.ExhibitKind.BARS,
        title="Network",
        caption="Share of the samples of GPU and network.",
        columns=[
            ("name", "", ["a GPU low, the network at its limit"]),
            *kit.floats(("pct", "%", [round(100 * ratio, 3)])),
        ],
        role=results.Role.NETWORK,
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
