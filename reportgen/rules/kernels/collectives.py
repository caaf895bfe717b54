"""Collectives of a rank, and how those of several ranks belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, Times
from reportgen.rules.kernels.device_time import communication_rows, time_in, unions_of
from reportgen.rules.kernels.windows import headline, windows_of
from reportgen.units import NS_PER_MS

AGREE_WITHIN_NS = NS_PER_MS
"""Ends of one collective lie this close where clocks agree. Source: D20 (real: 7 µs)."""
AGREE_RATIO = 0.95
"""So many of the collectives must end together; what does not is no match. Source: ours."""
_BYTES = {
    "bool": 1,
    "byte": 1,
    "char": 1,
    "int8": 1,
    "uint8": 1,
    "short": 2,
    "int16": 2,
    "half": 2,
    "float16": 2,
    "bfloat16": 2,
    "int": 4,
    "int32": 4,
    "float": 4,
    "float32": 4,
    "long": 8,
    "int64": 8,
    "double": 8,
    "float64": 8,
}
"""Bytes of an element by the names that PyTorch writes, lower case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCollectives:
    """The communication kernels of a rank in order of their start, (n,) each.

    Attributes:
        has_ops: whether the rank has any GPU operation.
        origin_ns: zero of the times, ns UTC.
        window_ns: length of the headline window, times devices.
        start_ns, end_ns, duration_ns: int64.
        name: kernel, or the collective that it says to be.
        group: process group and its ranks as text, ``""`` where unknown.
        seq: number in the group, ``NONE`` where unknown.
        group_size: ranks in the group, ``NONE`` where unknown.
        bytes: larger of input and output, ``NONE`` where unknown.
    """

    rank: int
    node: str
    has_ops: bool
    origin_ns: int
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One collective on several ranks; (n,) each, ranks ascending.

    Attributes:
        index: place among the collectives of its group, or the number that the ranks agree on.
        start_ns: against the first rank's origin.
        end_spread_ns: from the first to the last end.
    """

    group: str
    index: int
    name: str
    rank: tuple[int, ...]
    start_ns: Times
    duration_ns: Times
    end_spread_ns: int

    @property
    def transfer_ns(self) -> int:
        """Return the time of the rank that waited least: the transfer itself."""
        return int(self.duration_ns.min())

    @property
    def wait_ns(self) -> Times:
        """Return how long each rank was there before the last one."""
        return np.asarray(self.start_ns.max() - self.start_ns)

    @property
    def last_rank(self) -> int:
        """Return the rank that arrived last."""
        return self.rank[int(self.start_ns.argmax())]


def rank_collectives(trace: RankTrace, also: str | None = None) -> RankCollectives:
    """Return the communication kernels of a rank.

    ``also`` finds further names of communication, a regular expression.
    """
    ops, args = trace.gpu_ops, trace.collectives
    rows = np.flatnonzero(communication_rows(trace, also))
    at = ops.collective[rows]
    windows = windows_of(trace)
    unions = unions_of(trace, also)
    times = [time_in(item, headline(windows), rank=trace.rank) for item in unions]

    def of_args(values: NDArray[np.int64]) -> NDArray[np.int64]:
        found = np.full(at.shape, NONE, dtype=np.int64)
        found[at != NONE] = values[at[at != NONE]]
        return found

    labels = (*trace.labels, "")
    name, group, ranks, dtype = (
        [labels[code] for code in of_args(column.astype(np.int64)).tolist()]
        for column in (args.name, args.group, args.group_ranks, args.dtype)
    )
    kernel = [trace.names[code] for code in ops.name[rows].tolist()]
    element_bytes = np.array([_bytes_of(text) for text in dtype], dtype=np.int64)
    elements = np.maximum(of_args(args.in_elements), of_args(args.out_elements))
    is_sized = (elements >= 0) & (element_bytes > 0)
    return RankCollectives(
        rank=trace.rank,
        node=trace.node,
        has_ops=ops.start_ns.size > 0,
        origin_ns=trace.origin_ns,
        window_ns=sum(item.window.length_ns for item in times),
        communication_ns=sum(item.communication_ns for item in times),
        start_ns=ops.start_ns[rows],
        end_ns=ops.end_ns[rows],
        duration_ns=ops.duration_ns[rows],
        name=tuple(said or own for said, own in zip(name, kernel, strict=True)),
        group=tuple(f"{text} {of}".strip() for text, of in zip(group, ranks, strict=True)),
        seq=of_args(args.seq),
        group_size=of_args(args.group_size),
        bytes=np.where(is_sized, elements * element_bytes, NONE),
    )


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


def ends_together(matches: Sequence[Match]) -> float:
    """Return the share of the collectives whose ends agree; 0 without any."""
    agreeing = sum(match.end_spread_ns <= AGREE_WITHIN_NS for match in matches)
    return agreeing / len(matches) if matches else 0.0


def _match(ranks: Sequence[RankCollectives], *, from_last: bool) -> list[Match]:
    groups: dict[tuple[str, str, int, int], list[tuple[RankCollectives, int]]] = {}
    for rank in ranks:
        for key, row in _keys(rank, from_last=from_last):
            groups.setdefault(key, []).append((rank, row))
    origin_ns = ranks[0].origin_ns if ranks else 0
    matches = [
        _matched(key, members, origin_ns)
        for key, members in groups.items()
        if len({rank.rank for rank, _ in members}) > 1
    ]
    return sorted(matches, key=lambda match: (int(match.start_ns.min()), match.group, match.name))


def _keys(rank: RankCollectives, *, from_last: bool) -> list[tuple[tuple[str, str, int, int], int]]:
    """Return (group, name, number, occurrence) of each row."""
    rows = range(len(rank.name))
    seen: dict[tuple[str, str, int], int] = {}
    keys = []
    for row in reversed(rows) if from_last else rows:
        known = (rank.group[row], rank.name[row], int(rank.seq[row]))
        occurrence = seen.get(known, 0)
        seen[known] = occurrence + 1
        keys.append(((*known, occurrence), row))
    return keys


def _matched(
    key: tuple[str, str, int, int], members: list[tuple[RankCollectives, int]], origin_ns: int
) -> Match:
    group, name, seq, occurrence = key
    ordered = sorted(members, key=lambda member: member[0].rank)
    shift = np.array([rank.origin_ns - origin_ns for rank, _ in ordered])
    start = np.array([rank.start_ns[row] for rank, row in ordered]) + shift
    end = np.array([rank.end_ns[row] for rank, row in ordered]) + shift
    return Match(
        group=group,
        index=seq if seq != NONE else occurrence,
        name=name,
        rank=tuple(rank.rank for rank, _ in ordered),
        start_ns=start,
        duration_ns=np.array([rank.duration_ns[row] for rank, row in ordered]),
        end_spread_ns=int(end.max() - end.min()),
    )


def _bytes_of(dtype: str) -> int:
    text = dtype.lower().removeprefix("c10::")
    return 1 if text.startswith("float8") else _BYTES.get(text, 0)
