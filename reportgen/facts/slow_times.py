"""Slow steps, or times between steps, of one reason: when, at what cost, and what else went on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Integers, Mask
from reportgen.facts import usage
from reportgen.facts.contrast import Contrast, contrast_of
from reportgen.facts.intervals import NOTHING, Union, covered_each, overlap_ns
from reportgen.facts.loader import MOSTLY_RATIO, NodeWaits, are_waits_known, waits_seen_from
from reportgen.facts.slow_steps import Events, SlowSteps, made_up_ns
from reportgen.facts.steps import phase_word
from reportgen.profile import NodeProfile

MOST_KEPT = 500
"""More slow steps than this are not drawn: marks would hide each other; all count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowTimes:
    """Slow steps of one worker and phase, or slow times between them, that have one reason.

    Attributes:
        n_steps, loop_ns: all steps of the phase, and the loop of the worker.
        n_slow: how many there are; ``numbers`` are the steps of the ``MOST_KEPT`` costliest,
            ``windows`` is when those were slow, ``others`` some times in which they were as usual.
        usual_ns, longest_ns: how long they usually take, and the longest.
        cost_ns: time of all above the usual; ``made_up_ns`` of it the steps behind them take less.
        are_waits_known: whether waits for batches were recorded, and are no part of the lengths.
        most_ratio: the most that they can cost, as a share of the loop: times between steps cost
            what GPUs leave unused.
        contrast: what was different then.
    """

    node: str
    worker: str
    phase: str
    is_between: bool
    n_steps: int
    loop_ns: int
    n_slow: int
    numbers: tuple[int, ...]
    windows: Union
    others: Union
    usual_ns: float
    longest_ns: int
    cost_ns: float
    made_up_ns: float
    are_waits_known: bool
    most_ratio: float
    contrast: Contrast

    @property
    def word(self) -> str:
        """Return the phase in a word."""
        return phase_word(self.phase)

    @property
    def time_ratio(self) -> float:
        """Return their time above the usual as a share of the worker's loop, in 0-1."""
        return min(self.cost_ns / self.loop_ns, 1.0) if self.loop_ns else 0.0

    @property
    def net_ratio(self) -> float:
        """Return the same without what the steps behind them make up."""
        return self.time_ratio * (1 - self.made_up_ns / self.cost_ns) if self.cost_ns else 0.0

    @property
    def cost_ratio(self) -> float:
        """Return what can be saved at most, as a share of the loop, in 0-1."""
        return min(self.net_ratio, self.most_ratio)

    def passes_in(self, other: SlowTimes) -> bool:
        """Return whether most of this time passes in another one: of two, one waits for the other.

        Others wait inside their steps for a worker that is late between its own.
        """
        shared_ns = overlap_ns(self.windows, other.windows)
        return bool(shared_ns >= MOSTLY_RATIO * self.windows.length_ns)

    def is_waiting(self, every: Sequence[NodeWaits]) -> bool:
        """Return whether some worker waits for data in most of the time by which these are longer.

        Steps of the others last until its batch is there, or what is behind them: there they wait
        while it runs its step, so that its wait lies in theirs. Usual times are no reason.
        """
        begins_ns = next(
            (item.start_ns for item in every if item.node == self.node), NOTHING.start_ns
        )
        waits = waits_seen_from(begins_ns, every)

        def waited_ns(some: Union) -> Integers:
            n_begun = self.is_between * np.searchsorted(begins_ns, some.start_ns, side="right")
            start_ns = np.where(n_begun > 0, np.append(0, begins_ns)[n_begun], some.start_ns)
            return covered_each(waits, start_ns, some.end_ns)

        longer_ns = np.maximum(waited_ns(self.windows) - np.median(waited_ns(self.others)), 0)
        extra_ns = self.cost_ns * len(self.numbers) / self.n_slow
        return bool(longer_ns.sum() >= MOSTLY_RATIO * extra_ns > 0)


def leading(every: Sequence[SlowTimes]) -> SlowTimes:
    """Return the costliest of at least one, or the time between steps that it waits for."""

    def cost(item: SlowTimes) -> tuple[float, str]:
        return item.cost_ratio, item.worker

    worst = max(every, key=cost)
    awaited = (item for item in every if item.is_between and worst.passes_in(item))
    return max(awaited, key=cost, default=worst)


def slow_times_of(
    part: NodeProfile,
    slow: SlowSteps,
    events: Events,
    is_usual: Mask,
    *,
    is_between: bool,
    length_ns: Integers,
) -> SlowTimes:
    """Return what is known of the events of a phase, against the (n,) steps that are as usual.

    ``length_ns`` are the (n,) lengths of what is slow; events, and usual steps, are at least one.
    """
    steps, rows = slow.times.steps, events.cycles
    edges_ns = (steps.start_ns, steps.end_ns, steps.next_ns)
    start_ns, end_ns = edges_ns[is_between : is_between + 2]
    kept = events.where(np.sort(np.argsort(-events.excess_ns, kind="stable")[:MOST_KEPT]))
    # A window holds what is slowest of an event: other phases may pass between its cycles.
    run = np.cumsum(np.append(False, steps.next_ns[:-1] < steps.start_ns[1:]))
    first = np.maximum(kept.first, np.searchsorted(run, run[kept.row]))
    last = np.minimum(kept.last, np.searchsorted(run, run[kept.row], side="right") - 1)
    windows = Union(start_ns=start_ns[rows], end_ns=end_ns[rows])
    others = Union(start_ns=start_ns[is_usual], end_ns=end_ns[is_usual])
    some = slice(None, None, -(-others.start_ns.size // MOST_KEPT))
    return SlowTimes(
        node=part.node,
        worker=steps.worker,
        phase=steps.phase,
        is_between=is_between,
        n_steps=steps.n_steps,
        loop_ns=steps.loop_ns,
        n_slow=events.row.size,
        numbers=tuple(steps.number[kept.row].tolist()),
        windows=Union(start_ns=start_ns[first], end_ns=end_ns[last]),
        others=Union(start_ns=others.start_ns[some], end_ns=others.end_ns[some]),
        usual_ns=float(np.median(length_ns[is_usual])),
        longest_ns=int(length_ns[rows].max()),
        cost_ns=float(events.excess_ns.sum()),
        made_up_ns=made_up_ns(events, slow.cycle_excess_ns),
        are_waits_known=are_waits_known(part.spans, steps.worker),
        most_ratio=usage.most_lost_ratio(part.system, windows) if is_between else 1.0,
        contrast=contrast_of(
            part,
            windows,
            others,
            worker=steps.worker,
            usual_ns=rows.size * others.length_ns / others.start_ns.size,
            n_times=events.row.size,
        ),
    )
