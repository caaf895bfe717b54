"""LaunchQueue: how much work each stream had in store, from kernel traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.facts.resample import ThinCurve, thin
from reportgen.profile.trace import RankTrace
from reportgen.results import (
    Counters,
    DashboardPanel,
    Details,
    Exhibit,
    ExhibitKind,
    Finding,
    Place,
    RuleId,
    RuleResult,
    Section,
    Severity,
    Where,
    exhibit,
)
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.kernels.queue import (
    FULL_FROM,
    QueueDepth,
    mean_depth,
    queue_depths,
    time_full_ns,
)
from reportgen.rules.kernels.saying import (
    pct_of,
    reason_without_gpu,
    result_of,
    say_ns,
    share_limit,
)
from reportgen.rules.saying.wording import say_times
from reportgen.units import NS_PER_S, NS_PER_US, say_pct

ID = RuleId("LaunchQueue")
TABLE, CURVE = "queue_depth", "queue_over_time"
ABOUT = About(
    checks="How many launched operations wait on each stream.",
    reading=(
        "A queue that never empties means that the host keeps up with the GPU. At about 1,024 the "
        "hardware's queue is full and the host blocks in launch calls, which costs the GPU "
        "nothing."
    ),
    advice="Where the queue is empty and the GPU idles, the host is the bottleneck.",
    section=Section(id="launches", title="Launches", order=100),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """When a full queue is told."""

    threshold_full_pct: float = share_limit(
        1.0, "a full queue is told from this share of the time on"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamQueue:
    """One stream of a rank; ``curve`` is thinned, of the rank's deepest queue only."""

    rank: int
    node: str
    device: int
    stream: int
    n_launches: int
    longest_ns: int
    mean: float
    largest: int
    full_ns: int
    curve: ThinCurve | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One rank."""

    n_ops: int
    queues: tuple[StreamQueue, ...]


def measure(part: RankTrace, params: Params) -> Measurement:  # noqa: ARG001 - a rule's shape
    """Measure the queues of a rank."""
    queues = queue_depths(part)
    deepest = max(queues, key=lambda item: int(item.depth.max()), default=None)
    return Measurement(
        n_ops=part.gpu_ops.start_ns.size,
        queues=tuple(_queue(part, item, has_curve=item is deepest) for item in queues),
    )


def _queue(trace: RankTrace, queue: QueueDepth, *, has_curve: bool) -> StreamQueue:
    return StreamQueue(
        rank=trace.rank,
        node=trace.node,
        device=queue.device,
        stream=queue.stream,
        n_launches=queue.n_launches,
        longest_ns=queue.longest_ns,
        mean=mean_depth(queue),
        largest=int(queue.depth.max()),
        full_ns=time_full_ns(queue),
        curve=_thinned(trace, queue) if has_curve else None,
    )


def _thinned(trace: RankTrace, queue: QueueDepth) -> ThinCurve:
    return thin(trace.origin_ns + queue.time_ns, queue.depth.astype(np.float64))


def judge(measurements: Sequence[Measurement], params: Params) -> RuleResult:
    """Join the ranks."""
    queues = [queue for rank in measurements for queue in rank.queues]
    return result_of(
        ID,
        params=params,
        reason=reason_without_gpu(
            n_ranks=len(measurements), n_ops=sum(rank.n_ops for rank in measurements)
        ),
        presentation=present(Counters(), {}, params, queues),
        metrics={"queue_max": max(queue.largest for queue in queues)} if queues else {},
    )


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,  # noqa: ARG001
    params: Params,
    context: Sequence[StreamQueue] | None,
) -> Presentation:
    """Say how full the queues were; ``context`` is the streams of all ranks."""
    queues = context or ()
    if not queues:
        return Presentation()
    deepest = max(queues, key=lambda item: (item.curve is not None, item.largest))
    found = _full(queues, params.threshold_full_pct)
    return Presentation(
        findings=(found,) if found else (),
        exhibits=(*_curve(deepest), _table(queues)),
    )


def _curve(queue: StreamQueue) -> tuple[Exhibit, ...]:
    if queue.curve is None:
        return ()
    curve = queue.curve
    return (
        exhibit(
            CURVE,
            ExhibitKind.BAND,
            title=f"Launch queue: up to {say_times(queue.largest, 'operation')} in store",
            caption=(
                f"Launched but not begun, on stream {queue.stream} of {queue.node}, the deepest "
                f"queue; {say_times(curve.n_points, 'change')} in "
                f"{say_times(curve.time_ns.size, 'point')}, extremes kept."
            ),
            columns=[
                ("time_s", "s", curve.time_ns / NS_PER_S),
                ("operations_min", "", curve.low),
                ("operations_mean", "", curve.mean),
                ("operations_max", "", curve.high),
            ],
        ),
    )


def _table(queues: Sequence[StreamQueue]) -> Exhibit:
    return exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="Queues by rank, device and stream",
        caption=(
            "From the first recorded launch to the last begin: depth averaged over time and at "
            f"most; full is how long at least {FULL_FROM:,} operations were in store."
        ),
        columns=[
            ("rank", "", [item.rank for item in queues]),
            ("device", "", [item.device for item in queues]),
            ("stream", "", [item.stream for item in queues]),
            ("launches", "", [item.n_launches for item in queues]),
            ("window_us", "us", [item.longest_ns / NS_PER_US for item in queues]),
            ("mean_depth", "", [item.mean for item in queues]),
            ("max_depth", "", [item.largest for item in queues]),
            ("full_us", "us", [item.full_ns / NS_PER_US for item in queues]),
        ],
    )


def _full(queues: Sequence[StreamQueue], limit_pct: float) -> Finding | None:
    fullest = max(queues, key=lambda item: pct_of(item.full_ns, item.longest_ns))
    share_pct = pct_of(fullest.full_ns, fullest.longest_ns)
    if share_pct < limit_pct or fullest.full_ns <= 0:
        return None
    return Finding(
        id="QUEUE-1",
        severity=Severity.INFO,
        title=f"The launch queue is full {say_pct(share_pct)} of the time",
        text=(
            f"For {say_ns(fullest.full_ns)} of {say_ns(fullest.longest_ns)} stream "
            f"{fullest.stream} of {fullest.node} held at least {FULL_FROM:,} operations: the host "
            "is ahead and blocks in launch calls. The GPU is the bottleneck, not the host."
        ),
        advice="Speed up the GPU's work; the host's does not matter here.",
        where=Where(node=fullest.node, device=f"gpu{fullest.device}"),
        measured=round(share_pct, 4),
        threshold=limit_pct,
        unit="%",
        exhibit=TABLE,
    )


RULE = Rule(
    id=ID,
    title="Launch queue",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    places={"queue_over_time": Place(dashboard=DashboardPanel(order=170))},
)
