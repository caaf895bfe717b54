"""Negotiations of Horovod: when each rank was ready, who was last, how long the others waited.

Source: Horovod's timeline, formats.md §5.1. All times are of the coordinator's clock: those of
different ranks can be compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.distributions import Tally, tally_values
from reportgen.facts.groups import joint_codes, rows_by_code, sums_by_code
from reportgen.facts.intervals import union_length_ns
from reportgen.profile import SpanSource, SpanTable

NEGOTIATE = "NEGOTIATE_"
MOST_TENSORS = 500
"""Tensors that a node sends on, those with the longest waits. Source: ours."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankWait:
    """One rank over the negotiations in which it took part.

    Attributes:
        n_taken: negotiations in which somebody was last alone.
        n_last: those in which it was this rank.
        expected: how often chance would have made it the last: the sum of 1 / ranks.
        others_waited_ns: what the other ranks waited for it, added up over them.
        held_up_ns: length of the union of the times from the last but one to it: what would not
            have been lost had it been as late as the next.
        own_wait_ns: what it waited for others.
    """

    rank: int
    n_taken: int
    n_last: int
    expected: float
    others_waited_ns: int
    held_up_ns: int
    own_wait_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorWait:
    """One tensor: its negotiations, the wait from first to last rank, and who was last most."""

    tensor: str
    n_negotiations: int
    wait_ns: int
    longest_ns: int
    last_rank: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Negotiations:
    """What a node's timelines tell.

    Attributes:
        n_spans: framework events of any kind, ``n_events`` those of Horovod.
        n_negotiations: those in which two ranks or more were seen ready.
        n_unclear: those in which fewer were: the marks are missing.
        n_ties: those in which several ranks were last in the same microsecond.
        recorded_ns: from the first to the last event of Horovod.
        waited_ns: length of the union of all waits.
        waits: from the first to the last rank, one per negotiation.
        ranks, tensors: by rank, and by name.
    """

    n_spans: int
    n_events: int = 0
    n_negotiations: int = 0
    n_unclear: int = 0
    n_ties: int = 0
    recorded_ns: int = 0
    waited_ns: int = 0
    waits: Tally
    ranks: tuple[RankWait, ...] = ()
    tensors: tuple[TensorWait, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """Ready marks in negotiations, by negotiation, then by time; (n,) each."""

    negotiation: Integers
    time_ns: Integers
    rank: Integers


def negotiations_of(spans: SpanTable) -> Negotiations:
    """Return what one node's timelines tell; nothing without timelines of Horovod."""
    its = _of_horovod(spans)
    is_negotiation = _named(its, [name.startswith(NEGOTIATE) for name in its.names])
    negotiations = its.where(is_negotiation & (its.duration_ns > 0))
    ready = _ready_marks(its, negotiations)
    first, count = _runs(ready.negotiation)
    is_told = count > 1
    if not is_told.any():
        return Negotiations(
            n_spans=spans.n_spans,
            n_events=its.n_spans,
            n_unclear=negotiations.n_spans,
            waits=tally_values(_NOTHING),
        )
    last = first + count - 1
    begin_ns, end_ns = ready.time_ns[first], ready.time_ns[last]
    next_ns = ready.time_ns[np.maximum(last - 1, first)]
    is_decided = is_told & (next_ns < end_ns)
    wait_ns = (end_ns - begin_ns)[is_told]
    last_rank = np.where(is_decided, ready.rank[last], -1)
    tensor = negotiations.phase[ready.negotiation[first]]
    return Negotiations(
        n_spans=spans.n_spans,
        n_events=its.n_spans,
        n_negotiations=int(is_told.sum()),
        n_unclear=negotiations.n_spans - int(is_told.sum()),
        n_ties=int((is_told & ~is_decided).sum()),
        recorded_ns=int(its.end_ns.max() - its.start_ns.min()),
        waited_ns=union_length_ns(begin_ns[is_told], end_ns[is_told]),
        waits=tally_values(wait_ns),
        ranks=tuple(_rank_waits(ready, count, next_ns, end_ns, is_decided=is_decided)),
        tensors=_longest(
            _tensor_waits(tensor[is_told], wait_ns, last_rank[is_told], negotiations.phases)
        ),
    )


_NOTHING = np.empty(0, dtype=np.int64)


def _of_horovod(spans: SpanTable) -> SpanTable:
    is_horovod = np.array([source == SpanSource.HOROVOD for source in spans.sources], dtype=bool)
    if not is_horovod.any():
        return spans.where(np.zeros(spans.n_spans, dtype=bool))
    return spans.where(is_horovod[spans.source])


def _named(spans: SpanTable, is_meant: Sequence[bool]) -> NDArray[np.bool_]:
    if not spans.n_spans:
        return np.zeros(0, dtype=bool)
    return np.array(is_meant, dtype=bool)[spans.name]


def rank_of(name: str) -> int | None:
    """Return the rank that a ready mark names, ``None`` for other events."""
    return int(name) if name.isascii() and name.isdecimal() and len(name) < 8 else None


def _ready_marks(spans: SpanTable, negotiations: SpanTable) -> _Ready:
    """Return the marks inside negotiations of their tensor; of a rank the first counts."""
    ranks = [rank_of(name) for name in spans.names]
    marks = spans.where(_named(spans, [rank is not None for rank in ranks]))
    both_worker = np.concatenate([negotiations.worker, marks.worker])
    both_phase = np.concatenate([negotiations.phase, marks.phase])
    n_negotiations = negotiations.n_spans
    found: list[Integers] = []
    chosen: list[Integers] = []
    for _, rows in rows_by_code(joint_codes(both_worker, both_phase)):
        own, its = rows[rows < n_negotiations], rows[rows >= n_negotiations] - n_negotiations
        if not own.size or not its.size:
            continue
        time_ns = marks.start_ns[its]
        index = np.searchsorted(negotiations.start_ns[own], time_ns, side="right") - 1
        place = own[np.maximum(index, 0)]
        is_inside = (index >= 0) & (time_ns <= negotiations.end_ns[place])
        found.append(place[is_inside])
        chosen.append(its[is_inside])
    if not found:
        return _Ready(negotiation=_NOTHING, time_ns=_NOTHING, rank=_NOTHING)
    negotiation, rows = np.concatenate(found), np.concatenate(chosen)
    rank_by_name = np.array([-1 if rank is None else rank for rank in ranks], dtype=np.int64)
    rank, time_ns = rank_by_name[marks.name[rows]], marks.start_ns[rows]
    order = np.lexsort((time_ns, rank, negotiation))
    is_first = np.ones(order.size, dtype=bool)
    is_first[1:] = (negotiation[order][1:] != negotiation[order][:-1]) | (
        rank[order][1:] != rank[order][:-1]
    )
    order = order[is_first]
    order = order[np.lexsort((rank[order], time_ns[order], negotiation[order]))]
    return _Ready(negotiation=negotiation[order], time_ns=time_ns[order], rank=rank[order])


def _runs(codes: Integers) -> tuple[Integers, Integers]:
    """Return where each run of equal codes begins, and its length."""
    if not codes.size:
        return _NOTHING, _NOTHING
    first = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
    return first, np.diff(np.append(first, codes.size))


def _rank_waits(
    ready: _Ready,
    count: Integers,
    next_ns: Integers,
    end_ns: Integers,
    *,
    is_decided: NDArray[np.bool_],
) -> Iterable[RankWait]:
    """Yield what holds for each rank in the negotiations that somebody was last in."""
    run = np.repeat(np.arange(count.size), count)
    is_last = np.zeros(run.size, dtype=bool)
    is_last[np.cumsum(count) - 1] = True
    wait_ns = np.repeat(end_ns, count) - ready.time_ns
    waited_ns = sums_by_code(run, wait_ns, count.size)
    kept = is_decided[run]
    for rank, rows in rows_by_code(ready.rank[kept]):
        its = run[kept][rows]
        own = its[is_last[kept][rows]]
        yield RankWait(
            rank=rank,
            n_taken=int(its.size),
            n_last=int(own.size),
            expected=float((1.0 / count[its]).sum()),
            others_waited_ns=int(waited_ns[own].sum()),
            held_up_ns=union_length_ns(next_ns[own], end_ns[own]),
            own_wait_ns=int(wait_ns[kept][rows].sum()),
        )


def _tensor_waits(
    tensor: NDArray[np.integer], wait_ns: Integers, last_rank: Integers, names: Sequence[str]
) -> Iterable[TensorWait]:
    for code, rows in rows_by_code(tensor):
        decided = last_rank[rows][last_rank[rows] >= 0]
        ranks, times = np.unique(decided, return_counts=True)
        yield TensorWait(
            tensor=names[code],
            n_negotiations=int(rows.size),
            wait_ns=int(wait_ns[rows].sum()),
            longest_ns=int(wait_ns[rows].max()),
            last_rank=int(ranks[times.argmax()]) if ranks.size else None,
        )


def _longest(tensors: Iterable[TensorWait]) -> tuple[TensorWait, ...]:
    ordered = sorted(tensors, key=lambda item: (-item.wait_ns, item.tensor))
    return tuple(ordered[:MOST_TENSORS])


def join_ranks(parts: Iterable[RankWait]) -> tuple[RankWait, ...]:
    """Return the sums of each rank over several timelines, by rank."""
    sums: dict[int, RankWait] = {}
    for item in parts:
        before = sums.get(item.rank)
        sums[item.rank] = item if before is None else _sum(before, item)
    return tuple(sums[rank] for rank in sorted(sums))


def _sum(first: RankWait, second: RankWait) -> RankWait:
    return RankWait(
        rank=first.rank,
        n_taken=first.n_taken + second.n_taken,
        n_last=first.n_last + second.n_last,
        expected=first.expected + second.expected,
        others_waited_ns=first.others_waited_ns + second.others_waited_ns,
        held_up_ns=first.held_up_ns + second.held_up_ns,
        own_wait_ns=first.own_wait_ns + second.own_wait_ns,
    )
