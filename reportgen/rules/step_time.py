"""StepTime: how long training steps took, from kernel traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.profile.trace import RankTrace
from reportgen.results import (
    Counters,
    DashboardPanel,
    Details,
    Place,
    Reason,
    ReasonCode,
    RuleId,
    RuleResult,
    Section,
)
from reportgen.rules.base import About, Need, Presentation, Rule, param
from reportgen.rules.kernels.saying import OURS, reason_without_gpu, result_of
from reportgen.rules.kernels.step_words import RankSteps, exhibits_of, findings_of
from reportgen.rules.kernels.steps import step_rows
from reportgen.rules.kernels.windows import own_clock_ns
from reportgen.units import NS_PER_US

ID = RuleId("StepTime")
ABOUT = About(
    checks="How long training steps take, and which are much slower than the others.",
    reading=(
        "A step lasts from its start to the start of the next; the last one to its own end. GPU "
        "busy is the time in which operations launched in the step ran."
    ),
    advice="Look at what the slow steps do that the others do not.",
    section=Section(id="steps", title="Steps", order=50),
    hint_when_skipped="Call prof.step() at the end of each training step.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """When a step is an outlier."""

    threshold_times: float = param(
        2.0,
        unit="",
        meaning="a step is slow when it takes this many times the median",
        source="kernel-trace definitions D6",
        minimum=1,
    )
    least_steps: int = param(
        4,
        unit="steps",
        meaning="fewer have no median",
        source=OURS,
        minimum=2,
        is_whole=True,
    )


def measure(part: RankTrace, params: Params) -> RankSteps:  # noqa: ARG001 - a rule's shape
    """Measure the steps of a rank."""
    return RankSteps(
        rank=part.rank,
        node=part.node,
        n_ops=part.gpu_ops.start_ns.size,
        origin_ns=part.origin_ns,
        clock_ns=own_clock_ns(part),
        steps=step_rows(part),
    )


def judge(measurements: Sequence[RankSteps], params: Params) -> RuleResult:
    """Join the ranks."""
    return result_of(
        ID,
        params=params,
        reason=_reason(measurements),
        presentation=present(Counters(), {}, params, measurements),
        metrics=_metrics(measurements),
    )


def _reason(ranks: Sequence[RankSteps]) -> Reason | None:
    if any(rank.steps for rank in ranks):
        return None
    nothing = reason_without_gpu(n_ranks=len(ranks), n_ops=sum(rank.n_ops for rank in ranks))
    return nothing or Reason(
        code=ReasonCode.NO_STEPS,
        text="Nothing in the trace tells steps: call prof.step() in the loop.",
    )


def _metrics(ranks: Sequence[RankSteps]) -> dict[str, float | int | None]:
    periods = [rank.steps.period_ns for rank in ranks if rank.steps]
    if not periods:
        return {}
    every = np.concatenate(periods)
    p50, p95, p99 = (np.percentile(every, (50, 95, 99)) / NS_PER_US).tolist()
    return {
        "n_steps": int(every.size),
        "step_p50_us": p50,
        "step_p95_us": p95,
        "step_p99_us": p99,
        "step_max_us": float(every.max()) / NS_PER_US,
    }


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,  # noqa: ARG001
    params: Params,
    context: Sequence[RankSteps] | None,
) -> Presentation:
    """Say how long steps took; ``context`` is the ranks."""
    ranks = [rank for rank in context or () if rank.steps]
    if not ranks:
        return Presentation()
    return Presentation(
        findings=findings_of(ranks, times=params.threshold_times, least=params.least_steps),
        exhibits=exhibits_of(ranks),
    )


RULE = Rule(
    id=ID,
    title="Step times",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    places={"step_times": Place(dashboard=DashboardPanel(order=60))},
)
