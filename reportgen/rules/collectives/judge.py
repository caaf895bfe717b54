"""What Collectives reports: transfer and waiting, who comes last, bandwidth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from reportgen.facts.kernel_names import short_name
from reportgen.profile.trace_tables import NONE
from reportgen.results import (
    ColumnType,
    Exhibit,
    ExhibitKind,
    Finding,
    Role,
    Where,
    column,
    exhibit,
)
from reportgen.rules.base import Outcome
from reportgen.rules.collectives.measure import (
    AGREE_WITHIN_NS,
    Match,
    Params,
    RankCollectives,
    Wait,
    comparable,
    match_ranks,
)
from reportgen.rules.kit import (
    Message,
    col,
    derived,
    fault_severity,
    floats,
    ranking,
    reason_without_gpu,
    row,
    sum_by_key,
    table,
)
from reportgen.text import write
from reportgen.units import NS_PER_US, pct_of, ratio_of

WAITING = Message(
    id="COMM-1",
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
ONE_RANK = Message(
    id="COMM-2",
    title="The ranks are not comparable: communication may be waiting",
    text="Only one rank was recorded, so waiting for others cannot be told from transfer.",
    advice="Record the same steps on all ranks, with clocks that agree.",
    unit="",
    exhibit="stragglers",
)
NONE_SHARED = replace(
    ONE_RANK,
    text="The ranks share no collective ({name} and others differ in group or number).",
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


@row
class Straggler:
    """One rank over all collectives: how long it waited, how often it came last."""

    rank: int = col()
    wait_ns: int = col("us", name="total_wait_us", per=NS_PER_US)
    last_arrivals: int = col()


@row
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
        lambda item: _gb_per_s(item, bus_factor(item)), "GB/s", name="bus_gb_per_s"
    )


def _gb_per_s(item: Bandwidth, factor: float | None) -> float | None:
    return item.bytes / item.time_ns * factor if item.time_ns > 0 and factor is not None else None


def bus_factor(item: Bandwidth) -> float | None:
    """Return by how much more a bus carries (docs/definitions.md, Collectives)."""
    bare, n_ranks = item.name.lower().replace("_", ""), item.group_size or 0
    if n_ranks < 1:
        return None
    if "allreduce" in bare:
        return 2 * (n_ranks - 1) / n_ranks
    is_half = any(word in bare for word in ("allgather", "reducescatter", "alltoall"))
    return (n_ranks - 1) / n_ranks if is_half else 1.0


def judge(every: Sequence[RankCollectives], params: Params) -> Outcome:
    """Match the collectives of the ranks; report waiting for late ranks."""
    missing = reason_without_gpu(sum(rank.has_ops for rank in every))
    ranks = [rank for rank in every if rank.name]
    if not ranks:
        return Outcome(missing=missing or "No kernel communicates with other GPUs.")
    matches = match_ranks(ranks)
    shared = comparable(matches)
    waits = [item for match in shared for item in match.waits]
    waits_ns = sum_by_key({item.rank: item.wait_ns} for item in waits)
    last = Counter(match.last_rank for match in shared)
    stragglers = [
        Straggler(rank=rank, wait_ns=wait_ns, last_arrivals=last[rank])
        for rank, wait_ns in sorted(waits_ns.items())
    ]
    waiting_ns = sum(waits_ns.values())
    metrics: dict[str, float | int | None] = {
        "n_collectives": len(shared),
        "communication_ratio": ratio_of(
            sum(rank.communication_ns for rank in ranks), sum(rank.window_ns for rank in ranks)
        ),
    }
    if shared:
        metrics |= {
            "waiting_us": waiting_ns / NS_PER_US,
            "transfer_us": sum(match.transfer_ns for match in shared) / NS_PER_US,
            "waiting_ratio": ratio_of(waiting_ns, sum(item.duration_ns for item in waits)),
        }
    return Outcome(
        missing=missing,
        findings=[
            _waiting(ranks, shared, stragglers, params)
            if shared
            else _not_comparable(ranks, matches)
        ],
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
    every_ns = sum(item.duration_ns for match in matches for item in match.waits)
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
        severity=fault_severity(bound),
        share=bound,
        where=Where(node={rank.rank: rank.node for rank in ranks}[late.rank]),
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
        name = min(name for rank in ranks for name in rank.name)
        return NONE_SHARED.finding(measured=None, name=short_name(name))
    spread_ns = max(match.end_spread_ns for match in matches)
    return ENDS_APART.finding(measured=None, spread=spread_ns, limit=AGREE_WITHIN_NS)


def _exhibits(
    ranks: Sequence[RankCollectives], matches: Sequence[Match], stragglers: Sequence[Straggler]
) -> Iterator[Exhibit]:
    """Yield transfer and waiting where ranks compare, and the bandwidth where sizes are known."""
    waits = [item for match in matches for item in match.waits]
    if matches:
        transfer_ns = sum(match.transfer_ns * len(match.waits) for match in matches)
        every_ns = sum(item.duration_ns for item in waits)
        yield ranking(
            "transfer_and_waiting",
            [("transfer", transfer_ns), ("waiting for other ranks", every_ns - transfer_ns)],
            title="Transfer and waiting in communication",
            caption=write(SPLIT_CAPTION, n=len(matches), every=every_ns),
            amount=("time_us", "us"),
            per=NS_PER_US,
            roles=[Role.NETWORK, Role.IO],
        )
        yield _arrivals(stragglers)
    yield table(
        "stragglers",
        stragglers,
        Straggler,
        title="Waiting and last arrivals by rank",
        caption="A rank waits from its own start to the start of the last rank.",
    )
    if bandwidths := _bandwidths(ranks):
        title, caption = "Bandwidth of collectives", BANDWIDTH_CAPTION
        yield table("bandwidth", bandwidths, Bandwidth, title=title, caption=caption)
    yield table(
        "collectives",
        matches,
        Match,
        title="Collectives of several ranks",
        caption=(
            "transfer_us is the shortest duration among the ranks; seq is the number in the "
            "process group, or the place among those of equal name where it was not recorded."
        ),
    )
    yield table(
        "waits",
        waits,
        Wait,
        title="Waiting by collective and rank",
        caption="wait_us is from the rank's start to the start of the last rank.",
    )


def _arrivals(stragglers: Sequence[Straggler]) -> Exhibit:
    least = min(stragglers, key=lambda item: (item.wait_ns, item.rank))
    names = [f"rank {item.rank}" for item in stragglers]
    arrivals = [item.last_arrivals for item in stragglers]
    return exhibit(
        "waiting_by_rank",
        ExhibitKind.BARS,
        title=f"Waiting in collectives: rank {least.rank} waits least",
        caption="The rank that waits least is the one that the others wait for.",
        columns=[
            column("name", "", names, type=ColumnType.TEXT),
            *floats(("waiting_us", "us", [item.wait_ns / NS_PER_US for item in stragglers])),
            column("arrives_last", "", arrivals, type=ColumnType.INT),
        ],
        role=Role.IO,
    )


def _bandwidths(ranks: Sequence[RankCollectives]) -> list[Bandwidth]:
    """Return what was transferred by name and size of the group, most time first."""
    totals = sum_by_key(
        {(rank.name[at], int(rank.group_size[at])): np.array([1, duration_ns, size])}
        for rank in ranks
        for at, (duration_ns, size) in enumerate(zip(rank.duration_ns, rank.bytes, strict=True))
        if size != NONE
    )
    rows = [
        Bandwidth(
            name=name,
            group_size=n_ranks if n_ranks != NONE else None,
            count=int(total[0]),
            time_ns=int(total[1]),
            bytes=int(total[2]),
        )
        for (name, n_ranks), total in sorted(totals.items(), key=lambda item: item[0])
    ]
    return sorted(rows, key=lambda item: -item.time_ns)
