"""Measurement of GPUTimeBudget: each GPU's time in parts (docs/rules.md, GPUTimeBudget)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import Floats, Instants, Mask
from reportgen.facts import device_busy
from reportgen.facts.breakdown import exchanges_data
from reportgen.facts.device_busy import DeviceUnions, Window
from reportgen.facts.idle import causes_of, cut, gaps_in
from reportgen.facts.intervals import covered_each, overlaps_any, runs_of, union_of
from reportgen.facts.loader import loader_rows
from reportgen.facts.samples import (
    count_where,
    is_window,
    mean_of,
    tick_lengths_ns,
    training_loop_ns,
)
from reportgen.facts.steps import PhaseSteps, phase_word, steps_of
from reportgen.facts.traced_steps import step_rows
from reportgen.facts.usage import CPU_HOT_PCT, IDLE_BELOW_PCT, IO_HOT_PCT, hot_cores, starvation_of
from reportgen.merging import rows_by_code, sums_by_code
from reportgen.profile import NodeProfile, RankTrace, SeriesKind, SpanTable, SystemTable
from reportgen.profile.spans import TRAINING_PHASES
from reportgen.results import PackedTable
from reportgen.results.packed_columns import pack
from reportgen.rules.base import param
from reportgen.rules.gpu_time_budget import tables
from reportgen.rules.gpu_time_budget.tables import SAMPLED, TRACED, Budget, GpuBudget, Part
from reportgen.rules.kit import communication_names, given
from reportgen.units import NS_PER_S

BUSY_PCT = 90.0
IO_MEAN_PCT = 20.0
"""A GPU above the first is busy, up to ``IDLE_BELOW_PCT`` idle; cores that wait for I/O by more
than the second on average hold it up (docs/rules.md, GPUTimeBudget)."""
JITTER_OF_INTERVAL = 0.1
"""Samples come early or late by this share of their interval; lengths are known no better."""
LEAST_UNUSED_TICKS = 100
"""Fewer samples do not show that the job never uses a GPU: it may be held up."""
LEAST_STRETCH_TICKS = 2
"""One idle sample does not show how long a GPU idled."""
MOST_SAMPLED_STRETCHES = 200
"""The longest of each node are kept, as many as a chart can show; all count."""

Codes = NDArray[np.int8]
Steps = tuple[Instants, Instants]
"""Starts and lengths of steps."""

_CODE = {part: code for code, part in enumerate(SAMPLED.order)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """The price, and what is listed; the parts mean the same in every report."""

    usd_per_gpu_hour: float | None = given(
        "what an hour of one GPU costs; with it the parts are also given in money",
        source="the bill; no default, as prices differ",
        unit="USD",
        minimum=0,
    )
    min_idle_s: float = param(
        3.0,
        unit="s",
        meaning="a GPU that idles so long without a pause is listed",
        source="six samples at SageMaker's usual interval",
        minimum=0,
        is_printed=False,
    )
    communication_names: str | None = communication_names()


def measure(part: NodeProfile | RankTrace, params: Params) -> Budget:
    """Measure one node, or one rank whose kernels were traced."""
    if isinstance(part, RankTrace):
        return _of_rank(part, params.communication_names)
    return _of_node(part, least_idle_ns=round(params.min_idle_s * NS_PER_S))


# From samples


def _of_node(part: NodeProfile, *, least_idle_ns: int) -> Budget:
    system, tick_ns = part.system, part.system.tick_ns
    kind = SeriesKind.GPU_UTILIZATION
    is_at_work = np.zeros((system.n_ticks, len(system.names(kind))), dtype=np.bool_, order="F")
    for place, use in enumerate(system.each(kind)):
        is_at_work[:, place] = use > IDLE_BELOW_PCT
    steps_ns, active_ns = training_loop_ns(part.spans), tick_ns[is_at_work.any(axis=1)]
    works_ns = (int(active_ns[0]), int(active_ns[-1])) if active_ns.size else None
    loop_ns = works_ns if is_window(steps_ns, works_ns) else steps_ns or works_ns
    length_ns, gap_ns = tick_lengths_ns(system)
    is_hot = hot_cores(system, SeriesKind.CPU_UTILIZATION, above=CPU_HOT_PCT) > 0
    causes = _causes(system, is_at_work, part.spans, is_hot)
    is_used: Mask = np.asarray(is_at_work.any(axis=0))
    if not is_used.any() or system.n_ticks < LEAST_UNUSED_TICKS:
        is_used[:] = True
    never = {Part.NEVER_USED: np.ones(system.n_ticks, dtype=np.bool_)}
    least_ns = least_idle_ns - JITTER_OF_INTERVAL * (system.interval_ns or 0)
    steps = _training_steps(part) if system.n_ticks > 1 else None
    gpus, stretches, data = [], [], []
    for place, (device, use) in enumerate(zip(system.names(kind), system.each(kind), strict=True)):
        codes = _codes(tick_ns, use, loop_ns, causes if is_used[place] else never)
        found = [*_stretches(codes, tick_ns, length_ns, least_ns, (part.node, device))]
        part_ns = _sums(codes, length_ns)
        part_ns[Part.NOT_MEASURED] += gap_ns
        gpus.append(
            GpuBudget(
                node=part.node,
                device=device,
                part_ns={name: time_ns for name, time_ns in part_ns.items() if time_ns},
                n_stretches=len(found),
                stretches_ns=sum(stretch.duration_ns for stretch in found),
                worked_ns=_sums(codes, np.where(is_at_work[:, place], length_ns, 0)),
                unused_ns=_sums(codes, (length_ns * np.nan_to_num(1 - use / 100)).astype(np.int64)),
            )
        )
        stretches += found
        if steps is not None:
            parts = _sampled_parts(codes, tick_ns, length_ns, steps)
            data.append(_packed(steps, parts, {"node": part.node, "device": device}))
    stretches.sort(key=lambda item: (-item.duration_ns, item.start_ns, item.device))
    return Budget(
        node=part.node,
        is_traced=False,
        gpus=tuple(gpus),
        n_ticks=system.n_ticks,
        has_steps=steps_ns is not None and loop_ns == steps_ns,
        stretches=tuple(stretches[:MOST_SAMPLED_STRETCHES]),
        data=tuple(data),
    )


def _causes(
    system: SystemTable, is_at_work: Mask, spans: SpanTable, is_hot: Mask
) -> Mapping[Part, Mask]:
    """Return why a GPU may idle at each tick, in the order in which the causes are tried."""

    def is_inside(events: SpanTable) -> Mask:
        return overlaps_any(system.tick_ns, system.tick_ns, events.start_ns, events.end_ns)

    steps = spans.steps()
    n_in_step = np.zeros(system.n_ticks, dtype=np.int64)
    for _, rows in rows_by_code(steps.worker):
        n_in_step += is_inside(steps.where(rows))
    is_recorded = np.zeros(system.n_ticks, dtype=np.bool_)
    if steps.n_spans:
        first_ns, last_ns = steps.start_ns.min(), steps.end_ns.max()
        is_recorded = (system.tick_ns >= first_ns) & (system.tick_ns <= last_ns)
    is_waiting = mean_of(system, SeriesKind.IO_WAIT) > IO_MEAN_PCT
    is_waiting |= hot_cores(system, SeriesKind.IO_WAIT, above=IO_HOT_PCT) > 0
    n_at_work = np.count_nonzero(is_at_work, axis=1)
    n_busy = count_where(system, SeriesKind.GPU_UTILIZATION, lambda use: use > BUSY_PCT)
    is_waited_for = is_inside(spans.where(exchanges_data(spans))) | (n_in_step > n_at_work)
    return {
        # An idle GPU is not above 90 % itself, so any that is, is another one.
        Part.STRAGGLER: (n_busy > 0) & is_waited_for,
        Part.IO_WAIT: is_waiting,
        Part.NETWORK: starvation_of(system).is_starved,
        Part.CPU_INPUT: is_hot | is_inside(spans.where(loader_rows(spans).fetch)),
        Part.BETWEEN_STEPS: (n_in_step == 0) & is_recorded,
    }


def _codes(
    tick_ns: Instants, use: Floats, loop_ns: tuple[int, int] | None, causes: Mapping[Part, Mask]
) -> Codes:
    """Return (n_ticks,) places in ``SAMPLED`` of one GPU; the first choice is written last."""
    codes = np.full(tick_ns.shape, _CODE[Part.UNEXPLAINED], dtype=np.int8)
    for part, mask in reversed([*causes.items()]):
        codes[mask] = _CODE[part]
    codes[use > IDLE_BELOW_PCT] = _CODE[Part.BUSY_PARTIAL]
    codes[use > BUSY_PCT] = _CODE[Part.BUSY_HIGH]
    if loop_ns is not None:
        codes[tick_ns < loop_ns[0]] = _CODE[Part.INITIALIZATION]
        codes[tick_ns > loop_ns[1]] = _CODE[Part.FINALIZATION]
    codes[np.isnan(use)] = _CODE[Part.NOT_MEASURED]
    return codes


def _sums(codes: Codes, time_ns: Instants) -> dict[Part, int]:
    """Return the time of each part, also of those that do not occur."""
    sums = sums_by_code(codes, time_ns, len(SAMPLED.order))
    return dict(zip(SAMPLED.order, sums.tolist(), strict=True))


def _stretches(
    codes: Codes, tick_ns: Instants, length_ns: Instants, least_ns: float, place: tuple[str, str]
) -> Iterator[tables.IdleStretch]:
    """Yield the long idle stretches of a GPU in order; a gap in the sampling ends one."""
    idle = np.flatnonzero(np.isin(codes, [_CODE[part] for part in SAMPLED.idle]))
    if not idle.size:
        return
    is_after_gap = np.concatenate(([False], tick_ns[1:] > tick_ns[:-1] + length_ns[:-1]))
    runs = runs_of(idle + np.cumsum(is_after_gap)[idle], max_step=1)
    for first, last in zip(*idle[runs].tolist(), strict=True):
        start, end = int(tick_ns[first]), int(tick_ns[last] + length_ns[last])
        if end - start >= least_ns and last - first + 1 >= LEAST_STRETCH_TICKS:
            spent_ns = _sums(codes[first : last + 1], length_ns[first : last + 1])
            cause = max(spent_ns, key=lambda part: spent_ns[part])
            yield tables.IdleStretch(
                node=place[0],
                device=place[1],
                start_ns=start,
                end_ns=end,
                cause=cause,
                cause_ns=spent_ns[cause],
            )


def _training_steps(part: NodeProfile) -> Steps | None:
    """Return the steps of the worker that has most in the training phase."""

    def preference(steps: PhaseSteps) -> tuple[list[bool], int]:
        return [phase_word(steps.phase) == word for word in TRAINING_PHASES], steps.n_steps

    steps = max(steps_of(part.spans), key=preference, default=None)
    return (steps.start_ns, steps.duration_ns) if steps else None


def _sampled_parts(
    codes: Codes, tick_ns: Instants, length_ns: Instants, steps: Steps
) -> dict[Part, Instants]:
    """Return (n_steps,) ns of each part; time without a tick is not measured."""
    start_ns, rest_ns = steps
    found = {}
    for part, code in _CODE.items():
        in_part = codes == code
        union = union_of(tick_ns[in_part], tick_ns[in_part] + length_ns[in_part])
        found[part] = covered_each(union, start_ns, start_ns + steps[1])
        rest_ns = rest_ns - found[part]
    found[Part.NOT_MEASURED] += rest_ns
    return found


# From kernel traces


def _of_rank(trace: RankTrace, more_names: str | None) -> Budget:
    """Split the headline window of each device; ``more_names`` finds more communication."""
    windows = device_busy.windows_of(trace)
    if not windows:
        return Budget(node=trace.node, is_traced=True)
    window, steps = device_busy.headline(windows), step_rows(trace)
    gpus, data = [], []
    for unions in device_busy.unions_of(trace, more_names):
        device = f"gpu{unions.device}"
        low_ns, high_ns = np.array([[window.start_ns], [window.end_ns]])
        total = _traced_parts(trace, unions, window, low_ns, high_ns)
        part_ns = {part: int(time_ns[0]) for part, time_ns in total.items() if time_ns[0]}
        gpus.append(GpuBudget(node=trace.node, device=device, part_ns=part_ns))
        if steps is None:
            continue
        start_ns, end_ns = steps.start_ns, steps.start_ns + steps.period_ns
        if (start_ns[1:] < end_ns[:-1]).any():
            continue  # a moment counts in one step only
        reach = Window(
            kind=device_busy.WindowKind.STEPS,
            start_ns=min(window.start_ns, int(start_ns[0])),
            end_ns=max(window.end_ns, int(end_ns.max())),
        )
        parts = _traced_parts(trace, unions, reach, start_ns, end_ns)
        on_clock = trace.origin_ns + start_ns, steps.period_ns
        data.append(_packed(on_clock, parts, {"rank": str(trace.rank), "device": device}))
    return Budget(
        node=trace.node, is_traced=True, gpus=tuple(gpus), window=window, data=tuple(data)
    )


def _traced_parts(
    trace: RankTrace, unions: DeviceUnions, window: Window, start_ns: Instants, end_ns: Instants
) -> dict[Part, Instants]:
    """Return (n,) ns of each part in n stretches of the window."""
    found = {part: np.zeros_like(start_ns) for part in TRACED.order}
    compute, kernel, busy = (
        covered_each(union, start_ns, end_ns)
        for union in (unions.compute, unions.kernel, unions.busy)
    )
    found[Part.COMPUTE] = compute
    found[Part.EXPOSED_COMMUNICATION] = kernel - compute
    found[Part.MEMORY] = busy - kernel
    gaps, stretch = cut(gaps_in(trace, unions, window), start_ns, end_ns)
    for cause, time_ns in causes_of(trace, gaps).items():
        part = tables.PART_OF_CAUSE.get(cause, Part.UNEXPLAINED)
        found[part] += sums_by_code(stretch, time_ns, start_ns.size)
    return found


def _packed(steps: Steps, parts: Mapping[Part, Instants], of: Mapping[str, str]) -> PackedTable:
    columns = {"start_ns": steps[0], "duration_ns": steps[1]}
    columns |= {f"{part}_ns": time_ns for part, time_ns in parts.items()}
    return pack("gpu_time_budget", columns, of={**of, "rows": "steps"})
