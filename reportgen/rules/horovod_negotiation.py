"""HorovodNegotiation: whether all ranks wait for the same one before they reduce a tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.facts.distributions import Tally
from reportgen.profile import NodeProfile
from reportgen.profiling import ProfilingKind
from reportgen.results import (
    Counters,
    Details,
    Finding,
    Reason,
    ReasonCode,
    RuleId,
    RuleResult,
    Severity,
    Where,
)
from reportgen.rules.base import About, Need, Presentation, Rule, param
from reportgen.rules.negotiation.exhibits import RANKS, exhibits_of
from reportgen.rules.negotiation.waits import (
    Negotiations,
    RankWait,
    TensorWait,
    join_ranks,
    negotiations_of,
)
from reportgen.rules.saying.verdict import conclude, estimate_of, fault_severity
from reportgen.rules.saying.wording import say_times
from reportgen.units import NS_PER_S, say_count, say_duration, say_pct

ID = RuleId("HorovodNegotiation")
MOST_TOLD = 3
CHANCE_DEVIATIONS = 3.0
"""A rank is last more often than chance explains from so many standard deviations on. Ours."""
CHEAP_PCT = 5.0
"""What costs less of the time is a reading, not a fault. Source: ours, as for slow steps."""

ABOUT = About(
    checks="Whether the ranks of a Horovod job wait for the same rank again and again.",
    reading=(
        "Before a tensor is reduced the ranks tell the coordinator that they are ready; the last "
        "one makes all others wait. With n ranks each would be last in one of n negotiations."
    ),
    advice=(
        "Look at the machine of the rank that is last: its input pipeline, its share of the data, "
        "its GPU's clock and temperature, other work on its host."
    ),
    is_optional=True,
    hint_when_skipped="",
    recorded_by=ProfilingKind.HOROVOD,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters of ours; AWS has no such rule."""

    fair_factor: float = param(
        2,
        unit="times",
        meaning=(
            "a rank that is last more often than this many times its fair share is told; with few "
            "ranks the middle between its fair share and always is enough"
        ),
        source="ours",
        minimum=1,
    )
    min_held_up_pct: float = param(
        1,
        unit="%",
        meaning="a rank is told if only it was missing for this share of the recorded time or more",
        source="ours",
        minimum=0,
        maximum=100,
    )
    min_negotiations: int = param(
        20,
        unit="negotiations",
        meaning="fewer negotiations than this are too few to judge",
        source="ours",
        minimum=1,
        is_whole=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What only raw data give; sums over all timelines of the job."""

    ranks: tuple[RankWait, ...]
    tensors: tuple[TensorWait, ...]
    waits: tuple[Tally, ...]
    n_negotiations: int
    n_ties: int
    recorded_ns: int
    waited_ns: int


def measure(part: NodeProfile, params: Params) -> Negotiations:  # noqa: ARG001 - a rule's shape
    """Find who was last in each negotiation of a node's timelines."""
    return negotiations_of(part.spans)


def judge(measurements: Sequence[Negotiations], params: Params) -> RuleResult:
    """Add up the timelines and name the ranks that were last too often."""
    context = Context(
        ranks=join_ranks(rank for item in measurements for rank in item.ranks),
        tensors=tuple(tensor for item in measurements for tensor in item.tensors),
        waits=tuple(item.waits for item in measurements),
        n_negotiations=sum(item.n_negotiations for item in measurements),
        n_ties=sum(item.n_ties for item in measurements),
        recorded_ns=sum(item.recorded_ns for item in measurements),
        waited_ns=sum(item.waited_ns for item in measurements),
    )
    counters, details = Counters(), Details()
    reason = _reason(measurements, context, params)
    return conclude(
        ID,
        params=params,
        reason=reason,
        counters=counters,
        details=details,
        metrics=_metrics(context) if context.n_negotiations else {},
        presentation=present(counters, details, params, context),
    )


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,  # noqa: ARG001 - a rule's shape
    params: Params,
    context: Context | None,
) -> Presentation:
    """Say which ranks were last too often; without raw data nothing is known."""
    if context is None:
        return Presentation()
    told = sorted(
        (item for item in context.ranks if _is_told(item, context, params)),
        key=lambda item: (-item.held_up_ns, item.rank),
    )
    return Presentation(
        findings=tuple(_finding(item, context, params) for item in told[:MOST_TOLD]),
        exhibits=exhibits_of(context.ranks, context.tensors, context.waits),
    )


def _reason(
    measurements: Sequence[Negotiations], context: Context, params: Params
) -> Reason | None:
    if context.n_negotiations >= params.min_negotiations:
        return None
    n_events = sum(item.n_events for item in measurements)
    is_none = not context.n_negotiations and not any(item.n_unclear for item in measurements)
    if is_none and n_events:
        return Reason(
            code=ReasonCode.NO_EVENTS,
            text=(
                f"The Horovod timeline holds {say_times(n_events, 'event')}, but no negotiation "
                "with its begin and its end."
            ),
        )
    if is_none:
        return Reason(
            code=ReasonCode.NO_EVENTS,
            text=(
                "The job has no Horovod timeline with negotiations; set HOROVOD_TIMELINE to a "
                "file when you start the job."
            ),
        )
    return Reason(
        code=ReasonCode.TOO_FEW_SAMPLES,
        text=(
            f"Too few negotiations to judge: {say_count(context.n_negotiations)} with two or more "
            f"ranks, {say_count(params.min_negotiations)} are needed."
        ),
    )


def _limit_ratio(item: RankWait, params: Params) -> float:
    """Return from which share of its negotiations on a rank is last too often."""
    fair = item.expected / item.n_taken
    return min(params.fair_factor * fair, (1 + fair) / 2)


def _is_told(item: RankWait, context: Context, params: Params) -> bool:
    if context.n_negotiations < params.min_negotiations or not item.n_taken:
        return False
    fair = item.expected / item.n_taken
    deviation = math.sqrt(item.n_taken * fair * max(1 - fair, 0))
    return (
        item.n_last > _limit_ratio(item, params) * item.n_taken
        and item.n_last > item.expected + CHANCE_DEVIATIONS * deviation
        and _held_up_pct(item, context) >= params.min_held_up_pct
    )


def _held_up_pct(item: RankWait, context: Context) -> float:
    return 100 * item.held_up_ns / context.recorded_ns if context.recorded_ns else 0.0


def _finding(item: RankWait, context: Context, params: Params) -> Finding:
    held_up_pct = _held_up_pct(item, context)
    last_pct, fair_pct = (100 * part / item.n_taken for part in (item.n_last, item.expected))
    share = held_up_pct / 100
    return Finding(
        id="HVD-1",
        severity=Severity.INFO if held_up_pct < CHEAP_PCT else fault_severity(share),
        title=f"The other ranks wait for rank {item.rank}",
        text=(
            f"Rank {item.rank} was ready last in {say_count(item.n_last)} of "
            f"{say_times(item.n_taken, 'negotiation')} ({say_pct(last_pct)}; its fair share is "
            f"{say_pct(fair_pct)}). The others waited "
            f"{say_duration(item.others_waited_ns / NS_PER_S)} for it, added up over them; for "
            f"{say_duration(item.held_up_ns / NS_PER_S)}, {say_pct(held_up_pct)} of the recorded "
            "time, it alone was missing."
        ),
        advice=ABOUT.advice,
        where=Where(device=f"rank {item.rank}"),
        measured=round(last_pct, 4),
        threshold=round(100 * _limit_ratio(item, params), 2),
        unit="%",
        estimate=estimate_of(share),
        exhibit=RANKS,
    )


def _metrics(context: Context) -> dict[str, float | int | None]:
    worst = max(context.ranks, key=lambda item: (item.held_up_ns, -item.rank), default=None)
    recorded_ns = context.recorded_ns
    return {
        "negotiations": context.n_negotiations,
        "ties": context.n_ties,
        "ranks": len(context.ranks),
        "recorded_s": recorded_ns / NS_PER_S,
        "waited_ratio": round(context.waited_ns / recorded_ns, 6) if recorded_ns else None,
        "last_rank": worst.rank if worst else None,
        "last_rank_ratio": round(worst.n_last / worst.n_taken, 6) if worst else None,
        "held_up_ratio": (
            round(worst.held_up_ns / recorded_ns, 6) if worst and recorded_ns else None
        ),
    }


RULE = Rule(
    id=ID,
    title="Horovod negotiation",
    about=ABOUT,
    needs=(Need.FRAMEWORK,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
)
