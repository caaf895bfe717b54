"""Draw jobs from a seed: healthy ones of many kinds, and ones with faults of a wanted size."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.exam.traces.clock import Noise
from benchmarks.exam.traces.faults import Fault, Kind
from benchmarks.exam.traces.plan import Family, Job, Plan
from benchmarks.exam.traces.simulate import share_of

E, S, V = Family.EAGER, Family.SHARDED, Family.SERVING
FAMILIES: dict[Kind, tuple[Family, ...]] = {
    Kind.SLOW_RANK: (E, S),
    Kind.UNEVEN_WORK: (E, S),
    Kind.SLOW_LINK: (E, S),
    Kind.SLOW_LINK_ALWAYS: (E, S),
    Kind.SMALL_KERNELS: (E, S, V),
    Kind.UNFUSED_TAIL: (E, S),
    Kind.PAGEABLE_COPIES: (E, S, V),
    Kind.SYNCHRONIZATION: (E, S, V),
    Kind.EXPOSED_COMMUNICATION: (E, S),
    Kind.SLOW_HOST: (E, S, V),
    Kind.HOST_BETWEEN_STEPS: (E, S, V),
    Kind.FIRST_USE: (E, S, V),
    Kind.LONG_GAP: (E, S, V),
    Kind.LOADER: (E, S),
    Kind.LOADER_SOME_STEPS: (E, S),
}
"""Which jobs can have a fault at all."""
RANGES: dict[Kind, tuple[float, float]] = {
    Kind.SLOW_RANK: (0.01, 2.0),
    Kind.UNEVEN_WORK: (0.01, 2.0),
    Kind.SLOW_LINK: (0.1, 60.0),
    Kind.SLOW_LINK_ALWAYS: (0.1, 60.0),
    Kind.SMALL_KERNELS: (2.0, 80.0),
    Kind.UNFUSED_TAIL: (8.0, 1_500.0),
    Kind.PAGEABLE_COPIES: (2e5, 3e8),
    Kind.SYNCHRONIZATION: (2.0, 400.0),
    Kind.EXPOSED_COMMUNICATION: (0.04, 0.5),
    Kind.SLOW_HOST: (3.0, 600.0),
    Kind.HOST_BETWEEN_STEPS: (100.0, 2e5),
    Kind.FIRST_USE: (500.0, 2e6),
    Kind.LONG_GAP: (500.0, 2e6),
    Kind.LOADER: (3_000.0, 4e5),
    Kind.LOADER_SOME_STEPS: (500.0, 4e5),
}
"""Least and largest size that is tried, in the unit of each kind."""
DEMANDS_RANKS = frozenset(
    {
        Kind.SLOW_RANK,
        Kind.UNEVEN_WORK,
        Kind.SLOW_LINK,
        Kind.SLOW_LINK_ALWAYS,
        Kind.EXPOSED_COMMUNICATION,
    }
)
HOST_BOUND = frozenset({Kind.SMALL_KERNELS, Kind.SLOW_HOST})
"""Faults that show only where the host is hardly ahead of the GPU. A server that runs graphs is
ahead anyway: there the host is slow in the pass over the prompt."""
HEALTHY_KINDS = (
    "one GPU",
    "data parallel",
    "sharded",
    "recorded windows begin apart",
    "tiny kernels behind a queue",
    "gradients of several batches",
    "serving by graphs",
    "no number is read back",
    "Python functions recorded",
    "noisy host",
    "eight ranks",
    "norm clipped",
)
SIZES = ((0.03, 0.05), (0.05, 0.12), (0.12, 0.4))
"""Shares of the time that are aimed at, in turn."""
N_HALVINGS = 9
LEAST_SHARE = 0.01
"""A planted fault that costs less is none: the job has others in its way."""


def draw_jobs(seed: int, n_traces: int, kinds: Sequence[Kind] = tuple(Kind)) -> list[Job]:
    """Return jobs: two of five are healthy, and of the others one of five has two faults."""
    order = list(kinds)
    random.Random(f"order.{seed}").shuffle(order)
    jobs, n_faulty = [], 0
    for number in range(n_traces):
        rng = random.Random(f"job.{seed}.{number}")
        if number % 5 in (1, 3):
            jobs.append(_healthy(rng, f"{seed}-{number}", HEALTHY_KINDS[number % 12]))
            continue
        first = order[n_faulty % len(order)]
        wanted = [(first, SIZES[(n_faulty + n_faulty // len(order)) % 3])]
        others = [kind for kind in order if not _clash(kind, first)]
        if n_faulty % 5 == 4 and others:
            wanted.append((rng.choice(others), rng.choice(SIZES[1:])))
        jobs.append(_faulty(rng, f"{seed}-{number}", wanted))
        n_faulty += 1
    return jobs


def _clash(kind: Kind, other: Kind) -> bool:
    """Return whether two faults cannot be told apart, or cannot stand in one job."""
    groups = (
        {Kind.SLOW_LINK, Kind.SLOW_LINK_ALWAYS, Kind.EXPOSED_COMMUNICATION},
        {Kind.SLOW_RANK, Kind.UNEVEN_WORK},
        {Kind.SMALL_KERNELS, Kind.UNFUSED_TAIL, Kind.SLOW_HOST, Kind.SYNCHRONIZATION},
        {Kind.LOADER, Kind.LOADER_SOME_STEPS, Kind.HOST_BETWEEN_STEPS, Kind.PAGEABLE_COPIES},
    )
    if not set(FAMILIES[kind]) & set(FAMILIES[other]):
        return True
    return kind is other or any({kind, other} <= group for group in groups)


def _healthy(rng: random.Random, name: str, kind: str) -> Job:
    family = {"sharded": S, "serving by graphs": V}.get(kind, rng.choice((E, S)))
    if kind in ("tiny kernels behind a queue", "Python functions recorded"):
        family = E
    plan = _plan(rng, name, family, needs_ranks=kind not in ("one GPU", "serving by graphs"))
    changes: dict[str, dict[str, object]] = {
        "one GPU": {"n_ranks": 1, "speeds": ()},
        "recorded windows begin apart": {
            "offsets_us": tuple(rng.uniform(0, 6_000.0) for _ in range(plan.n_ranks))
        },
        "tiny kernels behind a queue": {"n_hidden": 8, "unit_us": plan.unit_us + 120.0},
        "gradients of several batches": {"n_micro": 2 + rng.randrange(2)},
        "no number is read back": {"ends_with_item": False},
        "Python functions recorded": {"has_stack": True},
        "noisy host": {"noise": Noise.skewed(name, host=0.5, gpu=0.05)},
        "eight ranks": {"n_ranks": 8, "speeds": _speeds(rng, 8), "n_steps": 4},
        "norm clipped": {"clips": True},
    }
    return Job(plan=replace(plan, healthy_kind=kind, **changes.get(kind, {})))  # type: ignore[arg-type]


def _plan(
    rng: random.Random,
    name: str,
    family: Family,
    *,
    needs_ranks: bool,
    is_host_bound: bool = False,
) -> Plan:
    n_ranks = rng.choice((2, 2, 4, 4, 8)) if needs_ranks else rng.choice((1, 1, 2))
    n_ranks = 1 if family is V else n_ranks
    host_us = rng.uniform(6.0, 14.0)
    unit_us = rng.uniform(120.0, 420.0)
    if is_host_bound:  # kernels are about as long as it takes to launch them
        unit_us = (host_us + 5.0) * {E: rng.uniform(2.6, 3.4), S: 3.2, V: 2.4}[family]
    noise = Noise.gaussian if family is E else Noise.skewed
    return Plan(
        name=name,
        family=family,
        noise=noise(name, host=rng.uniform(0.03, 0.2), gpu=rng.uniform(0.01, 0.04)),
        n_ranks=n_ranks,
        n_steps=rng.randrange(4, 9),
        n_layers=rng.choice((8, 12, 16) if n_ranks < 8 else (6, 8)),
        unit_us=unit_us,
        host_us=host_us,
        transfer_ratio=rng.uniform(0.06, 0.15),
        batch_bytes=rng.uniform(2e5, 3e6),
        ends_with_item=rng.random() < 0.7,
        clips=rng.random() < 0.3,
        has_stack=family is E and rng.random() < 0.3,
        speeds=_speeds(rng, n_ranks),
    )


def _speeds(rng: random.Random, n_ranks: int) -> tuple[float, ...]:
    return tuple(rng.gauss(1.0, 0.004) for _ in range(n_ranks))


def _faulty(
    rng: random.Random, name: str, wanted: Sequence[tuple[Kind, tuple[float, float]]]
) -> Job:
    kinds = {kind for kind, _ in wanted}
    shared = set.intersection(*(set(FAMILIES[kind]) for kind in kinds))
    family = rng.choice(sorted(shared))
    plan = _plan(
        rng,
        name,
        family,
        needs_ranks=bool(DEMANDS_RANKS & kinds) or rng.random() < 0.4,
        is_host_bound=bool(HOST_BOUND & kinds) and not (family is V and Kind.SLOW_HOST in kinds),
    )
    if Kind.UNFUSED_TAIL in kinds:  # else the host is so far ahead that a tail costs nothing
        plan = replace(plan, clips=True)
    if Kind.SLOW_LINK in kinds or Kind.LOADER_SOME_STEPS in kinds:
        plan = replace(plan, n_steps=8 if plan.n_ranks < 8 else 6)
    job = Job(plan=plan)
    for kind, (least, most) in wanted:
        fault = _place(rng, kind, plan)
        job = _sized(job, fault, rng.uniform(least, most))
    return job


def _place(rng: random.Random, kind: Kind, plan: Plan) -> Fault:
    rank = rng.randrange(plan.n_ranks)
    variant = rng.randrange(12)
    fault = Fault(kind=kind, size=1.0, variant=variant)
    if kind in (Kind.SLOW_RANK, Kind.UNEVEN_WORK):
        return replace(fault, rank=rank)
    if kind is Kind.LONG_GAP:
        at = rng.randrange(1, plan.n_steps)
        return replace(fault, rank=rank, steps=(at, at))
    if kind is Kind.FIRST_USE:
        return replace(fault, steps=(0, 0))
    if kind is Kind.SLOW_LINK:
        first = rng.randrange(1, plan.n_steps // 2)
        return replace(fault, steps=(first, first + plan.n_steps // 3))
    if kind is Kind.LOADER:
        return replace(fault, variant=variant % 2)
    return fault


def _sized(job: Job, fault: Fault, aim: float) -> Job:
    """Return the job with a fault that costs about so much of the time: its size is halved in."""
    low, high = (math.log(size) for size in RANGES[fault.kind])
    best = job
    for _ in range(N_HALVINGS):
        middle = (low + high) / 2
        planted = replace(fault, size=math.exp(middle))
        best = replace(job, faults=(*job.faults, planted))
        share = share_of(best, planted)
        if share < aim:
            low = middle
        else:
            high = middle
    return best
