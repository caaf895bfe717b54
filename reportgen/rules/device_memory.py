"""DeviceMemory: how much memory the allocator held over time, from kernel traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.profile.system import Floats
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE
from reportgen.results import (
    Counters,
    DashboardPanel,
    Details,
    Exhibit,
    ExhibitKind,
    Finding,
    Place,
    Reason,
    ReasonCode,
    RuleId,
    RuleResult,
    Section,
    Severity,
    Where,
    exhibit,
)
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.kernels.memory_curves import MemoryCurve, memory_curves
from reportgen.rules.kernels.saying import pct_of, result_of, share_limit
from reportgen.rules.saying.wording import say_times
from reportgen.units import NS_PER_S, say_bytes, say_pct

ID = RuleId("DeviceMemory")
TABLE, CURVE = "device_memory", "memory_over_time"
LEAST_STEPS = 4
"""Three steps in a row that all grow are the fewest that are not chance. Source: ours."""
ABOUT = About(
    checks="How much memory tensors and the caching allocator held, and whether it grows.",
    reading=(
        "Allocated is what tensors use, reserved what the allocator took from the device. What "
        "grows from step to step is a leak; reserved without allocated is fragmentation."
    ),
    advice="Keep no tensors with their graphs (loss.item(), detach()) beyond a step.",
    section=Section(id="device-memory", title="Memory", order=90),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """When growth is a fault."""

    threshold_growth_pct: float = share_limit(
        5.0, "memory that grows in every step is a fault from this growth over the steps on"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One rank's curves."""

    curves: tuple[MemoryCurve, ...]


def measure(part: RankTrace, params: Params) -> Measurement:  # noqa: ARG001 - a rule's shape
    """Measure the memory of a rank."""
    return Measurement(curves=memory_curves(part))


def judge(measurements: Sequence[Measurement], params: Params) -> RuleResult:
    """Join the ranks."""
    curves = [curve for rank in measurements for curve in rank.curves]
    on_gpu = [curve for curve in curves if curve.device != NONE]
    return result_of(
        ID,
        params=params,
        reason=_reason(len(measurements), curves),
        presentation=present(Counters(), {}, params, curves),
        metrics={"gpu_peak_allocated_bytes": max(curve.peak_allocated_bytes for curve in on_gpu)}
        if on_gpu
        else {},
    )


def _reason(n_ranks: int, curves: Sequence[MemoryCurve]) -> Reason | None:
    if curves:
        return None
    text = (
        "No memory was recorded: pass profile_memory=True to the profiler."
        if n_ranks
        else "No kernel trace was given."
    )
    return Reason(code=ReasonCode.NO_EVENTS, text=text)


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,  # noqa: ARG001
    params: Params,
    context: Sequence[MemoryCurve] | None,
) -> Presentation:
    """Say how memory went; ``context`` is the curves of all ranks."""
    curves = context or ()
    if not curves:
        return Presentation()
    drawn = max(curves, key=lambda curve: (curve.device != NONE, curve.peak_allocated_bytes))
    found = [
        finding
        for curve in curves
        for finding in _growth(curve, params.threshold_growth_pct)
        if curve.device != NONE
    ]
    return Presentation(findings=tuple(found[:2]), exhibits=(_curve(drawn), _table(curves)))


def _place(curve: MemoryCurve) -> str:
    return "host" if curve.device == NONE else f"gpu{curve.device}"


def _curve(curve: MemoryCurve) -> Exhibit:
    name = _place(curve)
    lines = [(f"{name} allocated", "bytes", curve.allocated.high)]
    if curve.reserved is not None:
        lines.append((f"{name} reserved", "bytes", curve.reserved.high))
    relative = (
        " Totals were not recorded: it counts from the first event." if curve.is_relative else ""
    )
    return exhibit(
        CURVE,
        ExhibitKind.SERIES,
        title=(
            f"Memory of {name} on {curve.node}: "
            f"up to {say_bytes(curve.peak_allocated_bytes)} allocated"
        ),
        caption=(
            f"The device with the highest peak; {say_times(curve.n_events, 'event')} in "
            f"{say_times(curve.allocated.time_ns.size, 'point')}, the most of each is kept."
            f"{relative}"
        ),
        columns=[("time_s", "s", curve.allocated.time_ns / NS_PER_S), *lines],
    )


def _table(curves: Sequence[MemoryCurve]) -> Exhibit:
    return exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="Memory by rank and device",
        caption=(
            "Peaks of what tensors used and of what the allocator held; growth is from the begin "
            "of the first to that of the last step, absent without steps."
        ),
        columns=[
            ("rank", "", [curve.rank for curve in curves]),
            ("device", "", [_place(curve) for curve in curves]),
            ("events", "", [curve.n_events for curve in curves]),
            ("peak_allocated_bytes", "bytes", [curve.peak_allocated_bytes for curve in curves]),
            ("peak_reserved_bytes", "bytes", [curve.peak_reserved_bytes for curve in curves]),
            ("growth_bytes", "bytes", [_grown(curve.at_steps) for curve in curves]),
            (
                "reserved_growth_bytes",
                "bytes",
                [_grown(curve.reserved_at_steps) for curve in curves],
            ),
        ],
    )


def _grown(at_steps: Floats) -> float | None:
    known = at_steps[~np.isnan(at_steps)]
    return float(known[-1] - known[0]) if known.size > 1 else None


def _growth(curve: MemoryCurve, limit_pct: float) -> list[Finding]:
    kinds = (
        ("DMEM-1", "allocated", curve.at_steps, curve.peak_allocated_bytes),
        ("DMEM-2", "reserved", curve.reserved_at_steps, curve.peak_reserved_bytes or 0.0),
    )
    found = []
    for finding_id, kind, at_steps, peak in kinds:
        known = at_steps[~np.isnan(at_steps)]
        if known.size < LEAST_STEPS or not (np.diff(known) > 0).all():
            continue
        grown = float(known[-1] - known[0])
        share_pct = pct_of(grown, peak)
        if share_pct >= limit_pct:
            found.append(
                _growing(curve, finding_id, kind, (grown, share_pct, limit_pct, known.size))
            )
    return found


def _growing(
    curve: MemoryCurve, finding_id: str, kind: str, grown: tuple[float, float, float, int]
) -> Finding:
    size, share_pct, limit_pct, n_steps = grown
    per_step = say_bytes(size / (n_steps - 1))
    advice = (
        "Look for tensors that are kept beyond a step: losses in lists, hooks, caches."
        if kind == "allocated"
        else "Look for shapes that change; expandable_segments:True lets the allocator reuse more."
    )
    return Finding(
        id=finding_id,
        severity=Severity.WARNING,
        title=f"Memory that is {kind} grows by {per_step} in every step",
        text=(
            f"From the first to the last of {n_steps} steps {_place(curve)} of {curve.node} gains "
            f"{say_bytes(size)}, {say_pct(share_pct)} of the peak."
        ),
        advice=advice,
        where=Where(node=curve.node, device=_place(curve)),
        measured=round(share_pct, 4),
        threshold=limit_pct,
        unit="%",
        exhibit=TABLE,
    )


RULE = Rule(
    id=ID,
    title="Device memory",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    places={"memory_over_time": Place(dashboard=DashboardPanel(order=160))},
)
