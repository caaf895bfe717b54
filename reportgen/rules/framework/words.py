"""What OverallFrameworkMetrics says: readings of its shares, and a worker that lags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.facts.breakdown import OTHERS, Breakdown
from reportgen.facts.steps import PREFERRED_PHASES, Loop, Pace, find_straggler, phase_word
from reportgen.results import Details, Exhibit, Finding, JsonValue, Severity, Where
from reportgen.rules.aws.breakdown import exhibits_of_breakdown, exhibits_of_members
from reportgen.rules.base import Presentation
from reportgen.rules.framework.function_time import FunctionTimes, function_exhibit
from reportgen.rules.framework.operators import (
    Operator,
    join_operators,
    operator_exhibit_of_details,
    operator_exhibits,
)
from reportgen.rules.framework.overhead import Overhead, overhead_exhibit, overhead_finding
from reportgen.rules.framework.pace import pace_exhibits, straggler_finding
from reportgen.rules.framework.stage_exhibit import stage_exhibit
from reportgen.rules.framework.stages import StageTime
from reportgen.rules.saying.verdict import estimate_of
from reportgen.rules.saying.wording import say_times
from reportgen.units import NS_PER_S, say_duration, say_pct, seconds

_ADVICE_BY_WORD = (
    ("dataloader", "The operator waits for data: see the data loading section."),
    ("conv", "Try mixed precision, channels-last layout and cuDNN's autotuning."),
    ("mm", "Try mixed precision and sizes that are multiples of 8."),
    ("copy_", "Avoid copies between devices: pin memory, copy without blocking, copy less."),
    ("to", "Avoid copies between devices: pin memory, copy without blocking, copy less."),
)
LOADER_PREFIX = "enumerate(DataLoader)#"
"""The autograd profiler also lists fetching a batch among the GPU's operators; it is none."""
ADVICE_OPERATOR = "Try a fused or compiled version of it, or mixed precision."


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What only raw data give."""

    loop: Loop
    breakdown: Breakdown
    cpu_operators: tuple[Operator, ...]
    gpu_operators: tuple[Operator, ...]
    paces: tuple[Pace, ...]
    functions: tuple[FunctionTimes, ...]
    stages: tuple[StageTime, ...]
    overheads: tuple[Overhead, ...]
    interval_ns: int | None
    lost_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """From which values on something is told, in percent."""

    others_pct: float
    pass_pct: float
    straggler_pct: float


def present(details: Details, context: Context | None, limits: Limits) -> Presentation:
    """Return findings and exhibits, as far as AWS's details or raw data allow."""
    where = _where(context.loop if context else None)
    between_pct = _shares(details.get("phase")).get(OTHERS, 0.0)
    if context and context.lost_ns:
        between_pct = _recorded_between_pct(context)
    readings = [
        _between_steps(between_pct, limits, where, lost_ns=context.lost_ns if context else 0),
        _passes(details, limits, where),
    ]
    if context is None:
        exhibits: tuple[Exhibit, ...] = (
            *exhibits_of_members(details),
            *operator_exhibit_of_details(details, kind="cpu"),
            *operator_exhibit_of_details(details, kind="gpu"),
        )
    else:
        readings = [
            _straggler(context, limits),
            *readings,
            _top_operator(context),
            overhead_finding(context.overheads, context.interval_ns),
        ]
        exhibits = (
            *stage_exhibit(context.stages),
            *exhibits_of_breakdown(context.breakdown, with_others=True),
            *operator_exhibits(context.cpu_operators, kind="cpu"),
            *operator_exhibits(context.gpu_operators, kind="gpu"),
            *pace_exhibits(context.paces),
            *function_exhibit(context.functions),
            *overhead_exhibit(context.overheads, context.interval_ns),
        )
    return Presentation(
        findings=tuple(finding for finding in readings if finding is not None),
        exhibits=exhibits,
    )


def metrics_of(context: Context) -> dict[str, float | int | None]:
    """Return the numbers to compare jobs by; ``None`` for what was not recorded."""
    sums = context.breakdown
    steps_ns = sum(sums.step_ns.values())
    between_ns = max(sums.others_ns - context.lost_ns, 0)
    whole_ns = steps_ns + between_ns
    return {
        "step_total_s": steps_ns / NS_PER_S if sums.step_ns else None,
        "between_steps_ratio": between_ns / whole_ns if whole_ns else None,
        "cpu_operator_self_s": _self_s(context.cpu_operators),
        "gpu_operator_self_s": _self_s(context.gpu_operators),
    }


def main_paces(paces: Sequence[Pace]) -> list[Pace]:
    """Return the paces of the phase that stands for the training: TRAIN, GLOBAL, most steps."""
    totals: dict[str, int] = {}
    for pace in paces:
        totals[pace.phase] = totals.get(pace.phase, 0) + pace.n_steps
    if not totals:
        return []
    named = (
        phase for word in PREFERRED_PHASES for phase in sorted(totals) if phase_word(phase) == word
    )
    main = next(named, max(sorted(totals), key=lambda phase: totals[phase]))
    return [pace for pace in paces if pace.phase == main]


def _straggler(context: Context, limits: Limits) -> Finding | None:
    found = find_straggler(
        main_paces(context.paces),
        loop_ns=context.loop.length_ns,
        above_pct=limits.straggler_pct,
    )
    if found is None:
        return None
    return straggler_finding(found, context.loop, above_pct=limits.straggler_pct)


def _recorded_between_pct(context: Context) -> float:
    """Return the share between steps without the time of which nothing was recorded."""
    between_ns = max(context.breakdown.others_ns - context.lost_ns, 0)
    return 100 * between_ns / (sum(context.breakdown.step_ns.values()) + between_ns)


def _between_steps(others: float, limits: Limits, where: Where, *, lost_ns: int) -> Finding | None:
    if others <= limits.others_pct:
        return None
    lost = (
        f" {say_duration(lost_ns / NS_PER_S)} without any record are left out." if lost_ns else ""
    )
    return Finding(
        id="FW-1",
        severity=Severity.INFO,
        title=f"{say_pct(others)} of the loop lies between steps",
        text=(
            f"No step was open for {say_pct(others)} of the time from the first to the last step "
            f"(summed over the workers); more than {say_pct(limits.others_pct)} is worth a look."
            f"{lost}"
        ),
        advice=(
            "Check what runs between steps: waiting for data, callbacks, logging, checkpoints, "
            "the optimizer when the framework counts it outside."
        ),
        where=where,
        measured=round(others, 4),
        threshold=float(limits.others_pct),
        unit="%",
        estimate=estimate_of(others / 100),
        exhibit="phase_shares",
        causes=("DL-1", "DL-2", "DL-5", "PERIOD-1") if where.start_s is not None else (),
    )


def _passes(details: Details, limits: Limits, where: Where) -> Finding | None:
    passes = _shares(details.get("forward_backward"))
    if not passes:
        return None
    name, share = max(passes.items(), key=lambda item: (item[1], item[0]))
    if share <= limits.pass_pct:
        return None
    return Finding(
        id="FW-2",
        severity=Severity.INFO,
        title=f"{name} takes {say_pct(share)} of both passes",
        text=(
            f"{name} takes {say_pct(share)} of the time of both passes; above "
            f"{say_pct(limits.pass_pct)} they differ notably."
        ),
        advice=f"Look at the operators of the {name.lower()} for one that stands out.",
        measured=round(share, 4),
        threshold=float(limits.pass_pct),
        where=where,
        unit="%",
        exhibit="forward_backward",
    )


def _top_operator(context: Context) -> Finding | None:
    kind = "gpu" if context.gpu_operators else "cpu"
    joined = [
        item
        for item in join_operators(
            context.gpu_operators or context.cpu_operators, key=lambda _: kind
        )
        if not (kind == "gpu" and item.name.startswith(LOADER_PREFIX))
    ]
    total_ns = sum(item.self_ns for item in joined)
    if not total_ns:
        return None
    top = max(joined, key=lambda item: (item.self_ns, item.name))
    share = 100 * top.self_ns / total_ns
    return Finding(
        id="FW-3",
        severity=Severity.INFO,
        title=f"{top.name} leads the {kind.upper()} operators with {say_pct(share)}",
        text=(
            f"{top.name} ran {say_times(top.count, 'time')} in the recorded window and took "
            f"{say_duration(top.self_ns / NS_PER_S)} itself, {say_pct(share)} of the self time of "
            f"all {kind.upper()} operators ({say_duration(top.total_ns / NS_PER_S)} with what it "
            "called)."
        ),
        advice=next(
            (advice for word, advice in _ADVICE_BY_WORD if _has_word(top.name, word)),
            ADVICE_OPERATOR,
        ),
        where=_where(context.loop),
        measured=round(share, 4),
        unit="%",
        exhibit=f"{kind}_operators",
    )


def _where(loop: Loop | None) -> Where:
    if loop is None or loop.start_ns is None or loop.end_ns is None:
        return Where()
    return Where(start_s=seconds(loop.start_ns), end_s=seconds(loop.end_ns))


def _has_word(operator: str, word: str) -> bool:
    bare = operator.casefold().removeprefix("aten::")
    return bare == word if word == "to" else word in bare


def _shares(member: JsonValue) -> dict[str, float]:
    if not isinstance(member, dict):
        return {}
    return {name: float(value) for name, value in member.items() if isinstance(value, int | float)}


def _self_s(operators: Sequence[Operator]) -> float | None:
    return sum(item.self_ns for item in operators) / NS_PER_S if operators else None
