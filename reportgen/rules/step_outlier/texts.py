"""What StepOutlier says: which steps are slow, whose they are, and in which rhythm."""

from __future__ import annotations

from dataclasses import dataclass

from reportgen.results import Severity, Where
from reportgen.rules.kit import Message
from reportgen.rules.step_outlier.measure import N_BLOCKS

SLOW = Message(
    id="STEP-1",
    title="{worst.n_outliers:n} of {worst.n_steps:n} {worst.phase} steps are slow{mark}",
    text=(
        "{worst.worker} has {worst.n_outliers:n} {worst.phase} steps longer than {limit}; more "
        "than {threshold} are too many. The usual step takes {worst.p50_s:s}, the longest "
        "{worst.longest_s:s}: step {numbers}.{rhythm}{cost}{worst.cause}{others}"
    ),
    advice=(
        "Compare the times of these steps with callbacks, checkpoints, reads and the CPU and GPU "
        "curves; what happens only then is the cause."
    ),
    unit="steps",
    exhibit="outliers",
)
LIMIT = "{worst.threshold_s:s} (mean plus {stddev:g} standard deviations)"
IMPORTED_LIMIT = "the mean plus {stddev:g} standard deviations"
RHYTHM = " They come in a rhythm: {nth}."
COST = " Their extra time is {share:pct} of the loop."
MOST_OF_ALL = " {named} has most of the outliers of all workers."
OTHERS = " The same holds for {names:names}."
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
