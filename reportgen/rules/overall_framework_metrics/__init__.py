"""OverallFrameworkMetrics: where the framework's time went, and whether one worker lags."""

from __future__ import annotations

from reportgen.profiling import ProfilingKind
from reportgen.results import Place, RuleId, Section, TimelineTrack, Track
from reportgen.rules.base import About, Need, Rule
from reportgen.rules.overall_framework_metrics.judge import from_details, judge
from reportgen.rules.overall_framework_metrics.measure import Params, measure

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

RULE = Rule(
    id=RuleId("OverallFrameworkMetrics"),
    title="Framework metrics",
    about=ABOUT,
    needs=(Need.FRAMEWORK,),
    params=Params,
    measure=measure,
    judge=judge,
    from_details=from_details,
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
