"""GPUMemoryIncrease: memory activity that jumps, or climbs over the whole job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from reportgen import results
from reportgen.facts.trend import AGREEMENT_FROM
from reportgen.facts.usage import enough_samples
from reportgen.rules import kit
from reportgen.rules.aws.aws_gpu_memory_increase import Params
from reportgen.rules.aws.details import counted
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.gpu_memory_increase import measure
from reportgen.rules.gpu_memory_increase.measure import GpuMemory, NodeMemory
from reportgen.text import device_label, format_place

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
    cause=results.Cause.MEMORY_GROWTH,
    title="GPU memory activity climbs over the whole job: {place} by {trend.rise:.1f} points",
    text=f"""The 95th percentile rises by {{slope:.2f}} points a minute. Of equal parts of the time
        at work, later ones are almost always higher than earlier ones: Kendall's tau is
        {{trend.agreement:.2f}} (1 if each is higher; reported from
        {{agreement_from:.1f}}).{{concerned}} {CAUTION}""",
    exhibit="memory",
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
            patience=enough_samples(params.patience),
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
    return use is not None and use.rise >= measure.LOAD_RISE_PCT and use.agreement >= AGREEMENT_FROM


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
    measure=measure.measure,
    judge=judge,
)
