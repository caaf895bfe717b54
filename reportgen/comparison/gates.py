"""Gates: conditions on a comparison that fail a build, ``step_mean > +3%``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from reportgen.comparison.changes import unit_of
from reportgen.comparison.compare import is_mean_beyond_noise, is_median_beyond_noise, sure_part
from reportgen.comparison.model import Comparison, FindingState, StepDifference, Verdict
from reportgen.comparison.resources import samples_ratio
from reportgen.errors import ConfigError
from reportgen.results import Severity

STEP_P50, STEP_MEAN = "step_p50", "step_mean"
_NUMBER = re.compile(
    r"\s*+(?P<name>[\w.]{1,200})\s*+(?P<sign>>|<)\s*+(?P<value>[+-]?\d{1,18}(?:\.\d{0,9})?)"
    r"\s*+(?P<pct>%?)\s*+"
)
_FINDING = re.compile(r"\s*finding:(?P<state>new|worse|not_checked)(?::(?P<severity>\w{1,20}))?\s*")
_STEP_TIME = re.compile(r"(?:^|\.)step_(?P<point>p\d+|mean|max|p99_max)(?:_s|_us)?$")
"""Metrics that are a time per step: ``StepTime.step_p95_us``."""
_HINT = (
    'Write a metric with a change or a limit, "step_mean > +3%", "StepTime.step_p95_us > 90000", '
    'or "finding:new:critical".'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One condition as it was written; ``name`` is empty where it is about findings.

    ``is_change``: ``value`` is a change in percent against the job before, and no limit.
    """

    text: str
    name: str = ""
    is_above: bool = True
    value: float = 0.0
    is_change: bool = False
    is_difference: bool = False
    state: FindingState = FindingState.NEW
    severity: Severity | None = None


def parse_gate(text: str) -> Gate:
    """Read a condition.

    Raises:
        ConfigError: it has another form.
    """
    number, finding = _NUMBER.fullmatch(text), _FINDING.fullmatch(text)
    if finding is not None:
        severity = finding["severity"]
        if severity is None or severity in {item.value for item in Severity}:
            return Gate(
                text=text,
                state=FindingState(finding["state"]),
                severity=None if severity is None else Severity(severity),
            )
    if number is None:
        raise ConfigError(f"--fail-if {text!r} is not a condition.", hint=_HINT)
    has_sign, limit = number["value"][0] in "+-", number["value"]
    if number["pct"] and not has_sign and unit_of(number["name"]) != "%":
        asked, change = f"{number['name']} {number['sign']}", "+" if number["sign"] == ">" else "-"
        value = f"{float(limit) / 100:g}" if number["name"].endswith("ratio") else limit
        raise ConfigError(
            f"--fail-if {text!r} does not say whether {limit} % is a change or a limit.",
            hint=f'Write "{asked} {change}{limit}%" for a change against the baseline, or '
            f'"{asked} {value}" for a limit in the unit of the metric, which is not percent.',
        )
    return Gate(
        text=text,
        name=number["name"],
        is_above=number["sign"] == ">",
        value=float(number["value"]),
        is_change=bool(number["pct"]) and has_sign,
        is_difference=not number["pct"] and has_sign,
    )


def met(comparison: Comparison, gates: Sequence[Gate]) -> tuple[str, ...]:
    """Return the conditions that are met, each with what was found.

    A difference in time per step within noise meets none.

    Raises:
        ConfigError: a condition names a metric that neither report has.
    """
    found = []
    for gate in gates:
        said = _finding_met(comparison, gate) if not gate.name else _number_met(comparison, gate)
        found += [f"{gate.text.strip()}: {said}"] if said else []
    return tuple(found)


def unjudged(comparison: Comparison, gates: Sequence[Gate]) -> tuple[str, ...]:
    """Return the conditions that the reports have no data to judge, each with what is missing."""
    missing = {gate.text.strip(): _missing(comparison, gate) for gate in gates}
    return tuple(f"{text}: {what}" for text, what in missing.items() if what)


def _missing(comparison: Comparison, gate: Gate) -> str:
    jobs = comparison.before, comparison.after
    if gate.name:
        values = dict(zip(jobs, _values(comparison, gate), strict=True))
        needed = jobs if gate.is_change or gate.is_difference else jobs[1:]
        without = [f"“{job.label}”" for job in needed if values[job] is None]
        return f"no {gate.name} in {' and '.join(without)}" if without else ""
    if gate.state is FindingState.NOT_CHECKED:
        return ""
    unchecked = replace(gate, state=FindingState.NOT_CHECKED)
    stricter = gate.text.strip().replace(gate.state.value, unchecked.state.value)
    found, lost = _finding_met(comparison, unchecked), ""
    if gate.state is FindingState.WORSE:
        lost = _finding_met(comparison, unchecked, is_after=False)
    notes = (
        found and f"“{jobs[0].label}” did not check {found}; to fail then, add “{stricter}”",
        lost and f"“{jobs[1].label}” did not check {lost}",
    )
    return "; ".join(filter(None, notes))


def _finding_met(comparison: Comparison, gate: Gate, *, is_after: bool = True) -> str:
    """Return the ids of findings in the state that a gate names, at least as severe as it says.

    They are findings of the job after; a finding that only the job before has meets no condition.
    """
    order = [item.value for item in Severity]
    enough = order[: order.index(gate.severity) + 1] if gate.severity is not None else order
    return ", ".join(
        row.id
        for row in comparison.findings
        if row.state is gate.state
        and (row.severity_after if is_after else row.severity_before) in enough
    )


def _number_met(comparison: Comparison, gate: Gate) -> str:
    before, after = _values(comparison, gate)
    if after is None or ((gate.is_change or gate.is_difference) and before is None):
        return ""
    value = after
    if gate.is_change and before is not None:
        value = 100 * (after / before - 1) if before else 0.0
    elif gate.is_difference and before is not None:
        value = after - before
    is_met = value > gate.value if gate.is_above else value < gate.value
    is_limit = not (gate.is_change or gate.is_difference)
    if not is_met or not (is_limit or _is_beyond_noise(comparison, gate.name)):
        return ""
    unit = " %" if gate.is_change else ""
    return f"{value:+.4g}{unit}" if gate.is_change or gate.is_difference else f"{value:.4g}"


def _is_beyond_noise(comparison: Comparison, name: str) -> bool:
    """Return whether a metric changed; of a time per step, whatever rule says it, surely so."""
    step = comparison.step
    time = _STEP_TIME.search(name)
    if step is None or time is None:
        return True
    if _is_of_samples(name, step):
        return comparison.verdict is not Verdict.NO_DIFFERENCE
    is_mean_sure = is_mean_beyond_noise(step) or sure_part(step) is not None
    if name == STEP_MEAN:
        return is_mean_sure
    return is_median_beyond_noise(step) or (time["point"] != "p50" and is_mean_sure)


def _is_of_samples(name: str, step: StepDifference) -> bool:
    """Return whether equally many samples are compared, as the batch sizes differ."""
    scale = samples_ratio(step)
    return name in {STEP_P50, STEP_MEAN} and scale is not None and scale != 1


def _values(comparison: Comparison, gate: Gate) -> tuple[float | None, float | None]:
    """Return the number that a gate names, before and after; times per step are in seconds.

    A change of the time per step is that for equally many samples, where batch sizes are known.
    """
    step = comparison.step
    if gate.name in {STEP_P50, STEP_MEAN}:
        if step is None:
            return None, None
        is_mean, scale = gate.name == STEP_MEAN, samples_ratio(step) or 1.0
        before_s, after_s = (
            (step.before_mean_s, step.after_mean_s)
            if is_mean
            else (step.before_p50_s, step.after_p50_s)
        )
        return before_s, after_s * (scale if gate.is_change or gate.is_difference else 1.0)
    for row in comparison.metrics:
        if gate.name == row.name:
            return row.before, row.after
    near = [row.name for row in comparison.metrics if row.name.endswith(f".{gate.name}")]
    if len(near) == 1:
        return next((row.before, row.after) for row in comparison.metrics if row.name == near[0])
    raise ConfigError(
        f"--fail-if names {gate.name}, which no report has.",
        hint=f"Use {STEP_P50}, {STEP_MEAN}, or a name of the section Numbers"
        + (f": {', '.join(near[:3])}." if near else "."),
    )
