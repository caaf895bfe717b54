"""LoadBalancing: the GPUs of a node do not share the work evenly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from reportgen import results
from reportgen.arrays import Counts, Floats
from reportgen.facts import distributions, usage
from reportgen.facts.distributions import jensen_shannon
from reportgen.facts.samples import count_where
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.results import Exhibit, Finding
from reportgen.rules import kit
from reportgen.rules.aws.aws_load_balancing import NodePairs, Params, counted_pairs, pairs_of
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.text import device_label, format_places, part_of

GAP_FROM_PCT = 10.0
"""Pairs whose mean utilization differs by less share the work, whatever their distance."""
MOST_GROUPS = 16
"""More histograms than this cannot be distinguished."""

ABOUT = About(
    checks="Whether the GPUs of a node, and the nodes, share the work evenly.",
    reading="""Once a minute the utilization histograms of each pair of GPUs on a node are compared.
        Their Jensen-Shannon distance is 0 if they are equal, and at most 0.83. Samples of 98 to
        100 % are counted here in a separate bin; SageMaker's rule ignores them.""",
    advice="""Use DistributedDataParallel instead of DataParallel, and shard data and batches
        evenly.""",
    section=results.Section(id="workload-balance", title="Workload balance", order=170),
    is_quiet=True,
    has_counters=True,
    hint_when_skipped="",
)
UNEVEN = kit.Message(
    id="BAL-1",
    cause=results.Cause.GPU_IMBALANCE,
    title="""Work is shared unevenly on {pair.node}: {pair.gpu} is used {pair.gpu_mean_pct:pct},
        {pair.other_gpu} {pair.other_mean_pct:pct}""",
    text="""Over the whole job, the mean utilization of {pair.gpu} is {pair.gpu_mean_pct:pct} and
        that of {pair.other_gpu} {pair.other_mean_pct:pct}. The Jensen-Shannon distance of their
        histograms is {measured:.2f} (threshold {threshold:g}, 0.83 at most). {affected} of GPUs
        exceeded the threshold: {places}.""",
    advice="""Give every GPU the same work: DistributedDataParallel instead of DataParallel, batches
        and shards of equal size, and nothing extra on the first GPU.""",
    unit="Jensen-Shannon distance",
    exhibit="distances",
)
ONE_EACH, PERHAPS_ONE_EACH = (
    "Each GPU has its training process",
    "Without step events it is unknown whether each GPU has its training process. If so",
)
UNEVEN_PROCESSES = replace(
    UNEVEN,
    title="""GPUs are used unequally on {pair.node}: {pair.gpu} {pair.gpu_mean_pct:pct},
        {pair.other_gpu} {pair.other_mean_pct:pct}""",
    text=f"""{UNEVEN.text} {{process}}: those that wait for another one in a collective look busy,
        so that the one that is used least holds up the others.""",
    advice="""Find out what the process of the GPU that is used least does meanwhile. Give all of
        them batches and shards of equal size, and check clock, temperature and other load.""",
)

UNEVEN_NODES = replace(
    UNEVEN_PROCESSES,
    title="""Nodes are used unequally: {least.gpu} on {least.node} {least.work_pct:pct}, {most.gpu}
        on {most.node} {most.work_pct:pct}""",
    text="""In its working time {least.gpu} on {least.node} is used {least.work_pct:pct}, and
        {most.gpu} on {most.node} {most.work_pct:pct}. The Jensen-Shannon distance of their
        histograms is {measured:.2f} (threshold {threshold:g}, 0.83 at most). GPUs that wait for
        another node in a collective look busy, so that the one that is used least holds up the
        others.""",
    exhibit="workloads",
)


@kit.row
class GpuLoad:
    """Work of one GPU.

    ``is_used``: from start to end, or no longer than the others. ``work_pct`` is its mean from its
    first to its last work. ``counts`` are (50,) samples in [0, 2) ... [98, 100].
    """

    node: str
    gpu: str
    mean_pct: float
    n_samples: int
    is_used: bool
    work_pct: float
    counts: Counts


@kit.row
class PairDistance:
    """How far apart the histograms of two GPUs, mostly of a node, are over the whole job."""

    node: str = kit.derived(lambda pair: pair.one.node)
    gpu: str = kit.derived(lambda pair: pair.one.gpu)
    other_gpu: str = kit.derived(lambda pair: pair.other.gpu)
    distance: float = kit.derived(
        lambda pair: float(jensen_shannon(pair.one.counts, pair.other.counts)), digits=6
    )
    gpu_mean_pct: float = kit.derived(lambda pair: pair.one.mean_pct, "%", digits=2)
    other_mean_pct: float = kit.derived(lambda pair: pair.other.mean_pct, "%", digits=2)
    gap_pct: float = kit.derived(
        lambda pair: abs(pair.gpu_mean_pct - pair.other_mean_pct),
        "points",
        name="mean_gap_pct",
        digits=2,
    )
    one: GpuLoad
    other: GpuLoad

    @property
    def differ_at_work(self) -> bool:
        """Return whether the job uses both throughout, and one more than the other at work.

        A GPU that began late or stopped is another fault.
        """
        gap_pct = abs(self.one.work_pct - self.other.work_pct)
        return self.one.is_used and self.other.is_used and gap_pct >= GAP_FROM_PCT


@kit.row
class NodeLoad:
    """One node: GPUs in device order, all pairs of them, processes that recorded steps.

    ``start_ns`` to ``end_ns`` is the time from the first work of a GPU to the last one.
    """

    node: str
    n_ticks: int
    start_ns: int
    end_ns: int
    n_workers: int
    gpus: tuple[GpuLoad, ...]
    pairs: tuple[PairDistance, ...]
    aws: NodePairs


def measure(part: NodeProfile, params: Params) -> NodeLoad:
    """Measure a node; GPUs without samples do not exist."""
    system, kind = part.system, SeriesKind.GPU_UTILIZATION
    busy = np.flatnonzero(count_where(system, kind, lambda use: use >= usage.IDLE_BELOW_PCT))
    columns = system.columns_of(kind)
    are_light = dict(zip(system.names(kind), usage.lightly_used(columns).tolist(), strict=True))
    is_used = dict(zip(system.names(kind), usage.used_throughout(columns).tolist(), strict=True))
    ends_ns = system.tick_ns[busy[[0, -1]]].tolist() if busy.size else (0, 0)
    gpus = [
        GpuLoad(
            node=part.node,
            gpu=gpu,
            n_samples=samples.values.size,
            mean_pct=float(samples.values.mean()),
            is_used=is_used[gpu] or are_light[gpu],
            work_pct=_work_pct(samples.values, is_light=are_light[gpu]),
            counts=distributions.pct_histogram(samples.values),
        )
        for gpu, samples in usage.samples_by_gpu(system, kind)
    ]
    return NodeLoad(
        node=part.node,
        n_ticks=system.n_ticks,
        start_ns=ends_ns[0],
        end_ns=ends_ns[1],
        n_workers=np.unique(part.spans.steps().worker).size,
        gpus=tuple(gpus),
        pairs=tuple(PairDistance(one=one, other=other) for one, other in combinations(gpus, 2)),
        aws=pairs_of(part, params),
    )


def _work_pct(values: Floats, *, is_light: bool) -> float:
    busy = np.flatnonzero(values >= (usage.UNTOUCHED_PCT if is_light else usage.IDLE_BELOW_PCT))
    return float(values[busy[0] : busy[-1] + 1].mean()) if busy.size else 0.0


def judge(loads: Sequence[NodeLoad], params: Params) -> Outcome:
    """Count (node, minute) with an uneven pair, and the pairs, over all nodes."""
    pairs = kit.concat(load.pairs for load in loads)
    n_gpus = [len(load.gpus) for load in loads]
    missing = kit.reason_to_skip(
        n_ticks=sum(load.n_ticks for load in loads),
        n_gpus=sum(n_gpus),
        n_samples=max((gpu.n_samples for load in loads for gpu in load.gpus), default=0),
        patience=usage.enough_samples(params.patience),
    )
    apart = [pair for pair in pairs if pair.differ_at_work and pair.gap_pct >= GAP_FROM_PCT]
    uneven = [pair for pair in apart if pair.distance > params.threshold]
    found = _finding(loads, uneven, params) if uneven else _across_nodes(loads, params)
    if max(n_gpus, default=0) == 1 and found is None:
        text = "There is only one GPU per node, nothing to compare on it."
        missing = results.Reason(code=results.ReasonCode.NO_GPU, text=text)
    return Outcome(
        missing=missing,
        **counted_pairs([load.aws for load in loads]),
        findings=[] if missing else [found],
        exhibits=_exhibits(loads, pairs, params) if any(n_gpus) else [],
        metrics=_metrics(loads, pairs, uneven),
    )


def _metrics(
    loads: Sequence[NodeLoad], pairs: Sequence[PairDistance], uneven: Sequence[PairDistance]
) -> dict[str, float | int | None]:
    """Return the largest distance, and how many training processes drive the GPUs that differ."""
    nodes = {pair.node for pair in uneven}
    n_processes = max((load.n_workers for load in loads if load.node in nodes), default=0)
    return {
        **({"distance_max": round(max(pair.distance for pair in pairs), 6)} if pairs else {}),
        **({"uneven_processes": n_processes} if n_processes else {}),
    }


def _finding(loads: Sequence[NodeLoad], uneven: Sequence[PairDistance], params: Params) -> Finding:
    worst = max(uneven, key=lambda pair: (pair.gap_pct, pair.distance))
    load = next(load for load in loads if load.node == worst.node)
    used = [gpu.work_pct for gpu in load.gpus if gpu.is_used]
    # Possible gain if the busiest GPU only had the mean of the used GPUs' work. Where each has its
    # process, GPUs that wait for another one look busy: then the gain is what that one idles more.
    # Where that is unknown, it may be as much, and is no worse than it is known to be.
    most = max(used, default=0.0)
    by_mean, by_least = (1 - of(used) / most if most else 0.0 for of in (np.mean, np.min))
    is_shared, is_known = 0 < load.n_workers < len(used), load.n_workers > 0
    share = float(by_mean if is_shared else by_least)
    message = UNEVEN if is_shared else UNEVEN_PROCESSES
    pairs = kit.concat(load.pairs for load in loads)
    beyond = [pair for pair in pairs if pair.distance > params.threshold]
    pair = f"{worst.gpu}, {worst.other_gpu}"
    return message.finding(
        measured=worst.distance,
        threshold=params.threshold,
        where=kit.stretch(worst.node, pair, load.start_ns, load.end_ns),
        severity=kit.fault_severity(share if is_known else float(by_mean)),
        share=share,
        pair=worst,
        process=ONE_EACH if is_known else PERHAPS_ONE_EACH,
        affected=part_of(len(beyond), len(pairs), "pair").capitalize(),
        places=format_places([(pair.node, f"{pair.gpu} – {pair.other_gpu}") for pair in beyond]),
    )


def _across_nodes(loads: Sequence[NodeLoad], params: Params) -> Finding | None:
    """Return the finding on a node whose GPUs work less than those of another one, if there is."""
    used = [gpu for load in loads for gpu in load.gpus if gpu.is_used]
    if len({gpu.node for gpu in used}) < 2:
        return None
    least, most = (of(used, key=lambda gpu: (gpu.work_pct, gpu.node)) for of in (min, max))
    pair = PairDistance(one=least, other=most)
    if not pair.differ_at_work or pair.distance <= params.threshold:
        return None
    load = next(load for load in loads if load.node == least.node)
    return UNEVEN_NODES.fault(
        100 * (1 - least.work_pct / most.work_pct),
        measured=pair.distance,
        threshold=params.threshold,
        where=kit.stretch(least.node, least.gpu, load.start_ns, load.end_ns),
        least=least,
        most=most,
    )


def _exhibits(
    loads: Sequence[NodeLoad], pairs: Sequence[PairDistance], params: Params
) -> Iterator[Exhibit]:
    gpus = [gpu for load in loads for gpu in load.gpus]
    if pairs:
        pairs = sorted(pairs, key=lambda pair: -pair.distance)
        title = "Distance of the utilization histograms of each pair of GPUs"
        caption = f"""Jensen-Shannon distance over the whole job: 0 if equal, 0.83 at most. A pair
            above the threshold {params.threshold:g} is a fault only if the job uses both GPUs from
            start to end and their means differ by {GAP_FROM_PCT:g} points or more."""
        yield kit.table("distances", pairs, PairDistance, title=title, caption=caption)
    farthest = {
        load.node: max((pair.distance for pair in load.pairs), default=0.0) for load in loads
    }
    uneven_first = sorted(loads, key=lambda load: -farthest[load.node])
    shown = [gpu for load in uneven_first for gpu in load.gpus][:MOST_GROUPS]
    rest = " {shown:n} of {every:n} GPUs, those of the most uneven nodes."
    caption = "All samples of the job. The last bin covers 98 to 100 %."
    caption += kit.left_out(rest, shown=len(shown), every=len(gpus))
    n_nodes = len(loads)
    groups = [
        (device_label(gpu.node, gpu.gpu, n_nodes=n_nodes), gpu.counts.tolist()) for gpu in shown
    ]
    yield kit.histogram(
        "workloads",
        distributions.PCT_EDGES,
        groups,
        title="Samples by GPU utilization",
        caption=caption,
        unit="%",
        edge_type=results.ColumnType.INT,
        role=results.Role.GPU,
    )


RULE = Rule(
    id=results.RuleId("LoadBalancing"),
    title="Workload balance",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
)
