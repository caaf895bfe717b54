"""One node's framework events: what ran from when to when.

Columns of equal length instead of objects: a million events are a few arrays. Text columns are
codes into a vocabulary. Rows are sorted by (start, end, phase, name, worker, step).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

NO_STEP = -1
STEP_PREFIX = "Step:"


class SpanSource(StrEnum):
    """Which writer made the event; decides how it is classified (oracle §10)."""

    PYTHON = "pythontimeline"
    MODEL = "model_timeline"
    HOROVOD = "horovod_timeline"
    SMDATAPARALLEL = "smdataparallel_timeline"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanTable:
    """Events of one node.

    Attributes:
        start_ns, end_ns: (n,) int64 ns UTC, end >= start; equal for instants.
        name: (n,) int32 codes into ``names``: the event's name (operator, module, iterator).
        phase: (n,) int32 codes into ``phases``: the process name (``Step:ModeKeys.TRAIN``).
        worker: (n,) int32 codes into ``workers``: ``algo-1-27`` (node and process id).
        source: (n,) int32 codes into ``sources`` (values of ``SpanSource``).
        step: (n,) int64 ``args.step_num``, ``NO_STEP`` where absent.
        os_pid: (n,) int64 ``args.pid``, -1 where absent.
        tid: (n,) int64 thread id, -1 where absent.
        worker_id: (n,) int64 ``args.worker_id`` of a data-loader worker, -1 where absent.
        num_workers: (n,) int64 ``args.num_workers``, -1 where absent.
        pin_memory: (n,) int8 1, 0, or -1 where absent.
        bytes_fetched: (n,) int64 ``args.bytes_fetched``, -1 where absent.
    """

    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    name: NDArray[np.int32]
    phase: NDArray[np.int32]
    worker: NDArray[np.int32]
    source: NDArray[np.int32]
    step: NDArray[np.int64]
    os_pid: NDArray[np.int64]
    tid: NDArray[np.int64]
    worker_id: NDArray[np.int64]
    num_workers: NDArray[np.int64]
    pin_memory: NDArray[np.int8]
    bytes_fetched: NDArray[np.int64]
    names: tuple[str, ...]
    phases: tuple[str, ...]
    workers: tuple[str, ...]
    sources: tuple[str, ...]

    @property
    def n_spans(self) -> int:
        """Return the number of events."""
        return int(self.start_ns.shape[0])

    @property
    def duration_ns(self) -> NDArray[np.int64]:
        """Return (n,) int64 durations."""
        return self.end_ns - self.start_ns

    def where(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> SpanTable:
        """Return the selected rows; vocabularies stay."""
        arrays = {name: getattr(self, name)[rows] for name in ARRAY_COLUMNS}
        return replace(self, **arrays)

    def in_phases(self, phases: Iterable[str]) -> NDArray[np.bool_]:
        """Return an (n,) mask of the events whose phase is one of ``phases``."""
        wanted = set(phases)
        codes = [code for code, phase in enumerate(self.phases) if phase in wanted]
        return np.isin(self.phase, codes)

    def steps(self) -> SpanTable:
        """Return the step events: those whose phase is ``Step:…``."""
        return self.where(
            self.in_phases(phase for phase in self.phases if phase.startswith(STEP_PREFIX))
        )


ARRAY_COLUMNS = tuple(
    field.name
    for field in fields(SpanTable)
    if field.name not in {"names", "phases", "workers", "sources"}
)
_DTYPES = {
    "name": np.int32,
    "phase": np.int32,
    "worker": np.int32,
    "source": np.int32,
    "pin_memory": np.int8,
}


def empty_spans() -> SpanTable:
    """Return a table without events."""
    arrays = {name: np.empty(0, dtype=_DTYPES.get(name, np.int64)) for name in ARRAY_COLUMNS}
    return SpanTable(names=(), phases=(), workers=(), sources=(), **arrays)
