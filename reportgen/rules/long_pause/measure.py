"""Measurement of LongPause: pauses of workers or GPUs, and the functions in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from reportgen.arrays import Mask
from reportgen.facts import inside
from reportgen.facts.intervals import Union
from reportgen.facts.pauses import (
    IdlePauses,
    Pauses,
    WorkerPauses,
    pauses_of_gpus,
    pauses_of_workers,
)
from reportgen.facts.samples import present_values, unrecorded_ns
from reportgen.facts.steps import Loop, loop_of, phase_word
from reportgen.facts.usage import in_use
from reportgen.profile import NO_STEP, NodeProfile, SeriesKind, SystemTable
from reportgen.rules.kit import col, concat, count, derived, merge, merged, percentage, row
from reportgen.units import NS_PER_S

OF_CORES = "idle cores"
WORKING_RATIO = 0.5
"""GPUs that are used half as much as otherwise do work in which no step was recorded, such as an
evaluation: this is no pause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Least cost of a pause, and least evidence of a rhythm; AWS has no such rule."""

    threshold_pct: float = percentage(
        3,
        "pauses that cost this share of the loop or more are a warning",
        source="checkpoints and evaluations of a healthy job usually stay below",
    )
    min_share_pct: float = percentage(
        0.5,
        "pauses that cost this share of the loop or more are reported",
        source="what costs less is not worth a change of the script",
    )
    min_steps: int = count(
        20,
        "a phase is judged once a worker has this many of its steps",
        unit="steps",
        source="with fewer steps their rhythm is unknown",
        minimum=4,
    )
    min_samples: int = count(
        100,
        "a job without steps is judged once a node with GPUs has this many samples",
        source="with fewer samples what is usual is unknown",
        minimum=2,
    )


@row
class Pause:
    """One pause of one worker, or of all GPUs of one node.

    Attributes:
        worker: empty for GPUs, and for the cores of a node without one; so is ``phase``.
        step: number of the step that is slow, or behind which the pause lies.
        loop_ns: of the worker, or the time from the first work of the GPUs to their last.
    """

    node: str = col()
    worker: str = col()
    phase: str = col()
    step: int | None = col()
    is_between: bool
    part: str = derived(
        lambda item: "between steps" if item.is_between else "step" if item.worker else item.what
    )
    what: str = "idle GPUs"
    start_ns: int = col("s", name="start_s", per=NS_PER_S)
    end_ns: int = col("s", name="end_s", per=NS_PER_S)
    length_ns: int = derived(
        lambda item: item.end_ns - item.start_ns, "s", name="length_s", per=NS_PER_S
    )
    usual_ns: int = col("s", name="usual_s", per=NS_PER_S)
    lost_pct: float = derived(lambda item: 100 * item.lost_ratio, "%")
    loop_ns: int

    @property
    def lost_ratio(self) -> float:
        """Return the share of the loop that would be saved without it."""
        return max(self.length_ns - self.usual_ns, 0) / self.loop_ns if self.loop_ns else 0.0


@row
class Meanwhile:
    """Functions in the pauses of one worker, or of one node's GPUs, and in the other time.

    ``contents`` are ``None`` where no framework events were recorded.
    """

    node: str
    worker: str
    contents: inside.WindowContents | None
    loads: Mapping[inside.NodeGauge, inside.Load]
    rates: Mapping[inside.NodeRate, inside.Rate]


@row
class NodePauses:
    """One node, or all of them merged.

    Attributes:
        longest: how many steps the largest phase of a worker has.
        n_ticks, n_gpus, n_samples: samples, GPUs, and the samples of a node with used GPUs.
        n_idle_nodes, n_core_nodes: nodes without steps whose GPUs, or cores, were looked at.
        n_unaligned: nodes that could be compared by their clocks alone, which are not aligned.
        pauses: of workers where there are steps, else of GPUs.
        meanwhile: of each worker, or node, that paused.
    """

    loop: Loop = merged(merge, default_factory=Loop)
    n_workers: int = merged(sum, default=0)
    longest: int = merged(max, default=0)
    n_ticks: int = merged(sum, default=0)
    n_gpus: int = merged(sum, default=0)
    n_samples: int = merged(max, default=0)
    n_idle_nodes: int = merged(sum, default=0)
    n_core_nodes: int = merged(sum, default=0)
    n_unaligned: int = merged(sum, default=0)
    pauses: tuple[Pause, ...] = merged(concat, default=())
    meanwhile: tuple[Meanwhile, ...] = merged(concat, default=())


def measure(part: NodeProfile, params: Params) -> NodePauses:
    """Measure the workers of a node, or its GPUs where no steps were recorded."""
    system, loop = part.system, loop_of(part.spans)
    workers = pauses_of_workers(
        part.spans, least_steps=params.min_steps, unrecorded=unrecorded_ns(system, part.spans)
    )
    n_gpus = len(system.names(SeriesKind.GPU_UTILIZATION))
    bound_ns = 0 if part.recorded is None else part.recorded.clock_bound_ns
    idle = None if workers or bound_ns is None else pauses_of_gpus(system)
    found = [_of_worker(part, worker) for worker in workers]
    if idle is not None:
        its = idle.pauses.where(idle.pauses.end_ns - idle.pauses.start_ns > (bound_ns or 0))
        found.append(_of_gpus(part, replace(idle, pauses=its)))
    return NodePauses(
        loop=loop,
        n_workers=len(workers),
        longest=max((worker.n_steps for worker in workers), default=0),
        n_ticks=system.n_ticks,
        n_gpus=n_gpus,
        n_samples=idle.n_ticks if idle else 0,
        n_idle_nodes=int(idle is not None and n_gpus > 0),
        n_core_nodes=int(idle is not None and n_gpus == 0),
        n_unaligned=int(bound_ns is None),
        pauses=tuple(pause for pauses, _ in found for pause in pauses),
        meanwhile=tuple(meanwhile for pauses, meanwhile in found if pauses),
    )


def _of_worker(part: NodeProfile, its: WorkerPauses) -> tuple[tuple[Pause, ...], Meanwhile]:
    pauses = its.pauses.where(~_at_work(part.system, its.pauses, its.ordinary))
    own = part.spans.where(part.spans.worker == part.spans.workers.index(its.worker))
    contents = inside.window_contents(own, _windows(pauses), its.ordinary)
    words = [phase_word(phase) for phase in its.phases]
    rows = tuple(_rows(part.node, pauses, its.loop_ns, worker=its.worker, phases=words))
    return rows, _meanwhile(part, pauses, its.ordinary, worker=its.worker, contents=contents)


def _of_gpus(part: NodeProfile, its: IdlePauses) -> tuple[tuple[Pause, ...], Meanwhile]:
    first_ns, last_ns = its.work_ns
    work = Union(start_ns=np.array([first_ns]), end_ns=np.array([last_ns]))
    what = "idle GPUs" if part.system.names(SeriesKind.GPU_UTILIZATION) else OF_CORES
    found = _rows(part.node, its.pauses, last_ns - first_ns)
    rows = tuple(replace(row, what=what) for row in found)
    return rows, _meanwhile(part, its.pauses, work)


def _rows(
    node: str, pauses: Pauses, loop_ns: int, *, worker: str = "", phases: list[str] | None = None
) -> Iterator[Pause]:
    columns = (pauses.start_ns, pauses.end_ns, pauses.usual_ns, pauses.step, pauses.phase)
    listed = (column.tolist() for column in (*columns, pauses.is_between))
    for start_ns, end_ns, usual_ns, step, phase, is_between in zip(*listed, strict=True):
        yield Pause(
            node=node,
            worker=worker,
            phase=phases[phase] if phases else "",
            step=None if step == NO_STEP else step,
            is_between=is_between,
            start_ns=start_ns,
            end_ns=end_ns,
            usual_ns=usual_ns,
            loop_ns=loop_ns,
        )


def _meanwhile(
    part: NodeProfile,
    pauses: Pauses,
    ordinary: Union,
    *,
    worker: str = "",
    contents: inside.WindowContents | None = None,
) -> Meanwhile:
    windows = _windows(pauses)
    ends = (ordinary.start_ns, ordinary.end_ns)
    loop_ns = (int(ends[0][0]), int(ends[1][-1])) if ends[0].size else (0, -1)
    return Meanwhile(
        node=part.node,
        worker=worker,
        contents=contents,
        loads=inside.loads_inside(part.system, windows, loop_ns),
        rates=inside.rates_inside(part.system, windows, loop_ns),
    )


def _windows(pauses: Pauses) -> Union:
    """Return when it paused; a sample at the end of a pause is one of work."""
    return Union(start_ns=pauses.start_ns, end_ns=pauses.end_ns - 1)


def _at_work(system: SystemTable, pauses: Pauses, ordinary: Union) -> Mask:
    """Return in which pauses between steps every used GPU of the node worked on.

    Inside a step a GPU that waits for another one in a collective looks busy.
    """
    is_at_work = np.zeros(pauses.n_pauses, dtype=bool)
    if not ordinary.start_ns.size or not system.names(SeriesKind.GPU_UTILIZATION):
        return is_at_work
    between = np.flatnonzero(pauses.is_between)
    starts_ns = [ordinary.start_ns[0], *pauses.start_ns[between]]
    ends_ns = [ordinary.end_ns[-1], *pauses.end_ns[between]]
    edges = np.searchsorted(system.tick_ns, [starts_ns, ends_ns]).T.tolist()
    inside_pct = []
    for use in in_use(system):
        known = [present_values(use[first:stop]) for first, stop in edges]
        inside_pct.append([values.mean() if values.size else np.nan for values in known])
    if inside_pct:
        usual_pct, *others_pct = np.array(inside_pct).T
        is_at_work[between] = [(its >= WORKING_RATIO * usual_pct).all() for its in others_pct]
    return is_at_work
