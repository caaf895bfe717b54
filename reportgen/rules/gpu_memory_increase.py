"""GPUMemoryIncrease: memory activity that jumps, or climbs over the whole job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from reportgen import results
from reportgen.arrays import Floats, Instants, Integers
from reportgen.facts.distributions import Box, box_of
from reportgen.facts.intervals import runs_of
from reportgen.facts.samples import present_values
from reportgen.facts.trend import AGREEMENT_FROM, Trend, trend_of
from reportgen.facts.usage import LEAST_JUDGED, Samples, enough_samples, samples_by_gpu
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.rules import kit
from reportgen.rules.aws.aws_gpu_memory_increase import Params, increases_of, violations_of
from reportgen.rules.aws.details import Violations, counted
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.kit import col, derived, row
from reportgen.text import device_label, format_place
from reportgen.units import NS_PER_MINUTE

LEVEL_PCT = 95.0
"""The level of a part of the time is its 95th percentile: what the load reaches, whatever it does
between."""
LEAST_IN_PART = 3
"""A level of fewer samples is that of one of them."""
LEAST_PARTS = 8
"""The trend of fewer parts may be chance (``AGREEMENT_FROM``)."""
IDLE_LEVEL_PCT = 1.0
"""Below this a GPU has not begun to work: the first rise is its start."""
LOAD_RISE_PCT = 10.0
"""A jump that comes with this much more GPU utilization is more load, no leak."""
TREND_PARTS = 16
"""The time at work is cut into this many equal parts at most, each of ``LEAST_IN_PART`` samples."""
LEAST_BESIDE = 3
"""Parts before a jump, and after it: the first one may hold the start of the load."""

ABOUT = About(
    checks="Whether GPU memory activity rises suddenly, or slowly over the whole job.",
    reading="""The rule compares the mean of the latest samples with the mean of as many samples
        before them. A sample at which it is higher by more than the threshold is a trigger;
        neighbouring triggers are one episode. The metric is the activity of the memory controller,
        not allocated bytes, so it follows the load: only a rise that lasts points to growth.""",
    advice="""Log the allocated memory at each step; if it grows, look for tensors kept alive
        between steps, or use gradient checkpointing.""",
    section=results.Section(id="gpu-memory", title="GPU memory", order=240),
    is_quiet=True,
    has_counters=True,
)

CAUTION = "The metric is the activity of the memory controller, not allocated bytes."
STAYED_UP = kit.Message(
    id="MEM-1",
    cause=results.Cause.MEMORY_GROWTH,
    title="""GPU memory activity jumped and stayed up: {place}, from {worst.jump_from_pct:pct} to
        {worst.jump_to_pct:pct}""",
    text=f"""Before its steepest rise the 95th percentile of a part of the time was never above
        {{worst.jump_from_pct:pct}}, and after it the median is {{worst.jump_to_pct:pct}}. GPU
        utilization does not rise with it.{{concerned}} {CAUTION}""",
    advice="""Log the allocated GPU memory at each step; if it grows as well, look for tensors kept
        alive between steps, or save memory with gradient checkpointing.""",
    severity=results.Severity.WARNING,
    unit="points",
    exhibit="memory",
)
CLIMBS = replace(
    STAYED_UP,
    id="MEM-2",
    title="GPU memory activity climbs over the whole job: {place} by {trend.rise:.1f} points",
    text=f"""The 95th percentile rises by {{slope:.2f}} points a minute. Of equal parts of the time
        at work, later ones are almost always higher than earlier ones: Kendall's tau is
        {{trend.agreement:.2f}} (1 if each is higher; reported from
        {{agreement_from:.1f}}).{{concerned}} {CAUTION}""",
)


@row
class Jump:
    """A rise to a new height, at which the memory activity stays.

    Attributes:
        before_pct: the highest level of the parts before it.
        after_pct: the median from there to the end of the work.
        start_ns, end_ns: of the time after it.
    """

    before_pct: float
    after_pct: float
    start_ns: int
    end_ns: int


@row
class GpuMemory:
    """Memory activity of one GPU.

    Attributes:
        n_violations: samples at which it rose by more than the threshold.
        n_jumps: runs of such samples.
        trend: of the levels of equal parts of the time at work; ``None`` with too few samples.
        use_trend: the same of GPU utilization, ``None`` where it is unknown.
        start_ns, end_ns: of its samples.
        jump: the steepest rise, if it lasts and is no more load; ``None`` without one.
    """

    node: str = col()
    gpu: str = col()
    p50_pct: float = derived(lambda gpu: gpu.box.p50, "%", digits=2)
    p95_pct: float = derived(lambda gpu: gpu.box.p95, "%", digits=2)
    max_pct: float = col("%", digits=2)
    n_violations: int = col(name="triggers")
    n_jumps: int = col(name="episodes")
    slope: float | None = derived(
        lambda gpu: gpu.trend and gpu.trend.rise / gpu.work_minutes,
        "points/min",
        name="trend_per_min_pct",
        digits=4,
    )
    rise: float | None = derived(
        lambda gpu: gpu.trend and gpu.trend.rise, "points", name="trend_rise_pct", digits=2
    )
    agreement: float | None = derived(
        lambda gpu: gpu.trend and gpu.trend.agreement, name="trend_tau", digits=2
    )
    jump_from_pct: float | None = derived(
        lambda gpu: gpu.jump and gpu.jump.before_pct, "%", digits=2
    )
    jump_to_pct: float | None = derived(lambda gpu: gpu.jump and gpu.jump.after_pct, "%", digits=2)
    n_samples: int = col(name="samples")
    box: Box
    trend: Trend | None
    use_trend: Trend | None
    work_minutes: float
    start_ns: int
    end_ns: int
    jump: Jump | None


@row
class NodeMemory:
    """One node: how the memory activity of its GPUs developed; ``n_enough`` must be exceeded."""

    n_ticks: int
    n_enough: int
    n_gpus: int
    gpus: tuple[GpuMemory, ...]
    aws: Violations


def measure(part: NodeProfile, params: Params) -> NodeMemory:
    """Measure every GPU of a node that has samples of memory activity."""
    system, kind = part.system, SeriesKind.GPU_UTILIZATION
    gpus = tuple(
        _memory_of(part, gpu, samples, params)
        for gpu, samples in samples_by_gpu(system, SeriesKind.GPU_MEMORY)
    )
    return NodeMemory(
        n_ticks=system.n_ticks,
        n_enough=enough_samples(params.patience, system.tick_ns),
        n_gpus=len({*system.names(kind), *(gpu.gpu for gpu in gpus)}),
        gpus=gpus,
        aws=violations_of(part.node, samples_by_gpu(system, SeriesKind.GPU_MEMORY), params),
    )


def _memory_of(part: NodeProfile, gpu: str, samples: Samples, params: Params) -> GpuMemory:
    values = samples.values
    column = part.system.column_of(SeriesKind.GPU_UTILIZATION, gpu)
    use = np.full(values.size, np.nan) if column is None else column[samples.is_there]
    increases, is_violation = increases_of(values, params)
    rows = np.flatnonzero(is_violation)
    busy = np.flatnonzero(values >= IDLE_LEVEL_PCT)
    at_work = slice(busy[0], busy[-1] + 1) if busy.size else slice(0)
    work_ns, use_at_work = samples.time_ns[at_work], use[at_work]
    least = enough_samples(LEAST_JUDGED, work_ns)
    levels, stops = _levels_of(values[at_work], least=least)
    rises = np.where(is_violation, increases, 0)[at_work]
    use_levels, _ = _levels_of(use_at_work[~np.isnan(use_at_work)], least=least)
    return GpuMemory(
        node=part.node,
        gpu=gpu,
        n_samples=values.size,
        box=box_of(values),
        max_pct=float(values.max()),
        start_ns=int(samples.time_ns[0]),
        end_ns=int(samples.time_ns[-1]),
        trend=trend_of(levels) if levels.size else None,
        use_trend=trend_of(use_levels) if use_levels.size else None,
        work_minutes=float(work_ns[-1] - work_ns[0]) / NS_PER_MINUTE if busy.size else 0.0,
        n_violations=rows.size,
        n_jumps=runs_of(rows, max_step=params.window - 1).shape[1],
        jump=_jump(
            work_ns,
            values[at_work],
            use_at_work,
            rises,
            (levels, stops),
            least=params.increase,
        ),
    )


def _levels_of(values: Floats, *, least: int) -> tuple[Floats, Integers]:
    """Return the levels of equal parts of some samples, and where each part ends.

    Both are empty where there are not more than ``least``, or too few for a trend.
    """
    n_parts = min(values.size // LEAST_IN_PART, TREND_PARTS)
    if values.size <= least or n_parts < LEAST_PARTS:
        return np.empty(0), np.empty(0, dtype=np.int64)
    stops = np.linspace(0, values.size, n_parts + 1)[1:].astype(np.int64)
    parts = np.split(values, stops[:-1])
    return np.array([np.percentile(part, LEVEL_PCT) + 0.0 for part in parts]), stops


def _jump(
    time_ns: Instants,
    values: Floats,
    use: Floats,
    rises: Floats,
    parts: tuple[Floats, Integers],
    *,
    least: float,
) -> Jump | None:
    """Return the steepest rise at work by more than ``least`` points, if it lasts.

    All are those of the samples at work; increases that do not count are 0, ``parts`` are levels
    and where each ends.

    Edge cases: ``None`` where the load explains it, or little is beside it.
    """
    if not rises.any():
        return None
    levels, stops = parts
    steepest = int(np.argmax(rises))
    n_before = int(np.searchsorted(stops, steepest, side="right"))
    if not LEAST_BESIDE <= n_before <= levels.size - LEAST_BESIDE:
        return None
    before_pct, after_pct = float(levels[:n_before].max()), float(np.median(values[steepest:]))
    if before_pct < IDLE_LEVEL_PCT or after_pct - before_pct <= least:
        return None
    before, after = present_values(use[:steepest]), present_values(use[steepest:])
    if before.size and after.size and np.median(after) - np.median(before) >= LOAD_RISE_PCT:
        return None
    return Jump(
        before_pct=before_pct,
        after_pct=after_pct,
        start_ns=int(time_ns[steepest]),
        end_ns=int(time_ns[-1]),
    )


def judge(nodes: Sequence[NodeMemory], params: Params) -> Outcome:
    """Count the violations of all nodes, and say which of them speak of growth."""
    gpus = kit.concat(node.gpus for node in nodes)
    slopes = [gpu.slope for gpu in gpus if gpu.slope is not None]
    metrics = {
        "memory_episodes": sum(gpu.n_jumps for gpu in gpus),
        "memory_trend_max_pct_per_min": round(max(slopes), 6) if slopes else None,
    }
    return Outcome(
        missing=kit.reason_to_skip(
            n_ticks=sum(node.n_ticks for node in nodes),
            n_gpus=sum(node.n_gpus for node in nodes),
            n_samples=max((gpu.n_samples for gpu in gpus), default=0),
            patience=min((node.n_enough for node in nodes), default=0),
        ),
        **counted([node.aws for node in nodes]),
        metrics=metrics if gpus else {},
        findings=[_jumped(gpus, params), _climbs(gpus, params)],
        exhibits=_exhibits(gpus) if gpus else (),
    )


def _jumped(gpus: Sequence[GpuMemory], params: Params) -> results.Finding | None:
    found = [(gpu, gpu.jump) for gpu in gpus if gpu.jump]
    if not found:
        return None
    worst, jump = max(found, key=lambda pair: pair[1].after_pct - pair[1].before_pct)
    return STAYED_UP.finding(
        measured=round(jump.after_pct - jump.before_pct, 2),
        threshold=params.increase,
        where=kit.stretch(worst.node, worst.gpu, jump.start_ns, jump.end_ns),
        concerned=kit.concerning(len(found), len(gpus), "GPU"),
        place=format_place(worst.node, worst.gpu),
        worst=worst,
    )


def _climbs(gpus: Sequence[GpuMemory], params: Params) -> results.Finding | None:
    rising = [
        (gpu, gpu.trend)
        for gpu in gpus
        if gpu.trend and gpu.trend.rise > params.increase and gpu.trend.agreement >= AGREEMENT_FROM
        if not _is_load(gpu)
    ]
    if not rising:
        return None
    gpu, trend = max(rising, key=lambda pair: pair[1].rise)
    return CLIMBS.finding(
        measured=round(trend.rise, 2),
        threshold=params.increase,
        where=kit.stretch(gpu.node, gpu.gpu, gpu.start_ns, gpu.end_ns),
        place=format_place(gpu.node, gpu.gpu),
        trend=trend,
        slope=gpu.slope,
        agreement_from=AGREEMENT_FROM,
        concerned=kit.concerning(len(rising), len(gpus), "GPU"),
    )


def _is_load(gpu: GpuMemory) -> bool:
    """Return whether the GPU's utilization climbs too, so that more load explains the trend."""
    use = gpu.use_trend
    return use is not None and use.rise >= LOAD_RISE_PCT and use.agreement >= AGREEMENT_FROM


def _exhibits(gpus: Sequence[GpuMemory]) -> Iterator[results.Exhibit]:
    n_nodes = len({gpu.node for gpu in gpus})
    labels = [device_label(gpu.node, gpu.gpu, n_nodes=n_nodes) for gpu in gpus]
    yield kit.table(
        "memory",
        gpus,
        GpuMemory,
        title="Memory activity of each GPU",
        caption=f"""{CAUTION} The trend is the median slope (Theil-Sen) of the 95th percentiles of
            equal parts of the working time; Kendall's tau is 1 if each part is higher.""",
    )
    yield kit.boxes(
        "boxes",
        [(label, gpu.box, gpu.max_pct) for label, gpu in zip(labels, gpus, strict=True)],
        title="GPU memory activity over the whole job",
        unit="%",
        role=results.Role.GPU_MEMORY,
    )


RULE = Rule(
    id=results.RuleId("GPUMemoryIncrease"),
    title="GPU memory",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
)
