"""What LowGPUUtilization says of raw data: two findings with texts of their own, a table, boxes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from reportgen.results import (
    Counters,
    Estimate,
    Finding,
    Severity,
    Where,
)
from reportgen.rules.base import Presentation
from reportgen.rules.gpu.stopped import stopped_of
from reportgen.rules.gpu.unused import Unused
from reportgen.rules.gpu.use import GpuUse, Params, Verdict, verdict_of
from reportgen.rules.gpu.use_exhibits import TABLE, utilization_table
from reportgen.rules.saying.boxes import NamedBox, boxes_exhibit
from reportgen.rules.saying.places import longest_minutes
from reportgen.rules.saying.verdict import estimate_of, fault_severity
from reportgen.rules.saying.wording import label, say_of, say_place, say_places, say_times
from reportgen.units import say_pct

UNDER_USED = "GPU-1"
FLUCTUATING = "GPU-2"
RARE_RATIO = 0.1
"""A fault in less than a tenth of the judged minutes is only told, not warned of. Source: ours."""
HOST_BUSY_PCT = 70.0
"""From this mean of all cores on the host has no room. Source: BatchSize's threshold."""
HOST_BOUND_RATIO = 0.3
"""From this share of idle samples with a busy or waiting core the host is named first. Ours."""


def present_gpus(counters: Counters, gpus: Sequence[GpuUse], params: Params) -> Presentation:
    """Return findings and exhibits from measurements."""
    if not gpus:
        return Presentation()
    by_verdict: dict[Verdict, list[GpuUse]] = {}
    for gpu in gpus:
        by_verdict.setdefault(verdict_of(gpu), []).append(gpu)
    findings: list[Finding] = []
    if counters.rule_triggered:
        wasted = 1 - float(np.mean([gpu.work_mean_pct for gpu in gpus])) / 100
        for verdict, find in _FINDERS.items():
            if verdict in by_verdict:
                findings.append(find(by_verdict[verdict], gpus, wasted, params))
        if not findings and Verdict.EDGES in by_verdict:
            findings.append(_edges(by_verdict[Verdict.EDGES], len(gpus), params))
    n_nodes = len({gpu.node for gpu in gpus})
    boxes = [
        NamedBox(name=label(gpu.node, gpu.gpu, n_nodes=n_nodes), box=gpu.box, largest=gpu.max_pct)
        for gpu in gpus
    ]
    return Presentation(
        findings=tuple(findings),
        exhibits=(
            utilization_table(gpus),
            boxes_exhibit("boxes", boxes, title="GPU utilization over the whole job", unit="%"),
        ),
    )


def _under_used(
    gpus: Sequence[GpuUse], every: Sequence[GpuUse], wasted_ratio: float, params: Params
) -> Finding:
    worst = min(gpus, key=lambda gpu: _lowest(gpu.minutes.p95_pct, gpu.minutes.is_low_at_work))
    minutes = worst.minutes
    lowest = _lowest(minutes.p95_pct, minutes.is_low_at_work)
    n_bad = int(minutes.is_low_at_work.sum())
    n_judged = minutes.start_ns.size
    others = _others(gpus, worst)
    unused = Unused.among(
        [
            (gpu.node, gpu.gpu, gpu.max_pct)
            for gpu in every
            if verdict_of(gpu) is not Verdict.NOT_JUDGED
        ],
        idle_below=params.threshold_p5,
    )
    stopped = None if unused.places else stopped_of(worst)
    return Finding(
        id=UNDER_USED,
        severity=_severity(gpus, Verdict.UNDER_USED, wasted_ratio),
        title=unused.title
        or (
            stopped.title
            if stopped
            else f"GPU under-used: the 95th percentile of {say_place(worst.node, worst.gpu)} is "
            f"only {say_pct(lowest)}"
        ),
        text=(
            f"In {n_bad:,} of {say_times(n_judged, 'judged minute')} the 95th percentile of the "
            f"last {say_times(params.window, 'sample')} was below "
            f"{say_pct(params.threshold_p95)}; at the lowest it was {say_pct(lowest)}. While "
            f"at work this GPU was used {say_pct(worst.work_mean_pct)} on average and idle "
            f"{say_pct(100 * worst.idle_ratio)} of the time. This concerns "
            f"{say_of(len(gpus), len(every), 'GPU')}{others}.{stopped.text if stopped else ''}"
        ),
        advice=unused.advice
        or (stopped.advice if stopped else _advice(worst, _more_work(worst, every))),
        where=stopped.where if stopped else _where(worst, minutes.is_low_at_work),
        measured=round(lowest, 4),
        threshold=float(params.threshold_p95),
        unit="%",
        estimate=None if unused.is_all else _estimate(wasted_ratio),
        exhibit=TABLE,
        causes=() if unused.places or stopped else (*CAUSES, "BATCH-1"),
    )


CAUSES = (
    "DL-1",
    "DL-2",
    "DL-5",
    "CPU-1",
    "IO-1",
    "SYS-5",
    "PERIOD-1",
    "STEP-1",
    "STRAG-1",
    "BAL-1",
)
"""The findings that say what an idle GPU waits for."""


def _fluctuating(
    gpus: Sequence[GpuUse], every: Sequence[GpuUse], wasted_ratio: float, params: Params
) -> Finding:
    worst = max(gpus, key=lambda gpu: (gpu.idle_ratio, gpu.minutes.is_fluctuating_at_work.sum()))
    minutes = worst.minutes
    lowest = _lowest(minutes.p5_pct, minutes.is_fluctuating_at_work)
    n_bad = int(minutes.is_fluctuating_at_work.sum())
    others = _others(gpus, worst)
    return Finding(
        id=FLUCTUATING,
        severity=_severity(gpus, Verdict.FLUCTUATING, wasted_ratio),
        title=(
            f"GPU swings between busy and idle: {say_place(worst.node, worst.gpu)} is idle "
            f"{say_pct(100 * worst.idle_ratio)} of its working time"
        ),
        text=(
            f"In {n_bad:,} of {say_times(minutes.start_ns.size, 'judged minute')} the last "
            f"{say_times(params.window, 'sample')} reached above {say_pct(params.threshold_p95)} "
            f"(95th percentile) and fell below {say_pct(params.threshold_p5)} (5th percentile, "
            f"{say_pct(lowest)} at the lowest). While at work this GPU was used "
            f"{say_pct(worst.work_mean_pct)} on average. This concerns "
            f"{say_of(len(gpus), len(every), 'GPU')}{others}."
        ),
        advice=_advice(
            worst,
            "Find what the GPU waits for between its bursts: data loading, synchronisation with "
            "other GPUs, checkpoints or logging.",
        ),
        where=_where(worst, minutes.is_fluctuating_at_work),
        measured=round(lowest, 4),
        threshold=float(params.threshold_p5),
        unit="%",
        estimate=_estimate(wasted_ratio),
        exhibit=TABLE,
        causes=CAUSES,
    )


_Finder = Callable[[Sequence[GpuUse], Sequence[GpuUse], float, Params], Finding]
_FINDERS: Mapping[Verdict, _Finder] = {
    Verdict.UNDER_USED: _under_used,
    Verdict.FLUCTUATING: _fluctuating,
}


def _edges(gpus: Sequence[GpuUse], n_gpus: int, params: Params) -> Finding:
    worst = max(gpus, key=lambda gpu: gpu.minutes.n_violations)
    minutes = worst.minutes
    is_low = minutes.is_low.sum() >= minutes.is_fluctuating.sum()
    return Finding(
        id=UNDER_USED if is_low else FLUCTUATING,
        severity=Severity.INFO,
        title="GPU idle only before the work begins or after it ends",
        text=(
            f"{say_place(worst.node, worst.gpu)} missed the thresholds in "
            f"{minutes.n_violations:,} of {say_times(minutes.start_ns.size, 'judged minute')}, but "
            f"only because the last {say_times(params.window, 'sample')} reached into its idle "
            f"start or end. At work its 95th percentile is {say_pct(worst.work_p95_pct)} and its "
            f"mean {say_pct(worst.work_mean_pct)}. This concerns "
            f"{say_of(len(gpus), n_gpus, 'GPU')}."
        ),
        advice="Nothing to do for the training itself; shorten start-up or upload if they matter.",
        where=_where(worst, minutes.is_low | minutes.is_fluctuating),
        measured=round(worst.work_p95_pct, 4),
        threshold=float(params.threshold_p95),
        unit="%",
        exhibit=TABLE,
    )


def _more_work(worst: GpuUse, every: Sequence[GpuUse]) -> str:
    busy = [gpu for gpu in every if verdict_of(gpu) is Verdict.FINE]
    if busy:
        names = say_places([(gpu.node, gpu.gpu) for gpu in busy])
        return (
            f"Share the work evenly first: {names} {'is' if len(busy) == 1 else 'are'} busy (see "
            "workload balance and the pace of the workers)."
        )
    if worst.host_mean_pct is not None and worst.host_mean_pct >= HOST_BUSY_PCT:
        return (
            f"Relieve the CPU first: its cores are at {say_pct(worst.host_mean_pct)} on average; "
            "load and preprocess more cheaply, or take more cores per GPU."
        )
    return (
        "Give it more work at a time (see batch size), or use a smaller or fewer GPUs; the "
        "samples do not show that it waits for the host."
    )


def _advice(worst: GpuUse, otherwise: str) -> str:
    share = worst.hot_when_idle_ratio
    if share is not None and share >= HOST_BOUND_RATIO and worst.idle_ratio >= RARE_RATIO:
        return (
            f"Relieve the host first: in {say_pct(100 * share)} of the idle samples a CPU core "
            "was busy or waited for I/O; find what it did (a sampling profiler shows it)."
        )
    return otherwise


def _severity(gpus: Sequence[GpuUse], verdict: Verdict, wasted_ratio: float) -> Severity:
    shares = [
        (
            gpu.minutes.is_low_at_work
            if verdict is Verdict.UNDER_USED
            else gpu.minutes.is_fluctuating_at_work
        ).mean()
        for gpu in gpus
    ]
    return Severity.INFO if max(shares) < RARE_RATIO else fault_severity(wasted_ratio)


def _estimate(wasted_ratio: float) -> Estimate | None:
    return estimate_of(wasted_ratio)


def _others(gpus: Sequence[GpuUse], worst: GpuUse) -> str:
    places = [(gpu.node, gpu.gpu) for gpu in gpus if gpu is not worst]
    return f" (also {say_places(places)})" if places else ""


def _lowest(values: NDArray[np.float64], rows: NDArray[np.bool_]) -> float:
    return float(values[rows].min())


def _where(gpu: GpuUse, is_bad: NDArray[np.bool_]) -> Where:
    starts = gpu.minutes.start_ns[is_bad]
    return longest_minutes(gpu.node, gpu.gpu, starts, last_ns=gpu.last_ns)
