"""A generated job: what is recorded of it, and the truth about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from benchmarks.exam.recording import Recording
from benchmarks.exam.truth import Truth
from reportgen.results.causes import Cause


class Shape(StrEnum):
    """How a job differs from the usual ones, apart from its faults."""

    USUAL = "usual"
    SHORT = "short"
    FAST = "fast"
    LONG = "long"
    PART = "part"
    PASSES = "passes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A job to make.

    Attributes:
        number: Its number in the exam.
        seed: Of the exam; with the number it decides everything that is random.
        family: Name of the model that makes it.
        causes: What to plant; none makes a healthy job.
        healthy_kind: What a healthy job might be mistaken for.
        share_ratio: What the faults should cost.
        shape: ``short`` jobs have a few dozen steps; steps of ``fast`` ones last tens of
            milliseconds, of ``long`` ones seconds to half a minute; a fault ``in part`` acts in a
            stretch of the job only; ``passes`` are of inference, without a backward pass.
        uneven_ratio: What each further fault should cost of what the one before it does.
    """

    number: int
    seed: int
    family: str
    causes: tuple[Cause, ...] = ()
    healthy_kind: str = ""
    share_ratio: float = 0.0
    shape: Shape = Shape.USUAL
    uneven_ratio: float = 1.0

    @property
    def kind(self) -> str:
        """Return the planted causes, or which healthy kind."""
        return "+".join(self.causes) if self.causes else f"healthy-{self.healthy_kind}"

    @property
    def name(self) -> str:
        """Return the name of its folder."""
        shape = "" if self.shape is Shape.USUAL else f"-{self.shape}"
        return f"{self.number:03d}-{self.family}-{self.kind}{shape}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is written, and what is known."""

    recording: Recording
    truth: Truth


class UnsuitableError(Exception):
    """These random numbers make no job of the wanted kind; others may."""
