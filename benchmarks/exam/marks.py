"""Compare what a report says with what was planted."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.exam.analyse import Answer, Told
from benchmarks.exam.causes import Sight
from benchmarks.exam.truth import EVERYWHERE, SMALL, Planted, Truth
from reportgen.results.causes import Cause

_AT_TIMES = {Cause.RANDOM_SLOW_STEPS, Cause.PERIODIC_SLOW_STEPS}
"""Causes that act now and then: a finding may point to some of these times."""
_LEAST_OVERLAP = 0.5
_MOST_LENGTH = 3.0
_SLACK_S = 5.0
_ALIKE_RATIO = 0.03
"""Of two faults whose shares differ by less than this, either may come first."""
_TOO_LOW = -0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """How one planted fault was answered.

    Attributes:
        is_named: A warning or worse has its cause.
        is_first: The first finding has it; the smaller of two faults counts as first where it is
            the second cause.
        is_warned: A warning or worse has it, or lists it among its possible causes.
        is_place_right, is_time_right: Of a finding that names it.
        error_ratio: Its estimate minus the truth; ``None`` without an estimate or a true share.
    """

    planted: Planted
    is_named: bool
    is_first: bool
    is_warned: bool
    is_place_right: bool
    is_time_right: bool
    error_ratio: float | None

    @property
    def is_counted(self) -> bool:
        """Return whether the fault can be named from what was recorded, and costs 3 %."""
        planted = self.planted
        return planted.sight is Sight.IDENTIFIABLE and planted.size != SMALL

    @property
    def is_effect(self) -> bool:
        """Return whether only its effect was recorded, of 5 % at least."""
        planted = self.planted
        return planted.sight is Sight.EFFECT_ONLY and (planted.share_ratio or 0) >= 0.05

    @property
    def is_too_low(self) -> bool:
        """Return whether its estimate is more than 3 points below the truth."""
        return self.error_ratio is not None and self.error_ratio < _TOO_LOW

    @property
    def is_miss(self) -> bool:
        """Return whether anything about it is wrong."""
        if self.is_effect:
            return not self.is_warned
        is_right = self.is_first and self.is_place_right and self.is_time_right
        return self.is_counted and (not is_right or self.is_too_low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One job of the exam: its truth, what was said, and the marks of its faults."""

    truth: Truth
    answer: Answer
    marks: tuple[Mark, ...]
    seconds: float = 0.0

    @property
    def alarms(self) -> tuple[Told, ...]:
        """Return the warnings of a job."""
        return tuple(finding for finding in self.answer.findings if finding.is_loud)

    @property
    def has_wrong_first(self) -> bool:
        """Return whether a job has a fault, and its first warning neither is one nor lists one."""
        if not self.alarms or not any(each.is_counted or each.is_effect for each in self.marks):
            return False
        first = self.alarms[0]
        right = set().union(*(_right(mark.planted) for mark in self.marks))
        return first.cause not in right and not right & set(first.possible_causes)


def mark(truth: Truth, answer: Answer) -> tuple[Mark, ...]:
    """Return a mark for each planted fault."""
    causes = list(dict.fromkeys(finding.cause for finding in answer.findings))
    return tuple(
        _mark(truth, planted, answer, causes[: _rank(truth, planted)]) for planted in truth.planted
    )


def _right(planted: Planted) -> set[str]:
    return {planted.cause.value, *(cause.value for cause in planted.also_right)}


def _rank(truth: Truth, planted: Planted) -> int:
    """Return how many faults may come before a fault and this one: those about as large count."""
    least = (planted.share_ratio or 0.0) - _ALIKE_RATIO
    return sum(planted is other or (other.share_ratio or 0.0) > least for other in truth.planted)


def _mark(truth: Truth, planted: Planted, answer: Answer, leading: list[str]) -> Mark:
    right = _right(planted)
    loud = [finding for finding in answer.findings if finding.is_loud]
    naming = [finding for finding in loud if finding.cause in right]
    return Mark(
        planted=planted,
        is_named=bool(naming),
        is_first=bool(naming) and bool(right & set(leading)),
        is_warned=bool(naming) or any(right & set(finding.possible_causes) for finding in loud),
        is_place_right=any(_is_place_right(planted, item) for item in naming),
        is_time_right=any(_is_time_right(truth, planted, item) for item in naming),
        error_ratio=_error(naming[0], planted) if naming else None,
    )


def _error(finding: Told, planted: Planted) -> float | None:
    if finding.share_ratio is None or planted.share_ratio is None or not planted.is_estimated:
        return None
    return finding.share_ratio - planted.share_ratio


def _is_place_right(planted: Planted, finding: Told) -> bool:
    if EVERYWHERE in planted.places:
        return True
    node, device = finding.node or "", finding.device or ""
    devices = [name.strip() for name in device.split(",") if name.strip()]
    said = {name for each in devices for name in (f"{node}/{each}", each)} or {node}
    return bool(said & set(planted.places)) or any(
        place in finding.title for place in planted.places if "/" not in place and device == ""
    )


def _is_time_right(truth: Truth, planted: Planted, finding: Told) -> bool:
    """Return whether the finding's time covers the fault's, and not far more.

    A finding without a time speaks of the whole loop. Where events were recorded in a part of the
    fault's time, the finding may speak of this part.
    """
    first_s, last_s = truth.loop_s
    is_whole = planted.end_s - planted.start_s >= 0.8 * (last_s - first_s)
    if finding.start_s is None or finding.end_s is None:
        return is_whole
    told_s = finding.start_s - truth.start_unix_s, finding.end_s - truth.start_unix_s
    acts_s = planted.start_s, planted.end_s
    return any(
        _covers(told_s, span_s, is_whole=is_whole, at_times=planted.cause in _AT_TIMES)
        for span_s in (acts_s, planted.seen_s)
    )


def _covers(
    told_s: tuple[float, float],
    acts_s: tuple[float, float],
    *,
    is_whole: bool,
    at_times: bool,
) -> bool:
    length_s, told_length_s = acts_s[1] - acts_s[0], told_s[1] - told_s[0]
    overlap_s = min(told_s[1], acts_s[1] + 1) - max(told_s[0], acts_s[0] - 1)
    if at_times and overlap_s > 0:
        return overlap_s >= _LEAST_OVERLAP * told_length_s
    is_covered = overlap_s >= _LEAST_OVERLAP * length_s
    return is_covered and (is_whole or told_length_s <= _MOST_LENGTH * length_s + _SLACK_S)
