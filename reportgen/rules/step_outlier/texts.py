"""What StepOutlier says: which steps are slow, whose they are, and in which rhythm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.facts.slow import MEDIAN_FACTOR
from reportgen.results import Severity, Where
from reportgen.rules.kit import Message
from reportgen.rules.step_outlier.measure import N_BLOCKS
from reportgen.text import join_names, ordinal, write

MOST_NUMBERS = 8

SLOW = Message(
    id="STEP-1",
    title="{worst.n_outliers:n} of {worst.n_steps:n} {worst.phase} steps are slow{mark}",
    text=(
        "{worst.worker} has {worst.n_outliers:n} {worst.phase} steps longer than {above}; more "
        "than {threshold} are too many. The usual step takes {worst.p50_s:s}, the longest "
        "{worst.longest_s:s}: step {numbers}.{more}"
    ),
    advice=(
        "Compare the times of these steps with callbacks, checkpoints, reads and the CPU and GPU "
        "curves; what happens only then is the cause."
    ),
    unit="steps",
    exhibit="outliers",
)
IN_RHYTHM = (
    "Find what runs every {period} steps (callback, checkpoint, logging, validation); "
    "run it less often, in a thread of its own, or on the GPU."
)
OF_ONE_WORKER = "Look at {named} alone: its device, its share of the data, its node's other load."
EARLIER = Message(
    id="STEP-1",
    title="Step outliers in the first minutes only",
    text=(
        "{n_judged:count judgement} along the job found more than {n_outliers} outliers; over the "
        "whole job there are no more than that."
    ),
    advice="Nothing to do: early steps (warm-up, compilation, first reads) are often slower.",
    unit="judgements",
    exhibit="steps",
)
SLOWER = Message(
    id="STEP-2",
    title="{worst.word} steps grow slower: from {found.first_ns:ns} to {found.last_ns:ns} "
    "({worst.worker})",
    text=(
        "The usual {worst.word} step of {worst.worker} takes {found.first_ns:ns} at the start and "
        "{found.last_ns:ns} at the end, {measured:pct} more, and rises in between (medians of "
        f"{N_BLOCKS - 1} blocks of steps, the warm-up left out). At the pace of the start its "
        "steps would take {extra:pct} less.{others}"
    ),
    advice=(
        "Look for what grows or wears on: lists and logs that are read again each step, "
        "memory that swaps, clocks that fall with heat, longer inputs."
    ),
    severity=Severity.WARNING,
    exhibit="step_series",
)

ABOVE_MEDIAN = f"Steps of more than {MEDIAN_FACTOR} times the median"
TOO_FEW = (
    "Too few steps to judge: {n:n} {phase} steps of {worker} at most, more than {least:n} are "
    "needed."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowSeries:
    """A series with too many outliers, as far as it is known; ``phase`` in a word."""

    worker: str
    phase: str
    n_steps: int
    n_outliers: int
    steps: tuple[int, ...]
    p50_s: float
    longest_s: float
    where: Where
    threshold_s: float | None = None
    extra_ratio: float | None = None
    cause: str = ""


def above(worst: SlowSeries, stddev: float) -> str:
    """Say above what steps are outliers."""
    rule = f"mean plus {stddev:g} standard deviations"
    if worst.threshold_s is None:
        return f"the {rule}"
    return write("{limit:s} ({rule})", limit=worst.threshold_s, rule=rule)


def numbers(steps: Sequence[int]) -> str:
    """Name the first steps, each once: AWS's result repeats a number that two epochs share."""
    return join_names([str(step) for step in dict.fromkeys(steps)], most=MOST_NUMBERS)


def mark(worst: SlowSeries, period: int | None) -> str:
    """Say behind a title when steps are slow, or whose they are."""
    return f": every {ordinal(period)} step" if period else f" ({worst.worker})"


def more(
    slow: Sequence[SlowSeries], worst: SlowSeries, period: int | None, named: str | None
) -> str:
    """Say in which rhythm steps are slow, what that costs, what ran in them, whose others are."""
    text = f" They come in a rhythm: every {ordinal(period)} step." if period else ""
    if worst.extra_ratio is not None:
        cost = write("{share:pct}", share=100 * worst.extra_ratio)
        text += f" Their extra time is {cost} of the loop."
    text += worst.cause
    if named is not None:
        return f"{text} {named} has most of the outliers of all workers."
    return text + others([f"{item.worker} {item.phase}" for item in slow if item is not worst])


def others(names: Sequence[str]) -> str:
    """Say that others are alike, after a space; empty without any."""
    return f" The same holds for {join_names(names)}." if names else ""
