"""How long after their launch operations begin on the GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reportgen import results
from reportgen.facts.device_busy import launch_end_ns, launch_start_ns, own_clock_ns
from reportgen.facts.kernel_names import short_names
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE
from reportgen.rules import kit
from reportgen.rules.base import Outcome
from reportgen.text import write
from reportgen.units import NS_PER_US

LAUNCH, QUEUE = "launch", "queue"
MOST_SLOWEST = 1_000
"""More launches than this are never listed, whatever the parameter says: the list would be too
long."""
EARLY = """ {n:count operation} {n:verb begin} before the launch call: the clocks of host and GPU
    differ, so delays and causes of idle time are wrong by as much."""


@kit.row
class Delays:
    """One kind of delay on one rank; ``negative`` of ``count`` are below 0."""

    rank: int = kit.col()
    delay: str = kit.col()
    count: int = kit.col()
    p50_ns: float = kit.col("us", name="p50_us", per=NS_PER_US)
    p95_ns: float = kit.col("us", name="p95_us", per=NS_PER_US)
    max_ns: int = kit.col("us", name="max_us", per=NS_PER_US)
    negative: int = kit.col()
    orphans: int = kit.col()


@kit.row
class SlowLaunch:
    """One operation that began long after it was launched; ``start_ns`` in the trace's clock."""

    name: str = kit.col()
    rank: int = kit.col()
    start_ns: int = kit.col("us", name="start_us", per=NS_PER_US)
    delay_ns: int = kit.col("us", name="delay_us", per=NS_PER_US)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLaunches:
    """One rank."""

    n_ops: int
    delays: tuple[Delays, ...]
    slowest: tuple[SlowLaunch, ...]


def measure(trace: RankTrace, *, top: int) -> RankLaunches:
    """Measure the delays of a rank."""
    ops = trace.gpu_ops
    start_ns, end_ns = launch_start_ns(trace), launch_end_ns(trace)
    rows = np.flatnonzero(ops.launch != NONE)
    # Operations are sorted by their start: the first row of a call is its first operation.
    _, place = np.unique(ops.launch[rows], return_index=True)
    first = rows[np.sort(place)]
    launched_ns = ops.start_ns[first] - start_ns[first]
    queued_ns = ops.start_ns[rows] - end_ns[rows]
    longest = first[np.argsort(-launched_ns, kind="stable")[: min(top, MOST_SLOWEST)]]
    return RankLaunches(
        n_ops=ops.start_ns.size,
        delays=tuple(
            Delays(
                rank=trace.rank,
                delay=name,
                count=values.size,
                p50_ns=float(np.percentile(values, 50)),
                p95_ns=float(np.percentile(values, 95)),
                max_ns=int(values.max()),
                negative=int((values < 0).sum()),
                orphans=ops.launch.size - rows.size,
            )
            for name, values in ((LAUNCH, launched_ns), (QUEUE, queued_ns))
            if values.size
        ),
        slowest=tuple(
            SlowLaunch(
                rank=trace.rank,
                name=trace.names[ops.name[at]],
                start_ns=own_clock_ns(trace) + int(ops.start_ns[at]),
                delay_ns=int(ops.start_ns[at] - start_ns[at]),
            )
            for at in longest.tolist()
        ),
    )


def judge(ranks: Sequence[RankLaunches], *, top: int) -> Outcome:
    """Report how launches reach the GPU."""
    missing = kit.reason_without_gpu(sum(rank.n_ops for rank in ranks))
    if missing:
        return Outcome(missing=missing)
    rows = kit.concat(rank.delays for rank in ranks)
    n_early = sum(item.negative for item in rows if item.delay == LAUNCH)
    early = write(EARLY, n=n_early) if n_early else ""
    by_rank = kit.table(
        "launch_latency",
        rows,
        Delays,
        title="Launch delays by rank",
        caption=f"""launch is the time from the start of a call to the start of its first operation
            on the GPU. queue is the time from the end of the call to the start of each of its
            operations; it may be negative. orphans are operations whose call was not
            recorded.{early}""",
    )
    if not rows:
        return Outcome(exhibits=[by_rank])
    return Outcome(
        exhibits=[by_rank, _slowest(ranks, top)],
        metrics={
            f"{delay}_p50_max_us": max(r.p50_ns for r in rows if r.delay == delay) / NS_PER_US
            for delay in (LAUNCH, QUEUE)
        },
    )


def _slowest(ranks: Sequence[RankLaunches], top: int) -> results.Exhibit:
    every = kit.concat(rank.slowest for rank in ranks)
    rows = sorted(every, key=lambda item: (-item.delay_ns, item.rank, item.start_ns))[:top]
    names = short_names([item.name for item in rows])
    return kit.table(
        "slowest_launches",
        [replace(item, name=name) for name, item in zip(names, rows, strict=True)],
        SlowLaunch,
        title="The longest launch delays",
        caption=f"The {len(rows)} longest delays; start_us is on the clock of the trace.",
    )
