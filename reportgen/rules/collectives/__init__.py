"""Collectives: what of communication is transfer, and what is waiting for late ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from reportgen import results
from reportgen.facts.kernel_names import short_name
from reportgen.profile.trace_tables import NONE
from reportgen.results import ColumnType, DashboardPanel, Exhibit, Finding, Place, Role
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.collectives import measure
from reportgen.rules.collectives.measure import Collective, Match, Params, RankCollectives
from reportgen.rules.kit import col, derived
from reportgen.text import write
from reportgen.units import NS_PER_US, pct_of, ratio_of

ABOUT = About(
    checks="What of communication is transfer and what is waiting, and which rank comes last.",
    reading=(
        "A collective cannot end before its last rank came: the fastest rank's duration is the "
        "transfer, the rest is waiting. Ranks are compared only where the ends of each collective "
        "lie within 1 ms."
    ),
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
    title="{measured:pct} of communication is waiting; rank {late.rank} arrives last most often",
    text=(
        "In {n:count collective} the ranks spend {every:ns}, of which {waiting:ns} is waiting for "
        "the last rank, {of_window:pct} of the windows of all ranks; the transfers alone take "
        "{transfer:ns} on each. Rank {late.rank} arrives last in {late.last_arrivals} of {n} and "
        "waits {late.wait_ns:ns}; rank {most.rank} waits {most.wait_ns:ns}, {bound:pct} of its "
        "window, which is the bound."
    ),
    advice=(
        "Look at what rank {late.rank} does before the collectives: its share of data and work, "
        "its host, its GPU clocks. A faster network will not help."
    ),
    exhibit="waiting_by_rank",
)
ONE_RANK = kit.Message(
    id="COMM-2",
    title="The ranks are not comparable: communication may be waiting",
    text="Only one rank was recorded, so waiting for others cannot be told from transfer.",
    advice="Record the same steps on all ranks, with clocks that agree.",
    unit="",
    exhibit="stragglers",
)
NONE_SHARED = replace(
    ONE_RANK, text="The ranks share no collective ({name} and others differ in group or number)."
)
ENDS_APART = replace(
    ONE_RANK,
    text=(
        "The ends of one collective lie up to {spread:ns} apart on the ranks, more than "
        "{limit:ns}: their clocks differ, or collectives are missing."
    ),
)
SPLIT_CAPTION = (
    "Shares of the durations of {n:count collective} on all ranks ({every:ns}). The fastest rank's "
    "duration is the transfer; what the others take longer is waiting."
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
    """Match the collectives of the ranks; report waiting for late ranks."""
    missing = kit.reason_without_gpu(sum(rank.n_ops for rank in every))
    ranks = [rank for rank in every if rank.collectives]
    if not ranks:
        return Outcome(missing=missing or "No kernel communicates with other GPUs.")
    matches = measure.match_ranks(ranks)
    shared = measure.comparable(matches)
    waits = [item for match in shared for item in match.members]
    waits_ns = kit.sum_by_key({item.rank: item.wait_ns} for item in waits)
    last = Counter(match.last_rank for match in shared)
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
        finding = _waiting(ranks, shared, stragglers, params)
        metrics |= {
            "waiting_us": waiting_ns / NS_PER_US,
            "transfer_us": sum(match.transfer_ns for match in shared) / NS_PER_US,
            "waiting_ratio": ratio_of(waiting_ns, every_ns),
        }
    else:
        finding = _not_comparable(ranks, matches)
    return Outcome(
        missing=missing,
        findings=[finding],
        exhibits=_exhibits(ranks, shared, stragglers),
        metrics=metrics,
    )


def _waiting(
    ranks: Sequence[RankCollectives],
    matches: Sequence[Match],
    stragglers: Sequence[Straggler],
    params: Params,
) -> Finding | None:
    waiting_ns = sum(item.wait_ns for item in stragglers)
    every_ns = sum(item.duration_ns for match in matches for item in match.members)
    windows_ns = {rank.rank: rank.window_ns for rank in ranks}
    share_pct = pct_of(waiting_ns, every_ns)
    of_window_pct = pct_of(waiting_ns, sum(windows_ns.values()))
    is_much = share_pct >= params.threshold_waiting_pct
    if not is_much or of_window_pct < params.threshold_window_pct or waiting_ns <= 0:
        return None
    late = max(stragglers, key=lambda item: (item.last_arrivals, -item.wait_ns, -item.rank))
    most = max(stragglers, key=lambda item: pct_of(item.wait_ns, windows_ns[item.rank]))
    bound = min(pct_of(most.wait_ns, windows_ns[most.rank]) / 100, 0.99)
    return WAITING.finding(
        measured=share_pct,
        threshold=params.threshold_waiting_pct,
        severity=kit.fault_severity(bound),
        share=bound,
        where=results.Where(node={rank.rank: rank.node for rank in ranks}[late.rank]),
        n=len(matches),
        every=every_ns,
        waiting=waiting_ns,
        of_window=of_window_pct,
        transfer=sum(match.transfer_ns for match in matches),
        late=late,
        most=most,
        bound=100 * bound,
    )


def _not_comparable(ranks: Sequence[RankCollectives], matches: Sequence[Match]) -> Finding:
    if len(ranks) < 2:
        return ONE_RANK.finding(measured=None)
    if not matches:
        name = min(item.name for rank in ranks for item in rank.collectives)
        return NONE_SHARED.finding(measured=None, name=short_name(name))
    spread_ns = max(match.end_spread_ns for match in matches)
    return ENDS_APART.finding(measured=None, spread=spread_ns, limit=measure.AGREE_WITHIN_NS)


def _exhibits(
    ranks: Sequence[RankCollectives], matches: Sequence[Match], stragglers: Sequence[Straggler]
) -> Iterator[Exhibit]:
    """Yield transfer and waiting where ranks compare, and the bandwidth where sizes are known."""
    waits = [item for match in matches for item in match.members]
    if matches:
        yield _split(matches, sum(item.duration_ns for item in waits))
        yield _arrivals(stragglers)
    title = "Waiting and last arrivals by rank"
    caption = "A rank waits from its own start to the start of the last rank."
    yield kit.table("stragglers", stragglers, Straggler, title=title, caption=caption)
    if rows := _bandwidths(ranks):
        title, caption = "Bandwidth of collectives", BANDWIDTH_CAPTION
        yield kit.table("bandwidth", rows, Bandwidth, title=title, caption=caption)
    title, caption = "Collectives of several ranks", COLLECTIVES_CAPTION
    yield kit.table("collectives", matches, Match, title=title, caption=caption)
    title = "Waiting by collective and rank"
    caption = "wait_us is from the rank's start to the start of the last rank."
    yield kit.table("waits", waits, Collective, title=title, caption=caption)


def _split(matches: Sequence[Match], every_ns: int) -> Exhibit:
    transfer_ns = sum(match.transfer_ns * len(match.members) for match in matches)
    return kit.ranking(
        "transfer_and_waiting",
        [("transfer", transfer_ns), ("waiting for other ranks", every_ns - transfer_ns)],
        title="Transfer and waiting in communication",
        caption=write(SPLIT_CAPTION, n=len(matches), every=every_ns),
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
    """Return what was transferred by name and size of the group, most time first."""
    totals = kit.sum_by_key(
        {(item.name, item.group_size): np.array([1, item.duration_ns, item.bytes])}
        for rank in ranks
        for item in rank.collectives
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
    measure=measure.measure,
    judge=judge,
    folded=("waits",),
    places={
        "transfer_and_waiting": Place(
            dashboard=DashboardPanel(order=70, headline=results.LARGEST_PART, row_of="pct")
        ),
        "waiting_by_rank": Place(dashboard=DashboardPanel(order=90, is_wide=True)),
    },
)
