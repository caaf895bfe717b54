"""Make a job of the queue model, with its truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.exam.causes import Cause
from benchmarks.exam.job import Job, Order, UnsuitableError
from benchmarks.exam.queue_model.counters import gpu_busy, samples_of
from benchmarks.exam.queue_model.events import timelines_of
from benchmarks.exam.queue_model.faults import FAULTS, Change
from benchmarks.exam.queue_model.healthy import HEALTHY
from benchmarks.exam.queue_model.machines import Wishes, cycle_s, draw_healthy, filled
from benchmarks.exam.queue_model.params import Params
from benchmarks.exam.queue_model.simulate import Run, simulate
from benchmarks.exam.recording import Recording
from benchmarks.exam.truth import Planted, Truth, sight_of

_TRIES = 60
_MOST_WANTED = 0.75
_LEAST_SHARE, _MOST_SHARE = 0.03, 0.85


def make_job(order: Order) -> Job:
    """Return the job of an order; the same order gives the same job.

    What cannot be had on the machine drawn, or turns out too small, is tried again, a bit larger.
    """
    for attempt in range(_TRIES):
        seed = int(np.random.SeedSequence([order.seed, order.number, attempt]).generate_state(1)[0])
        try:
            wanted = replace(
                order, share_ratio=min(order.share_ratio * 1.05**attempt, _MOST_WANTED)
            )
            return _attempt(wanted, np.random.default_rng(seed), seed)
        except UnsuitableError:
            continue
    raise UnsuitableError(f"{order.name}: no fitting job in {_TRIES} attempts")


def _attempt(order: Order, rng: np.random.Generator, seed: int) -> Job:
    if not order.causes:
        return _finish(order, _healthy(order, rng, seed), [])
    wishes = _joint([FAULTS[cause].wishes for cause in order.causes])
    params = draw_healthy(rng, seed, wishes)
    params = filled(
        params,
        rng,
        cycle=cycle_s(params) / (1 - order.share_ratio),
        has_eval=rng.random() < 0.5,
        is_short=rng.random() < 0.1,
    )
    gain = order.share_ratio / (1 - order.share_ratio)
    changes: list[tuple[Cause, Change]] = []
    for cause in order.causes:
        change = FAULTS[cause].plant(params, rng, gain)
        params = change.base
        changes.append((cause, change))
    return _finish(order, params, changes)


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
    params = draw_healthy(rng, seed, wishes)
    params = filled(
        params,
        rng,
        cycle=cycle_s(params),
        has_eval=order.healthy_kind == "validation" or rng.random() < 0.3,
        is_short=order.healthy_kind == "short",
    )
    return twist(params, rng)


def _finish(order: Order, base: Params, changes: list[tuple[Cause, Change]]) -> Job:
    bad = [change.bad for _, change in changes]
    params = _with(base, bad)
    run = simulate(params)
    planted = tuple(
        _planted(cause, change, params, run, _with(base, bad[:at] + bad[at + 1 :]))
        for at, (cause, change) in enumerate(changes)
    )
    samples = samples_of(params, run)
    recording = Recording(
        machine=params.machine,
        samples=samples,
        ticks=np.arange(samples[0].memory.shape[0]),
        timelines=timelines_of(params, run),
    )
    truth = Truth(
        name=order.name,
        family=order.family,
        kind=order.kind,
        input=params.input,
        start_unix_s=params.machine.start_unix_s,
        duration_s=run.total_s,
        loop_s=run.steps.loop_s,
        planted=planted,
        facts=_facts(params, run),
    )
    return Job(recording=recording, truth=truth)


def _with(base: Params, changes: list[dict[str, object]]) -> Params:
    params = base
    for change in changes:
        params = replace(params, **change)  # type: ignore[arg-type]  # fields by name
    return params


def _planted(cause: Cause, change: Change, params: Params, run: Run, without: Params) -> Planted:
    share = _share(cause, change, params, run, without)
    if share is not None and not _LEAST_SHARE <= share <= _MOST_SHARE:
        raise UnsuitableError
    start_s, end_s = _when(cause, params, run)
    return Planted(
        cause=cause,
        share_ratio=share,
        share_of=FAULTS[cause].share_of,
        places=change.places,
        start_s=start_s,
        end_s=end_s,
        sight=sight_of(cause, params.input),
        also_right=change.also_right,
    )


def _share(cause: Cause, change: Change, params: Params, run: Run, without: Params) -> float | None:
    """Return what the fault costs: time by a run without it, or GPU time."""
    machine = params.machine
    if cause is Cause.MEMORY_GROWTH:
        return None
    if cause is Cause.GPU_IDLE:
        return params.n_idle_gpus / (machine.nodes * machine.gpus)
    if cause is Cause.GPU_STOPPED and params.stopped_gpu is not None:
        first_s, last_s = run.steps.loop_s
        lost_s = (1 - params.stop_ratio) * (last_s - first_s)
        return lost_s / run.total_s / (machine.nodes * machine.gpus)
    if cause is Cause.GPU_IMBALANCE:
        return 1 - float(np.mean(params.gpu_shares)) / max(params.gpu_shares)
    if cause is Cause.GPU_UNDERUSED:
        return _unused(params, run)
    good = simulate(without)
    if cause in {Cause.LONG_START, Cause.GPU_STOPPED}:
        return (run.total_s - good.total_s) / run.total_s
    return (run.loop_length_s - good.loop_length_s) / run.loop_length_s


def _unused(params: Params, run: Run) -> float:
    first_s, last_s = run.steps.loop_s
    used = [
        float(np.diff(gpu_busy(params, run, rank).until(np.array([first_s, last_s])))[0])
        for rank in range(params.machine.n_workers)
    ]
    return 1 - float(np.mean(used)) / (last_s - first_s)


def _when(cause: Cause, params: Params, run: Run) -> tuple[float, float]:
    first_s, last_s = run.steps.loop_s
    if cause is Cause.LONG_START:
        return 0.0, first_s
    if cause is Cause.GPU_STOPPED:
        if params.stopped_gpu is None:
            return last_s, run.total_s
        return first_s + params.stop_ratio * (last_s - first_s), run.total_s
    if cause is Cause.LONG_PAUSE:
        rows = [min(round(at * params.n_steps), params.n_steps - 2) for at, _ in params.pauses]
        worked_s = run.steps.worked_s[0]
        return float(worked_s[rows[0]] - params.pauses[0][1]), float(worked_s[rows[-1]])
    return first_s, last_s


def _facts(params: Params, run: Run) -> dict[str, object]:
    steps = run.steps
    length_s = run.loop_length_s
    waited_s = float((steps.there_s - steps.asked_s).sum(axis=1).max())
    return {
        "nodes": params.machine.nodes,
        "gpus": params.machine.gpus,
        "cores": params.machine.cores,
        "workers_per_node": params.machine.workers_per_node,
        "interval_ms": params.machine.interval_ms,
        "n_steps": params.n_steps,
        "step_s": round(float(np.median(steps.end_s - steps.start_s)), 4),
        "num_workers": params.num_workers,
        "waited_ratio": round(waited_s / length_s, 4),
        "gpu_used_ratio": round(1 - _unused(params, run), 4) if params.machine.gpus else None,
        "accumulate": params.accumulate,
        "is_waiting_busy": params.is_waiting_busy,
        "step_noise": f"{params.step_noise} {params.step_spread:.3f}",
    }
