"""GPUTimeBudget: where each GPU's time went, in parts that exclude each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reportgen.results import Place, Role, RuleId, Section, TimelineTrack, Track
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.gpu_time_budget import tables, texts
from reportgen.rules.gpu_time_budget.measure import Params, measure
from reportgen.rules.gpu_time_budget.tables import Budget, GpuBudget, Part, Parts, usd_of
from reportgen.text import write
from reportgen.units import NS_PER_S, pct_of, ratio_of

ABOUT = About(
    checks="Where the time of each GPU went: work, start and end, and the causes of idle time.",
    reading="""Each moment of each GPU is counted in exactly one part. Idle time is named by what
        happened at the same time, which does not prove the cause.""",
    advice="Begin with the largest part that is not busy.",
    section=Section(id="gpu-time", title="GPU time budget", order=20),
    first_picture="budget",
)
LEAST_BUDGET_TICKS = 2
"""One tick has no length."""
OUTSIDE_LOOP = (Part.INITIALIZATION, Part.FINALIZATION)

Metrics = dict[str, float | int | None]


def judge(measurements: Sequence[Budget], params: Params) -> Outcome:
    """Add up the nodes, or the ranks where kernels were traced; the rule never triggers."""
    nodes = [item for item in measurements if not item.is_traced]
    ranks = [item for item in measurements if item.is_traced and item.gpus]
    if measurements and not ranks and not nodes:
        return Outcome(missing=kit.reason_without_gpu(0))
    reason = kit.reason_to_skip(
        n_ticks=sum(node.n_ticks for node in nodes),
        n_gpus=sum(len(node.gpus) for node in nodes),
        n_samples=max((node.n_ticks for node in nodes if node.gpus), default=0),
        patience=LEAST_BUDGET_TICKS - 1,
    )
    if reason and not ranks:
        return Outcome(missing=reason)
    items, parts = (ranks, tables.TRACED) if ranks else (nodes, tables.SAMPLED)
    gpus = [gpu for item in items for gpu in item.gpus]
    sums = kit.sum_by_key(gpu.part_ns for gpu in gpus)
    totals = {part: sums[part] for part in parts.order if sums.get(part)}
    if not totals:
        return Outcome()
    usd = params.usd_per_gpu_hour
    window = kit.window_name([rank.window for rank in ranks if rank.window]) if ranks else ""
    caption = write(texts.TRACED_CAPTION, window=window) if ranks else _caption(nodes)
    table_caption = texts.TRACED_TABLE_CAPTION if ranks else texts.TABLE_CAPTION
    ratios, costs = _ratios(totals, parts), _costs(totals, parts, usd, gpus)
    if costs and not ranks:
        caption += write(texts.COSTS, usd=usd, costs=list(costs.values()))
    return Outcome(
        exhibits=[
            tables.bar_of(totals, caption=caption if ranks else caption + texts.BY_SAMPLES),
            tables.table_of(gpus, usd_per_gpu_hour=usd, caption=table_caption),
            *tables.stretch_exhibits(nodes, least_idle_s=params.min_idle_s),
        ],
        metrics=ratios | costs if ranks else costs | ratios | _of_loop(nodes, gpus),
        data=[data for item in items for data in item.data],
    )


def _ratios(totals: Mapping[Part, int], parts: Parts) -> Metrics:
    groups = {"gpu_busy": parts.busy, "gpu_idle": parts.idle}
    groups |= {part.value: (part,) for part in parts.order}
    every_ns = sum(totals.values())
    return {
        f"{name}_ratio": ratio_of(sum(totals.get(part, 0) for part in group), every_ns)
        for name, group in groups.items()
    }


def _costs(
    totals: Mapping[Part, int], parts: Parts, usd: float | None, gpus: Sequence[GpuBudget]
) -> Metrics:
    if usd is None:
        return {}
    idle_ns = sum(totals.get(part, 0) for part in parts.idle)
    unused_ns = sum(sum(gpu.unused_ns.values()) for gpu in gpus)
    return {
        "gpu_usd": usd_of(sum(totals.values()), usd),
        "gpu_idle_usd": usd_of(idle_ns, usd),
        "gpu_unused_usd": usd_of(unused_ns, usd) if parts is tables.SAMPLED else None,
    }


def _of_loop(nodes: Sequence[Budget], gpus: Sequence[GpuBudget]) -> Metrics:
    stretches = [stretch for node in nodes for stretch in node.stretches]
    longest_ns = max((stretch.duration_ns for stretch in stretches), default=None)
    worked_ns = sum(gpu.worked_ns[part] for gpu in gpus for part in OUTSIDE_LOOP)
    loop = (*tables.SAMPLED.busy, *tables.SAMPLED.idle)
    unused_ns, loop_ns = (
        sum(time_ns.get(part, 0) for time_ns in of_gpus for part in loop)
        for of_gpus in ([gpu.unused_ns for gpu in gpus], [gpu.part_ns for gpu in gpus])
    )
    return {
        "unused_in_loop_pct": pct_of(unused_ns, loop_ns),
        "worked_outside_loop_s": worked_ns / NS_PER_S,
        "idle_stretches": sum(gpu.n_stretches for gpu in gpus),
        "longest_idle_s": None if longest_ns is None else longest_ns / NS_PER_S,
    }


def _caption(nodes: Sequence[Budget]) -> str:
    with_gpus = [node for node in nodes if node.gpus]
    without = [node.node for node in with_gpus if not node.has_steps]
    if not without:
        return write(texts.OF_STEPS)
    if len(without) == len(with_gpus):
        elsewhere = any(node.has_steps for node in nodes)
        return write(texts.OF_ACTIVITY, elsewhere=" on nodes with GPUs" if elsewhere else "")
    return write(texts.OF_BOTH, n_without=len(without), n_nodes=len(with_gpus), first=without[0])


RULE = Rule(
    id=RuleId("GPUTimeBudget"),
    title="GPU time budget",
    about=ABOUT,
    needs=(Need.SYSTEM, Need.FRAMEWORK, Need.KERNELS),
    params=Params,
    measure=measure,
    judge=judge,
    folded=("gpu_time_budget",),
    places={
        "budget": Place(words=texts.PICTURE_WORDS),
        "gpu_time_budget": Place(words=texts.PARTS),
        "idle_stretches": Place(
            words=texts.PARTS,
            timeline=TimelineTrack(kind=Track.LANE, title="Idle GPUs", role=Role.IDLE),
        ),
    },
)
