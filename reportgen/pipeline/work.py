"""The work on one part of a job: read it once, let every rule measure it."""

from __future__ import annotations

import pickle
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from reportgen.arrays import Floats
from reportgen.facts.lost_kernels import graph_loss
from reportgen.intake import Progress, read
from reportgen.profile import (
    Clock,
    NodeId,
    NodeProfile,
    PartRef,
    Quality,
    RankTrace,
    SeriesKind,
    SourceNote,
    SystemTable,
)
from reportgen.profile.monitoring import Monitoring
from reportgen.recorded_job import Recording
from reportgen.report import Extent, Setup
from reportgen.results import RuleId
from reportgen.rules.base import AnyRule
from reportgen.rules.runner import measure_part
from reportgen.rules.timeline import RULE as TIMELINE
from reportgen.timeline import lanes_of, stage
from reportgen.units import NS_PER_US

LOST_KERNELS = "Kernels inside CUDA graphs are missing in the recording of"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The result of one part: small, whatever the part's size.

    ``read_s`` is for the log only. ``rank`` is that of a kernel trace, ``None`` for a node.
    ``lanes`` is the file of the part's lanes where it was measured elsewhere.
    """

    node: NodeId
    extent: Extent
    interval_ns: int | None
    rank: int | None = None
    clock: Clock | None = None
    monitoring: Monitoring | None = None
    setup: Setup
    measurements: PackedMeasurements
    notes: tuple[SourceNote, ...]
    n_rows: int
    n_files: int
    read_s: float
    lanes: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedAt:
    """The folder in which the lanes of all parts wait for the file of the timeline."""

    folder: Path
    n_parts: int

    def of(self, node: NodeId) -> Path:
        """Return the file of a part."""
        return self.folder / sha256(node.encode()).hexdigest()[:16]


def work_on(
    ref: PartRef,
    *,
    rules: Sequence[AnyRule],
    params: Mapping[RuleId, Any],
    lanes: StagedAt | None = None,
    on_progress: Progress | None = None,
) -> Measured:
    """Read a part and return the measurements of each rule; stage its lanes for the timeline."""
    began = time.perf_counter()
    part = read(ref, on_progress=on_progress)
    read_s = time.perf_counter() - began
    measurements = PackedMeasurements(measure_part(part, rules, params))
    if lanes is not None:
        communication = params[TIMELINE.id].communication_names
        stage(lanes_of(part, communication), lanes.of(ref.node), n_parts=lanes.n_parts)
    monitoring = None if isinstance(part, RankTrace) else part.monitoring
    if isinstance(part, RankTrace):
        extent, interval_ns, n_rows = extent_of_trace(part), None, part.n_events
    else:
        extent, interval_ns = extent_of(part), part.system.interval_ns
        n_rows = part.system.n_samples + part.spans.n_spans + part.python.n_rows
        n_rows += 0 if monitoring is None else monitoring.n_reached
    return Measured(
        node=part.node,
        extent=extent,
        interval_ns=interval_ns,
        rank=ref.rank,
        monitoring=None if monitoring is None else replace(monitoring, progress=()),
        clock=part.clock if isinstance(part, RankTrace) else part.job.clock,
        setup=setup_of_part(part),
        measurements=measurements,
        notes=(*_lacks(part), *part.notes),
        n_rows=n_rows,
        n_files=sum(note.counts.get(Quality.FILES_READ, 0) for note in part.notes),
        read_s=read_s,
    )


def _lacks(part: NodeProfile | RankTrace) -> tuple[SourceNote, ...]:
    """Return what is known to be missing in a trace: kernels of CUDA graphs."""
    loss = graph_loss(part) if isinstance(part, RankTrace) else None
    if loss is None:
        return ()
    text = f"{LOST_KERNELS} {loss.node}: its idle time, activity and number formats are unknown."
    return (SourceNote(text=text),)


def extent_of(part: NodeProfile) -> Extent:
    """Return first and last instants of a part: samples, events, training, Python profiles."""
    steps, spans = part.spans.training_steps(), part.spans
    profiled = [profile.interval for profile in part.python.profiles]
    starts_us = [interval.start.time_us for interval in profiled]
    ends_us = [interval.end.time_us for interval in profiled]
    first_ns, last_ns = part.system.first_ns, part.system.last_ns
    if first_ns is None and part.monitoring is not None:
        first_ns, last_ns = part.monitoring.extent_ns or (None, None)
    return Extent(
        first_ns=first_ns,
        last_ns=last_ns,
        first_event_ns=int(spans.start_ns.min()) if spans.n_spans else None,
        last_event_ns=int(spans.end_ns.max()) if spans.n_spans else None,
        first_step_ns=int(steps.start_ns.min()) if steps.n_spans else None,
        last_step_ns=int(steps.end_ns.max()) if steps.n_spans else None,
        first_profile_ns=min(starts_us) * NS_PER_US if starts_us else None,
        last_profile_ns=max(*starts_us, *ends_us) * NS_PER_US if ends_us else None,
        last_host_memory_pct=_at_end(part.system.matrix(SeriesKind.HOST_MEMORY)),
        last_gpu_memory_pct=_at_end(_gpu_memory_pct(part.system)),
    )


def _gpu_memory_pct(system: SystemTable) -> Floats:
    used, whole = SeriesKind.GPU_USED_BYTES, SeriesKind.GPU_TOTAL_BYTES
    if system.names(used) != system.names(whole):
        return np.empty((0, 0))
    return 100 * system.matrix(used) / np.maximum(system.matrix(whole), 1)


def _at_end(values_pct: Floats) -> float | None:
    """Return the highest value of the last row that has any."""
    rows = np.flatnonzero(~np.isnan(values_pct).all(axis=1))
    return float(np.nanmax(values_pct[rows[-1]])) if rows.size and values_pct.size else None


def extent_of_trace(trace: RankTrace) -> Extent:
    """Return first and last instants of a kernel trace: of its events and its steps."""
    if trace.first_ns is None or trace.last_ns is None:
        return Extent()
    steps, origin_ns = trace.steps, trace.origin_ns
    has_steps = len(steps.start_ns) > 0
    return Extent(
        first_event_ns=origin_ns + trace.first_ns,
        last_event_ns=origin_ns + trace.last_ns,
        first_step_ns=origin_ns + int(steps.start_ns.min()) if has_steps else None,
        last_step_ns=origin_ns + int(steps.end_ns.max()) if has_steps else None,
    )


class PackedMeasurements(Mapping[RuleId, Any]):
    """The measurement of each rule, unpacked whenever it is looked up.

    A measurement that cannot be pickled stays as it is.
    """

    def __init__(self, measurements: Mapping[RuleId, Any]) -> None:
        """Pack the measurements one by one."""
        self._packed = {rule: _packed(item) for rule, item in measurements.items()}

    def __getitem__(self, rule: RuleId) -> Any:
        found = self._packed[rule]
        return pickle.loads(zlib.decompress(found)) if isinstance(found, bytes) else found[0]  # noqa: S301  # we packed it

    def __contains__(self, rule: object) -> bool:
        return rule in self._packed  # Mapping's own would unpack the measurement

    def __iter__(self) -> Iterator[RuleId]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)


def _packed(item: Any) -> bytes | tuple[Any]:
    try:
        return zlib.compress(pickle.dumps(item, protocol=pickle.HIGHEST_PROTOCOL), 1)
    except Exception:  # noqa: BLE001  # whatever a stranger's rule measured
        return (item,)


_NAMED = frozenset({"driver", "python"})
"""Keys of a node's card for the software that a job runs on."""


def setup_of_part(part: NodeProfile | RankTrace) -> Setup:
    """Return the setup of one node or rank."""
    if isinstance(part, RankTrace):
        return Setup(
            gpu_names=_distinct(device.name for device in part.devices),
            n_gpus=int(np.unique(part.gpu_ops.device).size) or None,
            n_ranks=part.world_size,
            versions=part.versions,
        )
    gpus = part.recorded.gpus if part.recorded is not None else ()
    return Setup(
        gpu_names=_distinct(gpu.name for gpu in gpus),
        n_gpus=len(part.system.names(SeriesKind.GPU_UTILIZATION)) or None,
        n_ranks=int(np.unique(part.spans.steps().worker).size) or None,
    )


def setup_of_job(parts: Sequence[Setup], recording: Recording | None, *, is_traced: bool) -> Setup:
    """Return the common setup of a job's parts.

    Each trace says how many ranks the job has; of nodes, those that made steps are added up.
    """
    ranks = [part.n_ranks for part in parts if part.n_ranks]
    n_gpus = sum(part.n_gpus or 0 for part in parts)
    versions = {name: text for part in parts for name, text in part.versions.items()}
    if recording is not None:
        for node in recording.nodes:
            versions |= {name: node.versions[name] for name in _NAMED & set(node.versions)}
        versions |= recording.frameworks
    return Setup(
        gpu_names=_distinct(name for part in parts for name in part.gpu_names),
        n_gpus=n_gpus or None,
        n_ranks=(max(ranks) if is_traced else sum(ranks)) if ranks else None,
        batch_size=recording.batch_size if recording is not None else None,
        versions=dict(sorted(versions.items())),
    )


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({name for name in names if name}))
