"""StepTime in words: every step, their distribution, the slow ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.facts.distributions import bin_together, tally_values
from reportgen.results import Exhibit, ExhibitKind, Finding, Severity, Where, exhibit
from reportgen.rules.kernels.saying import say_ns
from reportgen.rules.kernels.steps import StepRows, StepSource
from reportgen.rules.saying.verdict import estimate_of, fault_severity
from reportgen.rules.saying.wording import say_does, say_of, say_some
from reportgen.units import NS_PER_S, NS_PER_US, say_count, say_pct

TABLE, HISTOGRAM, PERCENTILES = "steps", "step_times", "step_percentiles"
MOST_GROUPS = 16
LEAST_TO_COMPARE = 3
COMPLETE_FROM_RATIO = 0.8
"""A first step with fewer operations than this share of the median lacks some; kernel-trace
definitions §4 (11)."""
_POINTS = (50, 95, 99)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSteps:
    """One rank; ``clock_ns`` is what the trace's own clock showed at its origin."""

    rank: int
    node: str
    n_ops: int
    origin_ns: int
    clock_ns: int
    steps: StepRows | None


def exhibits_of(ranks: Sequence[RankSteps]) -> tuple[Exhibit, ...]:
    """Return the distribution and every step."""
    return (_histogram(ranks), _percentiles(ranks), _table(ranks))


def findings_of(ranks: Sequence[RankSteps], *, times: float, least: int) -> tuple[Finding, ...]:
    """Return the slow steps as a fault and the pace as a reading."""
    found = (_slow(ranks, times, least), _incomplete(ranks))
    return (*(item for item in found if item), _reading(ranks))


def _with_steps(ranks: Sequence[RankSteps]) -> list[tuple[RankSteps, StepRows]]:
    return [(rank, rank.steps) for rank in ranks if rank.steps]


def _histogram(ranks: Sequence[RankSteps]) -> Exhibit:
    pairs = _with_steps(ranks)
    shown = pairs[:MOST_GROUPS]
    bins = bin_together([tally_values(steps.period_ns) for _, steps in shown])
    edges = bins.edge_ns / NS_PER_US
    names = ["steps"] if len(shown) == 1 else [rank.node for rank, _ in shown]
    n_steps = sum(steps.number.size for _, steps in shown)
    rest = f" The first {len(shown)} of {len(pairs)} ranks." if len(shown) < len(pairs) else ""
    p50, p95, p99 = np.percentile(
        np.concatenate([steps.period_ns for _, steps in pairs]), _POINTS
    ).tolist()
    return exhibit(
        HISTOGRAM,
        ExhibitKind.HISTOGRAM,
        title=f"Step times: median {say_ns(p50)}, p95 {say_ns(p95)}, p99 {say_ns(p99)}",
        caption=f"{_say_steps(n_steps)}, told by {shown[0][1].source}.{rest}",
        columns=[
            ("bin_start", "us", edges[:-1]),
            ("bin_end", "us", edges[1:]),
            *((name, "", bins.counts[row]) for row, name in enumerate(names)),
        ],
    )


def _percentiles(ranks: Sequence[RankSteps]) -> Exhibit:
    rows = []
    for rank, steps in _with_steps(ranks):
        points = np.percentile(steps.period_ns, _POINTS).tolist()
        rows.append(
            (
                rank.rank,
                steps.number.size,
                *(point / NS_PER_US for point in points),
                float(steps.period_ns.max()) / NS_PER_US,
                100 * steps.busy_ratio,
                int(steps.n_ops[0]),
                float(np.median(steps.n_ops)),
            )
        )
    units = {
        "rank": "",
        "count": "",
        "p50_us": "us",
        "p95_us": "us",
        "p99_us": "us",
        "max_us": "us",
        "gpu_busy_pct": "%",
        "first_step_gpu_ops": "",
        "median_step_gpu_ops": "",
    }
    columns = zip(units, units.values(), zip(*rows, strict=True), strict=True)
    return exhibit(
        PERCENTILES,
        ExhibitKind.TABLE,
        title="Step times by rank",
        caption=(
            "Percentiles of the periods; gpu_busy_pct is the share of them in which a GPU "
            "operation ran, the mean of the rank's GPUs. The last columns count the operations "
            "that a step launched."
        ),
        columns=list(columns),
    )


def _table(ranks: Sequence[RankSteps]) -> Exhibit:
    pairs = _with_steps(ranks)
    counts = [steps.number.size for _, steps in pairs]
    starts_ns = [
        rank.clock_ns + start_ns for rank, steps in pairs for start_ns in steps.start_ns.tolist()
    ]
    return exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="All steps",
        caption=(
            "period_us lasts to the start of the next step, that of a last one to its own end; "
            "gpu_busy_us is the union of the GPU operations launched in the step, added up over "
            "devices. start_us is in the trace's own clock."
        ),
        columns=[
            ("rank", "", np.repeat([rank.rank for rank, _ in pairs], counts)),
            ("step", "", np.concatenate([steps.number for _, steps in pairs])),
            ("start_us", "us", [start_ns / NS_PER_US for start_ns in starts_ns]),
            (
                "period_us",
                "us",
                np.concatenate([steps.period_ns for _, steps in pairs]) / NS_PER_US,
            ),
            (
                "gpu_busy_us",
                "us",
                np.concatenate([steps.gpu_busy_ns for _, steps in pairs]) / NS_PER_US,
            ),
        ],
    )


def _slow(ranks: Sequence[RankSteps], times: float, least: int) -> Finding | None:
    """Return the rank that loses most to its slow steps."""
    worst: tuple[float, RankSteps, StepRows] | None = None
    for rank, steps in _with_steps(ranks):
        if steps.number.size < least:
            continue
        median = float(np.median(steps.period_ns))
        is_slow = steps.period_ns > times * median
        lost = float((steps.period_ns[is_slow] - median).sum() / steps.period_ns.sum())
        if lost > 0 and (worst is None or lost > worst[0]):
            worst = (lost, rank, steps)
    return _slow_finding(*worst, times) if worst else None


def _slow_finding(lost: float, rank: RankSteps, steps: StepRows, times: float) -> Finding:
    median = float(np.median(steps.period_ns))
    rows = np.flatnonzero(steps.period_ns > times * median)
    longest = int(rows[steps.period_ns[rows].argmax()])
    start_s = (rank.origin_ns + int(steps.start_ns[longest])) / NS_PER_S
    slowest_ns = int(steps.period_ns[longest])
    names = say_some([str(number) for number in steps.number[rows].tolist()])
    return Finding(
        id="STEPT-1",
        severity=fault_severity(lost),
        title=(
            f"{say_of(rows.size, steps.number.size, 'step')} {say_does(rows.size, 'take')} more "
            f"than {times:g} times the median"
        ),
        text=(
            f"{'Step' if rows.size == 1 else 'Steps'} {names} of {rank.node}; the slowest "
            f"takes {say_ns(slowest_ns)}, the median is {say_ns(median)}. Without their excess "
            f"the recorded steps would take {say_pct(100 * lost)} less."
        ),
        advice="Look for evaluation, checkpoints, logging or recompilation in these steps.",
        where=Where(
            node=rank.node,
            start_s=start_s,
            end_s=start_s + slowest_ns / NS_PER_S,
        ),
        measured=round(slowest_ns / median, 2) if median > 0 else None,
        threshold=times,
        unit="times the median",
        estimate=estimate_of(lost),
        exhibit=TABLE,
    )


def _incomplete(ranks: Sequence[RankSteps]) -> Finding | None:
    """Say where the recording seems to have begun inside the first step."""
    few = [
        (int(steps.n_ops[0]), float(np.median(steps.n_ops)), rank)
        for rank, steps in _with_steps(ranks)
        if steps.number.size >= LEAST_TO_COMPARE
        and steps.n_ops[0] < COMPLETE_FROM_RATIO * np.median(steps.n_ops)
    ]
    if not few:
        return None
    first, median, rank = min(few, key=lambda item: item[0] / item[1])
    return Finding(
        id="STEPT-3",
        severity=Severity.INFO,
        title="The first recorded step seems incomplete",
        text=(
            f"It launched {first:,} GPU operations on {rank.node}, where a step launches "
            f"{median:,g} (median): what ran before the recording was ready is missing, and the "
            "step may be no measure of the others."
        ),
        advice="Give the profiler's schedule a warm-up step before the active ones.",
        where=Where(node=rank.node),
        measured=round(100 * first / median, 4),
        threshold=100 * COMPLETE_FROM_RATIO,
        unit="%",
        exhibit=PERCENTILES,
    )


def _say_steps(n_steps: int) -> str:
    return "1 step" if n_steps == 1 else f"{say_count(n_steps)} steps"


def _reading(ranks: Sequence[RankSteps]) -> Finding:
    every = np.concatenate([steps.period_ns for _, steps in _with_steps(ranks)])
    source = _with_steps(ranks)[0][1].source
    guessed = "" if source is StepSource.PROFILER else f" They are told by {source}."
    p50, p95 = np.percentile(every, (50, 95)).tolist()
    return Finding(
        id="STEPT-2",
        severity=Severity.INFO,
        title=f"A step takes {say_ns(p50)} (median)",
        text=(
            "One step was recorded."
            if every.size == 1
            else f"{_say_steps(every.size)}: 95 % take up to {say_ns(p95)}, the longest takes "
            f"{say_ns(int(every.max()))}.{guessed}"
        ),
        advice="Compare it with the same job on other settings.",
        measured=round(p50 / NS_PER_US, 3),
        unit="us",
        exhibit=HISTOGRAM,
    )
