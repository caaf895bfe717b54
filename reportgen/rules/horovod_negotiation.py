"""HorovodNegotiation: whether all ranks wait for the same one before they reduce a tensor.

All times of a timeline are of the coordinator's clock (docs/formats.md, Horovod timelines): those
of different ranks can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress

import numpy as np

from reportgen import results
from reportgen.arrays import Integers
from reportgen.facts.intervals import union_of
from reportgen.merging import joint_codes, merge_members, rows_by_code, sums_by_code
from reportgen.profile import NodeProfile, SpanSource, SpanTable
from reportgen.profiler_config import ProfilingKind
from reportgen.rules import kit
from reportgen.rules.base import About, Need, NoParams, Outcome, Rule
from reportgen.text import write
from reportgen.units import NS_PER_S, ratio_of

NEGOTIATE = "NEGOTIATE_"
LEAST_NEGOTIATIONS = 20
"""Among fewer, chance makes a rank the last in most of them."""
FAIR_FACTOR = 2
"""Ranks that take turns by chance rarely come last this many times as often as their fair share."""

LATE = kit.Message(
    id="HVD-1",
    cause=results.Cause.SLOW_WORKER,
    title="The other ranks wait for rank {late.rank}",
    text="""Rank {late.rank} was ready last in {late.n_last:n} of {late.n_taken:count negotiation}
        ({measured:pct}; its fair share is {late.fair_pct:pct}). The other ranks waited
        {late.others_waited_ns:ns} for it in all (added up). For {late.held_up_ns:ns},
        {held_up_pct:pct} of the recorded time, only this rank was missing.""",
    advice="""Check the machine of the rank that is last: its input pipeline, its share of the data,
        the clock and temperature of its GPU, other work on its host.""",
    exhibit="ranks",
)
NO_TIMELINE = (
    "The job has no Horovod timeline with negotiations; set HOROVOD_TIMELINE to a file when you "
    "start the job."
)
NO_NEGOTIATION = """The Horovod timeline has {n_events:count event}, but no negotiation in which two
    ranks or more were ready."""
TOO_FEW = """Too few negotiations to judge: {n_negotiations:n} with two or more ranks, {least:n} are
    needed."""
TITLE = "Ranks and who waited for them"
CAPTION = """A negotiation lasts until the last rank is ready. others_waited_s is the waiting of
    the other ranks for this one, added up; held_up_s is the time in which only this rank was
    missing; own_wait_s is its waiting for others. Ties are not counted."""
ABOUT = About(
    checks="Whether the ranks of a Horovod job wait for the same rank again and again.",
    reading="""Before a tensor is reduced the ranks report to the coordinator that they are ready;
        the last one makes all others wait. With n ranks each would be last in one of n
        negotiations.""",
    advice=LATE.advice,
    is_optional=True,
    hint_when_skipped="",
    recorded_by=ProfilingKind.HOROVOD,
)


@kit.row
class RankWait:
    """One rank over the negotiations in which one rank alone was last, one at least.

    Attributes:
        n_last: those in which it was this rank; by chance it would have been ``expected``, the sum
            of 1 / ranks.
        others_waited_ns: waiting time of the other ranks for it, added up over them.
        held_up_ns: length of the union of the times from the last but one to it: what would not
            have been lost had it been as late as the next.
        own_wait_ns: its waiting time for others.
    """

    rank: int = kit.col()
    n_taken: int = kit.col(name="negotiations", reduce=sum)
    n_last: int = kit.col(name="last", reduce=sum)
    last_pct: float = kit.derived(lambda rank: 100 * rank.n_last / rank.n_taken, "%", digits=4)
    fair_pct: float = kit.derived(lambda rank: 100 * rank.expected / rank.n_taken, "%", digits=4)
    others_waited_ns: int = kit.col("s", name="others_waited_s", per=NS_PER_S, reduce=sum)
    held_up_ns: int = kit.col("s", name="held_up_s", per=NS_PER_S, reduce=sum)
    own_wait_ns: int = kit.col("s", name="own_wait_s", per=NS_PER_S, reduce=sum)
    expected: float = kit.merged(sum)


@kit.row
class Negotiations:
    """Negotiations in the timelines of a node, or in those of all nodes.

    Attributes:
        n_negotiations: those in which two ranks or more were seen ready.
        recorded_ns: from the first to the last event of Horovod, 0 without negotiations.
    """

    n_events: int = kit.merged(sum)
    n_negotiations: int = kit.merged(sum)
    recorded_ns: int = kit.merged(sum)
    ranks: tuple[RankWait, ...] = kit.merged(merge_members(lambda item: item.rank))


def measure(part: NodeProfile, _params: NoParams) -> Negotiations:
    """Find who was last in each negotiation of a node's timelines."""
    spans = part.spans
    sources = [code for code, name in enumerate(spans.sources) if name == SpanSource.HOROVOD]
    events = spans.where(np.isin(spans.source, sources))
    names = [code for code, name in enumerate(events.names) if name.startswith(NEGOTIATE)]
    negotiations = events.where(np.isin(events.name, names) & (events.duration_ns > 0))
    negotiation, time_ns, rank = _ready_marks(events, negotiations)
    return Negotiations(
        n_events=events.n_spans,
        n_negotiations=int(np.unique(negotiation).size),
        recorded_ns=int(events.end_ns.max() - events.start_ns.min()) if negotiation.size else 0,
        ranks=tuple(_rank_waits(negotiation, time_ns, rank)),
    )


def _ready_marks(spans: SpanTable, negotiations: SpanTable) -> tuple[Integers, Integers, Integers]:
    """Return the (n,) marks inside negotiations of their tensor in which two ranks have one.

    They are the number of the negotiation, the time and the rank, in this order; of a rank the
    first mark counts.
    """
    are_ranks = [name.isascii() and name.isdecimal() and len(name) < 8 for name in spans.names]
    rank_by_name = np.full(len(spans.names), -1)
    rank_by_name[are_ranks] = [*map(int, compress(spans.names, are_ranks))]
    marks = spans.where(rank_by_name[spans.name] >= 0)
    worker, phase = (
        np.concatenate([getattr(table, column) for table in (negotiations, marks)])
        for column in ("worker", "phase")
    )
    negotiation = np.full(marks.n_spans, -1, dtype=np.int64)
    for _, rows in rows_by_code(joint_codes(worker, phase)):
        negotiated = rows[rows < negotiations.n_spans]
        allreduced = rows[negotiated.size :] - negotiations.n_spans
        start_ns, mark_ns = negotiations.start_ns[negotiated], marks.start_ns[allreduced]
        n_begun = np.searchsorted(start_ns, mark_ns, side="right")
        begun = allreduced[n_begun > 0]
        place = negotiated[n_begun[n_begun > 0] - 1]
        is_inside = marks.start_ns[begun] <= negotiations.end_ns[place]
        negotiation[begun[is_inside]] = place[is_inside]
    rank, time_ns = rank_by_name[marks.name], marks.start_ns
    order = np.lexsort((rank, time_ns, negotiation))
    order = order[negotiation[order] >= 0]
    _, first = np.unique(joint_codes(negotiation[order], rank[order]), return_index=True)
    kept = order[np.sort(first)]
    _, place, n_ranks = np.unique(negotiation[kept], return_inverse=True, return_counts=True)
    kept = kept[n_ranks[place] > 1]
    return negotiation[kept], time_ns[kept], rank[kept]


def _rank_waits(negotiation: Integers, time_ns: Integers, rank: Integers) -> Iterator[RankWait]:
    """Yield each rank over the negotiations in which one rank alone was last."""
    _, first, place, n_ranks = np.unique(
        negotiation, return_index=True, return_inverse=True, return_counts=True
    )
    last = first + n_ranks - 1
    next_ns, last_ns, last_rank = time_ns[last - 1], time_ns[last], rank[last]
    rows = np.flatnonzero((next_ns < last_ns)[place])
    place = place[rows]
    wait_ns = last_ns[place] - time_ns[rows]
    others_waited_ns = sums_by_code(place, wait_ns, first.size)
    for number, of_rank in rows_by_code(rank[rows]):
        taken = place[of_rank]
        held_up = taken[last_rank[taken] == number]
        yield RankWait(
            rank=number,
            n_taken=int(taken.size),
            n_last=int(held_up.size),
            expected=float((1.0 / n_ranks[taken]).sum()),
            others_waited_ns=int(others_waited_ns[held_up].sum()),
            held_up_ns=union_of(next_ns[held_up], last_ns[held_up]).length_ns,
            own_wait_ns=int(wait_ns[of_rank].sum()),
        )


def judge(nodes: Sequence[Negotiations], _params: NoParams) -> Outcome:
    """Add up the timelines and name the rank that held up the others longest."""
    if not nodes:
        return Outcome(missing=NO_TIMELINE)
    job = kit.merge(nodes)
    missing = _missing(job)
    return Outcome(
        missing=missing,
        findings=[] if missing else [_late(job)],
        exhibits=kit.filled_table("ranks", job.ranks, RankWait, title=TITLE, caption=CAPTION),
        metrics=_metrics(job) if job.n_negotiations else {},
    )


def _missing(job: Negotiations) -> results.Reason | str:
    if job.n_negotiations >= LEAST_NEGOTIATIONS:
        return ""
    if job.n_negotiations:
        return kit.too_few(TOO_FEW, n_negotiations=job.n_negotiations, least=LEAST_NEGOTIATIONS)
    return write(NO_NEGOTIATION, n_events=job.n_events) if job.n_events else NO_TIMELINE


def _worst(job: Negotiations) -> RankWait | None:
    return max(job.ranks, key=lambda rank: (rank.held_up_ns, -rank.rank), default=None)


def _late(job: Negotiations) -> results.Finding | None:
    """Return the rank that others wait for, if it is last too often."""
    late = _worst(job)
    if late is None:
        return None
    fair, share = late.expected / late.n_taken, late.held_up_ns / job.recorded_ns
    limit = min(FAIR_FACTOR * fair, (1 + fair) / 2)
    if late.n_last <= limit * late.n_taken or share < kit.CHEAP_RATIO:
        return None
    return LATE.fault(
        100 * share,
        measured=late.last_pct,
        threshold=round(100 * limit, 2),
        where=results.Where(device=f"rank {late.rank}"),
        late=late,
        held_up_pct=100 * share,
    )


def _metrics(job: Negotiations) -> dict[str, float | int | None]:
    worst = _worst(job)
    return {
        "negotiations": job.n_negotiations,
        "ranks": len(job.ranks),
        "recorded_s": job.recorded_ns / NS_PER_S,
        "last_rank": worst.rank if worst else None,
        "last_rank_ratio": round(worst.n_last / worst.n_taken, 6) if worst else None,
        "held_up_ratio": ratio_of(worst.held_up_ns, job.recorded_ns) if worst else None,
    }


RULE = Rule(
    id=results.RuleId("HorovodNegotiation"),
    title="Horovod negotiation",
    about=ABOUT,
    needs=(Need.FRAMEWORK,),
    params=NoParams,
    measure=measure,
    judge=judge,
)
