"""What the host costs each rank: how much sooner it would be done without, what happens once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reportgen.facts.device_busy import Window
from reportgen.facts.host_costs import Cost, HostCosts, host_costs
from reportgen.facts.kernel_names import short_name
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE
from reportgen.rules.kit import col, derived, row
from reportgen.units import NS_PER_US, pct_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """A stretch that comes once, ns UTC.

    Attributes:
        length_ns: of it, and of what belongs to it where it is in parts.
        before: the operation that ended it.
        doing: what the host was in, empty where nothing was recorded.
    """

    start_ns: int
    end_ns: int
    length_ns: int
    before: str = ""
    doing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCosts:
    """The costs of the host of one rank, in its headline window.

    Attributes:
        won_ns: by how much the rank would be done sooner without each cost.
        stops: long stretches that come once, in order.
        first_use: from the first to the last first use, ``None`` without any.
    """

    rank: int
    node: str
    window: Window
    won_ns: Mapping[Cost, int]
    n_syncs: int
    stops: tuple[Once, ...]
    first_use: Once | None

    def share_pct(self, cost: Cost) -> float:
        """Return the share of the window that is won without a cost."""
        return pct_of(self.won_ns[cost], self.window.length_ns)


def costs_of(trace: RankTrace) -> RankCosts | None:
    """Return the costs of a rank, ``None`` where nothing ran on a GPU."""
    found = host_costs(trace)
    if found is None:
        return None
    return RankCosts(
        rank=trace.rank,
        node=trace.node,
        window=found.window,
        won_ns=found.won_ns,
        n_syncs=found.n_syncs,
        stops=tuple(_stops(trace, found)),
        first_use=_first_use(trace, found),
    )


def _stops(trace: RankTrace, found: HostCosts) -> list[Once]:
    return [
        Once(
            start_ns=trace.origin_ns + stop.start_ns,
            end_ns=trace.origin_ns + stop.end_ns,
            length_ns=stop.end_ns - stop.start_ns,
            before=short_name(trace.names[trace.gpu_ops.name[stop.before]]),
            doing="" if stop.doing == NONE else trace.names[stop.doing],
        )
        for stop in found.stops
    ]


def _first_use(trace: RankTrace, found: HostCosts) -> Once | None:
    when = found.first_use
    if not when.start_ns.size:
        return None
    return Once(
        start_ns=trace.origin_ns + int(when.start_ns[0]),
        end_ns=trace.origin_ns + int(when.end_ns[-1]),
        length_ns=when.length_ns,
    )


@row
class CostWon:
    """What one rank would win without one cost."""

    rank: int = col()
    cost: str = col()
    won_ns: int = col("us", name="won_us", per=NS_PER_US)
    window_ns: int = col("us", name="window_us", per=NS_PER_US)
    pct: float = derived(lambda item: pct_of(item.won_ns, item.window_ns), "%")


def rows_of(rank: RankCosts) -> list[CostWon]:
    """Return the costs of a rank as they are shown."""
    return [
        CostWon(rank=rank.rank, cost=cost.value, won_ns=won_ns, window_ns=rank.window.length_ns)
        for cost, won_ns in rank.won_ns.items()
    ]
