"""Run rules: measure each part, judge once, and let no rule stop the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from reportgen import results
from reportgen.profile import JobProfile, RankTrace
from reportgen.results.codec import decode, encode
from reportgen.rules.base import AnyRule, Need, Outcome, Part, param_values

logger = logging.getLogger(__name__)


ABOUT = "about"
"""The id of the table that held a rule's words in format 1; plugins keep it free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a rule could not measure a part; takes the place of its measurement."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The result of a rule as it is read from its file, and the bytes of that file."""

    result: results.RuleResult
    content: bytes


def measure_part(
    part: Part, rules: Sequence[AnyRule], params: Mapping[results.RuleId, Any]
) -> dict[results.RuleId, Any]:
    """Return the measurement of each rule on one part; a rule that breaks yields a ``Failure``.

    Rules that read other kinds of parts are left out.
    """
    found = {}
    for rule in rules:
        if reads(rule, is_rank=isinstance(part, RankTrace)):
            found[rule.id] = guarded(rule, "measure", rule.measure, part, params[rule.id])
    return found


def reads(rule: AnyRule, *, is_rank: bool) -> bool:
    """Return whether a rule measures parts that are ranks, or parts that are nodes."""
    kinds = {need is Need.KERNELS for need in rule.needs} or {False}
    return is_rank in kinds


def rules_for(
    job: JobProfile, rules: Sequence[AnyRule], *, has_progress: bool = False
) -> tuple[AnyRule, ...]:
    """Return the rules that read a kind of part which the job has.

    ``has_progress``: another monitoring program may have logged how fast the job advanced.
    """
    kinds = {part.rank is not None for part in job.parts}
    return tuple(
        rule
        for rule in rules
        if (has_progress or Need.PROGRESS not in rule.needs)
        and any(reads(rule, is_rank=kind) for kind in kinds)
    )


def judge_all(
    measured: Sequence[Mapping[results.RuleId, Any]],
    rules: Sequence[AnyRule],
    params: Mapping[results.RuleId, Any],
) -> tuple[results.RuleResult, ...]:
    """Return the result of every rule, in the order of ``rules``; see ``judge_each``."""
    return tuple(judged.result for judged in judge_each(measured, rules, params))


def judge_each(
    measured: Sequence[Mapping[results.RuleId, Any]],
    rules: Sequence[AnyRule],
    params: Mapping[results.RuleId, Any],
) -> Iterator[Judged]:
    """Yield the result of every rule and the bytes of its file, in the order of ``rules``.

    ``measured`` is what ``measure_part`` returned, one mapping per part, in the order of parts.
    """
    for rule in rules:
        yield _judge(rule, [part[rule.id] for part in measured if rule.id in part], params[rule.id])


def _judge(rule: AnyRule, measurements: Sequence[Any], params: Any) -> Judged:
    failure = next((item for item in measurements if isinstance(item, Failure)), None)
    judged = failure or guarded(rule, "judge", _saveable, rule, measurements, params)
    if isinstance(judged, Judged):
        return judged
    logger.warning("warning: %s: %s. The other checks are not affected.", rule.id, judged.text)
    nothing = guarded(rule, "judge", _saveable, rule, [], params)
    failed = results.RuleResult(
        id=rule.id,
        status=results.Status.FAILED,
        reason=results.Reason(code=results.ReasonCode.ERROR, text=judged.text),
        details=nothing.result.details if isinstance(nothing, Judged) else {},
        rule_parameters=rule.describe_params(params),
        params=param_values(params),
    )
    failed = with_about(failed, rule)
    return Judged(result=failed, content=encode(failed))


def judge(rule: AnyRule, measurements: Sequence[Any], params: Any) -> results.RuleResult:
    """Return the result of a rule from its measurements.

    Raises:
        Exception: whatever the rule raises.
        TypeError: the rule returned neither an ``Outcome`` nor a ``RuleResult``.
    """
    is_without = not measurements and rule.needs == (Need.KERNELS,)
    without = Outcome(missing="No kernel trace was given.")
    judged = without if is_without else rule.judge(measurements, params)
    if isinstance(judged, results.RuleResult):
        return judged
    if not isinstance(judged, Outcome):
        raise TypeError(f"expected an Outcome or a RuleResult, saw {type(judged).__name__}")
    missing = judged.missing
    if isinstance(missing, str):
        missing = (
            results.Reason(code=results.ReasonCode.NO_EVENTS, text=missing) if missing else None
        )
    findings = tuple(item for item in judged.findings if item is not None)
    return results.RuleResult(
        id=rule.id,
        status=_status(missing, judged.counters, findings),
        reason=missing,
        counters=judged.counters,
        details=judged.details,
        rule_parameters=rule.describe_params(params),
        params=param_values(params),
        metrics=judged.metrics,
        findings=findings,
        exhibits=tuple(judged.exhibits),
        data=tuple(judged.data),
    )


def _status(
    reason: results.Reason | None, counters: results.Counters, findings: Sequence[results.Finding]
) -> results.Status:
    """Return ``triggered`` for AWS's triggers, or for a finding that is more than a reading."""
    if reason:
        return results.Status.SKIPPED
    is_fault = any(finding.severity is not results.Severity.INFO for finding in findings)
    return (
        results.Status.TRIGGERED if counters.rule_triggered > 0 or is_fault else results.Status.OK
    )


def _saveable(rule: AnyRule, measurements: Sequence[Any], params: Any) -> Judged:
    """Return a result under the rule's own name that can be saved and read again, or raise."""
    judged = judge(rule, measurements, params)
    if judged.id != rule.id:
        raise ValueError(f"its result is called {judged.id}, not {rule.id}")
    judged = with_about(judged, rule)
    content = encode(judged)
    read = decode(content, path=f"{rule.id}.json")
    return Judged(result=replace(judged, exhibits=read.exhibits, data=read.data), content=content)


def guarded(rule: AnyRule, step: str, work: Callable[..., Any], *args: Any) -> Any:
    """Do some work of a rule; return its result, or a ``Failure`` when it breaks.

    ``step`` is what the work is called in the message; ``work`` is called with ``args``.
    """
    try:
        return work(*args)
    except Exception as err:
        logger.debug("rule %s failed in %s", rule.id, step, exc_info=True)
        return Failure(text=f"The rule broke in {step}: {type(err).__name__}: {err}")


def with_about(result: results.RuleResult, rule: AnyRule) -> results.RuleResult:
    """Add what the rule declares: the page draws from results alone and knows no rules.

    Remedies are given only with a finding: a remedy without a fault would mislead.
    """
    needs = tuple(need.value for need in rule.needs)
    advice = rule.about.advice if result.status is results.Status.TRIGGERED else ""
    return replace(
        result,
        about=replace(rule.about, title=rule.title, needs=needs, advice=advice),
        exhibits=tuple(_placed(item, rule) for item in result.exhibits if item.id != ABOUT),
    )


def _placed(item: results.Exhibit, rule: AnyRule) -> results.Exhibit:
    """Return an exhibit with its declared place and depth, unless it sets them itself."""
    place = item.place
    if place == results.NOWHERE:
        found = (place for pattern, place in rule.places.items() if fnmatchcase(item.id, pattern))
        place = next(found, results.NOWHERE)
    is_folded = any(fnmatchcase(item.id, pattern) for pattern in rule.folded)
    return replace(item, place=place, depth=results.Depth.FOLDED if is_folded else item.depth)
