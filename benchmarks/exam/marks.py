"""Compare what a report says with what was planted."""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchmarks.exam.analyse import Answer, Told
from benchmarks.exam.causes import Sight
from benchmarks.exam.truth import EVERYWHERE, Planted, Truth
from reportgen.results.causes import Cause

_WORDS = {
    Cause.TOO_FEW_LOADERS: r"num_workers|loader|worker process",
    Cause.TOO_MANY_LOADERS: r"num_workers|fewer (loader|worker)|lower",
    Cause.CPU_PREPROCESSING: r"preprocess|cheaper|decode|augment",
    Cause.IO_WAIT: r"disk|storage|files|I/O|local copy|cache|read",
    Cause.NETWORK_INPUT: r"network|download|stream|copy|compress|S3|bandwidth",
    Cause.UNPINNED_MEMORY: r"pin_memory|pinned",
    Cause.WORK_BETWEEN_STEPS: r"between (the )?steps|logging|metrics|synchron|\.item|callback",
    Cause.LONG_START: r"start|download|compil|before (its|the|training)",
    Cause.RANDOM_SLOW_STEPS: r"slow(est)? steps|outlier|those steps|what ran|these times",
    Cause.PERIODIC_SLOW_STEPS: r"every|period|callback|checkpoint|rhythm",
    Cause.SLOWING_DOWN: r"grow|slower|accumulat|drift|leak|throttl",
    Cause.LONG_PAUSE: r"pause|stall|stopped|waited|interrupt|hung|checkpoint|between",
    Cause.SLOW_WORKER: r"worker|rank|node|slow",
    Cause.GPU_UNDERUSED: r"batch|smaller|fewer GPU|more work",
    Cause.GPU_SWINGS: r"between its bursts|waits for|alternat|burst|idle",
    Cause.GPU_IDLE: r"GPU|process per",
    Cause.GPU_STOPPED: r"ended|hung|died|stopped|process",
    Cause.GPU_IMBALANCE: r"evenly|balance|Distributed|share",
    Cause.MEMORY_GROWTH: r"memory|leak|tensor|history|detach",
}
_AT_TIMES = {Cause.RANDOM_SLOW_STEPS, Cause.PERIODIC_SLOW_STEPS}
"""Causes that act now and then: a finding may point to some of these times."""
_LEAST_OVERLAP = 0.5
_MOST_LENGTH = 3.0
_SLACK_S = 5.0
_ALIKE_RATIO = 0.03
"""Of two faults whose shares differ by less than this, either may come first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """How one planted fault was answered.

    Attributes:
        is_named: A warning or worse has its cause.
        is_first: The first finding has it; the smaller of two faults counts as first where it is
            the second cause.
        is_place_right, is_time_right, is_advised: Of the finding that names it.
        error_ratio: Its estimate minus the truth; ``None`` without an estimate or a true share.
        is_listed: A warning or worse has it among its possible causes.
    """

    planted: Planted
    is_named: bool
    is_first: bool
    is_place_right: bool
    is_time_right: bool
    is_advised: bool
    error_ratio: float | None
    is_listed: bool = False


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
        return tuple(told for told in self.answer.told if told.is_loud)


def mark(truth: Truth, answer: Answer) -> tuple[Mark, ...]:
    """Return a mark for each planted fault."""
    causes = _causes_in_order(answer)
    return tuple(
        _mark(truth, planted, answer, causes[: _rank(truth, planted)]) for planted in truth.planted
    )


def _rank(truth: Truth, planted: Planted) -> int:
    """Return how many faults may come before a fault and this one: those about as large count."""
    least = (planted.share_ratio or 0.0) - _ALIKE_RATIO
    return sum(planted is other or (other.share_ratio or 0.0) > least for other in truth.planted)


def _causes_in_order(answer: Answer) -> list[str]:
    causes: list[str] = []
    for told in answer.told:
        if told.cause not in causes:
            causes.append(told.cause)
    return causes


def _mark(truth: Truth, planted: Planted, answer: Answer, leading: list[str]) -> Mark:
    right = {planted.cause.value, *(cause.value for cause in planted.also_right)}
    naming = [told for told in answer.told if told.is_loud and told.cause in right]
    told = naming[0] if naming else None
    return Mark(
        planted=planted,
        is_named=told is not None,
        is_first=told is not None and bool(right & set(leading)),
        is_place_right=any(_is_place_right(planted, item) for item in naming),
        is_time_right=any(_is_time_right(truth, planted, item) for item in naming),
        is_advised=any(_is_advised(planted, item) for item in naming),
        error_ratio=_error(told, planted) if told else None,
        is_listed=any(right & set(told.possible_causes) for told in answer.told if told.is_loud),
    )


def _error(told: Told, planted: Planted) -> float | None:
    if told.share_ratio is None or planted.share_ratio is None:
        return None
    return told.share_ratio - planted.share_ratio


def _is_place_right(planted: Planted, told: Told) -> bool:
    if EVERYWHERE in planted.places:
        return True
    node, device = told.node or "", told.device or ""
    devices = [name.strip() for name in device.split(",") if name.strip()]
    said = {name for each in devices for name in (f"{node}/{each}", each)} or {node}
    return bool(said & set(planted.places)) or any(
        place in told.title for place in planted.places if "/" not in place and device == ""
    )


def _is_time_right(truth: Truth, planted: Planted, told: Told) -> bool:
    """Return whether the finding's time covers the fault's, and not far more.

    A finding without a time speaks of the whole loop.
    """
    first_s, last_s = truth.loop_s
    length_s = planted.end_s - planted.start_s
    is_whole = length_s >= 0.8 * (last_s - first_s)
    if told.start_s is None or told.end_s is None:
        return is_whole
    start_s, end_s = told.start_s - truth.start_unix_s, told.end_s - truth.start_unix_s
    overlap_s = min(end_s, planted.end_s + 1) - max(start_s, planted.start_s - 1)
    if planted.cause in _AT_TIMES and overlap_s > 0:
        return overlap_s >= _LEAST_OVERLAP * (end_s - start_s)
    covers = overlap_s >= _LEAST_OVERLAP * length_s
    return covers and (is_whole or end_s - start_s <= _MOST_LENGTH * length_s + _SLACK_S)


def _is_advised(planted: Planted, told: Told) -> bool:
    return re.search(_WORDS[planted.cause], told.advice, re.IGNORECASE) is not None


def is_counted(planted: Planted) -> bool:
    """Return whether a fault can be named from what was recorded."""
    return planted.sight is Sight.IDENTIFIABLE
