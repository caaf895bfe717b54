"""Draw a job of the fluid model, with the faults that were ordered, or a healthy one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import numpy as np

from benchmarks.exam.causes import Input
from benchmarks.exam.events import timelines_of
from benchmarks.exam.fluid_model.draw import Frame, draw, fill, joint
from benchmarks.exam.fluid_model.engine import run
from benchmarks.exam.fluid_model.faults import SABOTEURS, Sabotage
from benchmarks.exam.fluid_model.plan import Plan
from benchmarks.exam.fluid_model.sampler import core_ratio, samples_of, used_ratio
from benchmarks.exam.job import Order
from benchmarks.exam.log import Hooks
from benchmarks.exam.making import Draft, Seen
from benchmarks.exam.recording import Recording
from reportgen.results.causes import Cause

_GPUS = (1, 2, 4, 8)
Twist = Callable[[Plan, np.random.Generator], Plan]


def draft(order: Order, rng: np.random.Generator, seed: int) -> Draft:
    """Draw a job of the fluid model."""
    if not order.causes:
        twist, frame = HEALTHY[order.healthy_kind]
        plan = draw(rng, seed, frame)
        is_short = order.healthy_kind == "short"
        return _drafted(twist(fill(plan, rng, share=0.0, is_short=is_short), rng), [])
    plan = draw(rng, seed, joint([SABOTEURS[cause][1] for cause in order.causes]))
    plan = fill(plan, rng, share=order.share_ratio, is_short=rng.random() < 0.08)
    done: list[Sabotage] = []
    for cause in order.causes:
        sabotage = SABOTEURS[cause][0](plan, rng, order.share_ratio)
        plan = sabotage.base
        done.append(sabotage)
    return _drafted(plan, done)


def _drafted(base: Plan, done: list[Sabotage]) -> Draft:
    def simulate(causes: Collection[Cause]) -> Seen:
        plan = base
        for sabotage in done:
            if sabotage.plant.cause in causes:
                plan = sabotage.spoil(plan)
        return _seen(plan)

    plants = tuple(sabotage.plant for sabotage in done)
    return Draft(input=base.input, run=simulate, plants=plants)


def _seen(plan: Plan) -> Seen:
    course = run(plan)

    def record() -> Recording:
        samples = samples_of(plan, course)
        hooks = Hooks(
            input=plan.input,
            machine=plan.machine,
            seed=plan.seed,
            num_workers=plan.feed.processes,
            is_persistent=plan.feed.keeps_processes,
            is_pinned=plan.feed.is_pinned,
            has_operators=plan.seed % 3 == 0,
        )
        return Recording(
            machine=plan.machine,
            samples=samples,
            ticks=np.arange(samples[0].memory.shape[0]),
            timelines=timelines_of(hooks, course.steps),
        )

    return Seen(
        machine=plan.machine,
        steps=course.steps,
        total_s=course.total_s,
        used_ratio=used_ratio(plan, course) if plan.machine.gpus else None,
        core_ratio=core_ratio(plan, course),
        record=record,
        facts={
            "processes": plan.feed.processes,
            "reduce_every": plan.pace.reduce_every,
            "is_behind": plan.pace.is_behind,
            "spins": plan.devices.spins,
            "epochs": len(plan.passes),
        },
    )


# Healthy jobs that look as if something were wrong with them


def _plain(plan: Plan, _rng: np.random.Generator) -> Plan:
    return plan


def _checks(plan: Plan, rng: np.random.Generator) -> Plan:
    """Validate after each epoch, for up to a quarter of its steps."""
    checked = float(rng.uniform(0.1, 0.25))
    return replace(plan, passes=tuple((train, round(train * checked)) for train, _ in plan.passes))


def _saves(plan: Plan, rng: np.random.Generator) -> Plan:
    """Save several times, for at most 1.5 % of the time."""
    every = max(plan.n_steps // int(rng.integers(5, 15)), 20)
    return replace(
        plan, save_every=every, save_s=every * plan.cycle_s * float(rng.uniform(0.003, 0.014))
    )


def _compiles(plan: Plan, rng: np.random.Generator) -> Plan:
    """Compile in the first step, for at most 2 % of the time."""
    return replace(plan, warm_up_s=plan.n_steps * plan.cycle_s * float(rng.uniform(0.008, 0.02)))


def _noisy(plan: Plan, rng: np.random.Generator) -> Plan:
    return replace(plan, pace=replace(plan.pace, jitter=float(rng.uniform(0.05, 0.1))))


def _buckets(plan: Plan, rng: np.random.Generator) -> Plan:
    """Sort batches by length within buckets: steps become longer, then short again."""
    return replace(plan, pace=replace(plan.pace, buckets=float(rng.uniform(0.1, 0.25))))


def _sleepers(plan: Plan, rng: np.random.Generator) -> Plan:
    """Start more loaders than cores; they sleep most of the time."""
    processes = min(40, int(2.5 * plan.machine.cores / plan.machine.workers_per_node) + 2)
    core_s = plan.cycle_s * float(rng.uniform(0.02, 0.2))
    feed = replace(plan.feed, processes=processes, core_s=core_s, disk_s=0.0, net_s=0.0)
    return replace(plan, feed=feed)


def _inline(plan: Plan, rng: np.random.Generator) -> Plan:
    core_s = plan.cycle_s * float(rng.uniform(0.001, 0.015))
    feed = replace(plan.feed, processes=0, core_s=core_s, disk_s=0.0, net_s=0.0)
    return replace(plan, feed=feed)


def _unpinned(plan: Plan, rng: np.random.Generator) -> Plan:
    """Copy small batches from pageable memory."""
    pace = replace(plan.pace, copy_s=plan.cycle_s * float(rng.uniform(0.001, 0.01)))
    return replace(plan, feed=replace(plan.feed, is_pinned=False), pace=pace)


def _full_cores(plan: Plan, rng: np.random.Generator) -> Plan:
    """Keep most cores busy with loading, yet fast enough."""
    cores = plan.machine.cores / plan.machine.workers_per_node
    processes = max(2, round(cores) - 1)
    core_s = plan.cycle_s * (min(processes, cores - 1)) * float(rng.uniform(0.5, 0.68))
    feed = replace(plan.feed, processes=processes, core_s=core_s, disk_s=0.0, net_s=0.0)
    feed = replace(feed, jitter=0.1, wobble=0.05)
    return replace(plan, feed=feed)


def _behind(plan: Plan, _rng: np.random.Generator) -> Plan:
    """Let the host run ahead of the GPU: much time lies between the steps' events."""
    pace = replace(plan.pace, is_behind=True, launch_s=0.3 * plan.pace.kernels_s)
    return replace(plan, pace=pace)


HEALTHY: Mapping[str, tuple[Twist, Frame]] = {
    "plain": (_plain, Frame(gpus=_GPUS)),
    "validation": (_checks, Frame(gpus=_GPUS)),
    "checkpoints": (_saves, Frame(gpus=_GPUS)),
    "warm_up": (_compiles, Frame(gpus=_GPUS)),
    "noisy_steps": (_noisy, Frame(gpus=_GPUS)),
    "varying_lengths": (_buckets, Frame(gpus=_GPUS)),
    "short": (_plain, Frame(gpus=_GPUS)),
    "big_host": (_plain, Frame(gpus=(4, 8), least_cores_per_worker=8)),
    "several_nodes": (_plain, Frame(gpus=_GPUS, nodes=(2, 3, 4))),
    "cpu_only": (_plain, Frame(gpus=(0,))),
    "idle_loaders": (_sleepers, Frame(inputs=(Input.PYTORCH,), gpus=_GPUS)),
    "inline_loading": (_inline, Frame(inputs=(Input.PYTORCH,), gpus=_GPUS)),
    "busy_cores": (_full_cores, Frame(gpus=_GPUS, least_cores_per_worker=4)),
    "optimizer": (_behind, Frame(inputs=(Input.PYTORCH,), gpus=_GPUS)),
    "accumulation": (
        lambda plan, rng: replace(
            plan, pace=replace(plan.pace, reduce_every=int(rng.choice([2, 4, 8])))
        ),
        Frame(gpus=_GPUS),
    ),
    "unpinned": (_unpinned, Frame(inputs=(Input.PYTORCH,), gpus=_GPUS)),
}
"""Each healthy kind, and into what jobs it goes."""
