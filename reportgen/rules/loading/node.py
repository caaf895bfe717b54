"""What one node tells of its loaders, and of the loops that wait for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.activity import unrecorded_ns
from reportgen.facts.loader import Waiting, loader_rows, waiting_of, waits_of
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.rules.loading.batches import WorkerBatches, batches_of
from reportgen.rules.loading.host import hot_in_loop, hot_while_waiting
from reportgen.rules.loading.seconds import Seconds, busy_seconds
from reportgen.rules.loading.uses import LifeTimes, Loader, life_times_of, loaders_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One node.

    Attributes:
        n_spans, n_events: framework events, and loader events among them.
        cores: names of its cores; ``has_gpu`` whether it has a GPU.
        seconds: its busy seconds.
        wait_ns: (n,) int64 sorted durations of all waits.
        waiting: per training process, how its loop waited.
        hot_ratio, loop_hot_ratio: share of hot cores while it waited, and in the whole loop;
            ``None`` where unknown.
    """

    n_spans: int
    n_events: int
    cores: tuple[str, ...]
    has_gpu: bool
    is_tensorflow: bool
    is_pytorch: bool
    is_pipeline_known: bool
    has_prefetch: bool
    seconds: Seconds
    wait_ns: NDArray[np.int64]
    waiting: tuple[Waiting, ...]
    hot_ratio: float | None
    loop_hot_ratio: float | None
    loaders: tuple[Loader, ...]
    life_times: tuple[LifeTimes, ...]
    batches: tuple[WorkerBatches, ...]


def measure_node(part: NodeProfile) -> Measurement:
    """Measure the loaders of one node."""
    spans, rows = part.spans, loader_rows(part.spans)
    events = rows.fetch | rows.process
    waits = waits_of(spans, rows)
    return Measurement(
        n_spans=spans.n_spans,
        n_events=int(events.sum()),
        cores=part.system.names(SeriesKind.CPU_UTILIZATION),
        has_gpu=bool(part.system.names(SeriesKind.GPU_UTILIZATION)),
        is_tensorflow=rows.is_tensorflow,
        is_pytorch=rows.is_pytorch,
        is_pipeline_known=rows.is_pipeline_known,
        has_prefetch=rows.has_prefetch,
        seconds=busy_seconds(spans, events),
        wait_ns=np.sort(waits.duration_ns),
        waiting=waiting_of(spans, rows, unrecorded=unrecorded_ns(part.system, spans)),
        hot_ratio=hot_while_waiting(part.system, waits),
        loop_hot_ratio=hot_in_loop(part.system, spans.steps()),
        loaders=loaders_of(spans, rows),
        life_times=life_times_of(spans, rows),
        batches=batches_of(spans, rows, part.system),
    )


def all_waits(measurements: Sequence[Measurement]) -> NDArray[np.int64]:
    """Return the sorted durations of all waits of a job, (n,) int64 in ns."""
    parts = [item.wait_ns for item in measurements]
    return np.sort(np.concatenate(parts)) if parts else np.empty(0, dtype=np.int64)
