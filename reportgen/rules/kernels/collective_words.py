"""Collectives in words: waiting for late ranks, and ranks that do not compare."""

from __future__ import annotations

from reportgen.facts.kernel_names import short_names
from reportgen.results import Finding, Severity, Where
from reportgen.rules.kernels.collective_exhibits import (
    ARRIVALS,
    STRAGGLERS,
    Context,
    stragglers_of,
)
from reportgen.rules.kernels.collectives import AGREE_WITHIN_NS
from reportgen.rules.kernels.saying import pct_of, say_ns
from reportgen.rules.saying.verdict import estimate_of, fault_severity
from reportgen.rules.saying.wording import say_times
from reportgen.units import say_pct


def findings_of(context: Context, *, limit_pct: float, window_pct: float) -> tuple[Finding, ...]:
    """Return waiting for late ranks as a fault, or why ranks do not compare."""
    if not context.agreeing:
        return (_not_comparable(context),)
    found = _waiting(context, limit_pct, window_pct)
    return (found,) if found else ()


def _waiting(context: Context, limit_pct: float, window_pct: float) -> Finding | None:
    matches = context.agreeing
    stragglers = stragglers_of(matches)
    waiting = sum(item.total_wait_ns for item in stragglers)
    every = sum(item.duration_ns for item in stragglers)
    share_pct = pct_of(waiting, every)
    windows = {rank.rank: rank.window_ns for rank in context.ranks}
    of_window_pct = pct_of(waiting, sum(windows.values()))
    if share_pct < limit_pct or of_window_pct < window_pct or waiting <= 0:
        return None
    late = max(stragglers, key=lambda item: (item.last_arrivals, -item.total_wait_ns, -item.rank))
    most = max(stragglers, key=lambda item: pct_of(item.total_wait_ns, windows[item.rank]))
    bound = min(pct_of(most.total_wait_ns, windows[most.rank]) / 100, 0.99)
    nodes = {rank.rank: rank.node for rank in context.ranks}
    transfer = sum(match.transfer_ns for match in matches)
    return Finding(
        id="COMM-1",
        severity=fault_severity(bound),
        title=(
            f"{say_pct(share_pct)} of communication is waiting; rank {late.rank} arrives last "
            f"most often"
        ),
        text=(
            f"In {say_times(len(matches), 'collective')} the ranks spend {say_ns(every)}, of which "
            f"{say_ns(waiting)} is waiting for the last rank, {say_pct(of_window_pct)} of the "
            f"windows of all ranks; the transfers alone take {say_ns(transfer)} on each. "
            f"Rank {late.rank} arrives last in {late.last_arrivals} of {len(matches)} and waits "
            f"{say_ns(late.total_wait_ns)}; rank {most.rank} waits {say_ns(most.total_wait_ns)}, "
            f"{say_pct(100 * bound)} of its window, which is the bound."
        ),
        advice=(
            f"Look at what rank {late.rank} does before the collectives: its share of data and "
            "work, its host, its GPU clocks. A faster network will not help."
        ),
        where=Where(node=nodes[late.rank]),
        measured=round(share_pct, 4),
        threshold=limit_pct,
        unit="%",
        estimate=estimate_of(bound),
        exhibit=ARRIVALS,
    )


def _not_comparable(context: Context) -> Finding:
    names = short_names(sorted({name for rank in context.ranks for name in rank.name})[:1])
    if len(context.ranks) < 2:
        why = "Only one rank was recorded, so waiting for others cannot be told from transfer."
    elif not context.matches:
        why = f"The ranks share no collective ({names[0]} and others differ in group or number)."
    else:
        spread = max(match.end_spread_ns for match in context.matches)
        why = (
            f"The ends of one collective lie up to {say_ns(spread)} apart on the ranks, more than "
            f"{say_ns(AGREE_WITHIN_NS)}: their clocks differ, or collectives are missing."
        )
    return Finding(
        id="COMM-2",
        severity=Severity.INFO,
        title="The ranks are not comparable: communication may be waiting",
        text=why,
        advice="Record the same steps on all ranks, with clocks that agree.",
        exhibit=STRAGGLERS,
    )
