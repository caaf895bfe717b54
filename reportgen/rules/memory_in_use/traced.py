"""How much memory the allocator held over time, from kernel traces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from reportgen import results
from reportgen.arrays import Floats, Mask
from reportgen.facts.resample import TimeBuckets, bucket_by_time
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import HOST_MEMORY, NONE, Times
from reportgen.rules import kit
from reportgen.rules.base import Outcome
from reportgen.rules.memory_in_use.sampled import HOST
from reportgen.text import write
from reportgen.units import NS_PER_S, pct_of

LEAST_GROWTH_STEPS = 4
"""Three steps in a row that all grow are the fewest that are hardly chance."""
MOST_FINDINGS = 2
"""The same code runs on every rank, so further devices repeat the first ones."""
GROWING = kit.Message(
    id="DMEM-1",
    cause=results.Cause.MEMORY_GROWTH,
    title="Allocated memory grows by {per_step:bytes} in every step",
    text="""From the first to the last of {n_steps} steps {curve.place} of {curve.node} gains
        {grown:bytes}, {measured:pct} of the peak.""",
    advice="Find tensors that are kept beyond a step: losses in lists, hooks, caches.",
    severity=results.Severity.WARNING,
    exhibit="device_memory",
)
FRAGMENTING = kit.Message(
    id="DMEM-2",
    cause=results.Cause.MEMORY_GROWTH,
    title="Reserved memory grows by {per_step:bytes} in every step",
    text=GROWING.text,
    advice="""Avoid changing shapes, and set expandable_segments:True so that the allocator can
        reuse more.""",
    severity=results.Severity.WARNING,
    exhibit="device_memory",
)
CURVE_TITLE = "Memory of {c.place} on {c.node}: up to {c.peak_allocated_bytes:bytes} allocated"
CURVE_CAPTION = """The device with the highest peak. {c.events:count event} are reduced to
    {points:count point}; maxima are kept.{relative}"""
RELATIVE = " Totals were not recorded: the curve counts from the first event."


def _grown(at_steps: Floats) -> float | None:
    return float(at_steps[-1] - at_steps[0]) if at_steps.size > 1 else None


@kit.row
class MemoryCurve:
    """One device, or the host's memory, of a rank.

    Attributes:
        place: ``gpu0``, or ``HOST``.
        peak_reserved_bytes: ``None`` where it was not recorded, as ``reserved``.
        is_relative: totals were not recorded; the curve counts changes from 0.
        allocated, reserved: thinned curves in bytes.
        at_steps, reserved_at_steps: bytes when each step began, after the first event.
    """

    node: str
    rank: int = kit.col()
    place: str = kit.col(name="device")
    events: int = kit.col()
    peak_allocated_bytes: float = kit.col("bytes")
    peak_reserved_bytes: float | None = kit.col("bytes")
    growth_bytes: float | None = kit.derived(lambda item: _grown(item.at_steps), "bytes")
    reserved_growth_bytes: float | None = kit.derived(
        lambda item: _grown(item.reserved_at_steps), "bytes"
    )
    is_relative: bool
    allocated: TimeBuckets
    reserved: TimeBuckets | None
    at_steps: Floats
    reserved_at_steps: Floats


def measure(trace: RankTrace) -> tuple[MemoryCurve, ...]:
    """Return the curve of each device of a rank that has memory events, the host's last."""
    memory = trace.memory
    is_host = memory.device_type == HOST_MEMORY
    found = [
        _curve(trace, f"gpu{device}", ~is_host & (memory.device == device))
        for device in np.unique(memory.device[~is_host]).tolist()
    ]
    return (*found, *((_curve(trace, HOST, is_host),) if is_host.any() else ()))


def _curve(trace: RankTrace, place: str, rows: Mask) -> MemoryCurve:
    memory = trace.memory
    time_ns = memory.time_ns[rows]
    totals, reserved = memory.allocated_bytes[rows], memory.reserved_bytes[rows]
    is_relative = bool((totals == NONE).any())
    allocated = (np.cumsum(memory.change_bytes[rows]) if is_relative else totals).astype(np.float64)
    has_reserved = not is_relative and bool((reserved > 0).any())
    held = reserved.astype(np.float64)
    instant_ns = trace.origin_ns + time_ns
    return MemoryCurve(
        rank=trace.rank,
        node=trace.node,
        place=place,
        events=time_ns.size,
        is_relative=is_relative,
        allocated=bucket_by_time(instant_ns, allocated),
        reserved=bucket_by_time(instant_ns, held) if has_reserved else None,
        peak_allocated_bytes=float(allocated.max()),
        peak_reserved_bytes=float(held.max()) if has_reserved else None,
        at_steps=_at(trace.steps.start_ns, time_ns, allocated),
        reserved_at_steps=_at(trace.steps.start_ns, time_ns, held) if has_reserved else np.empty(0),
    )


def _at(moment_ns: Times, time_ns: Times, values: Floats) -> Floats:
    place = np.searchsorted(time_ns, moment_ns, side="right") - 1
    return values[place[place >= 0]]


def judge(curves: Sequence[MemoryCurve], *, growth_pct: float) -> Outcome:
    """Report how memory went, and where it grows in every step; at least one curve."""
    on_gpu = [curve for curve in curves if curve.place != HOST]
    drawn = max(on_gpu or curves, key=lambda curve: curve.peak_allocated_bytes)
    growing = [item for curve in on_gpu for item in _growth(curve, growth_pct)]
    by_device = kit.table(
        "device_memory",
        curves,
        MemoryCurve,
        title="Memory by rank and device",
        caption="""Peaks of allocated memory (tensors) and of reserved memory (allocator). growth is
            the difference between the start of the first step and the start of the last one, empty
            without steps.""",
    )
    peaks = [curve.peak_allocated_bytes for curve in on_gpu]
    return Outcome(
        findings=growing[:MOST_FINDINGS],
        exhibits=[_over_time(drawn), by_device],
        metrics={"gpu_peak_allocated_bytes": max(peaks)} if peaks else {},
    )


def _growth(curve: MemoryCurve, limit_pct: float) -> Iterator[results.Finding]:
    for message, at_steps, peak_bytes in (
        (GROWING, curve.at_steps, curve.peak_allocated_bytes),
        (FRAGMENTING, curve.reserved_at_steps, curve.peak_reserved_bytes or 0.0),
    ):
        if at_steps.size < LEAST_GROWTH_STEPS or (np.diff(at_steps) <= 0).any():
            continue
        grown_bytes = float(at_steps[-1] - at_steps[0])
        share_pct = pct_of(grown_bytes, peak_bytes)
        if share_pct >= limit_pct:
            yield message.finding(
                measured=share_pct,
                threshold=limit_pct,
                where=results.Where(node=curve.node, device=curve.place),
                per_step=grown_bytes / (at_steps.size - 1),
                n_steps=at_steps.size,
                curve=curve,
                grown=grown_bytes,
            )


def _over_time(curve: MemoryCurve) -> results.Exhibit:
    lines = [
        (f"{curve.place} {kind}", "bytes", line.high)
        for kind, line in (("allocated", curve.allocated), ("reserved", curve.reserved))
        if line is not None
    ]
    role = results.Role.MEMORY if curve.place == HOST else results.Role.GPU_MEMORY
    return results.exhibit(
        "allocated_over_time",
        results.ExhibitKind.SERIES,
        title=write(CURVE_TITLE, c=curve),
        caption=write(
            CURVE_CAPTION,
            c=curve,
            points=curve.allocated.first_ns.size,
            relative=RELATIVE if curve.is_relative else "",
        ),
        columns=[
            *kit.floats(("time_s", "s", curve.allocated.first_ns / NS_PER_S)),
            *kit.floats(*lines, role=role),
        ],
    )
