"""How well the clocks of a recording's nodes agree, as steps that end together show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.profile import NO_STEP, NodeId, SourceNote, SpanTable
from reportgen.text import format_ns

MOST_STEPS = 4_096
"""Steps of a node that are compared; of more, those whose numbers are multiples of a power of two,
which are the same on all nodes."""
_TRAIN = "Step:ModeKeys.TRAIN"
LEAST_COMMON = 10
"""Fewer common steps say nothing about how far the ends of steps scatter."""
TOGETHER_RATIO = 0.25
"""Ends of steps that scatter by more than this share of a step do not come together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnds:
    """Numbers of a node's training steps, ascending, and when its last worker ended each (UTC)."""

    number: NDArray[np.int64]
    end_ns: NDArray[np.int64]


def step_ends(spans: SpanTable) -> StepEnds:
    """Return when the steps of a node ended."""
    steps = spans.where(spans.in_phases((_TRAIN,)) & (spans.step != NO_STEP))
    number, place = np.unique(steps.step, return_inverse=True)
    end_ns = np.zeros(number.shape, dtype=np.int64)
    np.maximum.at(end_ns, place, steps.end_ns)
    stride = 1
    while np.count_nonzero(number % stride == 0) > MOST_STEPS:
        stride *= 2
    kept = number % stride == 0
    return StepEnds(number=number[kept], end_ns=end_ns[kept])


def notes_on_clocks(nodes: Sequence[tuple[NodeId, StepEnds]]) -> list[SourceNote]:
    """Return how well each node's clock agrees with that of the first one."""
    if len(nodes) < 2:
        return []
    (first, reference), *others = nodes
    return [SourceNote(text=_agreement(first, reference, node, ends)) for node, ends in others]


def _agreement(first: NodeId, reference: StepEnds, node: NodeId, ends: StepEnds) -> str:
    _, ours, theirs = np.intersect1d(
        reference.number, ends.number, assume_unique=True, return_indices=True
    )
    apart_ns = ends.end_ns[theirs] - reference.end_ns[ours]
    if apart_ns.size < LEAST_COMMON:
        return (
            f"The clocks of {first} and {node} could not be compared: they have too few steps in "
            "common. Times of the two are not aligned."
        )
    low, middle, high = np.percentile(apart_ns, [5, 50, 95])
    usual_step_ns = np.median(np.diff(reference.end_ns)) / np.median(np.diff(reference.number))
    if high - low > TOGETHER_RATIO * usual_step_ns:
        return (
            f"The clocks of {first} and {node} could not be compared: their steps do not end "
            "together. Times of the two are not aligned."
        )
    bound_ns = abs(middle) + (high - low) / 2
    return (
        f"The steps of {first} and {node} end together: their clocks differ by "
        f"{format_ns(abs(middle))}, known to ± {format_ns((high - low) / 2)}; times of the two "
        f"agree within {format_ns(bound_ns)}."
    )
