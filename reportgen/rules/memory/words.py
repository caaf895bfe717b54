"""What GPUMemoryIncrease says: jumps (MEM-1), a rising trend (MEM-2), and their evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reportgen.results import (
    Counters,
    Details,
    Finding,
    Severity,
    Where,
)
from reportgen.rules.base import Presentation
from reportgen.rules.memory.episodes import LOAD_RISE_PCT, Episode, Params
from reportgen.rules.memory.exhibits import (
    CAUTION,
    all_episodes,
    episode_intervals,
    episode_table,
    level_series,
    memory_table,
)
from reportgen.rules.memory.growth import MemoryGrowth
from reportgen.rules.saying.boxes import NamedBox, boxes_exhibit
from reportgen.rules.saying.violations import entries_of, last_timestamp_s
from reportgen.rules.saying.wording import label, say_of, say_place, say_places, say_times
from reportgen.units import NS_PER_MINUTE, say_pct, seconds

JUMPS = "MEM-1"
TREND = "MEM-2"
AGREEMENT_FROM = 0.7
"""A trend is told when later minutes are higher in this much of all pairs (tau). Source: ours."""
ADVICE = (
    "Log the allocated GPU memory at each step; if it grows as well, look for tensors kept alive "
    "between steps, or save memory with gradient checkpointing."
)

ADVICE_LOAD = "Nothing to do unless the allocated memory grows too."


def present_gpus(gpus: Sequence[MemoryGrowth], params: Params) -> Presentation:
    """Return findings and exhibits from measurements."""
    if not gpus:
        return Presentation()
    findings = [*_jumps(gpus, params), *_trend(gpus, params)]
    n_nodes = len({gpu.node for gpu in gpus})
    boxes = [
        NamedBox(name=label(gpu.node, gpu.gpu, n_nodes=n_nodes), box=gpu.box, largest=gpu.max_pct)
        for gpu in gpus
    ]
    exhibits = [
        memory_table(gpus),
        *episode_table(gpus),
        *episode_intervals(gpus),
        level_series(gpus),
        boxes_exhibit("boxes", boxes, title="GPU memory activity over the whole job", unit="%"),
    ]
    return Presentation(findings=tuple(findings), exhibits=tuple(exhibits))


def present_details(counters: Counters, details: Details, params: Params) -> Presentation:
    """Return the finding and boxes from AWS's JSON alone; it tells no episodes and no trend."""
    entries = entries_of(details)
    if not entries or not counters.rule_triggered:
        return Presentation()
    n_nodes = len({node for node, *_ in entries})
    named = [
        NamedBox.from_numbers(label(node, device, n_nodes=n_nodes), numbers, "gpu_max")
        for node, device, numbers in entries
    ]
    boxes = [box for box in named if box is not None]
    node, device, numbers = max(entries, key=lambda item: item[2].get("increase", 0.0))
    names = say_places([(its_node, its_device) for its_node, its_device, _ in entries])
    finding = Finding(
        id=JUMPS,
        severity=Severity.WARNING,
        title=f"GPU memory activity jumped: {say_place(node, device)}",
        text=(
            f"{say_times(counters.rule_triggered, 'sample')} exceeded the mean just before by more "
            f"than {params.increase:g} points; the last of them by "
            f"{numbers.get('increase', 0.0):.1f} points. Affected: {names}. {CAUTION}"
        ),
        advice=ADVICE,
        where=Where(node=node, device=device, start_s=last_timestamp_s(details)),
        measured=round(numbers["increase"], 2) if "increase" in numbers else None,
        threshold=float(params.increase),
        unit="points",
        exhibit="boxes",
    )
    return Presentation(
        findings=(finding,),
        exhibits=(boxes_exhibit("boxes", boxes, title="GPU memory activity", unit="%"),),
    )


def _jumps(gpus: Sequence[MemoryGrowth], params: Params) -> Iterator[Finding]:
    found = list(all_episodes(gpus))
    if not found:
        return
    lasting = [pair for pair in found if pair[1].is_lasting]
    gpu, worst = max(lasting or found, key=lambda pair: _height(pair[1]))
    n_triggers = sum(item.n_violations for item in gpus)
    n_episodes = sum(item.n_episodes for item in gpus)
    n_lasting = sum(item.n_lasting for item in gpus)
    n_affected = sum(bool(item.episodes) for item in gpus)
    counts = (
        f"{say_times(n_triggers, 'sample')} in {say_times(n_episodes, 'episode')} exceeded the "
        f"mean just before by more than {params.increase:g} points "
        f"({say_of(n_affected, len(gpus), 'GPU')}). "
    )
    severity, title, why, advice = (_growth if lasting else _load)(gpu, worst, n_lasting)
    yield Finding(
        id=JUMPS,
        severity=severity,
        title=title,
        text=f"{counts}{why}{CAUTION}",
        advice=advice,
        where=Where(
            node=gpu.node,
            device=gpu.gpu,
            start_s=seconds(worst.start_ns),
            end_s=seconds(worst.end_ns),
        ),
        measured=round(worst.largest_increase_pct, 2),
        threshold=float(params.increase),
        unit="points",
        exhibit="episodes",
    )


def _growth(gpu: MemoryGrowth, worst: Episode, n_lasting: int) -> tuple[Severity, str, str, str]:
    """Return severity, title, reason and advice of jumps that stayed."""
    title = (
        f"GPU memory activity jumped and stayed up: {say_place(gpu.node, gpu.gpu)}, "
        f"from {say_pct(worst.level_before_pct)} to {say_pct(worst.level_after_pct or 0.0)}"
    )
    why = (
        f"{say_times(n_lasting, 'episode')} reached a new height and stayed there for the "
        "following minute; before this one the activity had not gone above "
        f"{say_pct(worst.record_before_pct)}. "
    )
    return Severity.WARNING, title, why, ADVICE


def _load(gpu: MemoryGrowth, worst: Episode, n_lasting: int) -> tuple[Severity, str, str, str]:  # noqa: ARG001 - as _growth
    """Return severity, title, reason and advice of jumps that a changing load explains."""
    why = (
        "None of them stayed at a new height: the load comes and goes, begins, or rises "
        "together with GPU utilization. "
    )
    title = "GPU memory activity jumps with the load, but does not grow"
    return Severity.INFO, title, why, ADVICE_LOAD


def _height(episode: Episode) -> float:
    return (episode.level_after_pct or 0.0) - episode.record_before_pct


def _is_load(gpu: MemoryGrowth) -> bool:
    """Return whether the GPU's utilization climbs too, so that more load explains the trend."""
    use = gpu.use_trend
    return use is not None and use.rise >= LOAD_RISE_PCT and use.agreement >= AGREEMENT_FROM


def _trend(gpus: Sequence[MemoryGrowth], params: Params) -> Iterator[Finding]:
    rising = [
        (gpu, gpu.trend)
        for gpu in gpus
        if gpu.trend and gpu.trend.rise > params.increase and gpu.trend.agreement >= AGREEMENT_FROM
    ]
    if not rising:
        return
    gpu, trend = max(rising, key=lambda pair: (not _is_load(pair[0]), pair[1].rise))
    is_load = _is_load(gpu)
    how = "with GPU utilization" if is_load else "over the whole job"
    yield Finding(
        id=TREND,
        severity=Severity.INFO if is_load else Severity.WARNING,
        title=(
            f"GPU memory activity climbs {how}: {say_place(gpu.node, gpu.gpu)} by "
            f"{trend.rise:.1f} points"
        ),
        text=(
            f"The 95th percentile of each minute rises by {trend.slope:.2f} points a minute; of "
            f"all pairs of minutes the later one is higher clearly more often than lower "
            f"(Kendall's tau {trend.agreement:.2f}, told from {AGREEMENT_FROM:.1f}). This concerns "
            f"{say_of(len(rising), len(gpus), 'GPU')}. {CAUTION}"
        ),
        advice=ADVICE_LOAD if is_load else ADVICE,
        where=Where(
            node=gpu.node,
            device=gpu.gpu,
            start_s=seconds(gpu.minute_ns[0]),
            end_s=seconds(gpu.minute_ns[-1] + NS_PER_MINUTE),
        ),
        measured=round(trend.rise, 2),
        threshold=float(params.increase),
        unit="points",
        exhibit="levels",
    )
