"""LoadBalancing: the GPUs of a node do not share the work evenly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.profile import NodeId, NodeProfile, SeriesKind
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
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.gpu import share_words
from reportgen.rules.gpu.share import NodeLoad, Params, measure_load
from reportgen.rules.saying.verdict import conclude, reason_to_skip

ID = RuleId("LoadBalancing")
ABOUT = About(
    checks="Whether the GPUs of a node share the work evenly.",
    reading=(
        "Every minute the histograms of utilization of each pair of GPUs on a node are compared; "
        "the Jensen-Shannon distance is 0 for equal histograms and at most 0.83. Samples of 98 to "
        "100 % have a bin of their own, which AWS's rule dropped."
    ),
    advice=(
        "Use DistributedDataParallel instead of DataParallel, and shard data and batches evenly."
    ),
    section=Section(id="workload-balance", title="Workload balance", order=170),
    is_quiet=True,
    has_counters=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One node: how many ticks it has and how its GPUs shared the work."""

    node: NodeId
    n_ticks: int
    load: NodeLoad


def measure(part: NodeProfile, params: Params) -> Measurement:
    """Measure a node; GPUs without samples do not exist."""
    system = part.system
    matrix = system.matrix(SeriesKind.GPU_UTILIZATION)
    return Measurement(
        node=part.node,
        n_ticks=system.n_ticks,
        load=measure_load(
            part.node,
            system.names(SeriesKind.GPU_UTILIZATION),
            tick_ns=system.tick_ns,
            matrix=matrix,
            n_workers=np.unique(part.spans.steps().worker).size,
            params=params,
        ),
    )


def judge(measurements: Sequence[Measurement], params: Params) -> RuleResult:
    """Count (node, minute) with an uneven pair, and the pairs, over all nodes."""
    loads = tuple(node.load for node in measurements)
    counters = Counters(
        rule_triggered=sum(load.n_uneven_minutes for load in loads),
        violations=sum(load.n_uneven_pairs for load in loads),
        datapoints=max((gpu.n_samples for load in loads for gpu in load.gpus), default=0),
    )
    details = _details(loads)
    distances = [pair.distance for load in loads for pair in load.pairs]
    return conclude(
        ID,
        params=params,
        reason=_reason(measurements, counters, params),
        counters=counters,
        details=details,
        metrics={"distance_max": round(max(distances), 6)} if distances else {},
        presentation=present(counters, details, params, loads),
    )


def _reason(
    measurements: Sequence[Measurement], counters: Counters, params: Params
) -> Reason | None:
    gpus = [len(node.load.gpus) for node in measurements]
    reason = reason_to_skip(
        n_ticks=sum(node.n_ticks for node in measurements),
        n_gpus=sum(gpus),
        n_samples=counters.datapoints,
        patience=params.patience,
    )
    has_no_pair = sum(gpus) > 0 and max(gpus) == 1
    if has_no_pair:
        return Reason(
            code=ReasonCode.NO_GPU, text="There is only one GPU per node, nothing to compare."
        )
    return reason


def _details(loads: Sequence[NodeLoad]) -> Details:
    """Return AWS's member of each node; ``distances`` only of uneven pairs. Source: oracle §6."""
    details: Details = {}
    for load in loads:
        if not load.gpus:
            continue
        workloads: dict[str, JsonValue] = {
            gpu.gpu: list(gpu.aws_counts.tolist()) for gpu in load.gpus
        }
        entry: dict[str, JsonValue] = {"workloads": workloads}
        distances: dict[str, JsonValue] = {}
        for pair in load.pairs:
            if pair.n_uneven_minutes:
                others = distances.setdefault(pair.gpu, {})
                assert isinstance(others, dict)
                others[pair.other_gpu] = pair.violating_distance
        if distances:
            entry["distances"] = distances
        details[load.node] = entry
    return details


def present(
    counters: Counters, details: Details, params: Params, context: tuple[NodeLoad, ...] | None
) -> Presentation:
    """Say who does what share; ``context`` is the load of each node, in node order."""
    if context is None:
        return share_words.present_details(counters, details, params.threshold)
    return share_words.present_loads(counters, context, params.threshold)


RULE = Rule(
    id=ID,
    title="Workload balance",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
)
