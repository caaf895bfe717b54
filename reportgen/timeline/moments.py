"""Moments that are shown in full: the median step, the slowest one, and those of findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reportgen.timeline.staged import StagedPart

_MARGIN = 20
"""A window is a step and a twentieth of it before and after: what leads to it, and its end on the
GPU, which lags behind the host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingMark:
    """A finding in time: ``start_ns`` and ``end_ns`` are of the clock of its node."""

    title: str
    said_by: str
    start_ns: int
    end_ns: int
    node: str | None = None
    severity: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A stretch to be shown in full, in the clock of its node; ``None`` is any."""

    why: str
    start_ns: int
    end_ns: int
    node: str | None = None


def moments_of(parts: Sequence[StagedPart], marks: Sequence[FindingMark]) -> Iterator[Moment]:
    """Yield what to show in full, most important first."""
    steps = list(_of_steps(parts))
    found = [_of_mark(mark) for mark in marks]
    yield from steps[:1]
    yield from found[:1]
    yield from steps[1:]
    yield from found[1:]


def _of_steps(parts: Sequence[StagedPart]) -> Iterator[Moment]:
    """Yield the median and the slowest step of the part that has most of them."""
    if not parts:
        return
    part = max(parts, key=lambda item: item.n_steps)
    for step in part.typical:
        margin_ns = (step.end_ns - step.start_ns) // _MARGIN
        yield Moment(
            why=f"{step.what}: {step.number}",
            start_ns=part.origin_ns + step.start_ns - margin_ns,
            end_ns=part.origin_ns + step.end_ns + margin_ns,
            node=part.node,
        )


def _of_mark(mark: FindingMark) -> Moment:
    margin_ns = (mark.end_ns - mark.start_ns) // _MARGIN
    return Moment(
        why=f"finding: {mark.title}",
        start_ns=mark.start_ns - margin_ns,
        end_ns=mark.end_ns + margin_ns + 1,
        node=mark.node,
    )
