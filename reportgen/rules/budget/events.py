"""What the framework did at each tick: in a step, asking for a batch, communicating."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.breakdown import exchanges_data
from reportgen.facts.groups import rows_by_code
from reportgen.facts.intervals import overlaps_any
from reportgen.facts.loader import loader_rows
from reportgen.profile import SpanTable
from reportgen.profile.system import Instants

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One node, (n_ticks,) each.

    Attributes:
        n_in_step: workers that are inside a step.
        is_outside_steps: no worker is; false everywhere when no steps were recorded.
        is_fetching: a worker waits for a batch (``GetNext``).
        is_communicating: workers exchange data.
    """

    n_in_step: NDArray[np.int64]
    is_outside_steps: Mask
    is_fetching: Mask
    is_communicating: Mask


def activity_of(spans: SpanTable, tick_ns: Instants) -> Activity:
    """Return what the workers of a node did at each tick."""
    steps = spans.steps()
    n_in_step = np.zeros(tick_ns.shape, dtype=np.int64)
    for _, rows in rows_by_code(steps.worker):
        n_in_step += _is_inside(steps.where(rows), tick_ns)
    has_steps = steps.n_spans > 0
    return Activity(
        n_in_step=n_in_step,
        is_outside_steps=(n_in_step == 0) & has_steps,
        is_fetching=_is_inside(spans.where(loader_rows(spans).fetch), tick_ns),
        is_communicating=_is_inside(spans.where(exchanges_data(spans)), tick_ns),
    )


def _is_inside(spans: SpanTable, tick_ns: Instants) -> Mask:
    return overlaps_any(tick_ns, tick_ns, spans.start_ns, spans.end_ns)
