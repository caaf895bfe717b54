"""How fast each worker computes, and whether one of them holds up the others: STRAG-1."""

from __future__ import annotations

from collections.abc import Sequence

from reportgen.facts.steps import LaggingWorker, Loop, Pace, phase_word
from reportgen.results import Exhibit, ExhibitKind, Finding, Where, exhibit
from reportgen.rules.saying.verdict import estimate_of, fault_severity
from reportgen.rules.saying.wording import say_times
from reportgen.units import NS_PER_S, say_duration, say_pct, seconds

WORKERS = "workers"


def straggler_finding(found: LaggingWorker, loop: Loop, *, above_pct: float) -> Finding:
    """Return STRAG-1: who it is, by how much it is slower, what it costs."""
    pace = found.pace
    what = "forward passes" if found.by_forward else "steps"
    share = found.extra_ratio
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


def _seconds(time_ns: float | None) -> float | None:
    return None if time_ns is None else time_ns / NS_PER_S
