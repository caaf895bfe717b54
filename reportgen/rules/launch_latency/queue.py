"""How many launched operations wait on each stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from reportgen import results
from reportgen.arrays import Integers
from reportgen.facts.device_busy import launch_end_ns
from reportgen.facts.intervals import covered_each, union_of
from reportgen.facts.replay import LONG_CALL_NS, launches_of
from reportgen.facts.resample import ThinCurve, thin
from reportgen.merging import joint_codes, rows_by_code
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, Times
from reportgen.rules import kit
from reportgen.rules.base import Outcome
from reportgen.text import write
from reportgen.units import NS_PER_S, NS_PER_US, pct_of

FULL_FROM = 1_000
"""At this depth the hardware's queue (about 1,024) is full and blocks the host. Source:
docs/definitions.md, Launch queue."""
FULL = kit.Message(
    id="QUEUE-1",
    cause=results.Cause.FULL_LAUNCH_QUEUE,
    title=f"The launch queue holds {FULL_FROM:,} operations or more {{measured:pct}} of the time",
    text=f"""For {{q.full_ns:ns}} of {{q.length_ns:ns}} stream {{q.stream}} of {{q.node}} held at
        least {FULL_FROM:,} operations: the host is far ahead, and blocked in launch calls for
        {{q.blocked_ns:ns}} of this time. So the GPU is the bottleneck, not the host.""",
    advice="Make the work of the GPU faster; a faster host would not help here.",
    exhibit="queue_depth",
)


@kit.row
class StreamQueue:
    """One stream of a rank; ``curve`` is the thinned depth, of the rank's deepest queue only."""

    node: str
    rank: int = kit.col()
    device: int = kit.col()
    stream: int = kit.col()
    launches: int = kit.col()
    length_ns: int = kit.col("us", name="window_us", per=NS_PER_US)
    mean_depth: float = kit.col()
    max_depth: int = kit.col()
    full_ns: int = kit.col("us", name="full_us", per=NS_PER_US)
    blocked_ns: int = kit.col("us", name="blocked_us", per=NS_PER_US)
    curve: ThinCurve | None

    @property
    def full_pct(self) -> float:
        """Return the share of its time in which the queue was full."""
        return pct_of(self.full_ns, self.length_ns)


def measure(trace: RankTrace) -> tuple[StreamQueue, ...]:
    """Return the queues of a rank."""
    queues = list(_depths(trace))
    deepest = max((int(depth.max()) for *_, depth in queues), default=0)
    found: list[StreamQueue] = []
    launches = launches_of(trace, trace.gpu_ops.launch)
    launches = launches[trace.calls.duration_ns[launches] > LONG_CALL_NS]
    long = union_of(trace.calls.start_ns[launches], trace.calls.end_ns[launches])
    for device, stream, time_ns, depth in queues:
        length_ns, lasting_ns = int(time_ns[-1] - time_ns[0]), np.diff(time_ns)
        full = np.flatnonzero(depth[:-1] >= FULL_FROM)
        curve = None
        if int(depth.max()) == deepest and all(item.curve is None for item in found):
            curve = thin(trace.origin_ns + time_ns, depth.astype(np.float64))
        found.append(
            StreamQueue(
                node=trace.node,
                rank=trace.rank,
                device=device,
                stream=stream,
                launches=time_ns.size // 2,
                length_ns=length_ns,
                mean_depth=float((lasting_ns * depth[:-1]).sum() / length_ns) if length_ns else 0.0,
                max_depth=int(depth.max()),
                full_ns=int(lasting_ns[full].sum()),
                blocked_ns=int(covered_each(long, time_ns[full], time_ns[full + 1]).sum()),
                curve=curve,
            )
        )
    return tuple(found)


def _depths(trace: RankTrace) -> Iterator[tuple[int, int, Times, Integers]]:
    """Yield device, stream, and the queue's depth as a step function that ends with 0.

    An operation joins the queue when its launch returned, or at its start where that came first,
    and leaves at its start.
    """
    ops = trace.gpu_ops
    rows = np.flatnonzero(ops.launch != NONE)
    start_ns = ops.start_ns[rows]
    joined_ns = np.minimum(launch_end_ns(trace)[rows], start_ns)
    for _, here in rows_by_code(joint_codes(ops.device[rows], ops.stream[rows])):
        device, stream = (int(column[rows[here[0]]]) for column in (ops.device, ops.stream))
        time_ns = np.concatenate([joined_ns[here], start_ns[here]])
        change = np.repeat(np.array([1, -1], dtype=np.int8), time_ns.size // 2)
        depth = np.cumsum(change[np.argsort(time_ns, kind="stable")], dtype=np.int64)
        time_ns.sort()  # instead of time_ns[order]: queues are twice as long as all operations
        yield device, stream, time_ns, depth


def judge(queues: Sequence[StreamQueue], *, full_pct: float) -> Outcome:
    """Report how full the queues were; nothing without any."""
    if not queues:
        return Outcome()
    deepest = max(queues, key=lambda item: (item.curve is not None, item.max_depth))
    fullest = max(queues, key=lambda item: item.full_pct)
    is_full = fullest.full_ns > 0 and fullest.full_pct >= full_pct
    full = FULL.finding(
        measured=fullest.full_pct,
        threshold=full_pct,
        where=results.Where(node=fullest.node, device=f"gpu{fullest.device}"),
        q=fullest,
    )
    by_stream = kit.table(
        "queue_depth",
        queues,
        StreamQueue,
        title="Queues by rank, device and stream",
        caption=f"""Mean and largest number of queued operations between the first recorded launch
            and the start of the last operation. full is the time with at least {FULL_FROM:,} queued
            operations; blocked is the part of it in which the host was in launch calls of more than
            {LONG_CALL_NS // NS_PER_US} µs.""",
    )
    return Outcome(
        findings=[full] if is_full else [],
        exhibits=[*([_over_time(deepest, deepest.curve)] if deepest.curve else []), by_stream],
        metrics={"queue_max": max(queue.max_depth for queue in queues)},
    )


def _over_time(queue: StreamQueue, curve: ThinCurve) -> results.Exhibit:
    return results.exhibit(
        "queue_over_time",
        results.ExhibitKind.BAND,
        title=write("Launch queue: up to {n:count operation} queued", n=queue.max_depth),
        caption=write(
            """Operations that are launched but have not yet started on
            stream {q.stream} of {q.node}, which has the deepest queue. The curve of
            {q.curve.n_points:count point} is reduced to {kept:n}; minima and maxima are kept.""",
            q=queue,
            kept=curve.time_ns.size,
        ),
        columns=kit.floats(
            ("time_s", "s", curve.time_ns / NS_PER_S),
            ("operations_min", "", curve.low),
            ("operations_mean", "", curve.mean),
            ("operations_max", "", curve.high),
        ),
        role=results.Role.OTHER,
    )
