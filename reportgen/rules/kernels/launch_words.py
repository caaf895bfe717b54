"""LaunchLatency in words: delays per rank and the slowest launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.results import Exhibit, ExhibitKind, Finding, Severity, exhibit
from reportgen.rules.kernels.kernel_names import short_names
from reportgen.rules.kernels.saying import say_ns
from reportgen.rules.saying.wording import say_times
from reportgen.units import NS_PER_US

TABLE, BOXES, SLOWEST = "launch_latency", "launch_delays", "slowest_launches"
LAUNCH, QUEUE = "launch", "queue"


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayRow:
    """One kind of delay on one rank; ``negative`` of ``count`` are below 0."""

    rank: int
    delay: str
    count: int
    lower_ns: float
    p25_ns: float
    p50_ns: float
    p75_ns: float
    upper_ns: float
    p95_ns: float
    max_ns: int
    negative: int
    orphans: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowLaunch:
    """One operation that began long after it was launched; ``start_ns`` in the trace's clock."""

    rank: int
    name: str
    start_ns: int
    delay_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLaunches:
    """One rank."""

    n_ops: int
    rows: tuple[DelayRow, ...]
    slowest: tuple[SlowLaunch, ...]


def exhibits_of(ranks: Sequence[RankLaunches], *, top: int) -> tuple[Exhibit, ...]:
    """Return the delays and the slowest launches; an empty table without launches."""
    rows = [row for rank in ranks for row in rank.rows]
    if not rows:
        return (_table(rows),)
    return (_boxes(rows), _slowest(ranks, top), _table(rows))


def findings_of(ranks: Sequence[RankLaunches]) -> tuple[Finding, ...]:
    """Return the reading of the delays."""
    rows = [row for rank in ranks for row in rank.rows if row.delay == LAUNCH]
    if not rows:
        return ()
    row = max(rows, key=lambda item: item.p50_ns)
    on = "" if len(rows) == 1 else f" on rank {row.rank}, the most of {len(rows)} ranks"
    orphans = sum(item.orphans for item in rows)
    unseen = f" The trace holds no launch of {say_times(orphans, 'operation')}." if orphans else ""
    begin = f"{say_ns(abs(row.p50_ns))} {'before' if row.p50_ns < 0 else 'after'} their launch"
    return (
        Finding(
            id="LAUNCH-1",
            severity=Severity.INFO,
            title=f"Operations begin {begin} (median){on}",
            text=(
                f"95 % begin within {say_ns(row.p95_ns)} of the call, the last after "
                f"{say_ns(row.max_ns)}. A long delay means that the host runs ahead, which is "
                f"good; one of a few µs that the GPU has nothing in store.{_early(rows)}{unseen}"
            ),
            advice="Look at the causes of idling where the delay is short.",
            measured=round(row.p50_ns / NS_PER_US, 3),
            unit="us",
            exhibit=BOXES,
        ),
    )


def _early(rows: Sequence[DelayRow]) -> str:
    """Say how many operations begin before the call that launches them began."""
    n_early = sum(row.negative for row in rows)
    if not n_early:
        return ""
    begin = "begins" if n_early == 1 else "begin"
    return (
        f" {say_times(n_early, 'operation')} {begin} before the launching call: the clocks of host "
        "and GPU disagree, and delays and causes of idling are wrong by as much."
    )


def _boxes(rows: Sequence[DelayRow]) -> Exhibit:
    many = len({row.rank for row in rows}) > 1
    return exhibit(
        BOXES,
        ExhibitKind.BOXES,
        title="From launch to start on the GPU",
        caption=(
            "launch: from the begin of the call, queue: from its end, negative where the "
            "operation began before the call returned. Box: 25th to 75th percentile with the "
            "median; whiskers within 1.5 times the box."
        ),
        columns=[
            ("name", "", [f"rank {row.rank} {row.delay}" if many else row.delay for row in rows]),
            ("lower", "us", [row.lower_ns / NS_PER_US for row in rows]),
            ("p25", "us", [row.p25_ns / NS_PER_US for row in rows]),
            ("p50", "us", [row.p50_ns / NS_PER_US for row in rows]),
            ("p75", "us", [row.p75_ns / NS_PER_US for row in rows]),
            ("upper", "us", [row.upper_ns / NS_PER_US for row in rows]),
        ],
    )


def _table(rows: Sequence[DelayRow]) -> Exhibit:
    return exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="Launch delays by rank",
        caption=(
            "launch: start on the GPU minus begin of the call, of the first operation of each "
            "call. queue: minus its end, of every operation. Nothing is clipped; orphans have no "
            "recorded call."
        ),
        columns=[
            ("rank", "", [row.rank for row in rows]),
            ("delay", "", [row.delay for row in rows]),
            ("count", "", [row.count for row in rows]),
            ("p50_us", "us", [row.p50_ns / NS_PER_US for row in rows]),
            ("p95_us", "us", [row.p95_ns / NS_PER_US for row in rows]),
            ("max_us", "us", [row.max_ns / NS_PER_US for row in rows]),
            ("negative", "", [row.negative for row in rows]),
            ("orphans", "", [row.orphans for row in rows]),
        ],
    )


def _slowest(ranks: Sequence[RankLaunches], top: int) -> Exhibit:
    every = [item for rank in ranks for item in rank.slowest]
    rows = sorted(every, key=lambda item: (-item.delay_ns, item.rank, item.start_ns))[:top]
    return exhibit(
        SLOWEST,
        ExhibitKind.TABLE,
        title="The longest launch delays",
        caption=f"The {len(rows)} longest; start_us is in the trace's own clock.",
        columns=[
            ("name", "", short_names([row.name for row in rows])),
            ("rank", "", [row.rank for row in rows]),
            ("start_us", "us", [row.start_ns / NS_PER_US for row in rows]),
            ("delay_us", "us", [row.delay_ns / NS_PER_US for row in rows]),
        ],
    )
