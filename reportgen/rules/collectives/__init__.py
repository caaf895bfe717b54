"""Collectives: what of communication is transfer, and what is waiting for late ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from reportgen import results
from reportgen.facts import exchanges
from reportgen.facts.exchanges import Meeting
from reportgen.profile.trace_tables import NONE
from reportgen.results import ColumnType, DashboardPanel, Exhibit, Finding, Place, Role
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.collectives.measure import (
    Collective,
    Match,
    Params,
    RankCollectives,
    collectives_of,
    match_of,
    measure,
)
from reportgen.rules.kit import col, derived
from reportgen.text import write
from reportgen.units import NS_PER_S, NS_PER_US, pct_of, ratio_of

ABOUT = About(
    checks="How communication divides into transfer and waiting, and which rank comes last.",
    reading="""A collective cannot end before its last rank came: the fastest rank's duration is the
        transfer, the rest is waiting. Ranks are compared only where the ends of each collective lie
        within 1 ms.""",
    advice="Speed up the rank that comes last before buying a faster network.",
    section=results.Section(id="communication", title="Communication", order=80),
    is_optional=True,
    hint_when_skipped=(
        "Trace several ranks of the job (each writes its own file) and put the files into one "
        "folder."
    ),
)
WAITING = kit.Message(
    id="COMM-1",
    cause=results.Cause.SLOW_RANK,
    title="The ranks wait for rank {late.rank}: {measured:pct} of the time",
    text="""In {late.n_meetings:count collective} the others wait {late.excess_ns:ns} longer than rank {late.rank}
        (median), {measured:pct} of {window:ns}, with nothing computed beside it; that is the bound.
        They do so in {late.n_last} of the {late.n_meetings}. Of the {every:ns} that all ranks spend in
        communication, {waiting:ns} is waiting; the transfers alone take {transfer:ns} on
        each.{apart}""",
    advice="""Look at what rank {late.rank} does before the collectives: its share of data and work,
        its host, its GPU clocks. A faster network will not help.""",
    exhibit="waiting_by_rank",
)
APART = (
    " The recorded windows begin up to {apart:ns} apart; waiting that comes of this is left out."
)
SLOW_LINK = kit.Message(
    id="COMM-3",
    cause=results.Cause.SLOW_LINK,
    title="Slow transfers take {measured:pct} of the time: {times} times as long as others",
    text="""{n_slow:n} of {n_alike:count transfer} of equal size take {times} times as long as a
        fast one (median), {excess:ns} longer in all. On {node} this costs {lost:ns}, {measured:pct}
        of {window:ns}, with nothing computed beside it. The first is {name} of {bytes:bytes}.""",
    advice="""Look at the network in these moments: other jobs on the same links, a link or adapter
        that fell back to a lower speed. NCCL_DEBUG=INFO shows which paths are used.""",
    exhibit="collectives",
)
ONE_RANK = kit.Message(
    id="COMM-2",
    title="The ranks are not comparable: communication may be waiting",
    text="Only one rank was recorded, so waiting for others cannot be separated from transfer.",
    advice="Record the same steps on all ranks, with clocks that agree.",
    unit="",
    exhibit="stragglers",
)
NONE_SHARED = replace(
    ONE_RANK, text="The ranks share no collective: their groups or numbers differ."
)
ENDS_APART = replace(
    ONE_RANK,
    text="""The ends of one collective lie up to {spread:ns} apart on the ranks, more than
        {limit:ns}: their clocks differ, or collectives are missing.""",
)
SPLIT_CAPTION = (
    "Shares of the durations of {n:count collective} on all ranks ({every:ns}). The fastest rank's "
    "duration is the transfer; the extra time of the others is waiting."
)
BANDWIDTH_CAPTION = (
    "Over all ranks, durations with waiting: bytes (the larger of input and output) per second. "
    "The bus bandwidth is that times 2(n - 1)/n for all-reduce, (n - 1)/n for all-gather, "
    "reduce-scatter and all-to-all."
)
COLLECTIVES_CAPTION = (
    "transfer_us is the shortest duration among the ranks; seq is the number in the process group, "
    "or the place among those of equal name where it was not recorded."
)


OFTEN_RATIO = 0.4
"""A rank is late, and not only stopped once, if this share of the waiting is left without the
eighth of the collectives, in a row, in which the others wait longest ..."""
LEAST_OFTEN = 4
"""... of at least this many."""


@kit.row
class Straggler:
    """One rank over all collectives: how long it waited, how often it came last."""

    rank: int = col()
    wait_ns: int = col("us", name="total_wait_us", per=NS_PER_US)
    last_arrivals: int = col()


@kit.row
class Bandwidth:
    """The collectives of one name in groups of one size, on all ranks."""

    name: str = col()
    group_size: int | None = col()
    count: int = col()
    time_ns: int = col("us", name="time_us", per=NS_PER_US)
    bytes: int = col("bytes")
    algorithm: float | None = derived(
        lambda item: _gb_per_s(item, 1.0), "GB/s", name="algorithm_gb_per_s"
    )
    bus: float | None = derived(
        lambda item: _gb_per_s(item, _bus_factor(item)), "GB/s", name="bus_gb_per_s"
    )


def _gb_per_s(item: Bandwidth, factor: float | None) -> float | None:
    return item.bytes / item.time_ns * factor if item.time_ns > 0 and factor is not None else None


def _bus_factor(item: Bandwidth) -> float | None:
    """Return by how much more a bus carries (docs/definitions.md, Collectives)."""
    bare, n_ranks = item.name.lower().replace("_", ""), item.group_size or 0
    if n_ranks < 1:
        return None
    if "allreduce" in bare:
        return 2 * (n_ranks - 1) / n_ranks
    is_less = any(word in bare for word in ("allgather", "reducescatter", "alltoall"))
    return (n_ranks - 1) / n_ranks if is_less else 1.0


def judge(every: Sequence[RankCollectives], params: Params) -> Outcome:
    """Match the collectives of the ranks; report late ranks and slow transfers."""
    missing = kit.reason_without_gpu(sum(rank.n_ops for rank in every))
    ranks = [rank for rank in every if rank.exchanges]
    if not ranks:
        return Outcome(missing=missing or "No kernel communicates with other GPUs.")
    meetings = exchanges.meetings_of([rank.exchanges for rank in ranks])
    shared = exchanges.comparable(meetings)
    waits = [item for meeting in shared for item in collectives_of(meeting)]
    waits_ns = kit.sum_by_key({item.rank: item.wait_ns} for item in waits)
    last = Counter(meeting.last_rank for meeting in shared)
    stragglers = [
        Straggler(rank=rank, wait_ns=wait_ns, last_arrivals=last[rank])
        for rank, wait_ns in sorted(waits_ns.items())
    ]
    waiting_ns, every_ns = sum(waits_ns.values()), sum(item.duration_ns for item in waits)
    communication_ns = sum(rank.communication_ns for rank in ranks)
    metrics: dict[str, float | int | None] = {
        "n_collectives": len(shared),
        "communication_ratio": ratio_of(communication_ns, sum(rank.window_ns for rank in ranks)),
    }
    if shared:
        findings = [_waiting(ranks, shared, waits, params), _slow(ranks, shared, params)]
        metrics |= {
            "waiting_us": waiting_ns / NS_PER_US,
            "transfer_us": sum(meeting.transfer_ns for meeting in shared) / NS_PER_US,
            "waiting_ratio": ratio_of(waiting_ns, every_ns),
        }
    else:
        findings = [_not_comparable(ranks, meetings)]
    return Outcome(
        missing=missing,
        findings=findings,
        exhibits=_exhibits(ranks, shared, waits, stragglers),
        metrics=metrics,
    )


def _waiting(
    ranks: Sequence[RankCollectives],
    meetings: Sequence[Meeting],
    waits: Sequence[Collective],
    params: Params,
) -> Finding | None:
    """Return that one rank is late time and again; a single delay is no late rank."""
    begins_ns = {rank.rank: rank.begin_ns for rank in ranks}
    waiting = exchanges.waiting_in(meetings, begins_ns)
    late, window_ns = exchanges.late_ranks(waiting)[0], _window_ns(ranks)
    if late.excess_ns <= 0 or not window_ns:
        return None
    share_pct = pct_of(late.excess_ns, window_ns)
    is_often = late.without_worst_ns >= OFTEN_RATIO * late.excess_ns
    if share_pct < params.threshold_window_pct or (late.n_meetings >= LEAST_OFTEN and not is_often):
        return None
    apart_ns = int(waiting.apart_ns.max())
    return WAITING.finding(
        measured=share_pct,
        threshold=params.threshold_window_pct,
        severity=kit.fault_severity(share_pct / 100),
        share=share_pct / 100,
        where=results.Where(node={rank.rank: rank.node for rank in ranks}[late.rank]),
        late=late,
        window=window_ns,
        every=sum(item.duration_ns for item in waits),
        waiting=sum(item.wait_ns for item in waits),
        transfer=sum(meeting.transfer_ns for meeting in meetings),
        apart=write(APART, apart=apart_ns) if apart_ns else "",
    )


def _slow(
    ranks: Sequence[RankCollectives], meetings: Sequence[Meeting], params: Params
) -> Finding | None:
    """Return that transfers were much slower than others of their size."""
    slow, window_ns = exchanges.slow_transfers(meetings), _window_ns(ranks)
    if slow is None or not window_ns:
        return None
    rank, lost_ns = max(slow.lost_ns.items(), key=lambda item: (item[1], -item[0]))
    share_pct = pct_of(lost_ns, window_ns)
    if share_pct < params.threshold_slow_pct or lost_ns <= 0:
        return None
    first = slow.meetings[0].members[0]
    node = {item.rank: item.node for item in ranks}[rank]
    return SLOW_LINK.finding(
        measured=share_pct,
        threshold=params.threshold_slow_pct,
        severity=kit.fault_severity(share_pct / 100),
        share=share_pct / 100,
        where=results.Where(
            start_s=slow.meetings[0].start_ns / NS_PER_S,
            end_s=max(item.end_ns for item in slow.meetings[-1].members) / NS_PER_S,
        ),
        n_slow=len(slow.meetings),
        n_alike=slow.n_alike,
        times=f"{slow.times:.2g}",
        excess=slow.excess_ns,
        lost=lost_ns,
        window=window_ns,
        node=node,
        name=first.name,
        bytes=first.bytes,
    )


def _window_ns(ranks: Sequence[RankCollectives]) -> int:
    """Return the mean window of the ranks."""
    return round(sum(rank.window_ns for rank in ranks) / len(ranks))


def _not_comparable(ranks: Sequence[RankCollectives], meetings: Sequence[Meeting]) -> Finding:
    if len(ranks) < 2:
        return ONE_RANK.finding(measured=None)
    if not meetings:
        return NONE_SHARED.finding(measured=None)
    spread_ns = max(meeting.end_spread_ns for meeting in meetings)
    return ENDS_APART.finding(measured=None, spread=spread_ns, limit=exchanges.AGREE_WITHIN_NS)


def _exhibits(
    ranks: Sequence[RankCollectives],
    meetings: Sequence[Meeting],
    waits: Sequence[Collective],
    stragglers: Sequence[Straggler],
) -> Iterator[Exhibit]:
    """Yield transfer and waiting where ranks compare, and the bandwidth where sizes are known."""
    if meetings:
        yield _split(meetings, sum(item.duration_ns for item in waits))
        yield _arrivals(stragglers)
    title = "Waiting and last arrivals by rank"
    caption = "A rank waits from its own start to the start of the last rank."
    yield kit.table("stragglers", stragglers, Straggler, title=title, caption=caption)
    if rows := _bandwidths(ranks):
        title, caption = "Bandwidth of collectives", BANDWIDTH_CAPTION
        yield kit.table("bandwidth", rows, Bandwidth, title=title, caption=caption)
    title, caption = "Collectives of several ranks", COLLECTIVES_CAPTION
    matches = [match_of(meeting) for meeting in meetings]
    yield kit.table("collectives", matches, Match, title=title, caption=caption)
    title = "Waiting by collective and rank"
    caption = "wait_us is from the rank's start to the start of the last rank."
    yield kit.table("waits", waits, Collective, title=title, caption=caption)


def _split(meetings: Sequence[Meeting], every_ns: int) -> Exhibit:
    transfer_ns = sum(meeting.transfer_ns * len(meeting.members) for meeting in meetings)
    return kit.ranking(
        "transfer_and_waiting",
        [("transfer", transfer_ns), ("waiting for other ranks", every_ns - transfer_ns)],
        title="Transfer and waiting in communication",
        caption=write(SPLIT_CAPTION, n=len(meetings), every=every_ns),
        roles=[Role.NETWORK, Role.IO],
    )


def _arrivals(stragglers: Sequence[Straggler]) -> Exhibit:
    least = min(stragglers, key=lambda item: (item.wait_ns, item.rank))
    names = [f"rank {item.rank}" for item in stragglers]
    arrivals = [item.last_arrivals for item in stragglers]
    return results.exhibit(
        "waiting_by_rank",
        results.ExhibitKind.BARS,
        title=f"Waiting in collectives: rank {least.rank} waits least",
        caption="The rank that waits least is the one that the others wait for.",
        columns=[
            results.column("name", "", names, type=ColumnType.TEXT),
            *kit.floats(("waiting_us", "us", [item.wait_ns / NS_PER_US for item in stragglers])),
            results.column("arrives_last", "", arrivals, type=ColumnType.INT),
        ],
        role=Role.IO,
    )


def _bandwidths(ranks: Sequence[RankCollectives]) -> list[Bandwidth]:
    """Return transfers by name and size of the group, most time first."""
    totals = kit.sum_by_key(
        {(item.name, item.group_size): np.array([1, item.duration_ns, item.bytes])}
        for rank in ranks
        for item in rank.exchanges
        if item.bytes != NONE
    )
    rows = [
        Bandwidth(
            name=name,
            group_size=None if n_ranks == NONE else n_ranks,
            count=int(total[0]),
            time_ns=int(total[1]),
            bytes=int(total[2]),
        )
        for (name, n_ranks), total in sorted(totals.items(), key=lambda item: item[0])
    ]
    return sorted(rows, key=lambda item: -item.time_ns)


RULE = Rule(
    id=results.RuleId("Collectives"),
    title="Collectives",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    folded=("waits",),
    places={
        "transfer_and_waiting": Place(
            dashboard=DashboardPanel(order=70, headline=results.LARGEST_PART, row_of="pct")
        ),
        "waiting_by_rank": Place(dashboard=DashboardPanel(order=90, is_wide=True)),
    },
)
