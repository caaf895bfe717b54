"""Collectives of a rank, as they are measured and shown."""

from __future__ import annotations

from dataclasses import dataclass

from reportgen.facts import device_busy
from reportgen.facts.exchanges import Exchange, Meeting, exchanges_of
from reportgen.profile.trace import RankTrace
from reportgen.rules.kit import col, communication_names, row, share_limit
from reportgen.units import NS_PER_US


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """When waiting for a late rank, and slow transfers, are faults."""

    threshold_window_pct: float = share_limit(
        3.0, "waiting for a late rank is a fault if it takes at least this share of the window"
    )
    threshold_slow_pct: float = share_limit(
        3.0,
        "the extra time of slow transfers is a fault if it takes at least this share of the window",
    )
    communication_names: str | None = communication_names()


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCollectives:
    """The communication kernels of a rank in order of their start.

    ``host`` is empty where the name of the file does not say it. ``begin_ns`` is when the headline
    window begins, UTC; ``window_ns`` its length, times devices; ``communication_ns`` how long
    communication ran in it.
    """

    rank: int
    node: str
    host: str
    n_ops: int
    begin_ns: int
    window_ns: int
    communication_ns: int
    exchanges: tuple[Exchange, ...]


def measure(trace: RankTrace, params: Params) -> RankCollectives:
    """Measure the communication kernels of a rank."""
    also, windows = params.communication_names, device_busy.windows_of(trace)
    times = [
        device_busy.time_in(unions, device_busy.headline(windows), rank=trace.rank)
        for unions in device_busy.unions_of(trace, also)
    ]
    begin_ns = device_busy.headline(windows).start_ns if windows else 0
    return RankCollectives(
        rank=trace.rank,
        node=trace.node,
        host=trace.host,
        n_ops=trace.gpu_ops.start_ns.size,
        begin_ns=trace.origin_ns + begin_ns,
        window_ns=sum(item.window.length_ns for item in times),
        communication_ns=sum(item.communication_ns for item in times),
        exchanges=exchanges_of(trace, also),
    )


@row
class Collective:
    """One collective on one rank; ``wait_ns`` is how long the rank was there before the last."""

    group: str = col()
    seq: int = col()
    name: str = col()
    rank: int = col()
    wait_ns: int = col("us", name="wait_us", per=NS_PER_US)
    duration_ns: int = col("us", name="duration_us", per=NS_PER_US)


@row
class Match:
    """One collective on several ranks; ``transfer_ns`` is the time of the rank that waits least."""

    group: str = col()
    seq: int = col()
    name: str = col()
    transfer_ns: int = col("us", name="transfer_us", per=NS_PER_US)
    last_rank: int = col()


def collectives_of(meeting: Meeting) -> list[Collective]:
    """Return a collective on each rank as it is shown."""
    return [
        Collective(
            group=item.group,
            seq=meeting.number,
            name=item.name,
            rank=item.rank,
            wait_ns=meeting.last_ns - item.start_ns,
            duration_ns=item.duration_ns,
        )
        for item in meeting.members
    ]


def match_of(meeting: Meeting) -> Match:
    """Return a collective of several ranks as it is shown."""
    first = meeting.members[0]
    return Match(
        group=first.group,
        seq=meeting.number,
        name=first.name,
        transfer_ns=meeting.transfer_ns,
        last_rank=meeting.last_rank,
    )
