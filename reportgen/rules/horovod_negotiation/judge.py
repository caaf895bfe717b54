"""What HorovodNegotiation concludes: which ranks were last too often, and what that cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from reportgen.facts.distributions import bin_together
from reportgen.merging import merge
from reportgen.results import (
    Exhibit,
    ExhibitKind,
    Finding,
    Reason,
    ReasonCode,
    Role,
    Severity,
    Where,
)
from reportgen.rules.base import Outcome
from reportgen.rules.horovod_negotiation.measure import (
    Negotiations,
    Params,
    RankWait,
    TensorWait,
    longest_first,
)
from reportgen.rules.kit import Message, derived, fault_severity, histogram, row, table
from reportgen.text import write
from reportgen.units import NS_PER_S

MOST_REPORTED = 3
MOST_TENSORS = 20
MOST_BARS = 64
CHANCE_DEVIATIONS = 3.0
"""A rank is last more often than chance explains from so many standard deviations on: of a thousand
ranks that take turns by chance one exceeds them."""
CHEAP_PCT = 5.0
"""What costs less of the time is a reading, not a fault: it is not worth a search."""

LATE = Message(
    id="HVD-1",
    title="The other ranks wait for rank {late.rank}",
    text=(
        "Rank {late.rank} was ready last in {late.n_last:n} of {late.n_taken:count negotiation} "
        "({measured:pct}; its fair share is {fair_pct:pct}). The others waited "
        "{late.others_waited_ns:ns} for it, added up over them; for {late.held_up_ns:ns}, "
        "{held_up_pct:pct} of the recorded time, it alone was missing."
    ),
    advice=(
        "Look at the machine of the rank that is last: its input pipeline, its share of the data, "
        "its GPU's clock and temperature, other work on its host."
    ),
    exhibit="ranks",
)
NO_TIMELINE = (
    "The job has no Horovod timeline with negotiations; set HOROVOD_TIMELINE to a file when you "
    "start the job."
)
NO_NEGOTIATION = (
    "The Horovod timeline holds {n_events:count event}, but no negotiation with its begin and its "
    "end."
)
TOO_FEW = (
    "Too few negotiations to judge: {n_negotiations:n} with two or more ranks, {least:n} are "
    "needed."
)


def judge(nodes: Sequence[Negotiations], params: Params) -> Outcome:
    """Add up the timelines and name the ranks that were last too often."""
    if not nodes:
        return Outcome(missing=NO_TIMELINE)
    job = merge(nodes)
    late = sorted(
        (rank for rank in job.ranks if _is_late(rank, job, params)),
        key=lambda rank: (-rank.held_up_ns, rank.rank),
    )
    return Outcome(
        missing=_missing(job, params),
        findings=[_finding(rank, job, params) for rank in late[:MOST_REPORTED]],
        exhibits=_exhibits(job) if job.ranks else (),
        metrics=_metrics(job) if job.n_negotiations else {},
    )


def _missing(job: Negotiations, params: Params) -> Reason | str:
    if job.n_negotiations >= params.min_negotiations:
        return ""
    if job.n_negotiations or job.n_unclear:
        text = write(TOO_FEW, n_negotiations=job.n_negotiations, least=params.min_negotiations)
        return Reason(code=ReasonCode.TOO_FEW_SAMPLES, text=text)
    return write(NO_NEGOTIATION, n_events=job.n_events) if job.n_events else NO_TIMELINE


def _limit_ratio(rank: RankWait, params: Params) -> float:
    """Return the share of its negotiations above which a rank is last too often."""
    return min(params.fair_factor * rank.fair_ratio, (1 + rank.fair_ratio) / 2)


def _is_late(rank: RankWait, job: Negotiations, params: Params) -> bool:
    if job.n_negotiations < params.min_negotiations:
        return False
    fair = rank.fair_ratio
    deviation = math.sqrt(rank.n_taken * fair * max(1 - fair, 0))
    return (
        rank.n_last > _limit_ratio(rank, params) * rank.n_taken
        and rank.n_last > rank.expected + CHANCE_DEVIATIONS * deviation
        and _held_up_pct(rank, job) >= params.min_held_up_pct
    )


def _held_up_pct(rank: RankWait, job: Negotiations) -> float:
    return 100 * rank.held_up_ns / job.recorded_ns if job.recorded_ns else 0.0


def _finding(rank: RankWait, job: Negotiations, params: Params) -> Finding:
    held_up_pct = _held_up_pct(rank, job)
    share = held_up_pct / 100
    return LATE.finding(
        measured=rank.last_pct,
        threshold=round(100 * _limit_ratio(rank, params), 2),
        where=Where(device=f"rank {rank.rank}"),
        severity=Severity.INFO if held_up_pct < CHEAP_PCT else fault_severity(share),
        share=share,
        late=rank,
        fair_pct=rank.fair_pct,
        held_up_pct=held_up_pct,
    )


def _metrics(job: Negotiations) -> dict[str, float | int | None]:
    recorded_ns = job.recorded_ns
    worst = max(job.ranks, key=lambda rank: (rank.held_up_ns, -rank.rank), default=None)
    return {
        "negotiations": job.n_negotiations,
        "ties": job.n_ties,
        "ranks": len(job.ranks),
        "recorded_s": recorded_ns / NS_PER_S,
        "waited_ratio": round(job.waited_ns / recorded_ns, 6) if recorded_ns else None,
        "last_rank": worst.rank if worst else None,
        "last_rank_ratio": round(worst.n_last / worst.n_taken, 6) if worst else None,
        "held_up_ratio": (
            round(worst.held_up_ns / recorded_ns, 6) if worst and recorded_ns else None
        ),
    }


@row
class _RankBar:
    name: str = derived(lambda rank: f"rank {rank.rank}")
    last_pct: float = derived(lambda rank: rank.last_pct, "%", digits=4)
    fair_pct: float = derived(lambda rank: rank.fair_pct, "%", digits=4)


def _exhibits(job: Negotiations) -> Iterator[Exhibit]:
    shown = sorted(job.ranks, key=lambda rank: (-rank.n_last, rank.rank))[:MOST_BARS]
    rest = f" The first {MOST_BARS} of {len(job.ranks):,}." if len(job.ranks) > MOST_BARS else ""
    yield table(
        "last_ranks",
        shown,
        _RankBar,
        title="How often each rank was ready last",
        caption=f"Share of the negotiations in which a rank took part, and its fair share.{rest}",
        drawn_as=ExhibitKind.BARS,
    )
    yield table(
        "ranks",
        job.ranks,
        RankWait,
        title="Ranks and who waited for them",
        caption=(
            "A negotiation lasts until the last rank is ready. others_waited_s adds up over the "
            "other ranks; held_up_s is the time in which only this rank was missing; own_wait_s "
            "is what it waited itself. Ties count for nobody."
        ),
    )
    bins = bin_together(job.waits)
    yield histogram(
        "wait_histogram",
        bins.edge_ns / NS_PER_S,
        [("negotiations", bins.counts.sum(axis=0))],
        title="How long the first rank waited for the last",
        caption="All negotiations in which at least two ranks were seen ready.",
        unit="s",
        role=Role.IO,
    )
    longest = sorted(job.tensors, key=longest_first)[:MOST_TENSORS]
    yield table(
        "tensors",
        longest,
        TensorWait,
        title="Tensors that were waited for longest",
        caption=(
            f"The first {len(longest)} by the time from the first to the last rank, over all their "
            "negotiations, which overlap each other; last_rank is the one that was last most often."
        ),
    )
