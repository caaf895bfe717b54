"""LaunchLatency: how launches reach the GPU, and how many of them wait on each stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen import results
from reportgen.profile.trace import RankTrace
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.launch_latency import delays, queue

ABOUT = About(
    checks="How long after its launch each operation begins, and how many wait on each stream.",
    reading="""A long delay is good: the host launches work before the GPU needs it. A delay of a
        few µs means that the GPU waits for each launch. If a queue never empties, the host keeps up
        with the GPU. CUDA's queue is full at about 1,024 operations: then launch calls block the
        host, which does not slow down the GPU. HIP's is longer.""",
    advice="""If delays are short and the GPU is idle, launch less often: fuse kernels, or use CUDA
        graphs; see “Idle time”.""",
    section=results.Section(id="launches", title="Launches", order=100),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """How many of the slowest launches are listed, and when a full queue is reported."""

    top: int = kit.top_k()
    threshold_full_pct: float = kit.share_limit(
        1.0, "a full queue is reported if it lasts for at least this share of the time"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLaunches:
    """One rank: the delays of its launches, and the queues of its streams."""

    launches: delays.RankLaunches
    queues: tuple[queue.StreamQueue, ...]


def measure(trace: RankTrace, params: Params) -> RankLaunches:
    """Measure the launches of a rank."""
    return RankLaunches(launches=delays.measure(trace, top=params.top), queues=queue.measure(trace))


def judge(ranks: Sequence[RankLaunches], params: Params) -> Outcome:
    """Report how launches reach the GPU, and a full queue."""
    told = delays.judge([rank.launches for rank in ranks], top=params.top)
    queued = queue.judge(
        kit.concat(rank.queues for rank in ranks), full_pct=params.threshold_full_pct
    )
    return Outcome(
        missing=told.missing,
        findings=queued.findings,
        exhibits=[*told.exhibits, *queued.exhibits],
        metrics={**told.metrics, **queued.metrics},
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
    places={
        "queue_over_time": results.Place(dashboard=results.DashboardPanel(order=170)),
    },
)
