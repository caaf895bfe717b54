"""Draw a job of the queue model, with the faults that were ordered."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np

from benchmarks.exam.causes import Input
from benchmarks.exam.events import timelines_of
from benchmarks.exam.job import Order, Shape, UnsuitableError
from benchmarks.exam.log import Hooks
from benchmarks.exam.making import (
    Draft,
    Plant,
    Seen,
    end_of,
    pauses_of,
    start_of,
    unused,
)
from benchmarks.exam.queue_model.counters import core_ratio, samples_of, used_ratio
from benchmarks.exam.queue_model.faults import FAULTS, IN_PART, Change
from benchmarks.exam.queue_model.healthy import HEALTHY
from benchmarks.exam.queue_model.machines import Wishes, cycle_s, draw_healthy, filled
from benchmarks.exam.queue_model.params import Params
from benchmarks.exam.queue_model.simulate import Run, simulate
from benchmarks.exam.recording import Recording
from reportgen.results.causes import Cause


def draft(order: Order, rng: np.random.Generator, seed: int) -> Draft:
    """Draw a job of the queue model."""
    if not order.causes:
        return _drafted(_healthy(order, rng, seed), [])
    wishes = _joint([FAULTS[cause].wishes for cause in order.causes])
    params = _shaped(draw_healthy(rng, seed, replace(wishes, shape=order.shape)), order, rng)
    params = filled(
        params,
        rng,
        cycle=cycle_s(params) / (1 - order.share_ratio),
        has_eval=rng.random() < 0.5,
        is_short=rng.random() < 0.1,
        shape=order.shape,
    )
    changes: list[tuple[Cause, Change]] = []
    for turn, cause in enumerate(order.causes):
        share = order.share_ratio * order.uneven_ratio**turn
        gain = share / (1 - share) / (params.stretch[1] - params.stretch[0])
        change = FAULTS[cause].plant(params, rng, gain)
        params = change.base
        changes.append((cause, change))
    return _drafted(params, changes)


def _shaped(params: Params, order: Order, rng: np.random.Generator) -> Params:
    if order.shape is Shape.PART and order.causes:
        if set(order.causes) - IN_PART:
            raise UnsuitableError
        length = float(rng.uniform(0.3, 0.6))
        first = float(rng.choice([0.0, rng.uniform(0.05, 0.95 - length), 1 - length]))
        return replace(params, stretch=(first, first + length))
    if order.shape is Shape.PASSES:
        if params.input is not Input.PYTORCH:
            raise UnsuitableError
        return replace(params, has_backward=False, accumulate=1, optimizer_s=0.0, exchange_s=0.0)
    return params


def _joint(wishes: list[Wishes]) -> Wishes:
    inputs = {item.input for item in wishes if item.input is not None}
    if len(inputs) > 1:
        raise UnsuitableError
    return Wishes(
        input=inputs.pop() if inputs else None,
        nodes=next((item.nodes for item in wishes if item.nodes), None),
        least_gpus=max(item.least_gpus for item in wishes),
        least_workers=max(item.least_workers for item in wishes),
        most_workers=min(item.most_workers for item in wishes),
        least_cores=max(item.least_cores for item in wishes),
        one_process=any(item.one_process for item in wishes),
    )


def _healthy(order: Order, rng: np.random.Generator, seed: int) -> Params:
    twist, wishes = HEALTHY[order.healthy_kind]
    params = _shaped(draw_healthy(rng, seed, replace(wishes, shape=order.shape)), order, rng)
    params = filled(
        params,
        rng,
        cycle=cycle_s(params),
        has_eval=order.healthy_kind == "validation" or rng.random() < 0.3,
        is_short=order.healthy_kind == "short",
        shape=order.shape,
    )
    return twist(params, rng)


def _drafted(base: Params, changes: list[tuple[Cause, Change]]) -> Draft:
    def run(causes: Collection[Cause]) -> Seen:
        params = base
        for cause, change in changes:
            if cause in causes:
                params = replace(params, **change.bad)
        return _seen(params, simulate(params, base))

    plants = tuple(_plant(cause, base, change) for cause, change in changes)
    return Draft(input=base.input, run=run, plants=plants)


def _seen(params: Params, run: Run) -> Seen:
    def record() -> Recording:
        samples = samples_of(params, run)
        return Recording(
            machine=params.machine,
            samples=samples,
            ticks=np.arange(samples[0].memory.shape[0]),
            timelines=timelines_of(_hooks(params), run.steps),
        )

    return Seen(
        machine=params.machine,
        steps=run.steps,
        total_s=run.total_s,
        used_ratio=used_ratio(params, run) if params.machine.gpus else None,
        core_ratio=core_ratio(params, run),
        record=record,
        facts={
            "num_workers": params.num_workers,
            "accumulate": params.accumulate,
            "is_waiting_busy": params.is_waiting_busy,
            "noise": f"{params.step_noise} {params.step_spread:.3f}",
        },
    )


def _hooks(params: Params) -> Hooks:
    return Hooks(
        input=params.input,
        machine=params.machine,
        seed=params.seed,
        num_workers=params.num_workers,
        is_persistent=params.is_persistent,
        is_pinned=params.is_pinned,
        has_operators=params.seed % 2 == 0,
        has_backward=params.has_backward,
    )


def _plant(cause: Cause, base: Params, change: Change) -> Plant:
    plant = Plant(
        cause=cause,
        places=change.places,
        also_right=change.also_right,
        share_of=FAULTS[cause].share_of,
        cost=_cost(cause, base, change),
    )
    if cause is Cause.LONG_START:
        return replace(plant, when=start_of)
    if base.stretch != (0.0, 1.0):
        return replace(plant, when=_in_rows(base))
    if cause is Cause.LONG_PAUSE:
        n = base.n_steps
        rows = tuple(min(round(at * n), n - 2) for at, _ in change.bad["pauses"])
        return replace(plant, when=pauses_of(rows))
    if cause is Cause.GPU_STOPPED:
        stop_ratio = change.bad.get("stop_ratio")
        return replace(plant, when=_since(stop_ratio) if stop_ratio else end_of)
    return plant


def _cost(cause: Cause, base: Params, change: Change) -> Callable[[Seen], float | None] | None:
    """Return what finds the cost of a fault that does not lengthen the job."""
    n_gpus = base.machine.nodes * base.machine.gpus
    bad = change.bad
    if cause is Cause.MEMORY_GROWTH:
        return lambda _seen: None
    if cause is Cause.GPU_IDLE:
        return lambda _seen: float(bad["n_idle_gpus"]) / n_gpus
    if cause is Cause.GPU_IMBALANCE:
        shares = bad["gpu_shares"]
        return lambda _seen: 1 - float(np.mean(shares)) / float(max(shares))
    if cause is Cause.GPU_UNDERUSED:
        return unused
    if cause is Cause.GPU_STOPPED and "stop_ratio" in bad:
        return lambda seen: (
            (seen.steps.loop_s[1] - _since(bad["stop_ratio"])(seen)[0]) / (seen.total_s * n_gpus)
        )
    return None


def _in_rows(base: Params) -> Callable[[Seen], tuple[float, float]]:
    """Return what finds the time of the steps in which faults act."""
    first, last = (min(round(edge * base.n_steps), base.n_steps - 1) for edge in base.stretch)

    def when(seen: Seen) -> tuple[float, float]:
        start_s, end_s = seen.steps.start_s[0], seen.steps.kept_s[0]
        return float(start_s[first]), float(end_s[last])

    return when


def _since(ratio: float) -> Callable[[Seen], tuple[float, float]]:
    """Return what finds the time from a share of the loop to the end of the job."""

    def when(seen: Seen) -> tuple[float, float]:
        first_s, last_s = seen.steps.loop_s
        return first_s + ratio * (last_s - first_s), seen.total_s

    return when
