"""What GPUTimeBudget says: the parts of the job, a row per GPU and part, the largest of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reportgen.merging import sum_by_key
from reportgen.results import Finding
from reportgen.rules.base import Outcome
from reportgen.rules.gpu_time_budget import tables
from reportgen.rules.gpu_time_budget.measure import Params
from reportgen.rules.gpu_time_budget.tables import Budget, Part, Parts, usd_of
from reportgen.rules.gpu_time_budget.texts import (
    IN_LOOP,
    OF_ACTIVITY,
    OF_BOTH,
    OF_STEPS,
    RECORD_ALL,
    SAMPLED,
    SAMPLED_WORDS,
    TABLE_CAPTION,
    TRACED,
    TRACED_TABLE_CAPTION,
    TRACED_WORDS,
    UNRECORDED,
    WORKED,
    Words,
)
from reportgen.rules.kit import reason_to_skip, reason_without_gpu, window_name
from reportgen.text import write
from reportgen.units import NS_PER_S, pct_of

LEAST_TICKS = 2
"""One tick has no length."""
LEAST_TOLD_PCT = 1.0
"""A part below this share is hardly worth the effort to win it back."""
UNRECORDED_PCT = 50.0
"""GPUs at work for so much of a start or an end trained in it: its steps are lacking."""


def judge(measurements: Sequence[Budget], params: Params) -> Outcome:
    """Add up the nodes, or the ranks where kernels were traced; the rule never triggers."""
    ranks = [item for item in measurements if item.is_traced and item.gpus]
    if ranks:
        return _traced(ranks, params)
    nodes = [item for item in measurements if not item.is_traced]
    if measurements and not nodes:
        return Outcome(missing=reason_without_gpu(0))
    reason = reason_to_skip(
        n_ticks=sum(node.n_ticks for node in nodes),
        n_gpus=sum(len(node.gpus) for node in nodes),
        n_samples=max((node.n_ticks for node in nodes if node.gpus), default=0),
        patience=LEAST_TICKS - 1,
    )
    return Outcome(missing=reason) if reason else _sampled(nodes, params)


def _sampled(nodes: Sequence[Budget], params: Params) -> Outcome:
    totals = _totals_ns(nodes, tables.SAMPLED)
    if not totals:
        return Outcome()
    gpus = [gpu for node in nodes for gpu in node.gpus]
    caption = _caption(nodes)
    worked_ns = sum_by_key(gpu.worked_ns for gpu in gpus)
    costs, ratios = _metrics(totals, tables.SAMPLED, params.usd_per_gpu_hour)
    longest_ns = max(
        (stretch.duration_ns for node in nodes for stretch in node.stretches), default=None
    )
    return Outcome(
        findings=[_largest(totals, caption, worked_ns)],
        exhibits=[
            tables.bar_of(totals, caption=caption),
            tables.table_of(gpus, usd_per_gpu_hour=params.usd_per_gpu_hour, caption=TABLE_CAPTION),
            *tables.stretch_exhibits(nodes, least_idle_s=params.min_idle_s),
        ],
        metrics={
            **costs,
            **ratios,
            "worked_outside_loop_s": sum(worked_ns[part] for part in UNRECORDED) / NS_PER_S,
            "idle_stretches": sum(gpu.n_stretches for gpu in gpus),
            "longest_idle_s": None if longest_ns is None else longest_ns / NS_PER_S,
        },
        data=[table for node in nodes for table in node.data],
    )


def _traced(ranks: Sequence[Budget], params: Params) -> Outcome:
    """Report what kernels say; every text says that it is from them."""
    totals = _totals_ns(ranks, tables.TRACED)
    if not totals:
        return Outcome()
    gpus = [gpu for rank in ranks for gpu in rank.gpus]
    window = window_name([rank.window for rank in ranks if rank.window for _ in rank.gpus])
    costs, ratios = _metrics(totals, tables.TRACED, params.usd_per_gpu_hour)
    caption = f"Computed from kernels, exact. Shares of {window}."
    return Outcome(
        findings=[_largest_traced(totals, window)],
        exhibits=[
            tables.bar_of(totals, caption=caption),
            tables.table_of(
                gpus, usd_per_gpu_hour=params.usd_per_gpu_hour, caption=TRACED_TABLE_CAPTION
            ),
        ],
        metrics={**ratios, **costs},
        data=[table for rank in ranks for table in rank.data],
    )


def _totals_ns(items: Sequence[Budget], parts: Parts) -> dict[Part, int]:
    """Return the time over all GPUs of each part that occurs, in order."""
    sums = sum_by_key(gpu.part_ns for item in items for gpu in item.gpus)
    return {part: sums[part] for part in parts.order if sums.get(part)}


def _metrics(
    totals: Mapping[Part, int], parts: Parts, usd_per_gpu_hour: float | None
) -> tuple[dict[str, float | int | None], dict[str, float | int | None]]:
    """Return what all GPU time and the idle time cost, and the ratios: busy, idle, each part."""
    every_ns = sum(totals.values())
    groups = {"gpu_busy": parts.busy, "gpu_idle": parts.idle}
    groups |= {part.value: (part,) for part in parts.order}
    sums = {name: sum(totals.get(part, 0) for part in group) for name, group in groups.items()}
    ratios = {f"{name}_ratio": round(value / every_ns, 6) for name, value in sums.items()}
    if usd_per_gpu_hour is None:
        return {}, {**ratios}
    costs = {
        "gpu_usd": usd_of(every_ns, usd_per_gpu_hour),
        "gpu_idle_usd": usd_of(sums["gpu_idle"], usd_per_gpu_hour),
    }
    return {**costs}, {**ratios}


def _caption(nodes: Sequence[Budget]) -> str:
    """Say what initialization and finalization are."""
    with_gpus = [node for node in nodes if node.gpus]
    without = [node.node for node in with_gpus if not node.has_steps]
    if not without:
        return OF_STEPS
    if len(without) == len(with_gpus):
        elsewhere = any(node.has_steps for node in nodes)
        return write(OF_ACTIVITY, elsewhere=" on nodes with GPUs" if elsewhere else "")
    return write(OF_BOTH, n_without=len(without), n_nodes=len(with_gpus), first=without[0])


def _largest_of(
    totals: Mapping[Part, int], words: Mapping[Part, Words]
) -> tuple[Part, float] | None:
    """Return the largest part that has words and its share in percent, if it is worth them."""
    told = {part: time_ns for part, time_ns in totals.items() if part in words}
    if not told:
        return None
    part = max(told, key=lambda item: told[item])
    share_pct = pct_of(told[part], sum(totals.values()))
    return (part, share_pct) if share_pct >= LEAST_TOLD_PCT else None


def _largest(
    totals: Mapping[Part, int], caption: str, worked_ns: Mapping[Part, int]
) -> Finding | None:
    found = _largest_of(totals, SAMPLED_WORDS)
    if found is None:
        return None
    part, share_pct = found
    words = SAMPLED_WORDS[part]
    where, meaning, advice = words.where or words.meaning, words.meaning, words.advice
    remark = f" {caption}" if part in UNRECORDED else ""
    worked_pct = pct_of(worked_ns[part], totals[part]) if part in UNRECORDED else 0
    if worked_pct >= UNRECORDED_PCT:
        where = meaning = UNRECORDED[part]
        advice = RECORD_ALL
        remark = write(WORKED, worked=worked_pct, where=where) + remark
    busy_ns = sum(totals.get(item, 0) for item in tables.SAMPLED.busy)
    return SAMPLED.finding(
        measured=share_pct,
        advice=advice,
        causes=words.causes,
        place=where,
        spent=totals[part],
        meaning=meaning,
        busy=pct_of(busy_ns, sum(totals.values())),
        in_loop=IN_LOOP if part in UNRECORDED else "",
        remark=remark,
    )


def _largest_traced(totals: Mapping[Part, int], window: str) -> Finding | None:
    found = _largest_of(totals, TRACED_WORDS)
    if found is None:
        return None
    part, share_pct = found
    words = TRACED_WORDS[part]
    busy_ns = sum(totals.get(item, 0) for item in tables.TRACED.busy)
    return TRACED.finding(
        measured=share_pct,
        advice=words.advice,
        causes=words.causes,
        meaning=words.meaning,
        spent=totals[part],
        window=window,
        busy=pct_of(busy_ns, sum(totals.values())),
    )
