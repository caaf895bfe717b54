"""MaxInitializationTime: how long the job needed until its first step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from reportgen.facts.parts import merge
from reportgen.facts.steps import Loop, loop_of
from reportgen.profile import NodeProfile
from reportgen.results import (
    Counters,
    Details,
    Exhibit,
    ExhibitKind,
    Finding,
    JsonValue,
    Reason,
    RuleId,
    RuleResult,
    Section,
    Severity,
    Where,
    exhibit,
)
from reportgen.rules.base import About, Need, Presentation, Rule, param
from reportgen.rules.kit import reason_without_steps
from reportgen.rules.saying.verdict import conclude, estimate_of, fault_severity
from reportgen.rules.startup.rates import Rate, rates_exhibit, say_rates, startup_rates
from reportgen.units import NS_PER_US, percentages, say_duration, say_pct, seconds

ID = RuleId("MaxInitializationTime")
SECONDS_PER_MINUTE = 60
SHORT_START_S = 60.0
"""Start-up below a minute is no fault, even when a short loop is shorter still. Source: ours."""
PHASES = "phases"

ABOUT = About(
    checks="Whether the job spends too long on start-up before its first training step.",
    reading=(
        "Initialization runs from the first sample to the first step, the training loop from the "
        "first to the last step, finalization from there to the last sample."
    ),
    advice=(
        "Stream the data instead of copying them first, use a smaller image, cache what is "
        "downloaded or compiled, and move preprocessing out of the training job."
    ),
    section=Section(id="initialization", title="Initialization", order=250),
    is_quiet=True,
    has_counters=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order."""

    threshold: float = param(
        20,
        unit="min",
        meaning="the first step may begin so many minutes after the first sample",
        source="AWS developer guide, list of built-in profiler rules",
        minimum=0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One node: its first and last sample (event, where nothing was sampled), loop and rates."""

    first_ns: int | None
    last_ns: int | None
    is_sampled: bool
    loop: Loop
    rates: tuple[Rate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What only raw data give: the rates of each node before its first step."""

    rates: tuple[Rate, ...]


def measure(part: NodeProfile, params: Params) -> Measurement:  # noqa: ARG001 - a rule's shape
    """Measure one node."""
    system, spans = part.system, part.spans
    is_sampled = system.first_ns is not None
    first_ns, last_ns = system.first_ns, system.last_ns
    if not is_sampled and spans.n_spans:
        first_ns, last_ns = int(spans.start_ns.min()), int(spans.end_ns.max())
    return Measurement(
        first_ns=first_ns,
        last_ns=last_ns,
        is_sampled=is_sampled,
        loop=loop_of(spans),
        rates=startup_rates(part),
    )


def judge(measurements: Sequence[Measurement], params: Params) -> RuleResult:
    """Decide once for the job: is the first step later than the threshold."""
    loop = merge([Loop(), *(item.loop for item in measurements)])
    details = _details(measurements, loop)
    phases = _phases(details)
    context = Context(rates=tuple(rate for item in measurements for rate in item.rates))
    is_late = phases is not None and phases.before_s > params.threshold * SECONDS_PER_MINUTE
    counters = Counters(
        rule_triggered=int(is_late), violations=int(is_late), datapoints=loop.n_steps
    )
    return conclude(
        ID,
        params=params,
        reason=_reason(loop, details, params),
        counters=counters,
        details=details,
        metrics=_metrics(phases),
        presentation=present(counters, details, params, context),
    )


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,
    params: Params,
    context: Context | None,
) -> Presentation:
    """Say how the job's time divides: ``Details`` tell, ``context`` says that they are ours."""
    phases = _phases(details)
    if phases is None:
        return Presentation()
    rates = context.rates if context else ()
    finding = _finding(phases, params, said=say_rates(rates))
    return Presentation(
        findings=(finding,) if finding else (),
        exhibits=(_phases_exhibit(phases, is_ours=context is not None), *rates_exhibit(rates)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Phases:
    start_s: float
    before_s: float
    loop_s: float
    after_s: float

    @property
    def total_s(self) -> float:
        return self.before_s + self.loop_s + self.after_s


def _details(measurements: Sequence[Measurement], loop: Loop) -> Details:
    """Return AWS's details; ``last`` is the latest end of a step (source: oracle §11)."""
    sampled = [item for item in measurements if item.is_sampled] or measurements
    firsts = [item.first_ns for item in sampled if item.first_ns is not None]
    lasts = [item.last_ns for item in sampled if item.last_ns is not None]
    step_num: dict[str, JsonValue] = {}
    if loop.start_ns is not None and loop.end_ns is not None:
        step_num = {"first": loop.start_ns // NS_PER_US, "last": loop.end_ns // NS_PER_US}
    return {
        "step_num": step_num,
        "job_start": seconds(min(firsts)) if firsts else None,
        "job_end": seconds(max(lasts)) if lasts else None,
    }


def _reason(loop: Loop, details: Details, params: Params) -> Reason | None:
    reason = reason_without_steps(loop)
    start, end = details["job_start"], details["job_end"]
    if reason is None or not (_is_number(start) and _is_number(end)):
        return reason
    threshold_s = params.threshold * SECONDS_PER_MINUTE
    if end - start <= threshold_s:
        return reason
    note = (
        f"The job ran {say_duration(end - start)}, longer than the limit of "
        f"{say_duration(threshold_s)}; how much of it was start-up is unknown."
    )
    return replace(reason, text=f"{reason.text} {note}")


def _phases(details: Details) -> _Phases | None:
    step_num, job_start, job_end = (
        details.get(name) for name in ("step_num", "job_start", "job_end")
    )
    if not isinstance(step_num, dict) or not step_num:
        return None
    first, last = step_num.get("first"), step_num.get("last")
    numbers = [float(value) for value in (first, last, job_start, job_end) if _is_number(value)]
    if len(numbers) < 4:
        return None
    first_us, last_us, start_s, end_s = numbers
    return _Phases(
        start_s=start_s,
        before_s=round(max(first_us / 1e6 - start_s, 0.0), 6),
        loop_s=round((last_us - first_us) / 1e6, 6),
        after_s=round(max(end_s - last_us / 1e6, 0.0), 6),
    )


def _metrics(phases: _Phases | None) -> dict[str, float | int | None]:
    if phases is None:
        return {}
    return {
        "initialization_s": phases.before_s,
        "training_loop_s": phases.loop_s,
        "finalization_s": phases.after_s,
    }


def _finding(phases: _Phases, params: Params, *, said: str) -> Finding | None:
    """Return INIT-1; a loop shorter than what follows it was hardly recorded as a whole."""
    threshold_s = params.threshold * SECONDS_PER_MINUTE
    is_late = phases.before_s > threshold_s
    dominates = phases.before_s > phases.loop_s >= phases.after_s
    if not is_late and not dominates:
        return None
    share = phases.before_s / phases.total_s if phases.total_s else 0.0
    is_fault = is_late or phases.before_s >= SHORT_START_S
    limit = f"the limit is {say_duration(threshold_s)}" if is_late else "longer than the loop"
    return Finding(
        id="INIT-1",
        severity=fault_severity(share) if is_fault else Severity.INFO,
        title=f"Start-up took {say_duration(phases.before_s)} before the first step",
        text=(
            f"The first step began {say_duration(phases.before_s)} after the first sample "
            f"({limit}); the training loop lasted {say_duration(phases.loop_s)}. Start-up is "
            f"{say_pct(100 * share)} of the job.{' ' if said else ''}{said}"
        ),
        advice=(
            ABOUT.advice
            if is_fault
            else "Nothing to do unless such short jobs run often; then keep the container warm."
        ),
        where=Where(start_s=phases.start_s, end_s=phases.start_s + phases.before_s),
        measured=round(phases.before_s, 3),
        threshold=threshold_s if is_late else phases.loop_s,
        unit="s",
        estimate=estimate_of(share),
        exhibit=PHASES,
    )


def _phases_exhibit(phases: _Phases, *, is_ours: bool) -> Exhibit:
    end = "a loop that ends later leaves no finalization"
    aws_end = "in AWS's result the loop ends where its last step begins"
    parts = (phases.before_s, phases.loop_s, phases.after_s)
    return exhibit(
        PHASES,
        ExhibitKind.SHARES,
        title="Phases of the job",
        caption=f"From the first sample to the last; {end if is_ours else aws_end}.",
        columns=[
            ("part", "", ["initialization", "training loop", "finalization"]),
            ("time_s", "s", parts),
            ("pct", "%", percentages(parts, decimals=1)),
        ],
    )


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


RULE = Rule(
    id=ID,
    title="Initialization time",
    about=ABOUT,
    needs=(Need.SYSTEM, Need.FRAMEWORK),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    folded=("phases",),
)
