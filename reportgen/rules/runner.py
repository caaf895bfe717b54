"""Run rules: measure each part, judge once, and let no rule stop the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reportgen.profile import RankTrace
from reportgen.results import (
    ExhibitKind,
    Reason,
    ReasonCode,
    RuleId,
    RuleResult,
    Status,
    exhibit,
)
from reportgen.results.codec import decode, encode
from reportgen.rules.base import Need, Part, Rule, param_values

logger = logging.getLogger(__name__)

ABOUT = "about"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a rule could not measure a part; takes the place of its measurement."""

    text: str


def measure_part(
    part: Part, rules: Sequence[Rule], params: Mapping[RuleId, Any]
) -> dict[RuleId, Any]:
    """Return what each rule measures on one part; a rule that breaks yields a ``Failure``.

    Rules that read other kinds of parts are left out.
    """
    return {
        rule.id: guarded(rule, "measure", part, params[rule.id])
        for rule in rules
        if reads(rule, is_rank=isinstance(part, RankTrace))
    }


def reads(rule: Rule, *, is_rank: bool) -> bool:
    """Return whether a rule measures parts that are ranks, or parts that are nodes."""
    kinds = {need is Need.KERNELS for need in rule.needs} or {False}
    return is_rank in kinds


def judge_all(
    measured: Sequence[Mapping[RuleId, Any]], rules: Sequence[Rule], params: Mapping[RuleId, Any]
) -> tuple[RuleResult, ...]:
    """Return the result of every rule, in the order of ``rules``.

    Args:
        measured: what ``measure_part`` returned, one mapping per part, in the order of parts.
        rules: the rules.
        params: the parameters of each rule.
    """
    return tuple(
        _judge(rule, [part[rule.id] for part in measured if rule.id in part], params[rule.id])
        for rule in rules
    )


def _judge(rule: Rule, measurements: list[Any], params: Any) -> RuleResult:
    failure = next((item for item in measurements if isinstance(item, Failure)), None)
    judged = failure or _judged(rule, measurements, params)
    if isinstance(judged, RuleResult):
        return with_about(judged, rule)
    nothing = _judged(rule, [], params)
    failed = RuleResult(
        id=rule.id,
        status=Status.FAILED,
        reason=Reason(code=ReasonCode.ERROR, text=judged.text),
        details=nothing.details if isinstance(nothing, RuleResult) else {},
        rule_parameters=rule.describe_params(params),
        params=param_values(params),
    )
    return with_about(failed, rule)


def _judged(rule: Rule, measurements: list[Any], params: Any) -> RuleResult | Failure:
    """Return what a rule says, or why it says nothing that can be saved."""
    judged = guarded(rule, "judge", measurements, params)
    if not isinstance(judged, Failure):
        judged = _attempt(rule, "judge", _saveable, judged, rule.id)
    assert isinstance(judged, RuleResult | Failure)
    return judged


def _saveable(judged: object, rule_id: RuleId) -> RuleResult:
    """Return a result that can be saved under the rule's name and read again.

    Raises:
        TypeError: it is no result, or holds what JSON does not know.
        ValueError: it is called like another rule, which it would replace.
        FormatError: a value is not of the type that its place wants.
    """
    if not isinstance(judged, RuleResult):
        raise TypeError(f"expected a RuleResult, saw {type(judged).__name__}")
    if judged.id != rule_id:
        raise ValueError(f"its result is called {judged.id}, not {rule_id}")
    decode(encode(judged), path=f"{rule_id}.json")
    return judged


def guarded(rule: Rule, step: str, *args: Any) -> Any:
    """Run a step of a rule; return what it returns, or a ``Failure`` when it breaks."""
    return _attempt(rule, step, getattr(rule, step), *args)


def _attempt(rule: Rule, step: str, work: Callable[..., Any], *args: Any) -> Any:
    try:
        return work(*args)
    except Exception as err:
        logger.debug("rule %s failed in %s", rule.id, step, exc_info=True)
        return Failure(text=f"The rule broke in {step}: {type(err).__name__}: {err}")


def with_about(result: RuleResult, rule: Rule) -> RuleResult:
    """Append the rule's own words: the page draws from results alone and knows no rules."""
    words = {
        "title": rule.title,
        "checks": rule.about.checks,
        "reading": rule.about.reading,
        "advice": rule.about.advice,
    }
    about = exhibit(
        ABOUT,
        ExhibitKind.TABLE,
        title="About this analysis",
        columns=[("what", "", list(words)), ("text", "", list(words.values()))],
    )
    return replace(result, exhibits=(*result.exhibits, about))
