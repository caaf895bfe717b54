"""The work on one part of a job: read it once, let every rule measure it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reportgen.intake import Progress, read
from reportgen.profile import NodeId, NodeProfile, PartRef, Quality, SourceNote
from reportgen.report import Extent
from reportgen.results import RuleId
from reportgen.rules.base import Rule
from reportgen.rules.runner import measure_part


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What comes back from one part: small, whatever the part's size.

    ``read_s`` and ``measure_s`` are for the log only.
    """

    node: NodeId
    extent: Extent
    interval_ns: int | None
    measurements: Mapping[RuleId, Any]
    notes: tuple[SourceNote, ...]
    n_rows: int
    n_files: int
    read_s: float
    measure_s: float


def work_on(
    ref: PartRef,
    *,
    rules: Sequence[Rule],
    params: Mapping[RuleId, Any],
    on_progress: Progress | None = None,
) -> Measured:
    """Read a part and return what each rule measured on it."""
    began = time.perf_counter()
    part = read(ref, on_progress=on_progress)
    was_read = time.perf_counter()
    measurements = measure_part(part, rules, params)
    return Measured(
        node=part.node,
        extent=extent_of(part),
        interval_ns=part.system.interval_ns,
        measurements=measurements,
        notes=part.notes,
        n_rows=part.system.n_samples + part.spans.n_spans,
        n_files=sum(note.counts.get(Quality.FILES_READ, 0) for note in part.notes),
        read_s=was_read - began,
        measure_s=time.perf_counter() - was_read,
    )


def extent_of(part: NodeProfile) -> Extent:
    """Return first and last instants of a part: of its samples, its events, its steps."""
    steps, spans = part.spans.steps(), part.spans
    return Extent(
        first_ns=part.system.first_ns,
        last_ns=part.system.last_ns,
        first_event_ns=int(spans.start_ns.min()) if spans.n_spans else None,
        last_event_ns=int(spans.end_ns.max()) if spans.n_spans else None,
        first_step_ns=int(steps.start_ns.min()) if steps.n_spans else None,
        last_step_ns=int(steps.end_ns.max()) if steps.n_spans else None,
    )
