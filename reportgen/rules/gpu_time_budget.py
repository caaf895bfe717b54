"""GPUTimeBudget: what each GPU's time went into, in parts that exclude each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reportgen.profile import NodeProfile, RankTrace
from reportgen.results import (
    Counters,
    Details,
    Place,
    Reason,
    ReasonCode,
    Role,
    RuleId,
    RuleResult,
    Section,
    TimelineTrack,
    Track,
)
from reportgen.rules.base import About, Need, Presentation, Rule, param
from reportgen.rules.budget.parts import NodeBudget, measure_budget
from reportgen.rules.budget.picture import PARTS, PICTURE_WORDS
from reportgen.rules.budget.words import metrics_of, present_budget
from reportgen.rules.kernels.communication import communication_names
from reportgen.rules.saying.verdict import conclude, reason_to_skip
from reportgen.units import NS_PER_S

if TYPE_CHECKING:
    from reportgen.rules.budget.kernels import RankBudget

ID = RuleId("GPUTimeBudget")
LEAST_TICKS = 2
"""One tick has no length."""

ABOUT = About(
    checks="What each GPU's time went into: work, start and end, and why it idled in between.",
    reading=(
        "Each moment of each GPU counts once, in the first part that fits. From samples: before "
        "or after training, busy (above 90 %), partly busy (above 10 %), or idle, with what went "
        "on at the same time, which is no proof; a slower GPU is one of the same node, since "
        "clocks of nodes differ. From kernel traces: compute, communication without compute, "
        "copies, and why it idled."
    ),
    advice="Begin with the largest part that is not busy.",
    section=Section(id="gpu-time", title="GPU time budget", order=20),
    first_picture="budget",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """The price, and what is listed; the parts mean the same in every report."""

    usd_per_gpu_hour: float | None = param(
        None,
        unit="USD",
        meaning="what an hour of one GPU costs; with it the parts are told in money, too",
        source="the bill; no default, as prices differ",
        minimum=0,
        may_be_none=True,
        is_printed=False,
    )
    min_idle_s: float = param(
        3.0,
        unit="s",
        meaning="a GPU that idles so long without a pause is listed",
        source="ours; six samples at SageMaker's usual interval",
        minimum=0,
        is_printed=False,
    )
    communication_names: str | None = communication_names()


def measure(part: NodeProfile | RankTrace, params: Params) -> NodeBudget | RankBudget:
    """Measure one node, or one rank whose kernels were traced."""
    if isinstance(part, RankTrace):
        from reportgen.rules.budget.kernels import rank_budget

        return rank_budget(part, params.communication_names)
    return measure_budget(part, least_idle_ns=round(params.min_idle_s * NS_PER_S))


def judge(measurements: Sequence[NodeBudget | RankBudget], params: Params) -> RuleResult:
    """Add up the nodes, or the ranks where kernels were traced; the rule never triggers."""
    ranks = [rank for rank in measurements if not isinstance(rank, NodeBudget) and rank.devices]
    if ranks:
        from reportgen.rules.budget.kernels import metrics_of_kernels, present_kernels

        return conclude(
            ID,
            params=params,
            reason=None,
            counters=Counters(),
            details={},
            metrics=metrics_of_kernels(ranks, params.usd_per_gpu_hour),
            presentation=present_kernels(ranks, params.usd_per_gpu_hour),
        )
    nodes = tuple(node for node in measurements if isinstance(node, NodeBudget))
    has_traces = len(nodes) < len(measurements)
    reason = reason_to_skip(
        n_ticks=sum(node.n_ticks for node in nodes),
        n_gpus=sum(len(node.gpus) for node in nodes),
        n_samples=max((node.n_ticks for node in nodes if node.gpus), default=0),
        patience=LEAST_TICKS - 1,
    )
    if has_traces and not nodes:
        reason = Reason(code=ReasonCode.NO_GPU, text="The trace holds no GPU operations.")
    context = None if reason else nodes
    return conclude(
        ID,
        params=params,
        reason=reason,
        counters=Counters(),
        details={},
        metrics={} if reason else metrics_of(nodes, params.usd_per_gpu_hour),
        presentation=present(Counters(), {}, params, context),
    )


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,  # noqa: ARG001 - a rule's shape
    params: Params,
    context: tuple[NodeBudget, ...] | None,
) -> Presentation:
    """Show the parts; ``context`` is what was measured on each node, in node order."""
    return present_budget(
        context or (), usd_per_gpu_hour=params.usd_per_gpu_hour, least_idle_s=params.min_idle_s
    )


RULE = Rule(
    id=ID,
    title="GPU time budget",
    about=ABOUT,
    needs=(Need.SYSTEM, Need.FRAMEWORK, Need.KERNELS),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    folded=("gpu_time_budget", "intervals"),
    places={
        "budget": Place(words=PICTURE_WORDS),
        "gpu_time_budget": Place(words=PARTS),
        "idle_stretches": Place(words=PARTS),
        "intervals": Place(
            timeline=TimelineTrack(kind=Track.LANE, title="Idle GPUs", role=Role.IDLE)
        ),
    },
)
