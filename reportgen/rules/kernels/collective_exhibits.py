"""Collectives as exhibits: transfer and waiting, who comes last, bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.profile.trace_tables import NONE
from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.rules.kernels.collectives import (
    AGREE_RATIO,
    AGREE_WITHIN_NS,
    Match,
    RankCollectives,
    ends_together,
)
from reportgen.rules.kernels.saying import say_ns
from reportgen.rules.saying.wording import say_times
from reportgen.units import NS_PER_US, percentages

TABLE, WAITS, STRAGGLERS = "collectives", "waits", "stragglers"
SPLIT, ARRIVALS, BANDWIDTH = "transfer_and_waiting", "waiting_by_rank", "bandwidth"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """All ranks with communication, and the collectives that they share."""

    ranks: Sequence[RankCollectives]
    matches: Sequence[Match]

    @property
    def is_comparable(self) -> bool:
        """Return whether the clocks of the ranks agree."""
        return ends_together(self.matches) >= AGREE_RATIO

    @property
    def agreeing(self) -> list[Match]:
        """Return the collectives that tell waiting from transfer."""
        if not self.is_comparable:
            return []
        return [match for match in self.matches if match.end_spread_ns <= AGREE_WITHIN_NS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Straggler:
    """One rank over all collectives: how long it waited, how often it came last."""

    rank: int
    total_wait_ns: int
    duration_ns: int
    last_arrivals: int


def stragglers_of(matches: Sequence[Match]) -> list[Straggler]:
    """Return every rank that shares a collective, in order."""
    ranks = sorted({rank for match in matches for rank in match.rank})
    waits, durations = dict.fromkeys(ranks, 0), dict.fromkeys(ranks, 0)
    lasts = dict.fromkeys(ranks, 0)
    for match in matches:
        lasts[match.last_rank] += 1
        for rank, wait, duration in zip(
            match.rank, match.wait_ns.tolist(), match.duration_ns.tolist(), strict=True
        ):
            waits[rank] += wait
            durations[rank] += duration
    return [
        Straggler(
            rank=rank,
            total_wait_ns=waits[rank],
            duration_ns=durations[rank],
            last_arrivals=lasts[rank],
        )
        for rank in ranks
    ]


def exhibits_of(context: Context) -> tuple[Exhibit, ...]:
    """Return transfer and waiting where ranks compare, and the bandwidth where sizes are known."""
    matches = context.agreeing
    stragglers = stragglers_of(matches)
    drawn = (_split(matches), _arrivals(stragglers)) if matches else ()
    return (
        *drawn,
        _stragglers(stragglers),
        *_bandwidth(context.ranks),
        _collectives(matches),
        _waits(matches),
    )


def _split(matches: Sequence[Match]) -> Exhibit:
    transfer = sum(match.transfer_ns * len(match.rank) for match in matches)
    every = sum(int(match.duration_ns.sum()) for match in matches)
    parts = {"transfer": transfer, "waiting for other ranks": max(every - transfer, 0)}
    return exhibit(
        SPLIT,
        ExhibitKind.SHARES,
        title="Transfer and waiting in communication",
        caption=(
            f"Shares of the durations of {say_times(len(matches), 'collective')} on all ranks "
            f"({say_ns(every)}). The fastest rank's duration is the transfer; what the others "
            "take longer is waiting."
        ),
        columns=[
            ("part", "", list(parts)),
            ("time_us", "us", [part / NS_PER_US for part in parts.values()]),
            ("pct", "%", percentages(list(parts.values()))),
        ],
    )


def _arrivals(stragglers: Sequence[Straggler]) -> Exhibit:
    return exhibit(
        ARRIVALS,
        ExhibitKind.BARS,
        title=f"Waiting in collectives: {_waits_least(stragglers)} waits least",
        caption="The rank that waits least is the one that the others wait for.",
        columns=[
            ("name", "", [f"rank {item.rank}" for item in stragglers]),
            ("waiting_us", "us", [item.total_wait_ns / NS_PER_US for item in stragglers]),
            ("arrives_last", "", [item.last_arrivals for item in stragglers]),
        ],
    )


def _waits_least(stragglers: Sequence[Straggler]) -> str:
    least = min(stragglers, key=lambda item: (item.total_wait_ns, item.rank))
    return f"rank {least.rank}"


def _stragglers(stragglers: Sequence[Straggler]) -> Exhibit:
    return exhibit(
        STRAGGLERS,
        ExhibitKind.TABLE,
        title="Waiting and last arrivals by rank",
        caption="A rank waits from its own start to the start of the last rank.",
        columns=[
            ("rank", "", [item.rank for item in stragglers]),
            ("total_wait_us", "us", [item.total_wait_ns / NS_PER_US for item in stragglers]),
            ("last_arrivals", "", [item.last_arrivals for item in stragglers]),
        ],
    )


def _collectives(matches: Sequence[Match]) -> Exhibit:
    return exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="Collectives of several ranks",
        caption=(
            "transfer_us is the shortest duration among the ranks; seq is the number in the "
            "process group, or the place among those of equal name where it was not recorded."
        ),
        columns=[
            ("group", "", [match.group for match in matches]),
            ("seq", "", [match.index for match in matches]),
            ("name", "", [match.name for match in matches]),
            ("transfer_us", "us", [match.transfer_ns / NS_PER_US for match in matches]),
            ("last_rank", "", [match.last_rank for match in matches]),
        ],
    )


def _waits(matches: Sequence[Match]) -> Exhibit:
    rows = [
        (match, rank, wait, duration)
        for match in matches
        for rank, wait, duration in zip(
            match.rank, match.wait_ns.tolist(), match.duration_ns.tolist(), strict=True
        )
    ]
    return exhibit(
        WAITS,
        ExhibitKind.TABLE,
        title="Waiting by collective and rank",
        caption="wait_us is from the rank's start to the start of the last rank.",
        columns=[
            ("group", "", [match.group for match, *_ in rows]),
            ("seq", "", [match.index for match, *_ in rows]),
            ("name", "", [match.name for match, *_ in rows]),
            ("rank", "", [rank for _, rank, _, _ in rows]),
            ("wait_us", "us", [wait / NS_PER_US for _, _, wait, _ in rows]),
            ("duration_us", "us", [duration / NS_PER_US for *_, duration in rows]),
        ],
    )


def _bandwidth(ranks: Sequence[RankCollectives]) -> tuple[Exhibit, ...]:
    totals: dict[tuple[str, int], list[int]] = {}
    for rank in ranks:
        for row in np.flatnonzero(rank.bytes != NONE).tolist():
            entry = totals.setdefault((rank.name[row], int(rank.group_size[row])), [0, 0, 0])
            entry[0] += 1
            entry[1] += int(rank.duration_ns[row])
            entry[2] += int(rank.bytes[row])
    if not totals:
        return ()
    rows = sorted(totals.items(), key=lambda item: (-item[1][1], item[0]))
    rates = [_gb_per_s(size, time_ns) for _, (_, time_ns, size) in rows]
    factors = [_bus_factor(name, n_ranks) for (name, n_ranks), _ in rows]
    return (
        exhibit(
            BANDWIDTH,
            ExhibitKind.TABLE,
            title="Bandwidth of collectives",
            caption=(
                "Over all ranks, durations with waiting: bytes (the larger of input and output) "
                "per second. The bus bandwidth is that times 2(n - 1)/n for all-reduce, (n - 1)/n "
                "for all-gather, reduce-scatter and all-to-all."
            ),
            columns=[
                ("name", "", [name for (name, _), _ in rows]),
                ("group_size", "", [n if n != NONE else None for (_, n), _ in rows]),
                ("count", "", [entry[0] for _, entry in rows]),
                ("time_us", "us", [entry[1] / NS_PER_US for _, entry in rows]),
                ("bytes", "bytes", [entry[2] for _, entry in rows]),
                ("algorithm_gb_per_s", "GB/s", rates),
                (
                    "bus_gb_per_s",
                    "GB/s",
                    [
                        None if rate is None or factor is None else rate * factor
                        for rate, factor in zip(rates, factors, strict=True)
                    ],
                ),
            ],
        ),
    )


def _gb_per_s(size: int, time_ns: int) -> float | None:
    return size / time_ns if time_ns > 0 else None


def _bus_factor(name: str, n_ranks: int) -> float | None:
    if n_ranks < 1:
        return None
    bare = name.lower().replace("_", "")
    if "allreduce" in bare:
        return 2 * (n_ranks - 1) / n_ranks
    if any(word in bare for word in ("allgather", "reducescatter", "alltoall")):
        return (n_ranks - 1) / n_ranks
    return 1.0
