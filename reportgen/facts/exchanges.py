"""Communication of several ranks: which operations are one exchange, and who waits for whom.

A rank that waits in an exchange loses time only while nothing computes beside it. Ranks whose
recorded windows begin apart wait for each other at first because of that, not because one is slow.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from sys import intern

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.device_busy import (
    communication_rows,
    headline,
    launch_start_ns,
    unions_of,
    windows_of,
)
from reportgen.facts.intervals import Union, gaps_of, union_of
from reportgen.profile.memo import fact
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE
from reportgen.units import NS_PER_MS, NS_PER_US

AGREE_WITHIN_NS = NS_PER_MS
AGREE_RATIO = 0.95
"""Where clocks agree, the ends of one exchange lie this close (7 µs in real traces) for at least
this share of them (docs/definitions.md, Waiting in collectives)."""
SHORT_REST_NS = 10 * NS_PER_US
"""A shorter rest between two kernels does not expose what runs beside them."""
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
class Exchange:
    """One communication operation of one rank.

    Attributes:
        group: process group and its ranks as text, ``""`` where unknown.
        seq: number in the group, ``NONE`` where unknown.
        name: of the collective where it was recorded, else of the kernel.
        start_ns, end_ns: UTC.
        group_size: ranks in the group; ``bytes``: larger of input and output; ``NONE`` where
            unknown.
        alone_ns: begin and end of each part with nothing computed beside it, UTC.
        launch_ns: when the host launched it, UTC; before the recording where it is unknown.
    """

    rank: int
    group: str
    seq: int
    name: str
    duration_ns: int
    start_ns: int
    end_ns: int
    group_size: int
    bytes: int
    alone_ns: tuple[tuple[int, int], ...]
    launch_ns: int

    def alone_between_ns(self, low_ns: int, high_ns: int) -> int:
        """Return how long it was alone between two moments."""
        parts = (min(end, high_ns) - max(begin, low_ns) for begin, end in self.alone_ns)
        return sum(part for part in parts if part > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """One exchange on several ranks.

    Attributes:
        number: in the group; the place among those of equal name where it is unknown.
        last_ns: when the last rank arrived, UTC.
        members: of each rank, ranks ascending.
    """

    number: int
    last_ns: int
    members: tuple[Exchange, ...]

    @property
    def start_ns(self) -> int:
        """Return when the first rank arrived."""
        return min(item.start_ns for item in self.members)

    @property
    def transfer_ns(self) -> int:
        """Return the time of the rank that waited least: the transfer itself."""
        return min(item.duration_ns for item in self.members)

    @property
    def end_spread_ns(self) -> int:
        """Return the time from the first to the last end."""
        ends_ns = [item.end_ns for item in self.members]
        return max(ends_ns) - min(ends_ns)

    @property
    def last_rank(self) -> int:
        """Return the rank that arrived last."""
        return next(item.rank for item in self.members if item.start_ns == self.last_ns)


@fact
def exchanges_of(trace: RankTrace, also: str | None) -> tuple[Exchange, ...]:
    """Return the communication operations of a rank in order; ``also`` finds further names."""
    ops, args, labels = trace.gpu_ops, trace.collectives, (*trace.labels, "")
    rows = np.flatnonzero(communication_rows(trace, also))
    if not rows.size:
        return ()
    texts = (args.name, args.dtype, args.group, args.group_ranks)
    numbers = (args.seq, args.group_size, args.in_elements, args.out_elements)
    # ``NONE`` is the last of a vocabulary and of a table, as in Python's counting from the end.
    said = np.pad(np.array([*texts, *numbers]), ((0, 0), (0, 1)), constant_values=NONE)
    compute = {item.device: _without_rests(item.compute) for item in unions_of(trace, also)}
    launched_ns = launch_start_ns(trace)
    told = said[:, ops.collective[rows]].T.tolist()
    alone_ns = _alone(trace, rows, compute)
    found = []
    for place, codes, alone in zip(rows.tolist(), told, alone_ns, strict=True):
        name, dtype, group, ranks = (labels[code] for code in codes[:4])
        seq, group_size, *elements = codes[4:]
        size = _bytes_of(dtype)
        found.append(
            Exchange(
                rank=trace.rank,
                group=intern(f"{group} {ranks}".strip()),
                seq=seq,
                name=name or trace.names[ops.name[place]],
                duration_ns=int(ops.duration_ns[place]),
                start_ns=trace.origin_ns + int(ops.start_ns[place]),
                end_ns=trace.origin_ns + int(ops.end_ns[place]),
                group_size=group_size,
                bytes=max(elements) * size if max(elements) >= 0 and size else NONE,
                alone_ns=alone,
                launch_ns=trace.origin_ns + int(launched_ns[place]),
            )
        )
    return tuple(found)


def _bytes_of(dtype: str) -> int:
    text = dtype.lower().removeprefix("c10::")
    return 1 if text.startswith("float8") else _BYTES.get(text, 0)


def _without_rests(union: Union) -> Union:
    """Return a union in which short rests count as work."""
    return union_of(union.start_ns, union.end_ns + SHORT_REST_NS)


def _alone(
    trace: RankTrace, rows: NDArray[np.int64], compute: dict[int, Union]
) -> list[tuple[tuple[int, int], ...]]:
    """Return when each operation ran with nothing computed and no earlier exchange beside it."""
    ops, window, origin_ns = trace.gpu_ops, headline(windows_of(trace)), trace.origin_ns
    found: list[tuple[tuple[int, int], ...]] = [()] * rows.size
    for device, union in compute.items():
        places = np.flatnonzero(ops.device[rows] == device)
        if not places.size:
            continue
        high_ns = np.minimum(ops.end_ns[rows[places]], window.end_ns)
        reach_ns = np.maximum.accumulate(np.append(window.start_ns, high_ns))
        low_ns = np.maximum(ops.start_ns[rows[places]], reach_ns[:-1])
        free = gaps_of(union, window.start_ns, int(reach_ns[-1]))
        first = np.searchsorted(free.end_ns, low_ns, side="right")
        after = np.searchsorted(free.start_ns, high_ns)
        each = (places, low_ns, high_ns, first, after)
        for place, low, high, *part in zip(*(item.tolist() for item in each), strict=True):
            starts, ends = free.start_ns[slice(*part)], free.end_ns[slice(*part)]
            if low < high:
                found[place] = tuple(
                    (max(start, low) + origin_ns, min(end, high) + origin_ns)
                    for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
                )
    return found


# Of several ranks


def moved(item: Exchange, ahead_ns: int) -> Exchange:
    """Return an exchange on a clock that shows less by ``ahead_ns``."""
    return replace(
        item,
        start_ns=item.start_ns - ahead_ns,
        end_ns=item.end_ns - ahead_ns,
        launch_ns=item.launch_ns - ahead_ns,
        alone_ns=tuple((begin - ahead_ns, end - ahead_ns) for begin, end in item.alone_ns),
    )


def are_certain(ranks: Sequence[Sequence[Exchange]]) -> bool:
    """Return whether exchanges match whatever the clocks say.

    They do where each rank has as many of equal group, name and number as all others have.
    """
    counts: dict[tuple[str, str, int], set[int]] = {}
    for exchanges in ranks:
        for known, n in Counter((item.group, item.name, item.seq) for item in exchanges).items():
            counts.setdefault(known, set()).add(n)
    return all(len(numbers) == 1 for numbers in counts.values())


def meetings_of(ranks: Sequence[Sequence[Exchange]]) -> list[Meeting]:
    """Return the exchanges that at least two ranks recorded, in order of time.

    The number in the group decides where it is known; else the place among those of equal group
    and name, counted from the first, or, where that fits better because a recording began later,
    from the one that ends with the rank's first.
    """
    meetings = _match(ranks, by_time=False)
    if end_together(meetings) >= AGREE_RATIO:
        return meetings
    other = _match(ranks, by_time=True)
    return other if end_together(other) > end_together(meetings) else meetings


def comparable(meetings: Sequence[Meeting]) -> list[Meeting]:
    """Return the meetings whose waiting can be separated from transfer: clocks agree."""
    if end_together(meetings) < AGREE_RATIO:
        return []
    return [item for item in meetings if item.end_spread_ns <= AGREE_WITHIN_NS]


def end_together(meetings: Sequence[Meeting]) -> float:
    """Return the share of the meetings whose ends agree; 0 without any."""
    agreeing = sum(item.end_spread_ns <= AGREE_WITHIN_NS for item in meetings)
    return agreeing / len(meetings) if meetings else 0.0


def _match(ranks: Sequence[Sequence[Exchange]], *, by_time: bool) -> list[Meeting]:
    """Match by group, name, number and occurrence among those of equal group, name and number."""
    alike: dict[tuple[str, str, int], list[list[Exchange]]] = {}
    for exchanges in ranks:
        own: dict[tuple[str, str, int], list[Exchange]] = {}
        for item in exchanges:
            own.setdefault((item.group, item.name, item.seq), []).append(item)
        for known, items in own.items():
            alike.setdefault(known, []).append(items)
    members: dict[tuple[str, str, int, int], list[Exchange]] = {}
    for known, of_ranks in alike.items():
        ends_ns = [item.end_ns for item in max(of_ranks, key=len)]
        for items in of_ranks:
            first = _nearest(ends_ns, items[0].end_ns) if by_time else 0
            for occurrence, item in enumerate(items, first):
                members.setdefault((*known, occurrence), []).append(item)
    meetings = [
        Meeting(
            number=seq if seq != NONE else occurrence,
            last_ns=max(item.start_ns for item in found),
            members=tuple(sorted(found, key=lambda item: item.rank)),
        )
        for (_, _, seq, occurrence), found in members.items()
        if len({item.rank for item in found}) > 1
    ]
    return sorted(
        meetings, key=lambda item: (item.start_ns, item.members[0].group, item.members[0].name)
    )


def _nearest(ends_ns: Sequence[int], end_ns: int) -> int:
    place = bisect_right(ends_ns, end_ns)
    around = range(max(place - 1, 0), min(place + 1, len(ends_ns)))
    return min(around, key=lambda at: abs(ends_ns[at] - end_ns))


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How long ranks waited in meetings with nothing computed beside it, in ns.

    A rank of thousands meets a few others: one row is one rank in one meeting, in the order of
    meetings and ranks.

    Attributes:
        ranks: ascending.
        apart_ns: (n_ranks,) its waiting because its recorded window begins before others do.
        meeting, rank_place: (n_rows,) indices of the meeting, and of the rank in ``ranks``.
        lost_ns: (n_rows,) the time that the rank lost in the meeting.
    """

    ranks: tuple[int, ...]
    apart_ns: NDArray[np.int64]
    meeting: NDArray[np.int64]
    rank_place: NDArray[np.int64]
    lost_ns: NDArray[np.int64]


def waiting_in(meetings: Sequence[Meeting], begins_ns: dict[int, int]) -> Waiting:
    """Return how long the ranks waited; ``begins_ns`` is when each rank's window begins, UTC."""
    ranks = tuple(sorted({item.rank for meeting in meetings for item in meeting.members}))
    place = {rank: at for at, rank in enumerate(ranks)}
    latest_ns = max((begins_ns[rank] for rank in ranks), default=0)
    budget = [latest_ns - begins_ns[rank] for rank in ranks]
    apart_ns = np.zeros(len(ranks), dtype=np.int64)
    rows: list[tuple[int, int, int]] = []
    for number, meeting in enumerate(meetings):
        for item in meeting.members:
            at = place[item.rank]
            waited_ns = item.alone_between_ns(item.start_ns, min(meeting.last_ns, item.end_ns))
            spared_ns = min(waited_ns, budget[at])
            budget[at] -= spared_ns
            apart_ns[at] += spared_ns
            rows.append((number, at, waited_ns - spared_ns))
    numbers, places, lost_ns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Waiting(
        ranks=ranks, apart_ns=apart_ns, meeting=numbers, rank_place=places, lost_ns=lost_ns
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LateRank:
    """The rank that the others wait for.

    Attributes:
        rank: the late one; ``n_meetings``: in how many meetings it is.
        excess_ns: the median of what the others wait where it is there, less what it waits.
        n_last: in how many meetings the others wait for it more than it waits.
        without_worst_ns: the same without the eighth of the meetings, in a row, in which they
            wait longest: a single stop of a rank is felt in several meetings.
    """

    rank: int
    n_meetings: int
    excess_ns: int
    n_last: int
    without_worst_ns: int


def waiting_of_groups(waiting: Waiting, group_of: Mapping[int, int]) -> Waiting:
    """Return the waiting of groups of ranks as if each were one rank: the mean of its ranks.

    Only meetings of several groups count. ``ranks`` of the answer are the groups; their
    ``apart_ns`` is 0, as it is left out already.
    """
    n_ranks = Counter(group_of.values())
    every = tuple(sorted(n_ranks))
    groups = np.searchsorted(every, [group_of[rank] for rank in waiting.ranks])
    key = waiting.meeting * len(every) + groups[waiting.rank_place]
    pairs, of_row = np.unique(key, return_inverse=True)
    lost_ns = np.zeros(pairs.size, dtype=np.int64)
    np.add.at(lost_ns, of_row, waiting.lost_ns)
    meeting, place = np.divmod(pairs, len(every))
    is_shared = np.bincount(meeting)[meeting] > 1
    lost_ns //= np.array([n_ranks[group] for group in every])[place]
    return Waiting(
        ranks=every,
        apart_ns=np.zeros(len(every), dtype=np.int64),
        meeting=meeting[is_shared],
        rank_place=place[is_shared],
        lost_ns=lost_ns[is_shared],
    )


def late_ranks(waiting: Waiting) -> list[LateRank]:
    """Return each rank as the late one, the one for which the others wait most first."""
    company: dict[bytes, list[int]] = {}
    by_rank = np.argsort(waiting.rank_place, kind="stable")
    after = np.searchsorted(waiting.rank_place[by_rank], np.arange(1, len(waiting.ranks)))
    # Ranks that meet in the same meetings share what all of them lose there: it is added up once.
    for place, rows in enumerate(np.split(by_rank, after) if waiting.ranks else ()):
        if rows.size:
            company.setdefault(waiting.meeting[rows].tobytes(), []).append(place)
    found = [
        late
        for numbers, places in company.items()
        for late in _of_company(waiting, np.frombuffer(numbers, dtype=np.int64), places)
    ]
    return sorted(found, key=lambda item: (-item.excess_ns, item.rank))


def _of_company(
    waiting: Waiting, numbers: NDArray[np.int64], places: Sequence[int]
) -> Iterator[LateRank]:
    first, after = np.searchsorted(waiting.meeting, (numbers, numbers + 1))
    rows = np.concatenate([np.arange(*part) for part in zip(first, after, strict=True)])
    present, of_rank = np.unique(waiting.rank_place[rows], return_inverse=True)
    distinct, of_meeting = np.unique(waiting.meeting[rows], return_inverse=True)
    lost_ns = np.zeros((present.size, distinct.size), dtype=np.int64)
    np.add.at(lost_ns, (of_rank, of_meeting), waiting.lost_ns[rows])
    order = np.argsort(lost_ns.sum(axis=1), kind="stable")
    for place in places:
        at = int(np.searchsorted(present, place))
        others = order[order != at]
        usual = lost_ns[others[(others.size - 1) // 2]] if others.size else lost_ns[at]
        each_ns = usual - lost_ns[at]
        excess_ns = int(each_ns.sum())
        yield LateRank(
            rank=waiting.ranks[place],
            n_meetings=each_ns.size,
            excess_ns=excess_ns,
            n_last=int((each_ns > 0).sum()),
            without_worst_ns=excess_ns - _most_in_a_row_ns(each_ns),
        )


def _most_in_a_row_ns(each_ns: NDArray[np.int64]) -> int:
    """Return the most that an eighth of them, neighbours, add up to."""
    so_far_ns = np.concatenate(([0], np.cumsum(each_ns)))
    n_in_row = max(each_ns.size // 8, 1)
    return int((so_far_ns[n_in_row:] - so_far_ns[:-n_in_row]).max())


SLOW_TIMES = 1.5
"""A transfer that takes at least this many times as long as a fast one of its size is slow."""
LEAST_ALIKE = 4
"""Fewer exchanges of one size have no usual time."""
LOCATED_RATIO = 0.9
"""Slow transfers are of a host if it takes part in at least this share of them ..."""
MOST_LOCATED = 4
"""... and if they have at most as many hosts in common: more do not point to a link."""
FAST_QUANTILE = 0.25
"""The time of a fast transfer: a quarter are as fast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowTransfers:
    """Transfers that took much longer than others of the same size.

    Attributes:
        meetings: in order; ``alike``: all of their sizes, those included.
        lost_ns: by rank, how long they lasted longer with nothing computed beside them.
        excess_ns: how much longer they lasted in all.
        times: how many times as long as usual, the median.
    """

    meetings: tuple[Meeting, ...]
    alike: tuple[Meeting, ...]
    lost_ns: dict[int, int]
    excess_ns: int
    times: float


def slow_transfers(meetings: Sequence[Meeting]) -> SlowTransfers | None:
    """Return the transfers that were much slower than others of their size."""
    groups: dict[tuple[str, int, int], list[Meeting]] = {}
    for item in meetings:
        first = item.members[0]
        if first.bytes != NONE and len(item.members) == max(first.group_size, 2):
            groups.setdefault((first.name, first.group_size, first.bytes), []).append(item)
    slow: list[tuple[Meeting, int, float]] = []
    compared: list[Meeting] = []
    for alike in groups.values():
        if len(alike) < LEAST_ALIKE:
            continue
        usual_ns = float(np.quantile([item.transfer_ns for item in alike], FAST_QUANTILE))
        found = [item for item in alike if item.transfer_ns > SLOW_TIMES * max(usual_ns, 1.0)]
        compared += alike if found else ()
        slow += [
            (item, round(item.transfer_ns - usual_ns), item.transfer_ns / max(usual_ns, 1.0))
            for item in found
        ]
    if not slow:
        return None
    slow.sort(key=lambda each: each[0].start_ns)
    lost_ns: Counter[int] = Counter()
    excess_ns: Counter[int] = Counter()
    for item, more_ns, _ in slow:
        for member in item.members:
            lost_ns[member.rank] += member.alone_between_ns(item.last_ns, member.end_ns)
            excess_ns[member.rank] += more_ns
    return SlowTransfers(
        meetings=tuple(item for item, _, _ in slow),
        alike=tuple(compared),
        lost_ns={rank: min(ns, excess_ns[rank]) for rank, ns in lost_ns.items()},
        excess_ns=sum(more_ns for _, more_ns, _ in slow),
        times=float(np.median([times for _, _, times in slow])),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """The hosts that slow transfers have in common.

    Attributes:
        hosts: ascending.
        n_slow, n_with: how many transfers in which all of them take part are slow, of how many.
        n_slow_else, n_without: the same of those in which not all of them do.
    """

    hosts: tuple[str, ...]
    n_slow: int
    n_with: int
    n_slow_else: int
    n_without: int


def located(slow: SlowTransfers, hosts: Mapping[int, str]) -> Located | None:
    """Return the few hosts that (nearly) all slow transfers share, if others are fast without them.

    ``hosts``: of each rank, ``""`` where unknown.
    """
    there = [frozenset(hosts[item.rank] for item in each.members) for each in slow.alike]
    slow_ids = {id(item) for item in slow.meetings}
    is_slow = [id(item) in slow_ids for item in slow.alike]
    counts = Counter(host for of, late in zip(there, is_slow, strict=True) if late for host in of)
    common = frozenset(host for host, n in counts.items() if n >= LOCATED_RATIO * len(slow_ids))
    has_all = [common <= of for of in there]
    n_with, n_slow = sum(has_all), sum(map(min, has_all, is_slow))
    found = Located(
        hosts=tuple(sorted(common)),
        n_slow=n_slow,
        n_with=n_with,
        n_slow_else=len(slow_ids) - n_slow,
        n_without=len(there) - n_with,
    )
    is_said = 0 < len(common) <= MOST_LOCATED and "" not in common and found.n_without
    return found if is_said and n_slow >= n_with / 2 else None
