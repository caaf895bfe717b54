"""The evidence about negotiations: who was last, how long waits were, and for which tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reportgen.facts.distributions import Tally, bin_together
from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.rules.negotiation.waits import RankWait, TensorWait
from reportgen.units import NS_PER_S

RANKS = "ranks"
MOST_TENSORS = 20
MOST_BARS = 64


def exhibits_of(
    ranks: Sequence[RankWait], tensors: Sequence[TensorWait], waits: Sequence[Tally]
) -> tuple[Exhibit, ...]:
    """Return all exhibits; none without negotiations."""
    if not ranks:
        return ()
    return (_bars(ranks), _ranks(ranks), *_histogram(waits), _tensors(tensors))


def _bars(ranks: Sequence[RankWait]) -> Exhibit:
    shown = sorted(ranks, key=lambda item: (-item.n_last, item.rank))[:MOST_BARS]
    rest = f" The first {MOST_BARS} of {len(ranks):,}." if len(ranks) > MOST_BARS else ""
    return exhibit(
        "last_ranks",
        ExhibitKind.BARS,
        title="How often each rank was ready last",
        caption=f"Share of the negotiations in which a rank took part, and its fair share.{rest}",
        columns=[
            ("name", "", [f"rank {item.rank}" for item in shown]),
            ("last_pct", "%", [_pct(item.n_last, item.n_taken) for item in shown]),
            ("fair_pct", "%", [_pct(item.expected, item.n_taken) for item in shown]),
        ],
    )


def _ranks(ranks: Sequence[RankWait]) -> Exhibit:
    return exhibit(
        RANKS,
        ExhibitKind.TABLE,
        title="Ranks and who waited for them",
        caption=(
            "A negotiation lasts until the last rank is ready. others_waited_s adds up over the "
            "other ranks; held_up_s is the time in which only this rank was missing; own_wait_s "
            "is what it waited itself. Ties count for nobody."
        ),
        columns=[
            ("rank", "", [item.rank for item in ranks]),
            ("negotiations", "", [item.n_taken for item in ranks]),
            ("last", "", [item.n_last for item in ranks]),
            ("last_pct", "%", [_pct(item.n_last, item.n_taken) for item in ranks]),
            ("fair_pct", "%", [_pct(item.expected, item.n_taken) for item in ranks]),
            ("others_waited_s", "s", [item.others_waited_ns / NS_PER_S for item in ranks]),
            ("held_up_s", "s", [item.held_up_ns / NS_PER_S for item in ranks]),
            ("own_wait_s", "s", [item.own_wait_ns / NS_PER_S for item in ranks]),
        ],
    )


def _histogram(waits: Sequence[Tally]) -> Iterator[Exhibit]:
    bins = bin_together(waits)
    if not bins.edge_ns.size:
        return
    edges_s = bins.edge_ns / NS_PER_S
    yield exhibit(
        "wait_histogram",
        ExhibitKind.HISTOGRAM,
        title="How long the first rank waited for the last",
        caption="All negotiations in which at least two ranks were seen ready.",
        columns=[
            ("bin_start", "s", edges_s[:-1]),
            ("bin_end", "s", edges_s[1:]),
            ("negotiations", "", bins.counts.sum(axis=0)),
        ],
    )


def _tensors(tensors: Sequence[TensorWait]) -> Exhibit:
    shown = sorted(tensors, key=lambda item: (-item.wait_ns, item.tensor))[:MOST_TENSORS]
    return exhibit(
        "tensors",
        ExhibitKind.TABLE,
        title="Tensors that were waited for longest",
        caption=(
            f"The first {len(shown)} by the time from the first to the last rank, over all their "
            "negotiations, which overlap each other; last_rank is the one that was last most often."
        ),
        columns=[
            ("tensor", "", [item.tensor for item in shown]),
            ("negotiations", "", [item.n_negotiations for item in shown]),
            ("wait_s", "s", [item.wait_ns / NS_PER_S for item in shown]),
            ("longest_s", "s", [item.longest_ns / NS_PER_S for item in shown]),
            ("last_rank", "", [item.last_rank for item in shown]),
        ],
    )


def _pct(part: float, whole: int) -> float | None:
    return round(100 * part / whole, 4) if whole else None
