"""Collectives: what of communication is transfer, and what is waiting for late ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from reportgen import results
from reportgen.arrays import Integers
from reportgen.facts import waiting
from reportgen.facts.exchanges import Exchanges
from reportgen.facts.meetings import AGREE_WITHIN_NS, Meetings, alone_in_sends_ns, comparable
from reportgen.merging import sums_by_code
from reportgen.results import ColumnType, Exhibit, Finding, Role
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.collectives import bandwidth, clocks
from reportgen.rules.collectives.faults import Params, RankCollectives, faults_of, hosts_of, measure
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
CLOCKS = {"title": "Clocks of the ranks", "caption": clocks.CAPTION}
BANDWIDTHS = {"title": "Bandwidth of collectives", "caption": bandwidth.CAPTION}
KEPT = " Only the {n:n} of {every:n} with the longest waiting are listed."
MOST_LISTED = 20_000
"""As many waits of ranks are listed one by one: 2 MB of JSON."""


@kit.row
class Straggler:
    """One rank over all collectives: how long it waited, how often it came last."""

    rank: int = kit.col()
    wait_ns: int = kit.col("us", name="total_wait_us", per=NS_PER_US)
    last_arrivals: int = kit.col()
    host: str | None = kit.col()


def judge(every: Sequence[RankCollectives], params: Params) -> Outcome:
    """Match the collectives of the ranks; report late ranks and slow transfers."""
    ranks: Sequence[RankCollectives] = [rank for rank in every if rank.exchanges.n]
    if not ranks:
        without_gpu = kit.reason_without_gpu(sum(rank.window_ns for rank in every))
        return Outcome(missing=without_gpu or "No kernel communicates with other GPUs.")
    ranks, items, meetings, shifts = clocks.align(ranks)
    shared = comparable(meetings)
    stragglers = _stragglers(shared, hosts_of(ranks))
    waits_ns, every_ns = int(shared.wait_ns.sum()), int(shared.members.duration_ns.sum())
    communication_ns = sum(rank.communication_ns for rank in ranks)
    metrics: dict[str, float | int | None] = {
        "n_collectives": shared.n,
        "communication_ratio": ratio_of(communication_ns, sum(rank.window_ns for rank in ranks)),
    }
    if shared.n:
        begins_ns = {rank.rank: rank.begin_ns for rank in ranks}
        findings = [
            *faults_of(
                ranks,
                shared,
                waiting.waiting_in(shared, begins_ns),
                params,
                is_one_clock=not shifts,
                in_sends_ns=alone_in_sends_ns(items, shared),
            ),
            clocks.finding_of(shifts),
            bandwidth.share_of_link(shared, params.link_gb_per_s),
        ]
        metrics |= {
            "waiting_us": waits_ns / NS_PER_US,
            "transfer_us": int(shared.transfer_ns.sum()) / NS_PER_US,
            "waiting_ratio": ratio_of(waits_ns, every_ns),
        }
    else:
        findings = [_not_comparable(len(ranks), items, meetings)]
    return Outcome(
        findings=findings,
        exhibits=[
            *_exhibits(shared, every_ns, stragglers),
            *kit.filled_table("clocks", shifts, clocks.ClockShift, **CLOCKS),
            *kit.filled_table(
                "bandwidth", bandwidth.bandwidths_of(items), bandwidth.Bandwidth, **BANDWIDTHS
            ),
            *_tables(shared),
        ],
        metrics=metrics,
    )


def _stragglers(meetings: Meetings, hosts: Mapping[int, str]) -> list[Straggler]:
    ranks, place = np.unique(meetings.members.rank, return_inverse=True)
    waits_ns = sums_by_code(place, meetings.wait_ns, ranks.size)
    n_last = np.bincount(np.searchsorted(ranks, meetings.last_rank), minlength=ranks.size)
    columns = (ranks.tolist(), waits_ns.tolist(), n_last.tolist())
    return [
        Straggler(rank=rank, host=hosts[rank] or None, wait_ns=wait_ns, last_arrivals=n)
        for rank, wait_ns, n in zip(*columns, strict=True)
    ]


def _not_comparable(n_ranks: int, items: Exchanges, meetings: Meetings) -> Finding:
    if n_ranks < 2:
        return ONE_RANK.finding(measured=None, reached=bandwidth.reached(items))
    if not meetings.n:
        return NONE_SHARED.finding(measured=None)
    spread_ns = int(meetings.end_spread_ns.max())
    return ENDS_APART.finding(measured=None, spread=spread_ns, limit=AGREE_WITHIN_NS)


def _exhibits(
    meetings: Meetings, every_ns: int, stragglers: Sequence[Straggler]
) -> Iterator[Exhibit]:
    if meetings.n:
        transfer_ns = int((meetings.transfer_ns * meetings.n_ranks).sum())
        yield kit.ranking(
            "transfer_and_waiting",
            [("transfer", transfer_ns), ("waiting for other ranks", every_ns - transfer_ns)],
            title="Transfer and waiting in communication",
            caption=write(SPLIT_CAPTION, n=meetings.n, every=every_ns),
            roles=[Role.NETWORK, Role.IO],
        )
    title = "Waiting and last arrivals by rank"
    caption = "A rank waits from the time it starts the collective until the last rank starts it."
    yield kit.table("stragglers", stragglers, Straggler, title=title, caption=caption)


def _tables(meetings: Meetings) -> Iterator[Exhibit]:
    kept = _costliest(meetings)
    rest = write(KEPT, n=kept.n, every=meetings.n) if kept.n < meetings.n else ""
    every, first = kept.members, kept.members.take(kept.first)
    yield results.exhibit(
        "collectives",
        results.ExhibitKind.TABLE,
        title="Collectives of several ranks",
        caption=COLLECTIVES_CAPTION + rest,
        columns=[
            *_names(first, kept.number),
            *kit.floats(("transfer_us", "us", kept.transfer_ns / NS_PER_US)),
            results.column("last_rank", "", kept.last_rank, type=ColumnType.INT),
        ],
    )
    yield results.exhibit(
        "waits",
        results.ExhibitKind.TABLE,
        title="Waiting by collective and rank",
        caption="wait_us is from the rank's start to the start of the last rank." + rest,
        columns=[
            *_names(every, kept.number[kept.of_row]),
            results.column("rank", "", every.rank, type=ColumnType.INT),
            *kit.floats(
                ("wait_us", "us", kept.wait_ns / NS_PER_US),
                ("duration_us", "us", every.duration_ns / NS_PER_US),
            ),
        ],
    )


def _names(items: Exchanges, number: Integers) -> Iterator[results.Column]:
    yield results.column("group", "", items.texts(items.group), type=ColumnType.TEXT)
    yield results.column("seq", "", number, type=ColumnType.INT)
    yield results.column("name", "", items.texts(items.name), type=ColumnType.TEXT)


def _costliest(meetings: Meetings) -> Meetings:
    """Return the collectives of most waiting whose members can be listed, in their order."""
    if meetings.members.n <= MOST_LISTED:
        return meetings
    waits_ns = sums_by_code(meetings.of_row, meetings.wait_ns, meetings.n)
    order = np.argsort(-waits_ns, kind="stable")
    n_listed = np.cumsum(meetings.n_ranks[order])
    n_kept = max(1, int(np.searchsorted(n_listed, MOST_LISTED, side="right")))
    return meetings.take(np.sort(order[:n_kept]))


RULE = Rule(
    id=results.RuleId("Collectives"),
    title="Collectives",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    folded=("collectives", "waits"),
    places={"transfer_and_waiting": kit.largest(70)},
)
