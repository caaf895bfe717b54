"""Which jobs an exam has."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np

from benchmarks.exam.causes import PLANTABLE
from benchmarks.exam.fluid_model.make import draft as fluid_draft
from benchmarks.exam.job import Job, Order, Shape, UnsuitableError
from benchmarks.exam.making import Drafter, make_job
from benchmarks.exam.queue_model.faults import IN_PART
from benchmarks.exam.queue_model.healthy import HEALTHY
from benchmarks.exam.queue_model.make import draft as queue_draft
from benchmarks.exam.threads_model.healthy import HEALTHY as THREADS_HEALTHY
from benchmarks.exam.threads_model.make import draft as threads_draft
from reportgen.results.causes import Cause

DEFAULT_JOBS = 280
HEALTHY_RATIO = 0.38
PAIRS_RATIO = 0.12
UNEVEN_RATIO = 1 / 3
HELD_BACK = 3
"""Every third seed is held back: nobody who works on the rules looks at its jobs."""

FAMILIES: Mapping[str, Drafter] = {
    "queue": queue_draft,
    "fluid": fluid_draft,
    "threads": threads_draft,
}
_OWN_HEALTHY: Mapping[str, Collection[str]] = {"threads": THREADS_HEALTHY}
_SHARES = ((0.03, 0.05), (0.05, 0.12), (0.12, 0.3), (0.3, 0.8))
_PAIRS = (
    (Cause.WORK_BETWEEN_STEPS, Cause.PERIODIC_SLOW_STEPS),
    (Cause.TOO_FEW_LOADERS, Cause.UNPINNED_MEMORY),
    (Cause.TOO_FEW_LOADERS, Cause.LONG_PAUSE),
    (Cause.IO_WAIT, Cause.WORK_BETWEEN_STEPS),
    (Cause.CPU_PREPROCESSING, Cause.LONG_START),
    (Cause.SLOW_WORKER, Cause.WORK_BETWEEN_STEPS),
    (Cause.SLOWING_DOWN, Cause.LONG_PAUSE),
    (Cause.NETWORK_INPUT, Cause.PERIODIC_SLOW_STEPS),
    (Cause.RANDOM_SLOW_STEPS, Cause.TOO_FEW_LOADERS),
    (Cause.MEMORY_GROWTH, Cause.WORK_BETWEEN_STEPS),
    (Cause.LONG_START, Cause.SLOW_WORKER),
    (Cause.GPU_IDLE, Cause.IO_WAIT),
)


def make(order: Order) -> Job:
    """Make the job of an order; a fault that its family cannot make, another one does."""
    is_usual = order.shape is Shape.USUAL
    others = [name for name in FAMILIES if name != order.family and order.causes and is_usual]
    for family in (order.family, *others):
        with suppress(UnsuitableError):
            return make_job(replace(order, family=family), FAMILIES[family])
    if not is_usual:
        return make(replace(order, shape=Shape.USUAL))
    raise UnsuitableError(f"No family can make {order.name}.")


def is_held_back(seed: int) -> bool:
    """Return whether the jobs of a seed are kept from those who work on the rules."""
    return seed % HELD_BACK == HELD_BACK - 1


def orders_of(seed: int, n_jobs: int = DEFAULT_JOBS) -> tuple[Order, ...]:
    """Return the jobs of an exam: healthy ones, single faults in turn, pairs of faults."""
    n_healthy = round(n_jobs * HEALTHY_RATIO)
    n_pairs = round(n_jobs * PAIRS_RATIO)
    orders = [
        *_healthy(seed, n_healthy),
        *_pairs(seed, n_pairs),
        *_singles(seed, n_jobs - n_healthy - n_pairs),
    ]
    return tuple(
        Order(
            number=number,
            seed=seed,
            family=family,
            causes=causes,
            healthy_kind=_kind_of(family, number, healthy_kind),
            share_ratio=share,
        )
        for number, (causes, healthy_kind, share) in enumerate(orders)
        for family in [_family_of(number)]
    )


def odd_orders_of(seed: int, n_jobs: int = DEFAULT_JOBS) -> tuple[Order, ...]:
    """Return jobs of unusual shapes, and pairs of faults of which one costs a third of the other.

    Only the queue model makes them.
    """
    parts = [*_healthy(seed, n_jobs // 4), *_odd_pairs(seed, n_jobs // 6)]
    parts += _singles(seed, n_jobs - len(parts))
    return tuple(
        Order(
            number=number,
            seed=seed,
            family="queue",
            causes=causes,
            healthy_kind=healthy_kind,
            share_ratio=share,
            shape=_shape_of(causes, number),
            uneven_ratio=UNEVEN_RATIO,
        )
        for number, (causes, healthy_kind, share) in enumerate(parts)
    )


def _shape_of(causes: tuple[Cause, ...], number: int) -> Shape:
    """Return the shape of an unusual job in turn; not every fault acts in part of a job."""
    shapes = [Shape.SHORT, Shape.FAST, Shape.LONG, Shape.PASSES]
    if causes and not set(causes) - IN_PART:
        shapes = [Shape.PART, Shape.PART, *shapes]
    return Shape.USUAL if len(causes) > 1 else shapes[number % len(shapes)]


def _odd_pairs(seed: int, n: int) -> list[_Part]:
    return [(causes, kind, max(share, 0.25)) for causes, kind, share in _pairs(seed, n)]


def _family_of(number: int) -> str:
    families = tuple(FAMILIES)
    return families[(number + number // len(families) // 4) % len(families)]


def _kind_of(family: str, number: int, kind: str) -> str:
    """Return the healthy kind of a job; some families have kinds of their own."""
    own = list(_OWN_HEALTHY.get(family, ()))
    return own[number // len(FAMILIES) % len(own)] if kind and own else kind


_Part = tuple[tuple[Cause, ...], str, float]


def _healthy(seed: int, n: int) -> list[_Part]:
    kinds = np.random.default_rng([seed, 1]).permutation(list(HEALTHY))
    return [((), str(kinds[at % kinds.size]), 0.0) for at in range(n)]


def _pairs(seed: int, n: int) -> list[_Part]:
    rng = np.random.default_rng([seed, 2])
    order = rng.permutation(len(_PAIRS))
    return [(_PAIRS[order[at % order.size]], "", float(rng.uniform(0.12, 0.4))) for at in range(n)]


def _singles(seed: int, n: int) -> list[_Part]:
    rng = np.random.default_rng([seed, 3])
    causes = PLANTABLE
    first_size = rng.integers(len(_SHARES), size=len(causes))
    parts: list[_Part] = []
    for at in range(n):
        which, turn = at % len(causes), at // len(causes)
        low, high = _SHARES[(first_size[which] + turn) % len(_SHARES)]
        share = float(np.exp(rng.uniform(np.log(low), np.log(high))))
        parts.append(((causes[which],), "", share))
    return parts
