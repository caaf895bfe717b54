"""Measurement of OverallFrameworkMetrics: sums of events, operators, functions, stages of a batch.

A stage that nothing recorded speaks of is unknown, never 0. Forward passes and operators are often
recorded for some steps only; then their share is of those steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from reportgen.arrays import Mask
from reportgen.facts import between_steps, intervals, usage
from reportgen.facts import breakdown as sums
from reportgen.facts.breakdown import SpanClass, classes_of
from reportgen.facts.loader import INITIALIZE, are_waits_known, loader_rows
from reportgen.facts.paces import Pace, paces_of
from reportgen.facts.samples import NEARLY_ALL_RATIO, is_window, training_loop_ns
from reportgen.facts.step_times import StepTimes, step_times_of
from reportgen.facts.steps import (
    FORWARD,
    OPTIMIZER,
    Loop,
    loop_of,
    phase_word,
    unrecorded_of,
)
from reportgen.merging import joint_codes, merge_members, rows_by_code, sums_by_code
from reportgen.profile import Clock, NodeProfile, SeriesKind, SpanTable
from reportgen.profile.memo import fact
from reportgen.profile.spans import LOADER_PROCESS
from reportgen.profile.system import device_order
from reportgen.rules.base import NoParams
from reportgen.rules.kit import concat, merge, merged, row, sum_by_key
from reportgen.rules.overall_framework_metrics import tables
from reportgen.rules.overall_framework_metrics.recorded import Recorded, recorded_of
from reportgen.rules.overall_framework_metrics.tables import Detail, Stage, StageTime

WHOLE_FROM_RATIO = 0.9
"""Details of this share of the steps are taken as recorded in all of them: a few are missing at
the ends of every recording."""
PART_RATIO = 0.2
"""A recording of less than a fifth of the loop may hold a validation by chance. Larger: fewer
validations are judged that were recorded once."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_STAGE_WORDS: Mapping[Stage, str] = {
    Stage.READ: "read reader tfrecord record textline file download interleave",
    Stage.PREPROCESS: (
        "map batch shuffle decode resize crop transform augment collate preprocess tokenize"
    ),
    Stage.OUTPUT: "save checkpoint callback callbacks log logging summary write",
    Stage.TRANSFER: "memcpy htod dtoh copy to pin",
}
"""Words of names that show a stage, in lower case; of the loader, of the loop and of operators."""
_DETAILS = {Detail.OPERATORS: (SpanClass.CPU, SpanClass.GPU), Detail.MODULES: (SpanClass.MODULE,)}

each_stage_once = merge_members(lambda item: item.stage)
"""Return one row per stage that is there."""


@row
class FrameworkSums:
    """One node or all: the loop, sums, operators, the pace of workers, stages.

    Attributes:
        n_lasting: events that are more than an instant.
        interval_ns: between the samples of the system metrics, of the first node that has any.
        between, phases: what lies between the steps of each worker, and of each phase.
        unused: by worker, how much of its time its GPU leaves unused, 0-1.
        lost_ns: between the steps of each worker, summed, of which nothing was recorded.
        is_window, is_part: whether only a small part of a longer loop was recorded, or not nearly
            all of it.
        n_validations: how often one worker validated between training steps, at most.
        turns_ns: by ``phase_word``, the steps of all workers with what usually lies behind them.
    """

    loop: Loop = merged(merge, default=Loop())
    n_lasting: int = merged(sum, default=0)
    breakdown: sums.Breakdown = merged(merge, default=sums.Breakdown())
    cpu_operators: tuple[tables.OperatorTimes, ...] = merged(concat, default=())
    gpu_operators: tuple[tables.OperatorTimes, ...] = merged(concat, default=())
    paces: tuple[Pace, ...] = merged(concat, default=())
    functions: tuple[tables.FunctionTime, ...] = merged(concat, default=())
    stages: tuple[StageTime, ...] = merged(each_stage_once, default=())
    loop_parts: tuple[tables.LoopParts, ...] = merged(concat, default=())
    overheads: tuple[tables.Overhead, ...] = merged(concat, default=())
    interval_ns: int | None = merged(lambda values: next(filter(None, values), None), default=None)
    lost_ns: int = merged(sum, default=0)
    between: tuple[tables.Between, ...] = merged(concat, default=())
    phases: tuple[between_steps.PhaseBetween, ...] = merged(concat, default=())
    unused: Mapping[str, float] = merged(sum_by_key, default_factory=dict)
    recorded: tuple[Recorded, ...] = merged(concat, default=())
    is_window: bool = merged(any, default=False)
    is_part: bool = merged(any, default=False)
    n_validations: int = merged(max, default=0)
    turns_ns: Mapping[str, int] = merged(sum_by_key, default_factory=dict)


def measure(part: NodeProfile, _params: NoParams) -> FrameworkSums:
    """Add up the events of one node."""
    spans = part.spans
    loop_ns, works_ns = training_loop_ns(spans), usage.working_ns(part.system)
    return FrameworkSums(
        loop=loop_of(spans),
        n_lasting=int(_lasts(spans).sum()),
        breakdown=sums.breakdown_of(spans),
        cpu_operators=tuple(operators_of(spans, SpanClass.CPU)),
        gpu_operators=tuple(operators_of(spans, SpanClass.GPU)),
        paces=paces_of(spans, alone=part.recorded.alone if part.recorded else ()),
        functions=tuple(functions_of(part)),
        stages=stages_of(spans),
        loop_parts=tuple(loop_parts_of(spans)),
        overheads=tuple(overheads_of(spans)),
        interval_ns=part.system.interval_ns,
        lost_ns=_lost_ns(part),
        between=tuple(_between(part)),
        unused=_unused_by_worker(part),
        phases=between_steps.phases_between_of(part),
        recorded=tuple(_recorded(part)),
        n_validations=_n_validations(spans),
        is_window=is_window(loop_ns, works_ns, below_ratio=PART_RATIO),
        is_part=is_window(loop_ns, works_ns, below_ratio=NEARLY_ALL_RATIO),
        turns_ns=sum_by_key(
            {phase_word(times.steps.phase): _turns_ns(times)} for times in step_times_of(spans)
        ),
    )


def _unused_by_worker(part: NodeProfile) -> dict[str, float]:
    """Return what the GPU of each worker leaves unused: the first has the first one, and so on.

    Where there are not as many of both, the GPU that works least counts for all.
    """
    steps, ratios = part.spans.steps(), usage.each_unused_ratio(part.system)
    codes = np.unique(steps.worker).tolist()
    workers = sorted((steps.workers[code] for code in codes), key=device_order)
    if len(ratios) != len(workers):
        ratios = [max(ratios, default=0.0)] * len(workers)
    return dict(zip(workers, ratios, strict=True))


def _turns_ns(times: StepTimes) -> int:
    """Return how long the steps of a phase take from batch to batch, waits included.

    Of what else lies behind them, longer pauses are no part.
    """
    steps, rest_ns = times.steps, times.rest_ns
    waits_ns = steps.next_ns - steps.end_ns - rest_ns
    return int((steps.duration_ns + waits_ns + np.minimum(rest_ns, np.median(rest_ns))).sum())


def _n_validations(spans: SpanTable) -> int:
    """Return how often a worker goes over from training steps to those of validation, at most."""
    steps, counts = spans.steps(), [0]
    is_validation = steps.in_phases(name for name in steps.phases if phase_word(name) == "EVAL")
    for _, rows in rows_by_code(steps.worker):
        turns = is_validation[rows[np.argsort(steps.start_ns[rows], kind="stable")]]
        counts.append(int((turns[1:] & ~turns[:-1]).sum()))
    return max(counts)


def _lasts(spans: SpanTable) -> Mask:
    """Return (n,) whether an event is more than an instant."""
    return spans.end_ns > spans.start_ns


def _between(part: NodeProfile) -> Iterator[tables.Between]:
    has_gpu = bool(part.system.names(SeriesKind.GPU_UTILIZATION))
    # Nothing of a step runs behind it: Keras and ``reportgen record`` have the optimizer in it.
    is_whole = loader_rows(part.spans).is_tensorflow or (part.recorded is not None and not has_gpu)
    idle = None if is_whole else between_steps.idle_between_of(part)
    pinned = part.spans.pin_memory[part.spans.pin_memory >= 0]
    is_unpinned, is_unknown = (pinned == 0).any(), has_gpu and not (pinned.size or is_whole)
    drives_several = between_steps.drives_several_gpus(part)
    for item in between_steps.between_steps_of(part):
        unused_ratio, most_unused = (
            unused(part.system, outside=item.stops, is_one_process=drives_several)
            for unused in (usage.idlest_unused_ratio, usage.most_unused_ratio)
        )
        if not has_gpu:
            unused_ratio = float(is_whole or part.system.n_ticks > 0)
        copied_ns = item.copied_ns if is_unpinned else 0.0
        ratio = 1.0 if is_whole else idle.ratio if idle else None
        most_ratio = idle.at_most_ratio if idle else 1.0
        if is_whole and has_gpu:  # the host may be steps ahead of the GPUs, which then never wait
            every_ns = max(item.regular_ns + item.grown_ns, 1.0)
            ratio = most_ratio = min((unused_ratio or 0.0) * item.loop_ns / every_ns, 1.0)
        inside_each_ns, n_training = (0.0, 0) if has_gpu else _inside_ns(part, item.worker)
        yield tables.Between(
            worker=item.worker,
            n_steps=item.n_steps,
            loop_ns=item.loop_ns,
            regular_ns=item.regular_ns - copied_ns,
            copied_ns=copied_ns,
            maybe_copied_ns=item.copied_ns if is_unknown else 0.0,
            grown_ns=item.grown_ns,
            idle_ratio=ratio,
            idle_at_most_ratio=most_ratio,
            is_fitted=idle is not None,
            late_ratio=idle.late_ratio if idle else 1.0,
            is_waiting_known=item.is_waiting_known,
            unused_ratio=float(unused_ratio or 0.0),
            most_unused_ratio=1.0 if most_unused is None else most_unused,
            has_gpu=has_gpu,
            inside_each_ns=inside_each_ns,
            inside_ns=inside_each_ns * n_training,
        )


def _inside_ns(part: NodeProfile, worker: str) -> tuple[float, int]:
    """Return what a training step usually holds beside its recorded parts, and how many there are.

    The recorder names the passes, the optimizer, waits and what follows the forward pass; 0 where
    it saw no passes: neither these nor an optimizer that runs them.
    """
    if part.recorded is None:
        return 0.0, 0
    of_worker = part.spans.where(part.spans.worker == part.spans.workers.index(worker))
    steps = of_worker.training_steps()
    edges = steps.start_ns, steps.end_ns
    is_pass = of_worker.in_phases((FORWARD,))
    if part.recorded.may_use_closures and not is_pass.any():
        is_pass = of_worker.in_phases((OPTIMIZER,))
    is_part = ~of_worker.in_phases(
        (LOADER_PROCESS, *(steps.phases[at] for at in np.unique(steps.phase)))
    )
    has_pass = intervals.overlaps_any(
        *edges, of_worker.start_ns[is_pass], of_worker.end_ns[is_pass]
    )
    if has_pass.sum() < WHOLE_FROM_RATIO * has_pass.size:
        return 0.0, 0
    named = intervals.union_of(of_worker.start_ns[is_part], of_worker.end_ns[is_part])
    left_ns = steps.duration_ns - intervals.covered_each(named, *edges)
    return float(np.median(left_ns)), left_ns.size


def _recorded(part: NodeProfile) -> Iterator[Recorded]:
    apart = (Stage.TRANSFER,)  # these are operators
    stages = {str(stage): mask for stage, mask in _masks(part.spans).items() if stage not in apart}
    return recorded_of(part.node, part.spans, stages)


def _lost_ns(part: NodeProfile) -> int:
    gone = unrecorded_of(part.system, part.spans)
    steps = part.spans.steps()
    return sum(
        intervals.clip(
            gone, int(steps.start_ns[rows].min()), int(steps.end_ns[rows].max())
        ).length_ns
        for _, rows in rows_by_code(steps.worker)
    )


def operators_of(spans: SpanTable, kind: SpanClass) -> Iterator[tables.OperatorTimes]:
    """Yield the operators of one node on its CPU or GPUs, by device, then by name.

    Nesting is looked for within one worker, device and thread; of equal intervals the same name
    is always the outer one.
    """
    of_class = spans.where(classes_of(spans) == kind)
    of_class = of_class.where(np.lexsort((of_class.name, -of_class.end_ns, of_class.start_ns)))
    thread = joint_codes(of_class.worker, of_class.phase, of_class.tid)
    self_ns = intervals.self_times_ns(of_class.start_ns, of_class.end_ns, thread)
    duration_ns = of_class.duration_ns
    for phase, rows in rows_by_code(of_class.phase):
        for name, places in rows_by_code(of_class.name[rows]):
            yield tables.OperatorTimes(
                device=of_class.phases[phase],
                name=of_class.names[name],
                count=int(places.size),
                total_ns=int(duration_ns[rows[places]].sum()),
                self_ns=int(self_ns[rows[places]].sum()),
            )


def overheads_of(spans: SpanTable) -> Iterator[tables.Overhead]:
    """Yield the steps of each worker and phase of a node in which details were recorded."""
    steps, classes = spans.steps(), classes_of(spans)
    for detail, kinds in _DETAILS.items():
        events = spans.where(np.isin(classes, kinds))
        for worker, rows in rows_by_code(steps.worker):
            of_worker, inside = steps.where(rows), events.where(events.worker == worker)
            has_detail = intervals.overlaps_any(
                of_worker.start_ns, of_worker.end_ns, inside.start_ns, inside.end_ns
            )
            for phase, members in rows_by_code(of_worker.phase):
                duration_ns, is_with = of_worker.duration_ns[members], has_detail[members]
                if is_with.any():
                    others_ns = duration_ns[~is_with]
                    yield tables.Overhead(
                        worker=of_worker.workers[worker],
                        phase=phase_word(of_worker.phases[phase]),
                        detail=detail,
                        n_with=int(is_with.sum()),
                        n_without=others_ns.size,
                        with_ns=float(np.median(duration_ns[is_with])),
                        without_ns=float(np.median(others_ns)) if others_ns.size else None,
                    )


def functions_of(part: NodeProfile) -> Iterator[tables.FunctionTime]:
    """Yield when the functions of a node ran: those with the most time, and the rest as one.

    A function's time within one worker is the union of its events, so that recursion and threads
    count once; the workers are added up.
    """
    functions = part.spans.where(sums.is_function(part.spans) & _lasts(part.spans))
    if functions.n_spans == 0:
        return
    codes, labels = sums.labels_of(functions)
    order = np.lexsort((np.array(labels), -sums_by_code(codes, functions.duration_ns, len(labels))))
    rank = np.minimum(np.argsort(order), tables.MOST_FUNCTIONS).astype(np.int16)
    names = [*(labels[code] for code in order[: tables.MOST_FUNCTIONS]), tables.OTHER_FUNCTIONS]
    reach_ns = int(functions.end_ns.max()) - int(functions.start_ns[0])
    width_ns = 1 << (reach_ns // (tables.MOST_BUCKETS - 1)).bit_length()
    for place, rows in rows_by_code(rank[codes]):
        some = functions.where(rows)
        yield tables.FunctionTime(
            node=part.node,
            is_relative=part.job.clock is Clock.RELATIVE,
            label=names[place],
            width_ns=width_ns,
            bucket_ns=sum_by_key(
                bucket_times(intervals.union_of(some.start_ns[one], some.end_ns[one]), width_ns)
                for _, one in rows_by_code(some.worker)
            ),
        )


def bucket_times(union: intervals.Union, width_ns: int) -> dict[int, int]:
    """Return how many ns of a union lie in each bucket of a width, if any do.

    Bucket ``b`` is [b * width, (b + 1) * width); the union is not empty.
    """
    first, last = int(union.start_ns[0]) // width_ns, int(union.end_ns[-1]) // width_ns
    start_ns = np.arange(first, last + 1, dtype=np.int64) * width_ns
    time_ns = intervals.covered_each(union, start_ns, start_ns + width_ns).tolist()
    return {first + place: one_ns for place, one_ns in enumerate(time_ns) if one_ns}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """Observation of one worker: windows of time, and how many of its steps they hold."""

    windows: intervals.Union
    n_steps: int
    n_all_steps: int

    def stage(
        self, stage: Stage, time_ns: int, name_ns: Mapping[str, int] | None = None
    ) -> StageTime:
        return StageTime(
            stage=stage,
            time_ns=time_ns,
            observed_ns=self.windows.length_ns,
            n_steps=self.n_steps,
            n_all_steps=self.n_all_steps,
            name_ns=name_ns or {},
        )


def stages_of(spans: SpanTable) -> tuple[StageTime, ...]:
    """Return the stages that were recorded on one node; nothing without steps."""
    steps, masks = spans.steps(), _masks(spans)
    found: tuple[StageTime, ...] = each_stage_once(
        [
            _stages_of_worker(
                spans.where(is_own := spans.worker == worker),
                steps.where(rows),
                {stage: mask[is_own] for stage, mask in masks.items()},
            )
            for worker, rows in rows_by_code(steps.worker)
        ]
    )
    return found


def loop_parts_of(spans: SpanTable) -> Iterator[tables.LoopParts]:
    """Yield the parts of the loop of each worker."""
    steps, masks = spans.steps(), _masks(spans)
    order = (masks[Stage.FORWARD], masks[Stage.BACKWARD], masks[Stage.WAIT])
    for worker, rows in rows_by_code(steps.worker):
        of_worker, is_own = steps.where(rows), spans.worker == worker
        parts = [spans.where(mask & is_own) for mask in order]
        in_steps = intervals.union_of(of_worker.start_ns, of_worker.end_ns)
        begin_ns, last_ns = in_steps.start_ns, in_steps.end_ns[-1:]
        until_ns = np.append(begin_ns[1:], last_ns)
        is_seen = np.zeros(begin_ns.size, dtype=np.bool_)
        for events in parts[:2]:
            is_seen |= intervals.overlaps_any(
                begin_ns, in_steps.end_ns, events.start_ns, events.end_ns
            )
        if not is_seen.any() or is_seen.sum() >= WHOLE_FROM_RATIO * begin_ns.size:
            is_seen[:] = True
        windows = intervals.union_of(begin_ns[is_seen], until_ns[is_seen])
        unions = (intervals.union_of(events.start_ns, events.end_ns) for events in parts)
        reached = accumulate(unions, lambda *both: intervals.join(both))
        found_ns = [0, *(intervals.overlap_ns(windows, union) for union in reached)]
        forward_ns, backward_ns, loading_ns = np.diff(found_ns).tolist()
        yield tables.LoopParts(
            forward_ns=forward_ns,
            backward_ns=backward_ns,
            loading_ns=loading_ns,
            whole_ns=windows.length_ns,
            n_steps=int(is_seen.sum()),
            n_all_steps=begin_ns.size,
            are_waits_known=are_waits_known(spans, spans.workers[worker]),
        )


@fact
def _masks(spans: SpanTable) -> dict[Stage, Mask]:
    classes, loader = classes_of(spans), loader_rows(spans)
    is_operator = np.isin(classes, (SpanClass.CPU, SpanClass.GPU))
    forward, backward = (
        spans.in_phases(phase for pair in sums.PASS_PHASES for phase in pair[side])
        for side in (0, 1)
    )
    is_loading = loader.fetch | loader.process | spans.in_phases((INITIALIZE,))
    is_plain = (classes == SpanClass.GENERAL) & ~(forward | backward | is_loading)
    return {
        Stage.READ: is_plain & _speaks_of(spans, Stage.READ),
        Stage.PREPROCESS: is_plain & _speaks_of(spans, Stage.PREPROCESS),
        Stage.WAIT: loader.initialize | loader.fetch | (loader.next_call & ~loader.fetch.any()),
        Stage.TRANSFER: is_operator & _speaks_of(spans, Stage.TRANSFER),
        Stage.FORWARD: forward,
        Stage.BACKWARD: backward,
        Stage.COMMUNICATION: sums.exchanges_data(spans) & (classes != SpanClass.STEP),
        Stage.OUTPUT: is_plain & _speaks_of(spans, Stage.OUTPUT),
    }


def _speaks_of(spans: SpanTable, stage: Stage) -> Mask:
    wanted = set(_STAGE_WORDS[stage].split())
    return spans.named(lambda name: wanted & set(map(str.lower, _WORD.findall(name))))


def _stages_of_worker(
    spans: SpanTable, steps: SpanTable, masks: Mapping[Stage, Mask]
) -> Iterator[StageTime]:
    loop = intervals.Union(
        start_ns=steps.start_ns.min(keepdims=True), end_ns=steps.end_ns.max(keepdims=True)
    )
    whole = _Seen(windows=loop, n_steps=steps.n_spans, n_all_steps=steps.n_spans)
    is_operator = np.isin(classes_of(spans), (SpanClass.CPU, SpanClass.GPU))
    by_passes = _seen(spans.where(masks[Stage.FORWARD] | masks[Stage.BACKWARD]), steps, whole)
    by_operators = _seen(spans.where(is_operator), steps, whole)
    for stage, mask in masks.items():
        if mask.any():
            is_pass = stage in (Stage.FORWARD, Stage.BACKWARD)
            seen = by_passes if is_pass else by_operators if is_operator[mask].all() else whole
            events = spans.where(mask)
            busy = intervals.union_of(events.start_ns, events.end_ns)
            yield seen.stage(
                stage, intervals.overlap_ns(seen.windows, busy), sums.sums_by_name(events)
            )
    # The rest has no recorded function: within the steps, and between them.
    functions = spans.where(sums.is_function(spans))
    busy = intervals.union_of(functions.start_ns, functions.end_ns)
    in_steps = intervals.union_of(steps.start_ns, steps.end_ns)
    covered_ns = intervals.overlap_ns(loop, busy) - intervals.overlap_ns(in_steps, busy)
    yield whole.stage(Stage.BETWEEN, loop.length_ns - covered_ns - in_steps.length_ns)
    if by_passes.n_steps:
        ends_ns = (in_steps.start_ns, in_steps.end_ns)
        is_seen = intervals.overlaps_any(
            *ends_ns, by_passes.windows.start_ns, by_passes.windows.end_ns
        )
        known = intervals.Union(
            start_ns=in_steps.start_ns[is_seen], end_ns=in_steps.end_ns[is_seen]
        )
        yield by_passes.stage(Stage.IN_STEPS, known.length_ns - intervals.overlap_ns(known, busy))


def _seen(events: SpanTable, steps: SpanTable, whole: _Seen) -> _Seen:
    """Return the loop when events are in nearly all steps, else the steps that they are in."""
    is_in = intervals.overlaps_any(steps.start_ns, steps.end_ns, events.start_ns, events.end_ns)
    n_steps = int(is_in.sum())
    if n_steps >= WHOLE_FROM_RATIO * steps.n_spans:
        return whole
    windows = intervals.union_of(steps.start_ns[is_in], steps.end_ns[is_in])
    return replace(whole, windows=windows, n_steps=n_steps)
