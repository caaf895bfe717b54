"""Each GPU's time in parts that exclude each other: the measurement of GPUTimeBudget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.activity import training_loop_ns
from reportgen.facts.gpu_use import IDLE_BELOW_PCT
from reportgen.facts.host_load import CPU_HOT_PCT, IO_HOT_PCT, hot_cores
from reportgen.facts.network_load import starvation_of
from reportgen.facts.samples import mean_over
from reportgen.profile import NodeProfile, SeriesKind, SystemTable
from reportgen.profile.system import Floats, Instants
from reportgen.rules.budget.events import Activity, activity_of
from reportgen.rules.budget.stretches import MOST_STRETCHES, Stretch, idle_stretches

BUSY_PCT = 90.0
IO_MEAN_PCT = 20.0
"""A GPU above the first is busy, up to ``IDLE_BELOW_PCT`` idle; cores that wait for I/O by more
than the second on average hold it up (docs/rules.md)."""
LONGEST_TICK_INTERVALS = 1.5
"""The next sample is missing after so many sampling intervals. Source: ours."""
NEIGHBOUR_TICKS = 4
"""The interval may be changed while a job runs: these ticks on both sides tell it. Source: ours."""
JITTER_OF_INTERVAL = 0.1
"""Samples come early or late by so much of their interval; lengths are told no better. Ours."""

LEAST_UNUSED_TICKS = 100
"""Fewer samples do not show that the job never uses a GPU: it may be held up. Source: ours."""

Mask = NDArray[np.bool_]


class Part(StrEnum):
    """What a GPU's time went into, in the order in which the parts are told."""

    INITIALIZATION = "initialization"
    BUSY_HIGH = "busy_high"
    BUSY_PARTIAL = "busy_partial"
    STRAGGLER = "straggler"
    IO_WAIT = "io_wait"
    NETWORK = "network"
    CPU_INPUT = "cpu_input"
    BETWEEN_STEPS = "between_steps"
    NEVER_USED = "never_used"
    UNEXPLAINED = "unexplained"
    FINALIZATION = "finalization"
    NOT_MEASURED = "not_measured"


Causes = tuple[tuple[Part, Mask], ...]
BUSY = (Part.BUSY_HIGH, Part.BUSY_PARTIAL)
IDLE = (
    Part.STRAGGLER,
    Part.IO_WAIT,
    Part.NETWORK,
    Part.CPU_INPUT,
    Part.BETWEEN_STEPS,
    Part.NEVER_USED,
    Part.UNEXPLAINED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuBudget:
    """One GPU: ns of each part that occurs, and those of them with a core above 90 %.

    ``n_stretches`` and ``stretches_ns`` count its long idle stretches and add them up;
    ``worked_ns`` is how long it was above 10 % before the loop, and after it.
    """

    device: str
    part_ns: Mapping[Part, int]
    hot_ns: Mapping[Part, int]
    n_stretches: int = 0
    stretches_ns: int = 0
    worked_ns: Mapping[Part, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeBudget:
    """One node.

    Attributes:
        n_ticks: sampling instants.
        has_steps: whether the loop is that of its steps, not the time of its GPU activity.
        stretches: the longest stretches in which one of its GPUs idles within the loop.
    """

    node: str
    n_ticks: int
    has_steps: bool
    gpus: tuple[GpuBudget, ...]
    stretches: tuple[Stretch, ...] = ()


def measure_budget(part: NodeProfile, *, least_idle_ns: int) -> NodeBudget:
    """Split the time of each GPU of a node; the first part that fits a tick takes it.

    Args:
        part: the node.
        least_idle_ns: idle stretches of at least this length are listed.
    """
    system = part.system
    names = system.names(SeriesKind.GPU_UTILIZATION)
    use = system.matrix(SeriesKind.GPU_UTILIZATION)
    loop_ns = training_loop_ns(part.spans)
    has_steps = loop_ns is not None
    loop_ns = loop_ns or _active_ns(system.tick_ns, use)
    length_ns, gap_ns = tick_lengths_ns(system)
    is_hot = hot_cores(system, SeriesKind.CPU_UTILIZATION, above=CPU_HOT_PCT) > 0
    causes = _causes(system, use, activity_of(part.spans, system.tick_ns), is_hot)
    is_used: Mask = np.asarray((use > IDLE_BELOW_PCT).any(axis=0))
    is_judged = bool(is_used.any()) and system.n_ticks >= LEAST_UNUSED_TICKS
    never_used = ((Part.NEVER_USED, np.ones(system.n_ticks, dtype=np.bool_)),)
    gpus, stretches = [], []
    for column, name in enumerate(names):
        is_left_out = is_judged and not is_used[column]
        own_causes = never_used if is_left_out else causes
        codes = _codes(system.tick_ns, use[:, column], loop_ns, own_causes)
        found = idle_stretches(
            name,
            codes,
            idle_codes=[list(Part).index(cause) for cause in IDLE],
            tick_ns=system.tick_ns,
            length_ns=length_ns,
            least_ns=least_idle_ns - JITTER_OF_INTERVAL * (system.interval_ns or 0),
        )
        stretches += found
        budget = _gpu(name, codes, length_ns, gap_ns, is_hot)
        idle_ns = sum(stretch.duration_ns for stretch in found)
        gpus.append(
            replace(
                budget,
                n_stretches=len(found),
                stretches_ns=idle_ns,
                worked_ns=_worked_outside(codes, length_ns, use[:, column]),
            )
        )
    longest = sorted(stretches, key=lambda item: (-item.duration_ns, item.start_ns, item.device))
    return NodeBudget(
        node=part.node,
        n_ticks=system.n_ticks,
        has_steps=has_steps,
        gpus=tuple(gpus),
        stretches=tuple(longest[:MOST_STRETCHES]),
    )


def tick_lengths_ns(system: SystemTable) -> tuple[Instants, int]:
    """Return (n_ticks,) how long each tick stands for, and the time that none stands for.

    A tick lasts until the next one. Before a gap, and at the end, it lasts one interval, that of
    the ticks around it. Both together are the time from the first tick to one interval after the
    last.
    """
    if system.interval_ns is None:
        return np.zeros(system.n_ticks, dtype=np.int64), 0
    until_next = np.diff(system.tick_ns)
    usual_ns = np.full(until_next.shape, system.interval_ns)
    is_gap = until_next > LONGEST_TICK_INTERVALS * usual_ns
    # Only there may the job have been sampled at another interval than most of the time.
    usual_ns[is_gap] = _interval_around_ns(until_next, np.flatnonzero(is_gap), system.interval_ns)
    is_gap &= until_next > LONGEST_TICK_INTERVALS * usual_ns
    lengths = np.where(is_gap, usual_ns, until_next)
    last_ns = usual_ns[-1:] if until_next.size else [system.interval_ns]
    return np.append(lengths, last_ns), int((until_next - lengths).sum())


def _interval_around_ns(until_next: Instants, rows: NDArray[np.intp], interval_ns: int) -> Instants:
    """Return the usual time between ticks around some of them; the job's interval if about that."""
    places = rows[:, np.newaxis] + np.arange(-NEIGHBOUR_TICKS, NEIGHBOUR_TICKS + 1)
    places = np.clip(places, 0, until_next.size - 1)
    around_ns = np.median(until_next[places], axis=1).astype(np.int64)
    is_other = around_ns > LONGEST_TICK_INTERVALS * interval_ns
    return np.asarray(np.where(is_other, around_ns, interval_ns), dtype=np.int64)


def _active_ns(tick_ns: Instants, use: Floats) -> tuple[int, int] | None:
    """Return the first and the last tick with a GPU at work, ``None`` if there is none."""
    rows = np.flatnonzero((use > IDLE_BELOW_PCT).any(axis=1))
    return (int(tick_ns[rows[0]]), int(tick_ns[rows[-1]])) if rows.size else None


def _causes(system: SystemTable, use: Floats, activity: Activity, is_hot: Mask) -> Causes:
    """Return why a GPU may idle at each tick, in the order in which the causes are tried."""
    waiting = system.matrix(SeriesKind.IO_WAIT)
    is_io = (mean_over(waiting) > IO_MEAN_PCT) | (waiting > IO_HOT_PCT).any(axis=1)
    n_at_work = np.count_nonzero(use > IDLE_BELOW_PCT, axis=1)
    is_waited_for = activity.is_communicating | (activity.n_in_step > n_at_work)
    # An idle GPU is not above 90 % itself, so any that is, is another one.
    is_straggler = (use > BUSY_PCT).any(axis=1) & is_waited_for
    return (
        (Part.STRAGGLER, is_straggler),
        (Part.IO_WAIT, is_io),
        (Part.NETWORK, starvation_of(system).is_starved),
        (Part.CPU_INPUT, is_hot | activity.is_fetching),
        (Part.BETWEEN_STEPS, activity.is_outside_steps),
    )


def _codes(
    tick_ns: Instants, use: Floats, loop_ns: tuple[int, int] | None, causes: Causes
) -> NDArray[np.int8]:
    """Return (n_ticks,) places in ``Part`` of one GPU; the first choice is written last."""
    order = list(Part)
    codes = np.full(tick_ns.shape, order.index(Part.UNEXPLAINED), dtype=np.int8)
    for part, mask in reversed(causes):
        codes[mask] = order.index(part)
    codes[use > IDLE_BELOW_PCT] = order.index(Part.BUSY_PARTIAL)
    codes[use > BUSY_PCT] = order.index(Part.BUSY_HIGH)
    if loop_ns is not None:
        codes[tick_ns < loop_ns[0]] = order.index(Part.INITIALIZATION)
        codes[tick_ns > loop_ns[1]] = order.index(Part.FINALIZATION)
    codes[np.isnan(use)] = order.index(Part.NOT_MEASURED)
    return codes


def _gpu(
    device: str, codes: NDArray[np.int8], length_ns: Instants, gap_ns: int, is_hot: Mask
) -> GpuBudget:
    part_ns = {part: int(length_ns[codes == place].sum()) for place, part in enumerate(Part)}
    hot_ns = {
        part: int(length_ns[(codes == place) & is_hot].sum()) for place, part in enumerate(Part)
    }
    part_ns[Part.NOT_MEASURED] += gap_ns
    return GpuBudget(
        device=device,
        part_ns={part: value for part, value in part_ns.items() if value},
        hot_ns={part: value for part, value in hot_ns.items() if value},
    )


def _worked_outside(codes: NDArray[np.int8], length_ns: Instants, use: Floats) -> dict[Part, int]:
    """Return how long a GPU was at work before the loop, and after it."""
    order = list(Part)
    is_at_work = use > IDLE_BELOW_PCT
    return {
        part: int(length_ns[(codes == order.index(part)) & is_at_work].sum())
        for part in (Part.INITIALIZATION, Part.FINALIZATION)
    }
