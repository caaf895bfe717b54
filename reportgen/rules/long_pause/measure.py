"""Measurement of LongPause: when workers paused, or devices where no steps were recorded.

Where steps are recorded, a worker pauses inside one step, or between two of them. Where only
samples are recorded, also beside windows of recorded steps, all GPUs of a node idle at once (all
cores where it has no GPU), or some do while the others are busy, as those are that wait in a
collective. In both cases a pause is many times as long as what is usual, and clearly longer than
the tail of the usual: input that comes in bursts and steps with a heavy tail are no pauses.
Repeated delays with a rhythm are not pauses either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from reportgen.arrays import Counts, Mask
from reportgen.facts.contrast import Contrast, contrast_of
from reportgen.facts.intervals import NOTHING, Union, clip, covered_each, join, minus, union_of
from reportgen.facts.loader import loads_as_usual
from reportgen.facts.samples import (
    NEARLY_ALL_RATIO,
    is_window,
    present_values,
    silence_of,
    tick_lengths_ns,
)
from reportgen.facts.slow_steps import (
    HANDFUL,
    LEAST_KNOWN_STEPS,
    OVER_TAIL,
    SlowSteps,
    slow_steps_of,
    tail_of,
)
from reportgen.facts.step_times import step_times_of
from reportgen.facts.steps import WARM_UP_STEPS, Loop, loop_of, phase_word
from reportgen.facts.usage import (
    BUSY_ABOVE_PCT,
    IDLE_BELOW_PCT,
    at_work,
    begun_rows,
    in_use,
    used_throughout,
    working_ns,
)
from reportgen.profile import NO_STEP, NodeProfile, SeriesKind, SystemTable
from reportgen.rules import kit
from reportgen.text import mode_word
from reportgen.units import NS_PER_S

WORKING_RATIO = 0.5
"""GPUs that are used half as much as otherwise do work in which no step was recorded, such as an
evaluation: this is no pause."""
LEAST_IDLE_NS = 5 * NS_PER_S
"""Idle stretches of some seconds occur whenever data come late, at every checkpoint and log."""
LEAST_RUNS = 10
"""With fewer idle stretches than this their tail is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Least cost of a pause, and least evidence of a rhythm; AWS has no such rule."""

    threshold_pct: float = kit.percentage(
        100 * kit.CHEAP_RATIO,
        "pauses that cost this share of the loop or more are a warning",
        source="checkpoints and evaluations of a healthy job usually stay below",
    )
    min_share_pct: float = kit.percentage(
        0.5,
        "pauses that cost this share of the loop or more are reported",
        source="what costs less is not worth a change of the script",
    )
    min_steps: int = kit.count(
        LEAST_KNOWN_STEPS,
        "a phase is judged once a worker has this many of its steps",
        unit="steps",
        source="with fewer steps their rhythm is unknown",
        minimum=4,
    )
    min_samples: int = kit.count(
        100,
        "a job without steps is judged once a node has this many samples of work",
        source="with fewer samples what is usual is unknown",
        minimum=2,
    )


def _name(pause: Pause) -> str:
    if pause.step is None:
        return "pause"
    place = "behind" if pause.is_between else "in"
    return f"pause {place} {mode_word(pause.phase)} step {pause.step}"


@kit.row
class Pause:
    """One pause of one worker, or of all GPUs, or cores, of one node.

    Attributes:
        worker: empty for devices; so is ``phase``.
        gpus: those that idled, where others were busy.
        step: number of the step that is slow, or behind which the pause lies.
        usual_ns: usual length of the same part; the rest is lost.
        loop_ns: of the worker, or the time from the first work of the GPUs to their last.
    """

    lane: str = kit.derived(lambda item: kit.lane_of(item.node, item.worker))
    name: str = kit.derived(_name)
    node: str = kit.col()
    worker: str = kit.col()
    phase: str = kit.col()
    step: int | None = kit.col()
    is_between: bool
    part: str = kit.derived(
        lambda item: (
            "between steps" if item.is_between else "step" if item.worker else "idle devices"
        )
    )
    start_ns: int = kit.col("s", name="start_s", per=NS_PER_S)
    end_ns: int = kit.col("s", name="end_s", per=NS_PER_S)
    length_ns: int = kit.derived(
        lambda item: item.end_ns - item.start_ns, "s", name="length_s", per=NS_PER_S
    )
    usual_ns: int = kit.col("s", name="usual_s", per=NS_PER_S)
    gpus: str = ""
    lost_pct: float = kit.derived(lambda item: 100 * item.lost_ratio, "%")
    loop_ns: int

    @property
    def lost_ratio(self) -> float:
        """Return the share of the loop that would be saved without it."""
        return max(self.length_ns - self.usual_ns, 0) / self.loop_ns if self.loop_ns else 0.0


@kit.row
class NodePauses:
    """One node, or all of them merged.

    Attributes:
        longest: how many steps the largest phase of a worker has.
        n_ticks, n_gpus, n_samples: samples, GPUs, and the samples of a node at work.
        busy: by node, when all of its GPUs look busy.
        gpu_nodes, core_nodes: nodes whose GPUs, or cores where they have none, were looked at, also
            beside recorded steps.
        n_unaligned: nodes that could be compared by their clocks alone, which are not aligned.
        pauses: of workers, and of devices where no steps were recorded.
        meanwhile: what was different then, for each worker, or node, that paused.
    """

    loop: Loop = kit.merged(kit.merge, default_factory=Loop)
    n_workers: int = kit.merged(sum, default=0)
    longest: int = kit.merged(max, default=0)
    n_ticks: int = kit.merged(sum, default=0)
    n_gpus: int = kit.merged(sum, default=0)
    n_samples: int = kit.merged(max, default=0)
    busy: tuple[tuple[str, Union], ...] = kit.merged(kit.concat, default=())
    gpu_nodes: tuple[str, ...] = kit.merged(kit.concat, default=())
    core_nodes: tuple[str, ...] = kit.merged(kit.concat, default=())
    n_unaligned: int = kit.merged(sum, default=0)
    pauses: tuple[Pause, ...] = kit.merged(kit.concat, default=())
    meanwhile: tuple[Contrast, ...] = kit.merged(kit.concat, default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Worker:
    """What was found of one worker, and when it was recorded.

    ``is_partial`` says whether steps are known to have run that were not recorded.
    """

    found: NodePauses
    recorded: Union
    is_partial: bool


def measure(part: NodeProfile, params: Params) -> NodePauses:
    """Measure the workers of a node, and its devices where steps were not recorded."""
    every = [slow_steps_of(times) for times in step_times_of(part.spans)]
    groups = groupby(every, key=lambda slow: slow.times.steps.worker)
    workers = [_of_worker(part, tuple(phases), params.min_steps) for _, phases in groups]
    bound_ns = 0 if part.recorded is None else part.recorded.clock_bound_ns
    devices = NodePauses() if bound_ns is None else _of_devices(part, workers, bound_ns)
    node = NodePauses(
        loop=loop_of(part.spans),
        n_ticks=part.system.n_ticks,
        n_gpus=len(part.system.names(SeriesKind.GPU_UTILIZATION)),
        n_unaligned=int(bound_ns is None),
    )
    return kit.merge([node, *(worker.found for worker in workers), devices])


# Workers with steps


def _of_worker(part: NodeProfile, phases: Sequence[SlowSteps], least_steps: int) -> _Worker:
    """Return the pauses of a worker; phases with fewer steps are not known enough."""
    main = max((slow.times.steps for slow in phases), key=lambda steps: steps.n_steps)
    edges = [(slow.times.steps.start_ns, slow.times.steps.next_ns) for slow in phases]
    cycles = union_of(*map(np.concatenate, zip(*edges, strict=True)))
    span = Union(start_ns=cycles.start_ns[:1], end_ns=cycles.end_ns[-1:])
    gone = silence_of(part.system, part.spans)
    lost = clip(minus(gone, main.skipped), int(span.start_ns[0]), int(span.end_ns[0]))
    loop_ns = main.loop_ns - lost.length_ns
    known = (slow for slow in phases if slow.times.steps.n_steps >= least_steps)
    pauses = kit.concat(_of_phase(part.node, slow, loop_ns) for slow in known)
    pauses = tuple(sorted(pauses, key=lambda pause: pause.start_ns))
    windows = _windows(pauses)
    ordinary = minus(cycles, windows)
    spans = part.spans.where(part.spans.worker == part.spans.workers.index(main.worker))
    length_ns = windows.end_ns - windows.start_ns
    is_none = 2 * covered_each(gone, windows.start_ns, windows.end_ns) > length_ns
    is_none |= loads_as_usual(spans, windows.start_ns, windows.end_ns)
    is_between = np.array([pause.is_between for pause in pauses], dtype=bool)
    is_none |= is_between & _at_work(part.system, windows, ordinary)
    pauses = tuple(pause for pause, is_out in zip(pauses, is_none, strict=True) if not is_out)
    if len(pauses) == 1:
        pauses = (replace(pauses[0], loop_ns=max(loop_ns, _work_length_ns(part, span))),)
    return _Worker(
        found=NodePauses(
            n_workers=1,
            longest=main.n_steps,
            pauses=pauses,
            meanwhile=_meanwhile(part, pauses, ordinary, worker=main.worker),
        ),
        recorded=minus(span, main.skipped),
        is_partial=main.skipped.length_ns > 0 or int(main.number[0]) > WARM_UP_STEPS,
    )


def _work_length_ns(part: NodeProfile, span: Union) -> int:
    """Return how long GPUs work where less of it was recorded: a single pause is one of all that.

    Several in the part that was recorded come again in the rest.
    Edge cases: 0 where the recorded steps are the loop.
    """
    works_ns, recorded_ns = working_ns(part.system), (int(span.start_ns[0]), int(span.end_ns[0]))
    if works_ns is None or not is_window(recorded_ns, works_ns, below_ratio=NEARLY_ALL_RATIO):
        return 0
    return works_ns[1] - works_ns[0]


def _of_phase(node: str, slow: SlowSteps, loop_ns: int) -> Iterator[Pause]:
    """Yield the steps of a phase that are pauses, and the times behind them that are."""
    steps = slow.times.steps
    edges_ns = (steps.start_ns, steps.end_ns, steps.next_ns)
    for is_between, is_pause in enumerate((slow.step.is_pause, slow.between.is_pause)):
        start_ns, end_ns = edges_ns[is_between : is_between + 2]
        for row in np.flatnonzero(is_pause).tolist():
            yield Pause(
                node=node,
                worker=steps.worker,
                phase=phase_word(steps.phase),
                step=None if steps.step[row] == NO_STEP else int(steps.step[row]),
                is_between=bool(is_between),
                start_ns=int(start_ns[row]),
                end_ns=int(end_ns[row]),
                usual_ns=int(np.median(end_ns - start_ns)),
                loop_ns=loop_ns,
            )


def _windows(pauses: Sequence[Pause]) -> Union:
    edges_ns = [(pause.start_ns, pause.end_ns) for pause in pauses]
    start_ns, end_ns = np.array(edges_ns, dtype=np.int64).reshape(-1, 2).T
    return Union(start_ns=start_ns, end_ns=end_ns)


def _meanwhile(
    part: NodeProfile, pauses: Sequence[Pause], ordinary: Union, *, worker: str = ""
) -> tuple[Contrast, ...]:
    """Return what was different in pauses, if any; a sample at the end of one is one of work."""
    if not pauses:
        return ()
    windows = _windows(pauses)
    windows = Union(start_ns=windows.start_ns, end_ns=windows.end_ns - 1)
    usual_ns = float(sum(pause.usual_ns for pause in pauses))
    return (contrast_of(part, windows, ordinary, worker=worker, usual_ns=usual_ns),)


def _at_work(system: SystemTable, windows: Union, ordinary: Union) -> Mask:
    """Return in which windows every used GPU of the node worked on.

    Inside a step a GPU that waits for another one in a collective looks busy.
    """
    if not (ordinary.start_ns.size and system.names(SeriesKind.GPU_UTILIZATION)):
        return np.zeros(windows.start_ns.size, dtype=bool)
    starts_ns = [ordinary.start_ns[0], *windows.start_ns]
    ends_ns = [ordinary.end_ns[-1], *windows.end_ns]
    edges = np.searchsorted(system.tick_ns, [starts_ns, ends_ns]).T.tolist()
    inside_pct = [
        [
            values.mean() if (values := present_values(use[first:stop])).size else np.nan
            for first, stop in edges
        ]
        for use in in_use(system)
    ]
    usual_pct, *others_pct = np.array(inside_pct).reshape(-1, len(edges)).T
    is_used = bool(usual_pct.size)
    works = [is_used and bool((pct >= WORKING_RATIO * usual_pct).all()) for pct in others_pct]
    return np.array(works, dtype=bool)


# GPUs, or cores, where no steps were recorded


def _of_devices(part: NodeProfile, workers: Sequence[_Worker], bound_ns: int) -> NodePauses:
    """Return when the GPUs of a node paused, or the cores of one without a GPU.

    Where all steps were recorded, they tell of each pause themselves; else pauses lie outside of
    the recorded ones. None is shorter than the clocks of the nodes may differ.

    Edge cases: an empty one where no device is ever used.
    """
    system = part.system
    is_busy, is_known = at_work(system)
    busy, begun = np.flatnonzero(is_busy), begun_rows(system, is_busy)
    busy = busy[busy >= begun[0]] if begun.size else busy
    if not busy.size:
        return NodePauses()
    length_ns, _ = tick_lengths_ns(system)
    start_ns, end_ns = system.tick_ns, system.tick_ns + length_ns
    n_there, n_idle, n_full = _counts_at_work(system)
    # In a collective GPUs look busy that wait for one that idles.
    are_held_up = (n_idle > 0) & (n_full > 0) & (n_idle + n_full == n_there)
    is_idle: Mask = np.asarray((~is_busy & is_known) | are_held_up)
    is_idle[: busy[0]] = is_idle[busy[-1] + 1 :] = False
    idle = union_of(start_ns[is_idle], end_ns[is_idle])
    is_full = (n_full > 0) & (n_full == n_there)
    work = Union(start_ns=start_ns[busy[:1]], end_ns=end_ns[busy[-1:]])
    recorded = join([NOTHING, *(worker.recorded for worker in workers)])
    is_outside = not workers or any(worker.is_partial for worker in workers)
    pauses = tuple(
        pause
        for pause in _idle_pauses(part, idle, work.length_ns)
        if is_outside
        and pause.length_ns > bound_ns
        and 2 * clip(recorded, pause.start_ns, pause.end_ns).length_ns < pause.length_ns
    )
    has_gpus = bool(system.names(SeriesKind.GPU_UTILIZATION))
    return NodePauses(
        n_samples=int(busy[-1] - busy[0]) + 1,
        busy=((part.node, union_of(start_ns[is_full], end_ns[is_full])),),
        gpu_nodes=(part.node,) if has_gpus else (),
        core_nodes=() if has_gpus else (part.node,),
        pauses=pauses,
        meanwhile=_meanwhile(part, pauses, work),
    )


def _counts_at_work(system: SystemTable) -> tuple[Counts, Counts, Counts]:
    """Return (n_ticks,) how many used GPUs are between first and last work, idle, and busy then."""
    n_gpus, n_idle, n_busy = np.zeros((3, system.n_ticks), dtype=np.int64)
    for use in in_use(system):
        is_idle = use < IDLE_BELOW_PCT
        works = np.flatnonzero(~is_idle & np.isfinite(use))
        there = slice(works[0], works[-1] + 1) if works.size else slice(0)
        n_gpus[there] += 1
        n_idle[there] += is_idle[there]
        n_busy[there] += use[there] > BUSY_ABOVE_PCT
    return n_gpus, n_idle, n_busy


def _idle_pauses(part: NodeProfile, idle: Union, loop_ns: int) -> Iterator[Pause]:
    """Yield the longest if they are few; GPUs that idle more often swing between work and rest."""
    length_ns = idle.end_ns - idle.start_ns
    usual_ns = tail_ns = 0.0
    if length_ns.size >= LEAST_RUNS:
        usual_ns, tail_ns = float(np.median(length_ns)), tail_of(length_ns)
    rows = np.flatnonzero(length_ns > max(LEAST_IDLE_NS, OVER_TAIL * tail_ns)).tolist()
    for row in rows if len(rows) <= HANDFUL else ():
        edges_ns = int(idle.start_ns[row]), int(idle.end_ns[row])
        yield Pause(
            node=part.node,
            worker="",
            phase="",
            step=None,
            is_between=False,
            start_ns=edges_ns[0],
            end_ns=edges_ns[1],
            usual_ns=int(usual_ns),
            gpus=_idle_gpus(part.system, *edges_ns),
            loop_ns=loop_ns,
        )


def _idle_gpus(system: SystemTable, start_ns: int, end_ns: int) -> str:
    """Return the used GPUs that idled in a pause of GPUs; empty where all of them did."""
    kind = SeriesKind.GPU_UTILIZATION
    columns, names = system.columns_of(kind), system.names(kind)
    inside = slice(*np.searchsorted(system.tick_ns, [start_ns, end_ns]).tolist())
    used = np.flatnonzero(used_throughout(columns)).tolist()
    idle = [at for at in used if np.nanmean(columns[at][inside]) < IDLE_BELOW_PCT]
    return "" if len(idle) == len(used) else ", ".join(names[at] for at in idle)
