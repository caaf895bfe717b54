"""Collectives: what of communication is transfer, and what is waiting for late ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.profile.trace import RankTrace
from reportgen.results import (
    LARGEST_PART,
    Counters,
    DashboardPanel,
    Details,
    Place,
    Reason,
    ReasonCode,
    RuleId,
    RuleResult,
    Section,
)
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.kernels.collective_exhibits import Context, exhibits_of, stragglers_of
from reportgen.rules.kernels.collective_words import findings_of
from reportgen.rules.kernels.collectives import (
    RankCollectives,
    match_ranks,
    rank_collectives,
)
from reportgen.rules.kernels.communication import communication_names
from reportgen.rules.kernels.saying import (
    ratio_of,
    reason_without_gpu,
    result_of,
    share_limit,
)
from reportgen.units import NS_PER_US

ID = RuleId("Collectives")
ABOUT = About(
    checks="What of communication is transfer and what is waiting, and which rank comes last.",
    reading=(
        "A collective cannot end before its last rank came: the fastest rank's duration is the "
        "transfer, the rest is waiting. Ranks are compared only where the ends of each collective "
        "lie within 1 ms."
    ),
    advice="Speed up the rank that comes last before buying a faster network.",
    section=Section(id="communication", title="Communication", order=80),
    is_optional=True,
    hint_when_skipped=(
        "Trace several ranks of the job (each writes its own file) and put the files into one "
        "folder."
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """When waiting is a fault."""

    threshold_waiting_pct: float = share_limit(
        50.0, "waiting is a fault from this share of communication on"
    )
    threshold_window_pct: float = share_limit(
        5.0, "... if it is at least this share of the windows of all ranks"
    )
    communication_names: str | None = communication_names()


def measure(part: RankTrace, params: Params) -> RankCollectives:
    """Measure the communication kernels of a rank."""
    return rank_collectives(part, params.communication_names)


def judge(measurements: Sequence[RankCollectives], params: Params) -> RuleResult:
    """Match the collectives of the ranks."""
    ranks = [rank for rank in measurements if rank.name]
    context = Context(ranks=ranks, matches=match_ranks(ranks))
    return result_of(
        ID,
        params=params,
        reason=_reason(measurements),
        presentation=present(Counters(), {}, params, context),
        metrics=_metrics(context),
    )


def _reason(ranks: Sequence[RankCollectives]) -> Reason | None:
    n_ops = sum(rank.has_ops for rank in ranks)
    nothing = reason_without_gpu(n_ranks=len(ranks), n_ops=n_ops)
    if nothing is None and not any(rank.name for rank in ranks):
        return Reason(code=ReasonCode.NO_EVENTS, text="No kernel communicates with other GPUs.")
    return nothing


def _metrics(context: Context) -> dict[str, float | int | None]:
    if not context.ranks:
        return {}
    window_ns = sum(rank.window_ns for rank in context.ranks)
    communication_ns = sum(rank.communication_ns for rank in context.ranks)
    metrics: dict[str, float | int | None] = {
        "n_collectives": len(context.agreeing),
        "communication_ratio": ratio_of(communication_ns, window_ns),
    }
    if context.agreeing:
        stragglers = stragglers_of(context.agreeing)
        waiting = sum(item.total_wait_ns for item in stragglers)
        metrics["waiting_us"] = waiting / NS_PER_US
        metrics["transfer_us"] = sum(match.transfer_ns for match in context.agreeing) / NS_PER_US
        metrics["waiting_ratio"] = ratio_of(waiting, sum(item.duration_ns for item in stragglers))
    return metrics


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,  # noqa: ARG001
    params: Params,
    context: Context | None,
) -> Presentation:
    """Say what ranks wait for; ``context`` is the ranks and the collectives that they share."""
    if context is None or not context.ranks:
        return Presentation()
    return Presentation(
        findings=findings_of(
            context,
            limit_pct=params.threshold_waiting_pct,
            window_pct=params.threshold_window_pct,
        ),
        exhibits=exhibits_of(context),
    )


RULE = Rule(
    id=ID,
    title="Collectives",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    folded=("waits",),
    places={
        "transfer_and_waiting": Place(
            dashboard=DashboardPanel(order=70, headline=LARGEST_PART, row_of="pct")
        ),
        "waiting_by_rank": Place(dashboard=DashboardPanel(order=90, is_wide=True)),
    },
)
