"""Collectives of a rank, and how those of several ranks belong together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.device_busy import (
    communication_rows,
    headline,
    time_in,
    unions_of,
    windows_of,
)
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, Times
from reportgen.rules.kit import col, communication_names, row, share_limit
from reportgen.units import NS_PER_MS, NS_PER_US

AGREE_WITHIN_NS = NS_PER_MS
AGREE_RATIO = 0.95
"""Where clocks agree, the ends of one collective lie this close (7 µs in real traces) for so many
of the collectives (docs/definitions.md, Waiting in collectives)."""
_BYTES = {
    name: size
    for size, names in {
        1: "bool byte char int8 uint8",
        2: "short int16 half float16 bfloat16",
        4: "int int32 float float32",
        8: "long int64 double float64",
    }.items()
    for name in names.split()
}
"""Bytes of an element by the names that PyTorch writes, lower case."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCollectives:
    """The communication kernels of a rank in order of their start, (n,) each.

    Attributes:
        has_ops: whether the rank has any GPU operation.
        window_ns: length of the headline window, times devices; ``communication_ns``: in which
            communication ran.
        start_ns, end_ns: int64, ns UTC; ``duration_ns``: int64.
        name: of the collective where it was recorded, else of the kernel.
        group: process group and its ranks as text, ``""`` where unknown.
        seq: number in the group, ``NONE`` where unknown.
        group_size: ranks in the group, ``NONE`` where unknown.
        bytes: larger of input and output, ``NONE`` where unknown.
    """

    rank: int
    node: str
    has_ops: bool
    window_ns: int
    communication_ns: int
    start_ns: Times
    end_ns: Times
    duration_ns: Times
    name: tuple[str, ...]
    group: tuple[str, ...]
    seq: NDArray[np.int64]
    group_size: NDArray[np.int64]
    bytes: NDArray[np.int64]


def measure(trace: RankTrace, params: Params) -> RankCollectives:
    """Measure the communication kernels of a rank."""
    ops, args, also = trace.gpu_ops, trace.collectives, params.communication_names
    rows = np.flatnonzero(communication_rows(trace, also))
    at = ops.collective[rows]
    windows = windows_of(trace)
    times = [time_in(item, headline(windows), rank=trace.rank) for item in unions_of(trace, also)]

    def of_args(values: NDArray[np.integer]) -> NDArray[np.int64]:
        found = np.full(at.shape, NONE, dtype=np.int64)
        found[at != NONE] = values[at[at != NONE]]
        return found

    labels = (*trace.labels, "")
    name, group, ranks, dtype = (
        [labels[code] for code in of_args(codes).tolist()]
        for codes in (args.name, args.group, args.group_ranks, args.dtype)
    )
    kernels = [trace.names[code] for code in ops.name[rows].tolist()]
    element_bytes = np.array([_bytes_of(text) for text in dtype], dtype=np.int64)
    elements = np.maximum(of_args(args.in_elements), of_args(args.out_elements))
    is_sized = (elements >= 0) & (element_bytes > 0)
    return RankCollectives(
        rank=trace.rank,
        node=trace.node,
        has_ops=ops.start_ns.size > 0,
        window_ns=sum(item.window.length_ns for item in times),
        communication_ns=sum(item.communication_ns for item in times),
        start_ns=trace.origin_ns + ops.start_ns[rows],
        end_ns=trace.origin_ns + ops.end_ns[rows],
        duration_ns=ops.duration_ns[rows],
        name=tuple(said or own for said, own in zip(name, kernels, strict=True)),
        group=tuple(f"{text} {of}".strip() for text, of in zip(group, ranks, strict=True)),
        seq=of_args(args.seq),
        group_size=of_args(args.group_size),
        bytes=np.where(is_sized, elements * element_bytes, NONE),
    )


def _bytes_of(dtype: str) -> int:
    text = dtype.lower().removeprefix("c10::")
    return 1 if text.startswith("float8") else _BYTES.get(text, 0)


@row
class Wait:
    """One rank in one collective; ``wait_ns``: how long it was there before the last one."""

    group: str = col()
    seq: int = col()
    name: str = col()
    rank: int = col()
    wait_ns: int = col("us", name="wait_us", per=NS_PER_US)
    duration_ns: int = col("us", name="duration_us", per=NS_PER_US)


@row
class Match:
    """One collective on several ranks.

    Attributes:
        seq: number in its group, or its place among those of equal group and name.
        transfer_ns: the time of the rank that waited least: the transfer itself.
        last_rank: the rank that arrived last.
        start_ns: of the first rank.
        end_spread_ns: from the first to the last end.
        waits: of each rank, ranks ascending.
    """

    group: str = col()
    seq: int = col()
    name: str = col()
    transfer_ns: int = col("us", name="transfer_us", per=NS_PER_US)
    last_rank: int = col()
    start_ns: int
    end_spread_ns: int
    waits: tuple[Wait, ...]


def match_ranks(ranks: Sequence[RankCollectives]) -> list[Match]:
    """Return the collectives that at least two ranks recorded, in order of time.

    The number in the group decides where it is known; else the place among those of equal
    group and name, counted from the first, or from the last where that fits better because a
    recording began later.
    """
    matches = _match(ranks, from_last=False)
    if ends_together(matches) >= AGREE_RATIO:
        return matches
    other = _match(ranks, from_last=True)
    return other if ends_together(other) > ends_together(matches) else matches


def comparable(matches: Sequence[Match]) -> list[Match]:
    """Return the collectives whose waiting can be separated from transfer: clocks agree."""
    if ends_together(matches) < AGREE_RATIO:
        return []
    return [match for match in matches if match.end_spread_ns <= AGREE_WITHIN_NS]


def ends_together(matches: Sequence[Match]) -> float:
    """Return the share of the collectives whose ends agree; 0 without any."""
    agreeing = sum(match.end_spread_ns <= AGREE_WITHIN_NS for match in matches)
    return agreeing / len(matches) if matches else 0.0


_Members = list[tuple[RankCollectives, int]]


def _match(ranks: Sequence[RankCollectives], *, from_last: bool) -> list[Match]:
    """Match by group, name, number and occurrence among those of equal group, name and number."""
    members: dict[tuple[str, str, int, int], _Members] = {}
    for rank in ranks:
        seen: Counter[tuple[str, str, int]] = Counter()
        rows = range(len(rank.name))
        for at in reversed(rows) if from_last else rows:
            known = (rank.group[at], rank.name[at], int(rank.seq[at]))
            members.setdefault((*known, seen[known]), []).append((rank, at))
            seen[known] += 1
    matches = [
        _matched(group, seq if seq != NONE else occurrence, name, found)
        for (group, name, seq, occurrence), found in members.items()
        if len({rank.rank for rank, _ in found}) > 1
    ]
    return sorted(matches, key=lambda match: (match.start_ns, match.group, match.name))


def _matched(group: str, seq: int, name: str, members: _Members) -> Match:
    found = sorted(members, key=lambda member: member[0].rank)
    starts_ns = [int(rank.start_ns[at]) for rank, at in found]
    ends_ns = [int(rank.end_ns[at]) for rank, at in found]
    waits = tuple(
        Wait(
            group=group,
            seq=seq,
            name=name,
            rank=rank.rank,
            wait_ns=max(starts_ns) - start_ns,
            duration_ns=int(rank.duration_ns[at]),
        )
        for (rank, at), start_ns in zip(found, starts_ns, strict=True)
    )
    return Match(
        group=group,
        seq=seq,
        name=name,
        transfer_ns=min(item.duration_ns for item in waits),
        last_rank=next(item.rank for item in waits if item.wait_ns == 0),
        start_ns=min(starts_ns),
        end_spread_ns=max(ends_ns) - min(ends_ns),
        waits=waits,
    )
