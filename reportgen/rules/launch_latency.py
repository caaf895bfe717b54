"""LaunchLatency: how launches reach the GPU, and how many of them wait on each stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reportgen import results
from reportgen.facts.device_busy import launch_end_ns, launch_start_ns, own_clock_ns
from reportgen.facts.kernel_names import short_names
from reportgen.merging import joint_codes, rows_by_code
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.text import write
from reportgen.units import NS_PER_US

ABOUT = About(
    checks="How long after its launch each operation begins, and how many wait on each stream.",
    reading="""A long delay is good: the host launches work before the GPU needs it. A delay of a
        few µs means that the GPU waits for each launch. If a queue never empties, the host keeps up
        with the GPU. CUDA's queue is full at about 1,024 operations: then launch calls block the
        host, which does not slow down the GPU. The queue of HIP holds more.""",
    advice="""If delays are short and the GPU is idle, launch less often: fuse kernels, or use CUDA
        graphs; see “Idle time”.""",
    section=results.Section(id="launches", title="Launches", order=100),
)
LAUNCH, QUEUE = "launch", "queue"
FULL_FROM = 1_000
"""At this depth the hardware's queue (about 1,024) is full and blocks the host. Source:
docs/definitions.md, Launch queue."""
DELAYS_CAPTION = """launch is the time from the start of a call to the start of its first operation
    on the GPU. queue is the time from the end of the call to the start of each of its operations;
    it may be negative. orphans are operations whose call was not recorded.{early}"""
EARLY = """ {n:count operation} {n:verb begin} before the launch call: the clocks of host and GPU
    differ, so delays and causes of idle time are wrong by as much."""
QUEUES_CAPTION = f"""Mean and largest number of queued operations between the first recorded launch
    and the start of the last operation. full is the time with at least {FULL_FROM:,} queued
    operations: the host is far ahead, and the GPU is the bottleneck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """How many of the slowest launches are listed."""

    top: int = kit.top_k()


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


@kit.row
class StreamQueue:
    """The queue of one stream of a rank."""

    rank: int = kit.col()
    device: int = kit.col()
    stream: int = kit.col()
    launches: int = kit.col()
    length_ns: int = kit.col("us", name="window_us", per=NS_PER_US)
    mean_depth: float = kit.col()
    max_depth: int = kit.col()
    full_ns: int = kit.col("us", name="full_us", per=NS_PER_US)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLaunches:
    """The launches of one rank, or of all."""

    n_ops: int = kit.merged(sum)
    delays: tuple[Delays, ...] = kit.merged(kit.concat)
    slowest: tuple[SlowLaunch, ...] = kit.merged(kit.concat)
    queues: tuple[StreamQueue, ...] = kit.merged(kit.concat)


def measure(trace: RankTrace, params: Params) -> RankLaunches:
    """Measure the launches of a rank."""
    ops = trace.gpu_ops
    start_ns, end_ns = launch_start_ns(trace), launch_end_ns(trace)
    rows = np.flatnonzero(ops.launch != NONE)
    # Operations are sorted by their start: the first row of a call is its first operation.
    _, place = np.unique(ops.launch[rows], return_index=True)
    first = rows[np.sort(place)]
    launched_ns = ops.start_ns[first] - start_ns[first]
    queued_ns = ops.start_ns[rows] - end_ns[rows]
    longest = first[np.argsort(-launched_ns, kind="stable")[: params.top]]
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
        queues=tuple(_queues(trace)),
    )


def _queues(trace: RankTrace) -> Iterator[StreamQueue]:
    """Yield the queue of each stream: its depth is a step function that ends with 0.

    An operation joins the queue when its launch returned, or at its start where that came first,
    and leaves at its start.
    """
    ops = trace.gpu_ops
    rows = np.flatnonzero(ops.launch != NONE)
    start_ns = ops.start_ns[rows]
    joined_ns = np.minimum(launch_end_ns(trace)[rows], start_ns)
    for _, here in rows_by_code(joint_codes(ops.device[rows], ops.stream[rows])):
        time_ns = np.concatenate([joined_ns[here], start_ns[here]])
        change = np.repeat(np.array([1, -1], dtype=np.int8), time_ns.size // 2)
        depth = np.cumsum(change[np.argsort(time_ns, kind="stable")], dtype=np.int64)
        time_ns.sort()  # instead of time_ns[order]: queues are twice as long as all operations
        length_ns, lasting_ns = int(time_ns[-1] - time_ns[0]), np.diff(time_ns)
        yield StreamQueue(
            rank=trace.rank,
            device=int(ops.device[rows[here[0]]]),
            stream=int(ops.stream[rows[here[0]]]),
            launches=time_ns.size // 2,
            length_ns=length_ns,
            mean_depth=float((lasting_ns * depth[:-1]).sum() / length_ns) if length_ns else 0.0,
            max_depth=int(depth.max()),
            full_ns=int(lasting_ns[depth[:-1] >= FULL_FROM].sum()),
        )


def judge(ranks: Sequence[RankLaunches], params: Params) -> Outcome:
    """Report how launches reach the GPU, and how full the queues were."""
    missing = kit.reason_without_gpu(sum(rank.n_ops for rank in ranks))
    if missing:
        return Outcome(missing=missing)
    job = kit.merge(ranks)
    n_early = sum(item.negative for item in job.delays if item.delay == LAUNCH)
    early = write(EARLY, n=n_early) if n_early else ""
    by_rank = kit.table(
        "launch_latency",
        job.delays,
        Delays,
        title="Launch delays by rank",
        caption=write(DELAYS_CAPTION, early=early),
    )
    if not job.delays:
        return Outcome(exhibits=[by_rank])
    by_stream = kit.table(
        "queue_depth",
        job.queues,
        StreamQueue,
        title="Queues by rank, device and stream",
        caption=QUEUES_CAPTION,
    )
    return Outcome(
        exhibits=[by_rank, _slowest(job, params.top), by_stream],
        metrics={
            **{
                f"{delay}_p50_max_us": max(r.p50_ns for r in job.delays if r.delay == delay)
                / NS_PER_US
                for delay in (LAUNCH, QUEUE)
            },
            "queue_max": max(queue.max_depth for queue in job.queues),
        },
    )


def _slowest(job: RankLaunches, top: int) -> results.Exhibit:
    rows = sorted(job.slowest, key=lambda item: (-item.delay_ns, item.rank, item.start_ns))[:top]
    names = short_names([item.name for item in rows])
    return kit.table(
        "slowest_launches",
        [replace(item, name=name) for name, item in zip(names, rows, strict=True)],
        SlowLaunch,
        title="The longest launch delays",
        caption=f"The {len(rows)} longest delays; start_us is on the clock of the trace.",
    )


RULE = Rule(
    id=results.RuleId("LaunchLatency"),
    title="Launches",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    folded=("slowest_launches",),
    former_ids=("LaunchQueue",),
)
