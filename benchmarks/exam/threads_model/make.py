"""Draft jobs of this model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from benchmarks.exam.causes import Input, Sight
from benchmarks.exam.events import timelines_of
from benchmarks.exam.job import Order, UnsuitableError
from benchmarks.exam.log import Hooks, StepLog
from benchmarks.exam.making import Draft, Plant, Seen
from benchmarks.exam.recording import Timeline
from benchmarks.exam.threads_model.draw import Wishes, draw
from benchmarks.exam.threads_model.fault import Twist
from benchmarks.exam.threads_model.faults import MAKERS
from benchmarks.exam.threads_model.healthy import HEALTHY
from benchmarks.exam.threads_model.params import Params
from benchmarks.exam.threads_model.program import Ran, Run
from benchmarks.exam.threads_model.sampler import Sampler, recording_of
from benchmarks.exam.truth import sight_of
from reportgen.results.causes import Cause
from sample_data.timelines import Event

_GLOBAL = "Step:ModeKeys.GLOBAL"
_NOT_COUNTED_RATIO = 0.12
_IMPOSSIBLE = ({Cause.IO_WAIT, Cause.WORK_BETWEEN_STEPS},)
"""Work between steps costs nothing while the loop waits for batches: it hides behind the wait."""
_MACHINES: dict[Cause, Wishes] = {
    Cause.SLOW_WORKER: Wishes(
        nodes=(1, 1, 2, 3, 4), gpus=(1, 2, 4, 8), least_workers=2, one_process=False
    ),
    Cause.GPU_STOPPED: Wishes(nodes=(1, 2), gpus=(2, 4, 8), one_process=False, least_workers=2),
    Cause.GPU_IMBALANCE: Wishes(nodes=(1, 1, 2), gpus=(2, 3, 4, 8), one_process=True),
    Cause.GPU_IDLE: Wishes(gpus=(2, 4, 8), idle_gpus=1, one_process=False),
    Cause.TOO_FEW_LOADERS: Wishes(gpus=(1, 1, 2, 4), cores=(4, 8, 8, 16, 32, 48)),
    Cause.TOO_MANY_LOADERS: Wishes(gpus=(1, 1, 2), cores=(2, 4, 8, 16)),
    Cause.CPU_PREPROCESSING: Wishes(gpus=(1, 2, 4), cores=(2, 4, 8, 16)),
}


def draft(order: Order, rng: np.random.Generator, seed: int) -> Draft:
    """Draw the job of an order."""
    if not order.causes:
        return _healthy(order, rng, seed)
    if set(order.causes) in _IMPOSSIBLE:
        raise UnsuitableError
    params = draw(rng, seed, _wishes(order.causes, rng))
    twists: dict[Cause, Twist] = {}
    plants: dict[Cause, Plant] = {}
    for cause in order.causes:
        fault = MAKERS[cause](params, order.share_ratio, rng)
        params = fault.base
        twists[cause], plants[cause] = fault.twist, fault.plant

    def run(active: Collection[Cause]) -> Seen:
        chosen = [twists[cause] for cause in order.causes if cause in active]
        return _seen(reduce(lambda one, twist: twist(one), chosen, params))

    return Draft(input=params.input, run=run, plants=tuple(plants[one] for one in order.causes))


def _healthy(order: Order, rng: np.random.Generator, seed: int) -> Draft:
    shape, wishes = HEALTHY[order.healthy_kind]
    params = shape(draw(rng, seed, wishes), rng)
    return Draft(input=params.input, run=lambda _active: _seen(params))


def _wishes(causes: Sequence[Cause], rng: np.random.Generator) -> Wishes:
    """Return the machine that the first of the causes with wishes needs, and an input."""
    wishes = next((_MACHINES[one] for one in causes if one in _MACHINES), Wishes())
    sure = [
        kind
        for kind in Input
        if all(sight_of(cause, kind) is Sight.IDENTIFIABLE for cause in causes)
    ]
    if not sure or rng.random() < _NOT_COUNTED_RATIO:
        return wishes
    weights = {Input.PYTORCH: 6, Input.TENSORFLOW: 3, Input.SYSTEM: 3}
    return replace(wishes, inputs=[kind for kind in sure for _ in range(weights[kind])])


def _seen(params: Params) -> Seen:
    ran = Run(params).run()
    sampler = Sampler(ran)
    return Seen(
        machine=params.machine,
        steps=ran.steps,
        total_s=ran.total_s,
        used_ratio=sampler.used_ratio(),
        core_ratio=sampler.core_ratio(),
        record=lambda: recording_of(ran, _timelines(ran, sampler)),
        facts=_facts(params),
    )


def _facts(params: Params) -> dict[str, object]:
    return {
        "loaders": params.loaders,
        "decode_s": round(params.decode_s, 4),
        "source": str(params.source),
        "read_bytes": round(params.read_bytes),
        "cycle_s": round(params.cycle_s, 4),
        "noise": f"{params.noise} {params.spread:.2f}",
        "start": params.start_kind,
        "epochs": sum(phase.is_train for phase in params.phases),
        "looks": str(params.looks),
    }


def _timelines(ran: Ran, sampler: Sampler) -> tuple[Timeline, ...]:
    params = ran.params
    hooks = Hooks(
        input=params.input,
        machine=params.machine,
        seed=params.seed,
        num_workers=params.loaders,
        is_persistent=params.is_persistent,
        is_pinned=params.is_pinned,
        has_operators=False,
    )
    lines = [_as_recorded(params, line, sampler) for line in timelines_of(hooks, ran.steps)]
    if lines and params.looks.has_horovod:
        lines.append(_horovod(ran))
    return tuple(lines)


def _as_recorded(params: Params, line: Timeline, sampler: Sampler) -> Timeline:
    """Return what the hooks of this version record, up to the end of the process."""
    events = list(line.events)
    if not params.looks.has_backward:
        events = [event for event in events if not event.phase.startswith("Backward")]
    if not params.looks.has_mode and params.input is Input.PYTORCH:
        events = [_without_mode(event) for event in events]
    if params.stop and params.stop[0] == line.worker.rank:
        stop_us = line.worker.zero_us + round(sampler.stop_s() * 1e6)
        events = [event for event in events if event.end_us < stop_us]
    return replace(line, events=events)


def _without_mode(event: Event) -> Event:
    if not event.phase.startswith("Step:"):
        return event
    return event._replace(phase=_GLOBAL, name=_GLOBAL)


def _horovod(ran: Ran) -> Timeline:
    """Return the timeline of the first worker: it waits for the others, then adds up gradients."""
    worker = ran.params.machine.workers()[0]
    steps: StepLog = ran.steps
    train = steps.is_train
    ready_s = steps.own_s[:, train].max(axis=0)
    spans = zip(steps.own_s[0, train], ready_s, steps.end_s[0, train], strict=True)
    events = []
    for own_s, all_s, end_s in spans:
        edges = [worker.zero_us + round(float(at) * 1e6) for at in (own_s, all_s, end_s)]
        events.append(Event(edges[0], edges[1] + 1, "grads/fc", "NEGOTIATE_ALLREDUCE", "{}"))
        events.append(Event(edges[1] + 1, edges[2] + 2, "grads/fc", "NCCL_ALLREDUCE", "{}"))
    return Timeline(worker=worker, suffix="horovod_timeline", events=events)
