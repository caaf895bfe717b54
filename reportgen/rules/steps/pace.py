"""How fast each worker computes, and whether one of them holds up the others.

Workers that train one model wait for each other in every step, so their steps are equally long.
What a worker does before it waits tells: the forward pass holds no communication.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.facts.groups import rows_by_code
from reportgen.profile import SpanTable
from reportgen.results import Exhibit, ExhibitKind, Finding, Where, exhibit
from reportgen.rules.framework.loop import Loop, loop_length_ns
from reportgen.rules.saying.verdict import estimate_of, fault_severity
from reportgen.rules.saying.wording import say_times
from reportgen.rules.steps.series import phase_word
from reportgen.units import NS_PER_S, say_duration, say_pct, seconds

FORWARD = "Forward"
LEAST_STEPS = 10
"""Fewer steps of a worker tell nothing about its pace. Source: ours."""
LEAST_EXTRA_RATIO = 0.02
"""A worker whose extra time is below 2 % of the loop is no straggler. Source: ours."""
SAME_LENGTH_RATIO = 0.02
"""Steps whose medians differ by at most 2 % end together: the workers wait for each other."""
WORKERS = "workers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """One worker in one step phase: medians and sums of its steps and forward passes in ns."""

    worker: str
    phase: str
    n_steps: int
    step_median_ns: float
    step_total_ns: int
    n_forward: int
    forward_median_ns: float | None
    forward_total_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Straggler:
    """A worker that computes longer than the others.

    Attributes:
        by_forward: whether forward passes were compared, or whole steps.
        usual_ns: median over the other workers of their median.
        extra_ns: its time in total less that of the usual other worker.
        is_waited_for: whether the steps of all workers are equally long nonetheless.
    """

    pace: Pace
    by_forward: bool
    median_ns: float
    usual_ns: float
    extra_ns: float
    is_waited_for: bool

    @property
    def longer_pct(self) -> float:
        """Return by how many percent it is longer."""
        return 100 * (self.median_ns / self.usual_ns - 1)


def paces_of(spans: SpanTable) -> tuple[Pace, ...]:
    """Return the pace of each worker and step phase of one node."""
    steps = spans.steps()
    forward = spans.where(spans.in_phases((FORWARD,)))
    paces = []
    for worker, rows in rows_by_code(steps.worker):
        its = steps.where(rows[np.argsort(steps.start_ns[rows], kind="stable")])
        own = forward.where(forward.worker == worker)
        step_of = np.searchsorted(its.start_ns, own.start_ns, side="right") - 1
        is_inside = (step_of >= 0) & (own.start_ns <= its.end_ns[np.maximum(step_of, 0)])
        phase_of = np.where(is_inside, its.phase[np.maximum(step_of, 0)], -1)
        for phase, members in rows_by_code(its.phase):
            step_ns = its.duration_ns[members]
            forward_ns = own.duration_ns[phase_of == phase]
            paces.append(
                Pace(
                    worker=its.workers[worker],
                    phase=its.phases[phase],
                    n_steps=int(step_ns.size),
                    step_median_ns=float(np.median(step_ns)),
                    step_total_ns=int(step_ns.sum()),
                    n_forward=int(forward_ns.size),
                    forward_median_ns=float(np.median(forward_ns)) if forward_ns.size else None,
                    forward_total_ns=int(forward_ns.sum()),
                )
            )
    return tuple(paces)


def find_straggler(paces: Sequence[Pace], loop: Loop, *, above_pct: float) -> Straggler | None:
    """Return the worker that holds up the others, if there is one.

    Args:
        paces: all workers of the job in one phase.
        loop: of the job.
        above_pct: a straggler is longer than the usual other worker by more than this.

    Edge cases: one worker, or fewer than ``LEAST_STEPS`` steps of one of them: ``None``.
    """
    if len(paces) < 2 or min(pace.n_steps for pace in paces) < LEAST_STEPS:
        return None
    by_forward = min(pace.n_forward for pace in paces) >= LEAST_STEPS

    def median_ns(pace: Pace) -> float:
        return (pace.forward_median_ns or 0.0) if by_forward else pace.step_median_ns

    def total_ns(pace: Pace) -> int:
        return pace.forward_total_ns if by_forward else pace.step_total_ns

    slowest = max(paces, key=lambda pace: (median_ns(pace), pace.worker))
    others = [pace for pace in paces if pace is not slowest]
    usual_ns = float(np.median([median_ns(pace) for pace in others]))
    step_ns = [pace.step_median_ns for pace in paces]
    found = Straggler(
        pace=slowest,
        by_forward=by_forward,
        median_ns=median_ns(slowest),
        usual_ns=usual_ns,
        extra_ns=total_ns(slowest) - float(np.median([total_ns(pace) for pace in others])),
        is_waited_for=max(step_ns) <= (1 + SAME_LENGTH_RATIO) * min(step_ns),
    )
    is_slow = usual_ns > 0 and found.longer_pct > above_pct
    return found if is_slow and _extra_ratio(found, loop) >= LEAST_EXTRA_RATIO else None


def straggler_finding(found: Straggler, loop: Loop, *, above_pct: float) -> Finding:
    """Return STRAG-1: who it is, by how much it is slower, what it costs."""
    pace = found.pace
    what = "forward passes" if found.by_forward else "steps"
    share = _extra_ratio(found, loop)
    wait = (
        "; the steps of all workers are equally long, so the others wait for it in each"
        if found.is_waited_for
        else ""
    )
    return Finding(
        id="STRAG-1",
        severity=fault_severity(share),
        title=f"{pace.worker} is slower than the other workers by {say_pct(found.longer_pct)}",
        text=(
            f"The {what} of {pace.worker} take {say_duration(found.median_ns / NS_PER_S)} "
            f"(median), those of the other workers {say_duration(found.usual_ns / NS_PER_S)}"
            f"{wait}. Over {say_times(pace.n_steps, 'step')} this is "
            f"{say_duration(found.extra_ns / NS_PER_S)}, {say_pct(100 * share)} of the loop."
        ),
        advice=(
            f"Compare {pace.worker} with the others: its share of the data, its device's clock "
            "and temperature, other load on its node."
        ),
        where=Where(
            node=pace.worker.rpartition("-")[0] or None,
            device=pace.worker,
            start_s=None if loop.start_ns is None else seconds(loop.start_ns),
            end_s=None if loop.end_ns is None else seconds(loop.end_ns),
        ),
        measured=round(found.longer_pct, 4),
        threshold=above_pct,
        unit="%",
        estimate=estimate_of(share),
        exhibit=WORKERS,
    )


def pace_exhibits(paces: Sequence[Pace]) -> tuple[Exhibit, ...]:
    """Return the table of workers, and bars to compare them when there are several."""
    if not paces:
        return ()
    forward_s = [_seconds(pace.forward_median_ns) for pace in paces]
    table = exhibit(
        WORKERS,
        ExhibitKind.TABLE,
        title="Pace of the workers",
        caption="Medians and sums over the steps of each worker and phase.",
        columns=[
            ("worker", "", [pace.worker for pace in paces]),
            ("phase", "", [phase_word(pace.phase) for pace in paces]),
            ("steps", "", [pace.n_steps for pace in paces]),
            ("step_p50_s", "s", [_seconds(pace.step_median_ns) for pace in paces]),
            ("step_total_s", "s", [pace.step_total_ns / NS_PER_S for pace in paces]),
            ("forward_p50_s", "s", forward_s),
            ("forward_total_s", "s", [pace.forward_total_ns / NS_PER_S for pace in paces]),
        ],
    )
    workers = {pace.worker for pace in paces}
    if len(workers) < 2 or len(workers) < len(paces):
        return (table,)
    bars = exhibit(
        "worker_pace",
        ExhibitKind.BARS,
        title="Median step and forward pass of each worker",
        columns=[
            ("name", "", [pace.worker for pace in paces]),
            ("step", "s", [_seconds(pace.step_median_ns) for pace in paces]),
            ("forward", "s", forward_s),
        ],
    )
    return table, bars


def _extra_ratio(found: Straggler, loop: Loop) -> float:
    loop_ns = loop_length_ns(loop)
    return found.extra_ns / loop_ns if loop_ns else 0.0


def _seconds(time_ns: float | None) -> float | None:
    return None if time_ns is None else time_ns / NS_PER_S
