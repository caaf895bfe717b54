"""GPUTimeBudget: what each GPU's time went into, in parts that exclude each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.profile import NodeProfile, RankTrace
from reportgen.results import Counters, Details, Reason, ReasonCode, RuleId, RuleResult
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.budget.kernels import (
    RankBudget,
    metrics_of_kernels,
    present_kernels,
    rank_budget,
)
from reportgen.rules.budget.parts import NodeBudget, measure_budget
from reportgen.rules.budget.words import metrics_of, present_budget
from reportgen.rules.saying.verdict import conclude, reason_to_skip

ID = RuleId("GPUTimeBudget")
LEAST_TICKS = 2
"""One tick has no length."""

ABOUT = About(
    checks="What each GPU's time went into: work, start and end, and why it idled in between.",
    reading=(
        "Every moment of every GPU is in one part, the first that fits: outside the training loop, "
        "busy (above 90 %, above 10 %), or idle: a straggler (another GPU of the same node is busy "
        "and steps or communication show waiting), I/O wait, network, CPU or input, between "
        "steps, unexplained. A cause is what went on at the same time, not a proof; GPUs of other "
        "nodes are not compared, as clocks differ. Gaps in the sampling are not_measured. Where "
        "kernels were traced the parts are theirs instead, over the recorded steps: compute, "
        "exposed communication, memory operations, and the causes of idling."
    ),
    advice="Begin with the largest part that is not busy.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """This rule has no parameters: its parts are to mean the same in every report."""


def measure(
    part: NodeProfile | RankTrace,
    params: Params,  # noqa: ARG001 - a rule's shape
) -> NodeBudget | RankBudget:
    """Measure one node, or one rank whose kernels were traced."""
    return rank_budget(part) if isinstance(part, RankTrace) else measure_budget(part)


def judge(measurements: Sequence[NodeBudget | RankBudget], params: Params) -> RuleResult:
    """Add up the nodes, or the ranks where kernels were traced; the rule never triggers."""
    ranks = [rank for rank in measurements if isinstance(rank, RankBudget) and rank.devices]
    if ranks:
        return conclude(
            ID,
            params=params,
            reason=None,
            counters=Counters(),
            details={},
            metrics=metrics_of_kernels(ranks),
            presentation=present_kernels(ranks),
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
        reason = Reason(code=ReasonCode.NO_GPU, text="The traces hold no GPU operations.")
    context = None if reason else nodes
    return conclude(
        ID,
        params=params,
        reason=reason,
        counters=Counters(),
        details={},
        metrics={} if reason else metrics_of(nodes),
        presentation=present(Counters(), {}, params, context),
    )


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,  # noqa: ARG001 - a rule's shape
    params: Params,  # noqa: ARG001 - a rule's shape
    context: tuple[NodeBudget, ...] | None,
) -> Presentation:
    """Show the parts; ``context`` is what was measured on each node, in node order."""
    return present_budget(context or ())


RULE = Rule(
    id=ID,
    title="GPU time budget",
    about=ABOUT,
    needs=(Need.SYSTEM, Need.FRAMEWORK, Need.KERNELS),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
)
