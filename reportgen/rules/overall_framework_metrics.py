"""OverallFrameworkMetrics: where the framework's time went, and whether one worker lags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.facts.activity import unrecorded_ns
from reportgen.facts.breakdown import Breakdown, SpanClass, breakdown_of
from reportgen.facts.groups import rows_by_code
from reportgen.facts.intervals import covered_ns
from reportgen.facts.steps import Loop, Pace, loop_of, paces_of
from reportgen.merging import merge
from reportgen.profile import Clock, NodeProfile
from reportgen.profiling import ProfilingKind
from reportgen.results import (
    Counters,
    Details,
    Place,
    Reason,
    ReasonCode,
    RuleId,
    RuleResult,
    Section,
    TimelineTrack,
    Track,
)
from reportgen.rules.aws.breakdown import MemberOrder, breakdown_details
from reportgen.rules.base import About, Need, Presentation, Rule, param
from reportgen.rules.framework import words
from reportgen.rules.framework.function_time import FunctionTimes, function_times_of
from reportgen.rules.framework.operators import Operator, operators_of
from reportgen.rules.framework.overhead import Overhead, overheads_of
from reportgen.rules.framework.stages import StageTime, merge_stages, stages_of
from reportgen.rules.kit import HOW_TO_RECORD
from reportgen.rules.saying.verdict import conclude
from reportgen.rules.saying.wording import say_times

ID = RuleId("OverallFrameworkMetrics")

OPERATORS = Section(
    id="operators",
    title="Operators",
    order=135,
    lead="The framework's operators by the time they took, on the CPU and on the GPU.",
    missing="The framework events hold no operators.",
    hint=(
        "To record them, pass a DetailedProfilingConfig in the job's FrameworkProfile: it traces "
        "every operator of the steps that you name."
    ),
    recorded_by=ProfilingKind.DETAILED,
)
ABOUT = About(
    checks="Where the framework's time went: phases, passes, operators, communication.",
    reading=(
        "Shares are of summed event times over all workers. 'others' is the time between steps; "
        "operators inside operators count in both, so look at their self time."
    ),
    advice=(
        "Large 'others': look at data loading, callbacks, logging and checkpoints. A dominant "
        "operator: mixed precision, a fused or compiled version, another memory layout."
    ),
    section=Section(id="framework", title="Framework", order=130),
    has_counters=True,
    further=(OPERATORS,),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters of ours; AWS's rule has none, so none is printed."""

    others_pct: float = param(
        25,
        unit="%",
        meaning="time between steps above this share is told",
        source="AWS's report notebook, report-spec §2.3",
        minimum=0,
        maximum=100,
        is_printed=False,
    )
    pass_pct: float = param(
        70,
        unit="%",
        meaning="a forward or backward pass above this share of both is told",
        source="AWS's report notebook, report-spec §2.3",
        minimum=0,
        maximum=100,
        is_printed=False,
    )
    straggler_pct: float = param(
        15,
        unit="%",
        meaning="a worker that computes longer than the usual other by more than this lags",
        source="ours",
        minimum=0,
        is_printed=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One node: its loop, its sums, its operators, the pace of its workers, its stages.

    ``n_lasting``: events that are more than an instant; ``lost_ns``: between the steps of its
    workers, summed, in which there are neither samples nor events of the node.
    """

    loop: Loop
    n_lasting: int
    breakdown: Breakdown
    cpu_operators: tuple[Operator, ...]
    gpu_operators: tuple[Operator, ...]
    paces: tuple[Pace, ...]
    functions: FunctionTimes
    stages: tuple[StageTime, ...]
    overheads: tuple[Overhead, ...]
    interval_ns: int | None
    lost_ns: int


def measure(part: NodeProfile, params: Params) -> Measurement:  # noqa: ARG001 - a rule's shape
    """Add up the events of one node."""
    return Measurement(
        loop=loop_of(part.spans),
        n_lasting=int((part.spans.duration_ns > 0).sum()),
        breakdown=breakdown_of(part.spans),
        cpu_operators=operators_of(part.spans, SpanClass.CPU),
        gpu_operators=operators_of(part.spans, SpanClass.GPU),
        paces=paces_of(part.spans),
        functions=function_times_of(
            part.spans, node=part.node, is_relative=part.job.clock is Clock.RELATIVE
        ),
        stages=stages_of(part.spans),
        overheads=overheads_of(part.spans),
        interval_ns=part.system.interval_ns,
        lost_ns=_lost_ns(part),
    )


def _lost_ns(part: NodeProfile) -> int:
    steps = part.spans.steps()
    starts, ends = unrecorded_ns(part.system, part.spans)
    return sum(
        covered_ns(
            starts,
            ends,
            int(steps.start_ns[rows].min()),
            int(steps.end_ns[rows].max()),
        )
        for _, rows in rows_by_code(steps.worker)
    )


def judge(measurements: Sequence[Measurement], params: Params) -> RuleResult:
    """Add up the nodes; AWS's counters stay 0 by definition."""
    context = words.Context(
        loop=merge([Loop(), *(item.loop for item in measurements)]),
        breakdown=merge([Breakdown(), *(item.breakdown for item in measurements)]),
        cpu_operators=tuple(one for item in measurements for one in item.cpu_operators),
        gpu_operators=tuple(one for item in measurements for one in item.gpu_operators),
        paces=tuple(pace for item in measurements for pace in item.paces),
        functions=tuple(item.functions for item in measurements),
        stages=merge_stages([one for item in measurements for one in item.stages]),
        overheads=tuple(one for item in measurements for one in item.overheads),
        interval_ns=next((item.interval_ns for item in measurements if item.interval_ns), None),
        lost_ns=sum(item.lost_ns for item in measurements),
    )
    counters = Counters()
    details = breakdown_details(context.breakdown, with_others=True, order=MemberOrder.OVERALL)
    reason = _reason(context.loop, n_lasting=sum(item.n_lasting for item in measurements))
    return conclude(
        ID,
        params=params,
        reason=reason,
        counters=counters,
        details=details,
        metrics={} if reason else words.metrics_of(context),
        presentation=present(counters, details, params, context),
    )


def _reason(loop: Loop, *, n_lasting: int) -> Reason | None:
    """Return why nothing can be added up."""
    if loop.n_spans == 0:
        return Reason(
            code=ReasonCode.NO_FRAMEWORK_METRICS,
            text=f"The job has no framework events. {HOW_TO_RECORD}",
        )
    if n_lasting == 0:
        return Reason(
            code=ReasonCode.NO_EVENTS,
            text=f"Of {say_times(loop.n_spans, 'framework event')} none lasts: all are instants.",
        )
    return None


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,
    params: Params,
    context: words.Context | None,
) -> Presentation:
    """Say where the time went; ``context`` holds sums in ns, operators and workers."""
    limits = words.Limits(
        others_pct=params.others_pct,
        pass_pct=params.pass_pct,
        straggler_pct=params.straggler_pct,
    )
    return words.present(details, context, limits)


RULE = Rule(
    id=ID,
    title="Framework metrics",
    about=ABOUT,
    needs=(Need.FRAMEWORK,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    folded=(
        "cpu_operator_bars",
        "function_time",
        "gpu_operator_bars",
        "gpu_operators_by_device",
        "overhead",
    ),
    places={
        "function_time": Place(timeline=TimelineTrack(kind=Track.FUNCTIONS)),
        "*operator*": Place(section=OPERATORS.id),
    },
)
