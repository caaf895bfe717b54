"""LaunchLatency: how long after their launch operations begin on the GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.facts.distributions import box_of
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, Times
from reportgen.results import Counters, DashboardPanel, Details, Place, RuleId, RuleResult, Section
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.kernels.launch_words import (
    LAUNCH,
    QUEUE,
    DelayRow,
    RankLaunches,
    SlowLaunch,
    exhibits_of,
    findings_of,
)
from reportgen.rules.kernels.saying import reason_without_gpu, result_of, top_k
from reportgen.rules.kernels.windows import launch_end_ns, launch_start_ns, own_clock_ns
from reportgen.units import NS_PER_US

ID = RuleId("LaunchLatency")
MOST_SLOWEST = 1_000
ABOUT = About(
    checks="How long after its launch each operation begins on the GPU.",
    reading=(
        "A long delay means that the host runs ahead of the GPU, as it should. A short one means "
        "that the GPU waits for each launch."
    ),
    advice="Where delays are short and the GPU idles, launch less often: fuse, compile, graphs.",
    section=Section(id="launches", title="Launches", order=100),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """How many of the slowest launches are listed."""

    top: int = top_k()


def measure(part: RankTrace, params: Params) -> RankLaunches:
    """Measure the delays of a rank."""
    ops = part.gpu_ops
    rows = np.flatnonzero(ops.launch != NONE)
    orphans = ops.launch.size - rows.size
    # Operations are sorted by their start: the first row of a call is its first operation.
    _, place = np.unique(ops.launch[rows], return_index=True)
    first = rows[np.sort(place)]
    launched_ns = ops.start_ns[first] - launch_start_ns(part)[first]
    queued_ns = ops.start_ns[rows] - launch_end_ns(part)[rows]
    longest = first[np.argsort(-launched_ns, kind="stable")[: min(params.top, MOST_SLOWEST)]]
    delays = launch_start_ns(part)
    return RankLaunches(
        n_ops=ops.start_ns.size,
        rows=tuple(
            _row(part.rank, name, values, orphans)
            for name, values in ((LAUNCH, launched_ns), (QUEUE, queued_ns))
            if values.size
        ),
        slowest=tuple(
            SlowLaunch(
                rank=part.rank,
                name=part.names[ops.name[row]],
                start_ns=own_clock_ns(part) + int(ops.start_ns[row]),
                delay_ns=int(ops.start_ns[row] - delays[row]),
            )
            for row in longest.tolist()
        ),
    )


def _row(rank: int, delay: str, values: Times, orphans: int) -> DelayRow:
    box = box_of(values.astype(np.float64))
    return DelayRow(
        rank=rank,
        delay=delay,
        count=values.size,
        lower_ns=box.lower,
        p25_ns=box.p25,
        p50_ns=box.p50,
        p75_ns=box.p75,
        upper_ns=box.upper,
        p95_ns=box.p95,
        max_ns=int(values.max()),
        negative=int((values < 0).sum()),
        orphans=orphans,
    )


def judge(measurements: Sequence[RankLaunches], params: Params) -> RuleResult:
    """Join the ranks."""
    rows = [row for rank in measurements for row in rank.rows]
    return result_of(
        ID,
        params=params,
        reason=reason_without_gpu(
            n_ranks=len(measurements), n_ops=sum(rank.n_ops for rank in measurements)
        ),
        presentation=present(Counters(), {}, params, measurements),
        metrics={
            f"{delay}_p50_max_us": max(row.p50_ns for row in rows if row.delay == delay) / NS_PER_US
            for delay in (LAUNCH, QUEUE)
            if rows
        },
    )


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,  # noqa: ARG001
    params: Params,
    context: Sequence[RankLaunches] | None,
) -> Presentation:
    """Say how launches reach the GPU; ``context`` is the ranks."""
    ranks = [rank for rank in context or () if rank.n_ops]
    if not ranks:
        return Presentation()
    return Presentation(findings=findings_of(ranks), exhibits=exhibits_of(ranks, top=params.top))


RULE = Rule(
    id=ID,
    title="Launch latency",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    folded=("slowest_launches",),
    places={"launch_delays": Place(dashboard=DashboardPanel(order=180))},
)
