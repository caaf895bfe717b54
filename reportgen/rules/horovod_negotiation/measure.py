"""Negotiations of Horovod: when each rank was ready, who was last, how long the others waited.

All times of a timeline are of the coordinator's clock (docs/formats.md, Horovod timelines): those
of different ranks can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.distributions import Tally, tally_values
from reportgen.facts.groups import joint_codes, rows_by_code, sums_by_code
from reportgen.facts.intervals import union_length_ns
from reportgen.merging import concat, merge_by, merged
from reportgen.profile import NodeProfile, SpanSource, SpanTable
from reportgen.rules.base import param
from reportgen.rules.kit import col, derived, row
from reportgen.units import NS_PER_S

NEGOTIATE = "NEGOTIATE_"
MOST_TENSORS = 500
"""A node sends on so many tensors, those with the longest waits; far fewer are shown."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters of ours; AWS has no such rule."""

    fair_factor: float = param(
        2,
        unit="times",
        meaning=(
            "a rank that is last more often than this many times its fair share is told; with few "
            "ranks the middle between its fair share and always is enough"
        ),
        source="ranks that take turns by chance hardly differ so much",
        minimum=1,
    )
    min_held_up_pct: float = param(
        1,
        unit="%",
        meaning="a rank is told if only it was missing for this share of the recorded time or more",
        source="a job that becomes faster by less than this is not worth a search",
        minimum=0,
        maximum=100,
    )
    min_negotiations: int = param(
        20,
        unit="negotiations",
        meaning="fewer negotiations than this are too few to judge",
        source="among fewer, chance makes a rank the last in most of them",
        minimum=1,
        is_whole=True,
    )


@row
class RankWait:
    """One rank over the negotiations in which it took part.

    Attributes:
        n_taken: negotiations in which somebody was last alone, one at least.
        n_last: those in which it was this rank.
        expected: how often chance would have made it the last: the sum of 1 / ranks.
        others_waited_ns: what the other ranks waited for it, added up over them.
        held_up_ns: length of the union of the times from the last but one to it: what would not
            have been lost had it been as late as the next.
        own_wait_ns: what it waited for others.
    """

    rank: int = col()
    n_taken: int = col(name="negotiations", reduce=sum)
    n_last: int = col(name="last", reduce=sum)
    shown_last_pct: float = derived(lambda rank: rank.last_pct, "%", name="last_pct", digits=4)
    shown_fair_pct: float = derived(lambda rank: rank.fair_pct, "%", name="fair_pct", digits=4)
    others_waited_ns: int = col("s", name="others_waited_s", per=NS_PER_S, reduce=sum)
    held_up_ns: int = col("s", name="held_up_s", per=NS_PER_S, reduce=sum)
    own_wait_ns: int = col("s", name="own_wait_s", per=NS_PER_S, reduce=sum)
    expected: float = merged(sum)

    @property
    def fair_ratio(self) -> float:
        """Return its fair share of being the last, 0-1."""
        return self.expected / self.n_taken

    @property
    def fair_pct(self) -> float:
        """Return the same in percent."""
        return 100 * self.expected / self.n_taken

    @property
    def last_pct(self) -> float:
        """Return in how many of its negotiations it was the last, 0-100."""
        return 100 * self.n_last / self.n_taken


def _join_ranks(parts: Sequence[Sequence[RankWait]]) -> tuple[RankWait, ...]:
    by_rank = merge_by(concat(parts), lambda item: item.rank)
    return tuple(by_rank[rank] for rank in sorted(by_rank))


@row
class TensorWait:
    """One tensor: its negotiations, the wait from first to last rank, and who was last most."""

    tensor: str = col()
    n_negotiations: int = col(name="negotiations")
    wait_ns: int = col("s", name="wait_s", per=NS_PER_S)
    longest_ns: int = col("s", name="longest_s", per=NS_PER_S)
    last_rank: int | None = col()


@row
class Negotiations:
    """What the timelines of a node hold, or those of all nodes.

    Attributes:
        n_events: events of Horovod.
        n_negotiations: those in which two ranks or more were seen ready.
        n_unclear: those in which fewer were: the marks are missing.
        n_ties: those in which several ranks were last in the same microsecond.
        recorded_ns: from the first to the last event of Horovod, 0 without negotiations.
        waited_ns: length of the union of all waits.
        waits: of each node, from the first to the last rank, one per negotiation.
        ranks, tensors: by rank, and the longest of each node first.
    """

    n_events: int = merged(sum)
    n_negotiations: int = merged(sum)
    n_unclear: int = merged(sum)
    n_ties: int = merged(sum)
    recorded_ns: int = merged(sum)
    waited_ns: int = merged(sum)
    waits: tuple[Tally, ...] = merged(concat)
    ranks: tuple[RankWait, ...] = merged(_join_ranks)
    tensors: tuple[TensorWait, ...] = merged(concat)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """Ready marks in negotiations, by negotiation, then by time; (n,) each."""

    negotiation: Integers
    time_ns: Integers
    rank: Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ends:
    """When the ranks of each negotiation with two or more were ready; (n,) each.

    Attributes:
        place: which negotiation it is.
        n_ranks: how many took part.
        first_ns, next_ns, last_ns: the first rank, the last but one, and the last.
        last_rank: -1 where several were last at the same time.
    """

    place: Integers
    n_ranks: Integers
    first_ns: Integers
    next_ns: Integers
    last_ns: Integers
    last_rank: Integers

    @property
    def wait_ns(self) -> Integers:
        """Return how long the first rank waited for the last."""
        return self.last_ns - self.first_ns


def measure(part: NodeProfile, _params: Params) -> Negotiations:
    """Find who was last in each negotiation of a node's timelines."""
    spans = part.spans
    sources = [code for code, name in enumerate(spans.sources) if name == SpanSource.HOROVOD]
    its = spans.where(np.isin(spans.source, sources))
    names = [code for code, name in enumerate(its.names) if name.startswith(NEGOTIATE)]
    negotiations = its.where(np.isin(its.name, names) & (its.duration_ns > 0))
    ready = _ready_marks(its, negotiations)
    ends = _ends_of(ready)
    n_clear = ends.place.size
    tensor = negotiations.phase[ends.place]
    tensors = list(_tensor_waits(tensor, ends, negotiations.phases))
    return Negotiations(
        n_events=its.n_spans,
        n_negotiations=n_clear,
        n_unclear=negotiations.n_spans - n_clear,
        n_ties=int((ends.last_rank < 0).sum()),
        recorded_ns=int(its.end_ns.max() - its.start_ns.min()) if n_clear else 0,
        waited_ns=union_length_ns(ends.first_ns, ends.last_ns),
        waits=(tally_values(ends.wait_ns),),
        ranks=tuple(_rank_waits(ready, ends)),
        tensors=tuple(sorted(tensors, key=longest_first)[:MOST_TENSORS]),
    )


def rank_of(name: str) -> int:
    """Return the rank that a ready mark names, -1 for other events."""
    return int(name) if name.isascii() and name.isdecimal() and len(name) < 8 else -1


def _ready_marks(spans: SpanTable, negotiations: SpanTable) -> _Ready:
    """Return the marks inside negotiations of their tensor; of a rank the first counts."""
    rank_by_name = np.array([rank_of(name) for name in spans.names], dtype=np.int64)
    marks = spans.where(rank_by_name[spans.name] >= 0)
    worker, phase = (
        np.concatenate([getattr(table, column) for table in (negotiations, marks)])
        for column in ("worker", "phase")
    )
    negotiation = np.full(marks.n_spans, -1, dtype=np.int64)
    for _, rows in rows_by_code(joint_codes(worker, phase)):
        own = rows[rows < negotiations.n_spans]
        its = rows[own.size :] - negotiations.n_spans
        index = np.searchsorted(negotiations.start_ns[own], marks.start_ns[its], side="right") - 1
        begun = its[index >= 0]
        place = own[index[index >= 0]]
        is_inside = marks.start_ns[begun] <= negotiations.end_ns[place]
        negotiation[begun[is_inside]] = place[is_inside]
    rank, time_ns = rank_by_name[marks.name], marks.start_ns
    order = np.lexsort((rank, time_ns, negotiation))
    order = order[negotiation[order] >= 0]
    _, first = np.unique(joint_codes(negotiation[order], rank[order]), return_index=True)
    kept = order[np.sort(first)]
    return _Ready(negotiation=negotiation[kept], time_ns=time_ns[kept], rank=rank[kept])


def _ends_of(ready: _Ready) -> _Ends:
    place, first, n_ranks = np.unique(ready.negotiation, return_index=True, return_counts=True)
    is_clear = n_ranks > 1
    first, n_ranks = first[is_clear], n_ranks[is_clear]
    last = first + n_ranks - 1
    first_ns, next_ns, last_ns = (ready.time_ns[at] for at in (first, last - 1, last))
    return _Ends(
        place=place[is_clear],
        n_ranks=n_ranks,
        first_ns=first_ns,
        next_ns=next_ns,
        last_ns=last_ns,
        last_rank=np.where(next_ns < last_ns, ready.rank[last], -1),
    )


def _rank_waits(ready: _Ready, ends: _Ends) -> Iterator[RankWait]:
    """Yield each rank over the negotiations in which somebody was last alone."""
    place = np.searchsorted(ends.place, ready.negotiation)
    is_clear = np.isin(ready.negotiation, ends.place[ends.last_rank >= 0])
    rank, place = ready.rank[is_clear], place[is_clear]
    wait_ns = ends.last_ns[place] - ready.time_ns[is_clear]
    others_waited_ns = sums_by_code(place, wait_ns, ends.place.size)
    for number, rows in rows_by_code(rank):
        its = place[rows]
        own = its[ends.last_rank[its] == number]
        yield RankWait(
            rank=number,
            n_taken=int(its.size),
            n_last=int(own.size),
            expected=float((1.0 / ends.n_ranks[its]).sum()),
            others_waited_ns=int(others_waited_ns[own].sum()),
            held_up_ns=union_length_ns(ends.next_ns[own], ends.last_ns[own]),
            own_wait_ns=int(wait_ns[rows].sum()),
        )


def _tensor_waits(
    tensor: NDArray[np.integer], ends: _Ends, names: Sequence[str]
) -> Iterator[TensorWait]:
    for code, rows in rows_by_code(tensor):
        wait_ns, last_rank = ends.wait_ns[rows], ends.last_rank[rows]
        ranks, times = np.unique(last_rank[last_rank >= 0], return_counts=True)
        yield TensorWait(
            tensor=names[code],
            n_negotiations=int(rows.size),
            wait_ns=int(wait_ns.sum()),
            longest_ns=int(wait_ns.max()),
            last_rank=int(ranks[times.argmax()]) if ranks.size else None,
        )


def longest_first(item: TensorWait) -> tuple[int, str]:
    """Return the key by which tensors are sorted."""
    return -item.wait_ns, item.tensor
