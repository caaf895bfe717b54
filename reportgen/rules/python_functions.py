"""PythonFunctions: where the Python code of a job spends its time, and what does not train."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reportgen.profile import NodeProfile
from reportgen.profiling import ProfilingKind
from reportgen.results import (
    Counters,
    Details,
    Finding,
    Reason,
    ReasonCode,
    RuleId,
    RuleResult,
    Section,
    Severity,
)
from reportgen.rules.base import About, Need, Presentation, Rule, param
from reportgen.rules.python import exhibits
from reportgen.rules.python.gaps import STAGE, Gaps, gaps_of
from reportgen.rules.python.names import BEFORE_STEPS, Kind, kind_of, name_of, place_of
from reportgen.rules.python.sums import (
    FunctionSum,
    ProfileSum,
    ProfileSummary,
    join_sums,
    summaries_of,
    sums_by_stage,
)
from reportgen.rules.saying.verdict import conclude
from reportgen.rules.saying.wording import say_does, say_times
from reportgen.units import NS_PER_S, say_count, say_duration, say_pct

ID = RuleId("PythonFunctions")
TRAINING = "training"
MOST_NAMED = 3
_BEFORE_FORWARD = "PY-2"
_NO_TRAINING = {Kind.LOGGING: "PY-1", Kind.SAVING: "PY-3", Kind.METRICS: "PY-4"}
"""Kinds of work that do not train, and the ids of their findings."""
LEAST_PART = 0.5
"""A profile speaks for the time before a forward pass if that is half of what, besides loading
and the model, it holds. Source: ours."""

ABOUT = About(
    checks="Which Python functions took the time, and whether logging, saving or metrics did.",
    reading=(
        "Profiles of cProfile or pyinstrument, merged by the stage that they cover. cProfile makes "
        "code with many small calls slower than it is: compare shares, not seconds."
    ),
    advice=(
        "Log, save and evaluate less often, or in another thread or process; let values stay on "
        "the GPU until they are needed."
    ),
    section=Section(id="python-functions", title="Python functions", order=190),
    is_optional=True,
    hint_when_skipped=(
        "To record them, pass a PythonProfilingConfig in the job's FrameworkProfile: it runs "
        "cProfile or pyinstrument over the steps that you name."
    ),
    recorded_by=ProfilingKind.PYTHON,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters of ours; AWS has no such rule."""

    min_share_pct: float = param(
        10,
        unit="% of the profiled time",
        meaning="a function that logs, saves or computes metrics is told from this share on",
        source="ours, as for the wait of the data loader",
        minimum=0,
        maximum=100,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One node: its profiles, merged by stage, and the times before its forward passes."""

    profiles: tuple[ProfileSummary, ...]
    stages: tuple[ProfileSum, ...]
    gaps: tuple[Gaps, ...]


def measure(part: NodeProfile, params: Params) -> Measurement:  # noqa: ARG001 - a rule's shape
    """Merge the profiles of one node."""
    table = part.python
    if not table.profiles:
        return Measurement(profiles=(), stages=(), gaps=())
    return Measurement(
        profiles=summaries_of(table),
        stages=sums_by_stage(table),
        gaps=gaps_of(part.spans, table),
    )


def judge(measurements: Sequence[Measurement], params: Params) -> RuleResult:
    """Merge the nodes, rank functions, and name those that do not train."""
    counters, details = Counters(), Details()
    n_profiles = sum(len(item.profiles) for item in measurements)
    reason = None if n_profiles else _no_profiles()
    return conclude(
        ID,
        params=params,
        reason=reason,
        counters=counters,
        details=details,
        metrics=_metrics(measurements) if n_profiles else {},
        presentation=present(counters, details, params, tuple(measurements)),
    )


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,  # noqa: ARG001 - a rule's shape
    params: Params,
    context: tuple[Measurement, ...] | None,
) -> Presentation:
    """Say what the functions did; without raw data nothing is known."""
    profiles = [profile for item in context or () for profile in item.profiles]
    if context is None or not profiles:
        return Presentation()
    profiles.sort(key=_order)
    stages = join_sums(stage for item in context for stage in item.stages)
    gaps = [gap for item in context for gap in item.gaps]
    between = join_sums(one for gap in gaps for one in gap.profiles)
    training = _training(stages)
    return Presentation(
        findings=(*_no_training(training, params), *_before_forward(between, gaps)),
        exhibits=(
            exhibits.bars(training or stages[0]),
            *((exhibits.before_forward(between),) if between else ()),
            exhibits.function_table(stages),
            *((exhibits.gap_table(gaps),) if gaps else ()),
            exhibits.stage_table(stages),
            exhibits.profile_table(profiles),
        ),
    )


def _order(item: ProfileSummary) -> tuple[int, int, str, str]:
    profile, interval = item.profile, item.profile.interval
    return interval.start.time_us, interval.end.time_us, profile.worker, profile.profiler


def _no_profiles() -> Reason:
    return Reason(code=ReasonCode.NO_EVENTS, text="The job has no Python profile.")


def _training(stages: Sequence[ProfileSum]) -> ProfileSum | None:
    """Return the profiles of steps merged, of the profiler that has most time."""
    steps = [stage for stage in stages if stage.stage != BEFORE_STEPS]
    return max(join_sums(steps, stage=TRAINING), key=lambda item: item.own_s, default=None)


def _no_training(training: ProfileSum | None, params: Params) -> Iterator[Finding]:
    """Yield, for each kind of work that does not train, its longest function if it matters."""
    if training is None or not training.own_s:
        return
    for kind in _NO_TRAINING:
        its = [item for item in training.functions if kind_of(item.function) is kind]
        longest = max(its, key=lambda item: (item.cumulative_s, item.function), default=None)
        if longest is not None and _share_pct(longest, training) >= params.min_share_pct:
            yield _finding(kind, longest, training, params)


def _finding(kind: Kind, item: FunctionSum, training: ProfileSum, params: Params) -> Finding:
    share_pct = _share_pct(item, training)
    calls = "" if item.calls is None else f" in {say_times(item.calls, 'call')}"
    profiles = say_times(training.n_profiles, "Python profile")
    return Finding(
        id=_NO_TRAINING[kind],
        severity=Severity.WARNING,
        title=f"{say_pct(share_pct)} of the profiled Python time goes to {kind.value}",
        text=(
            f"{name_of(item.function)} ({place_of(item.function)}) and what it calls took "
            f"{say_duration(item.cumulative_s)}{calls}, {say_pct(share_pct)} of the "
            f"{say_duration(training.own_s)} in {profiles} of the training."
        ),
        advice=ABOUT.advice,
        measured=round(share_pct, 4),
        threshold=float(params.min_share_pct),
        unit="%",
        exhibit=exhibits.FUNCTIONS,
    )


def _before_forward(between: Sequence[ProfileSum], gaps: Sequence[Gaps]) -> Iterator[Finding]:
    """Yield who ran between a batch and the forward pass, where profiles cover that time."""
    if not between:
        return
    longest = max(between, key=lambda item: item.own_s)
    skipped = {Kind.LOADING, Kind.MODEL, Kind.PROFILER}
    its = [item for item in longest.functions if kind_of(item.function) not in skipped]
    covered_s = sum(item.covered_ns for item in gaps) / NS_PER_S
    named = [item for item in exhibits.by_own(its)[:MOST_NAMED] if item.own_s > 0]
    if not named or covered_s < LEAST_PART * sum(item.own_s for item in its):
        return
    n_gaps, n_covered = sum(item.n_gaps for item in gaps), sum(item.n_covered for item in gaps)
    told = ", ".join(
        f"{name_of(item.function)} ({place_of(item.function)}, {say_duration(item.own_s)})"
        for item in named
    )
    yield Finding(
        id=_BEFORE_FORWARD,
        severity=Severity.INFO,
        title=f"Before the forward pass most time goes to {name_of(named[0].function)}",
        text=(
            f"{say_count(n_covered)} of {say_times(n_gaps, 'time')} {STAGE} "
            f"({say_duration(covered_s)}) {say_does(n_covered, 'lie')} in "
            f"{say_times(longest.n_profiles, 'profile')} of {say_duration(longest.own_s)}. "
            f"Most own time there, besides loading data and the model: {told}."
        ),
        advice="Move what does not train out of the loop, or do it less often.",
        measured=round(named[0].own_s, 6),
        unit="s",
        exhibit=exhibits.BETWEEN,
    )


def _share_pct(item: FunctionSum, whole: ProfileSum) -> float:
    return 100 * item.cumulative_s / whole.own_s


def _metrics(measurements: Sequence[Measurement]) -> dict[str, float | int | None]:
    profiles = [profile for item in measurements for profile in item.profiles]
    gaps = [gap for item in measurements for gap in item.gaps]
    gap_ns = sum(item.gap_ns for item in gaps)
    return {
        "profiles": len(profiles),
        "profiled_s": round(sum(item.own_s for item in profiles), 6),
        "gaps": len(gaps) and sum(item.n_gaps for item in gaps),
        "gap_s": gap_ns / NS_PER_S if gaps else None,
        "profiled_gap_ratio": (
            round(sum(item.covered_ns for item in gaps) / gap_ns, 6) if gap_ns else None
        ),
    }


RULE = Rule(
    id=ID,
    title="Python functions",
    about=ABOUT,
    needs=(Need.PYTHON, Need.FRAMEWORK),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
)
