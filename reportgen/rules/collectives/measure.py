"""Collectives of a rank, and how those of several ranks belong together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reportgen.facts import device_busy
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE
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


@row
class Collective:
    """One collective on one rank, and how it is shown once those of other ranks are known.

    Attributes:
        group: process group and its ranks as text, ``""`` where unknown.
        seq: number in the group; ``NONE`` where unknown, and once it is matched the place among
            those of equal group and name.
        name: of the collective where it was recorded, else of the kernel.
        wait_ns: how long the rank was there before the last one.
        start_ns, end_ns: UTC.
        group_size: ranks in the group; ``bytes``: larger of input and output; ``NONE`` where
            unknown.
    """

    group: str = col()
    seq: int = col()
    name: str = col()
    rank: int = col()
    wait_ns: int = col("us", name="wait_us", per=NS_PER_US)
    duration_ns: int = col("us", name="duration_us", per=NS_PER_US)
    start_ns: int
    end_ns: int
    group_size: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCollectives:
    """The communication kernels of a rank in order of their start.

    ``window_ns`` is the length of the headline window, times devices; ``communication_ns`` how
    long communication ran in it.
    """

    rank: int
    node: str
    n_ops: int
    window_ns: int
    communication_ns: int
    collectives: tuple[Collective, ...]


def measure(trace: RankTrace, params: Params) -> RankCollectives:
    """Measure the communication kernels of a rank."""
    also, windows = params.communication_names, device_busy.windows_of(trace)
    times = [
        device_busy.time_in(unions, device_busy.headline(windows), rank=trace.rank)
        for unions in device_busy.unions_of(trace, also)
    ]
    rows = np.flatnonzero(device_busy.communication_rows(trace, also))
    return RankCollectives(
        rank=trace.rank,
        node=trace.node,
        n_ops=trace.gpu_ops.start_ns.size,
        window_ns=sum(item.window.length_ns for item in times),
        communication_ns=sum(item.communication_ns for item in times),
        collectives=tuple(_collectives(trace, rows)),
    )


def _collectives(trace: RankTrace, rows: NDArray[np.int64]) -> Iterator[Collective]:
    ops, args, labels = trace.gpu_ops, trace.collectives, (*trace.labels, "")
    texts = (args.name, args.dtype, args.group, args.group_ranks)
    numbers = (args.seq, args.group_size, args.in_elements, args.out_elements)
    # ``NONE`` is the last of a vocabulary and of a table, as in Python's counting from the end.
    said = np.pad(np.array([*texts, *numbers]), ((0, 0), (0, 1)), constant_values=NONE)
    for place, codes in zip(rows.tolist(), said[:, ops.collective[rows]].T.tolist(), strict=True):
        name, dtype, group, ranks = (labels[code] for code in codes[:4])
        seq, group_size, *elements = codes[4:]
        size = _bytes_of(dtype)
        yield Collective(
            group=f"{group} {ranks}".strip(),
            seq=seq,
            name=name or trace.names[ops.name[place]],
            rank=trace.rank,
            wait_ns=0,
            duration_ns=int(ops.duration_ns[place]),
            start_ns=trace.origin_ns + int(ops.start_ns[place]),
            end_ns=trace.origin_ns + int(ops.end_ns[place]),
            group_size=group_size,
            bytes=max(elements) * size if max(elements) >= 0 and size else NONE,
        )


def _bytes_of(dtype: str) -> int:
    text = dtype.lower().removeprefix("c10::")
    return 1 if text.startswith("float8") else _BYTES.get(text, 0)


@row
class Match:
    """One collective on several ranks.

    Attributes:
        transfer_ns: the time of the rank that waited least: the transfer itself.
        last_rank: the rank that arrived last.
        start_ns: of the first rank; ``end_spread_ns``: from the first to the last end.
        members: of each rank, ranks ascending.
    """

    group: str = col()
    seq: int = col()
    name: str = col()
    transfer_ns: int = col("us", name="transfer_us", per=NS_PER_US)
    last_rank: int = col()
    start_ns: int
    end_spread_ns: int
    members: tuple[Collective, ...]


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


def _match(ranks: Sequence[RankCollectives], *, from_last: bool) -> list[Match]:
    """Match by group, name, number and occurrence among those of equal group, name and number."""
    members: dict[tuple[str, str, int, int], list[Collective]] = {}
    for rank in ranks:
        seen: Counter[tuple[str, str, int]] = Counter()
        for item in reversed(rank.collectives) if from_last else rank.collectives:
            known = (item.group, item.name, item.seq)
            members.setdefault((*known, seen[known]), []).append(item)
            seen[known] += 1
    matches = [
        _matched(seq if seq != NONE else occurrence, found)
        for (_, _, seq, occurrence), found in members.items()
        if len({item.rank for item in found}) > 1
    ]
    return sorted(matches, key=lambda match: (match.start_ns, match.group, match.name))


def _matched(seq: int, members: Sequence[Collective]) -> Match:
    last_ns, ends_ns = max(item.start_ns for item in members), [item.end_ns for item in members]
    waits = [replace(item, seq=seq, wait_ns=last_ns - item.start_ns) for item in members]
    waits.sort(key=lambda item: item.rank)
    return Match(
        group=waits[0].group,
        seq=seq,
        name=waits[0].name,
        transfer_ns=min(item.duration_ns for item in waits),
        last_rank=next(item.rank for item in waits if item.wait_ns == 0),
        start_ns=min(item.start_ns for item in members),
        end_spread_ns=max(ends_ns) - min(ends_ns),
        members=tuple(waits),
    )
