"""Collectives: what of communication is transfer, and what is waiting for late ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from reportgen import results
from reportgen.facts import exchanges
from reportgen.facts.exchanges import Exchange, Meeting
from reportgen.results import ColumnType, DashboardPanel, Exhibit, Finding, Place, Role, many_ranks
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.collectives import bandwidth, by_step, clocks, groups
from reportgen.rules.collectives.faults import Params, RankCollectives, faults_of, measure
from reportgen.rules.kit import col, derived
from reportgen.text import write
from reportgen.units import NS_PER_US, ratio_of

ABOUT = About(
    checks="How communication divides into transfer and waiting, and which rank comes last.",
    reading="""A collective cannot end before the last rank has arrived: so the duration on the
        fastest rank is the transfer, and the extra time of the others is waiting. Ranks are
        compared only if each collective ends on all of them within 1 ms; otherwise their clocks
        differ.""",
    advice="Make the rank that arrives last faster before you buy a faster network.",
    section=results.Section(id="communication", title="Communication", order=80),
    is_optional=True,
    hint_when_skipped=(
        "Trace several ranks of the job (each writes its own file) and put the files into one "
        "folder."
    ),
)
ONE_RANK = kit.Message(
    id="COMM-2",
    title="The ranks cannot be compared: communication may be waiting",
    text="""Only one rank was recorded, so waiting for others cannot be separated from
        transfer.{reached}""",
    advice="Record the same steps on all ranks, with clocks that agree.",
    unit="",
    exhibit="stragglers",
)
NONE_SHARED = replace(
    ONE_RANK, text="The ranks share no collective: their groups or numbers differ."
)
ENDS_APART = replace(
    ONE_RANK,
    text="""The same collective ends up to {spread:ns} later on one rank than on another, more than
        {limit:ns}: their clocks differ, or collectives are missing.""",
)
SPLIT_CAPTION = """Shares of the durations of {n:count collective}, added up over all ranks
    ({every:ns})."""
COLLECTIVES_CAPTION = """transfer_us is the shortest duration among the ranks. seq is the number of
    the collective in its process group; if it was not recorded, its position among collectives of
    the same name."""
SOME = " Also shown: the median of {n:count rank}, and the ranks that differ most from it."
KEPT = " Only the {n:n} of {every:n} with the longest waiting are listed."
MOST_LISTED = 20_000
"""As many waits of ranks are listed one by one: 2 MB of JSON."""


@kit.row
class Straggler:
    """One rank over all collectives: how long it waited, how often it came last."""

    rank: int = col()
    wait_ns: int = col("us", name="total_wait_us", per=NS_PER_US)
    last_arrivals: int = col()


@kit.row
class Collective:
    """One collective on one rank; ``wait_ns`` is how long the rank was there before the last."""

    item: Exchange
    meeting: Meeting
    group: str = derived(lambda row: row.item.group)
    seq: int = derived(lambda row: row.meeting.number)
    name: str = derived(lambda row: row.item.name)
    rank: int = derived(lambda row: row.item.rank)
    wait_ns: int = derived(
        lambda row: row.meeting.last_ns - row.item.start_ns, "us", name="wait_us", per=NS_PER_US
    )
    duration_ns: int = derived(
        lambda row: row.item.duration_ns, "us", name="duration_us", per=NS_PER_US
    )


@kit.row
class Match:
    """One collective on several ranks; ``transfer_ns`` is the time of the rank that waits least."""

    meeting: Meeting
    group: str = derived(lambda row: row.meeting.members[0].group)
    seq: int = derived(lambda row: row.meeting.number)
    name: str = derived(lambda row: row.meeting.members[0].name)
    transfer_ns: int = derived(
        lambda row: row.meeting.transfer_ns, "us", name="transfer_us", per=NS_PER_US
    )
    last_rank: int = derived(lambda row: row.meeting.last_rank)


def judge(every: Sequence[RankCollectives], params: Params) -> Outcome:
    """Match the collectives of the ranks; report late ranks and slow transfers."""
    missing = kit.reason_without_gpu(sum(rank.n_ops for rank in every))
    ranks = [rank for rank in every if rank.exchanges]
    if not ranks:
        return Outcome(missing=missing or "No kernel communicates with other GPUs.")
    ranks, meetings, shifts = clocks.align(ranks)
    shared = exchanges.comparable(meetings)
    waits_ns = kit.sum_by_key(
        {item.rank: meeting.last_ns - item.start_ns}
        for meeting in shared
        for item in meeting.members
    )
    last = Counter(meeting.last_rank for meeting in shared)
    stragglers = [
        Straggler(rank=rank, wait_ns=wait_ns, last_arrivals=last[rank])
        for rank, wait_ns in sorted(waits_ns.items())
    ]
    every_ns = sum(item.duration_ns for meeting in shared for item in meeting.members)
    communication_ns = sum(rank.communication_ns for rank in ranks)
    metrics: dict[str, float | int | None] = {
        "n_collectives": len(shared),
        "communication_ratio": ratio_of(communication_ns, sum(rank.window_ns for rank in ranks)),
    }
    transfers = bandwidth.transfers_of(shared, params.link_gb_per_s)
    grid, what_if = by_step.grid_of(ranks), None
    if shared:
        waiting = exchanges.waiting_in(shared, {rank.rank: rank.begin_ns for rank in ranks})
        what_if = by_step.without_stragglers(grid, shared, waiting)
        said = write(by_step.WHAT_IF, even=what_if.even_ns, step=what_if.step_ns) if what_if else ""
        faults = faults_of(ranks, shared, waiting, params, what_if=said, is_one_clock=not shifts)
        findings = [
            *(faults if any(faults) else [by_step.late_by_turns(what_if)]),
            clocks.finding_of(shifts),
            bandwidth.share_of_link(transfers, params.link_gb_per_s),
        ]
        metrics |= {
            "waiting_us": sum(waits_ns.values()) / NS_PER_US,
            "transfer_us": sum(meeting.transfer_ns for meeting in shared) / NS_PER_US,
            "waiting_ratio": ratio_of(sum(waits_ns.values()), every_ns),
        }
        if what_if:
            metrics["step_without_stragglers_us"] = what_if.even_ns / NS_PER_US
    else:
        findings = [_not_comparable(ranks, meetings)]
    return Outcome(
        missing=missing,
        findings=findings,
        exhibits=[
            *_exhibits(shared, every_ns, stragglers),
            *by_step.exhibits_of(ranks, shared, grid, what_if),
            *([clocks.table_of(shifts)] if shifts else ()),
            *groups.tables_of(shared),
            *bandwidth.tables_of(ranks, transfers, link_gb_per_s=params.link_gb_per_s),
            *_tables(shared),
        ],
        metrics=metrics,
    )


def _not_comparable(ranks: Sequence[RankCollectives], meetings: Sequence[Meeting]) -> Finding:
    if len(ranks) < 2:
        return ONE_RANK.finding(measured=None, reached=bandwidth.reached(ranks))
    if not meetings:
        return NONE_SHARED.finding(measured=None)
    spread_ns = max(meeting.end_spread_ns for meeting in meetings)
    return ENDS_APART.finding(measured=None, spread=spread_ns, limit=exchanges.AGREE_WITHIN_NS)


def _exhibits(
    meetings: Sequence[Meeting], every_ns: int, stragglers: Sequence[Straggler]
) -> Iterator[Exhibit]:
    if meetings:
        yield _split(meetings, every_ns)
        yield _arrivals(stragglers)
    title = "Waiting and last arrivals by rank"
    caption = "A rank waits from the time it starts the collective until the last rank starts it."
    yield kit.table("stragglers", stragglers, Straggler, title=title, caption=caption)


def _tables(meetings: Sequence[Meeting]) -> Iterator[Exhibit]:
    kept = _costliest(meetings)
    rest = write(KEPT, n=len(kept), every=len(meetings)) if len(kept) < len(meetings) else ""
    title, caption = "Collectives of several ranks", COLLECTIVES_CAPTION + rest
    matches = [Match(meeting=meeting) for meeting in kept]
    yield kit.table("collectives", matches, Match, title=title, caption=caption)
    title = "Waiting by collective and rank"
    caption = "wait_us is from the rank's start to the start of the last rank." + rest
    each = [Collective(item=item, meeting=meeting) for meeting in kept for item in meeting.members]
    yield kit.table("waits", each, Collective, title=title, caption=caption)


def _costliest(meetings: Sequence[Meeting]) -> Sequence[Meeting]:
    """Return the collectives of most waiting whose members can be listed, in their order."""
    if sum(len(meeting.members) for meeting in meetings) <= MOST_LISTED:
        return meetings
    waits_ns = [
        sum(meeting.last_ns - item.start_ns for item in meeting.members) for meeting in meetings
    ]
    order = sorted(range(len(meetings)), key=lambda at: -waits_ns[at])
    n_listed = np.cumsum([len(meetings[at].members) for at in order])
    n_kept = max(1, int(np.searchsorted(n_listed, MOST_LISTED, side="right")))
    return [meetings[at] for at in sorted(order[:n_kept])]


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
    n_ranks = len(stragglers)
    places = {stragglers.index(least), *many_ranks.unusual([item.wait_ns for item in stragglers])}
    stragglers = [stragglers[at] for at in sorted(places)]
    some = write(SOME, n=n_ranks) if len(stragglers) < n_ranks else ""
    names = [f"rank {item.rank}" for item in stragglers]
    arrivals = [item.last_arrivals for item in stragglers]
    return results.exhibit(
        "waiting_by_rank",
        results.ExhibitKind.BARS,
        title=f"Waiting in collectives: rank {least.rank} waits least",
        caption="The others wait for the rank that waits least." + some,
        columns=[
            results.column("name", "", names, type=ColumnType.TEXT),
            *kit.floats(("waiting_us", "us", [item.wait_ns / NS_PER_US for item in stragglers])),
            results.column("arrives_last", "", arrivals, type=ColumnType.INT),
        ],
        role=Role.IO,
    )


RULE = Rule(
    id=results.RuleId("Collectives"),
    title="Collectives",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    folded=("collectives", "waits"),
    places={
        **by_step.PLACES,
        "transfer_and_waiting": Place(
            dashboard=DashboardPanel(order=70, headline=results.LARGEST_PART, row_of="pct")
        ),
        "waiting_by_rank": Place(dashboard=DashboardPanel(order=90, is_wide=True)),
    },
)
