"""What StepPeriodicity says: the rhythm, its cost, what ran in it, how busy the GPUs were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.facts.steps import phase_word
from reportgen.results import Finding, Severity, Where
from reportgen.rules.base import Presentation
from reportgen.rules.kit import CHEAP_RATIO
from reportgen.rules.periods.causes import Compared, cause_of, compare
from reportgen.rules.periods.contents import Gauge, Load, Work, merge_contents
from reportgen.rules.periods.exhibits import CYCLES, exhibits_of
from reportgen.rules.periods.groups import Group
from reportgen.rules.periods.measured import SeriesPeriods
from reportgen.rules.periods.slow import Unit
from reportgen.rules.saying.verdict import estimate_of, fault_severity
from reportgen.rules.saying.wording import ordinal, say_some, say_times
from reportgen.units import NS_PER_S, say_count, say_duration, say_pct, seconds

MOST_NUMBERS = 6
LEAST_TICKS = 3
"""With fewer samples inside slow steps their mean is not told. Source: ours."""
HEAVIER_BY_PCT = 20.0
"""The host is told to work harder when its busiest core gains so many percent points. Ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What only raw data give: the steps of all workers, and the rhythms they share."""

    series: tuple[SeriesPeriods, ...]
    groups: tuple[Group, ...]


def told_of(groups: Sequence[Group], least_pct: float) -> list[Group]:
    """Return the rhythms that cost enough to be told, the costliest first."""
    return [group for group in groups if 100 * group.cost_ratio >= least_pct]


def present(context: Context, *, least_pct: float) -> Presentation:
    """Return a finding for each rhythm that costs enough, and the evidence."""
    told = told_of(context.groups, least_pct)
    return Presentation(
        findings=tuple(_finding(group, least_pct) for group in told),
        exhibits=exhibits_of(context.groups, told),
    )


def metrics_of(context: Context, *, least_pct: float) -> dict[str, float | int | None]:
    """Return the numbers to compare jobs by; those of the costliest rhythm, ``None`` without."""
    told = told_of(context.groups, least_pct)
    main = told[0] if told else None
    gpu = _gpu(main) if main else None
    return {
        "periods": len(told),
        "periodic_ratio": round(sum(group.cost_ratio for group in told), 6),
        "period_steps": main.main.period.period_steps if main else None,
        "period_s": main.main.period.period_s if main else None,
        "cost_per_occurrence_s": main.cost_s if main else None,
        "gpu_inside_pct": gpu.inside_pct if gpu else None,
        "gpu_outside_pct": gpu.outside_pct if gpu else None,
    }


def _finding(group: Group, least_pct: float) -> Finding:
    period, series = group.main.period, group.main.series
    cause = cause_of(compare(merge_contents([item.period.contents for item in group.members])))
    first_ns = int(period.windows.first_ns[0])
    last_ns = int(period.windows.last_ns[-1])
    share = group.cost_ratio
    return Finding(
        id="PERIOD-1",
        severity=Severity.INFO if share < CHEAP_RATIO else fault_severity(share),
        title=f"{_title(group)}: {say_pct(100 * share)} of the loop",
        text=" ".join(
            text for text in (_rhythm(group), _cost(group), _why(cause), _dips(group)) if text
        ),
        advice=_advice(group, cause),
        where=Where(
            node=series.node,
            device=series.worker,
            start_s=seconds(first_ns),
            end_s=seconds(last_ns),
        ),
        measured=round(100 * share, 4),
        threshold=float(least_pct),
        unit="%",
        estimate=estimate_of(share),
        exhibit=CYCLES,
    )


def _title(group: Group) -> str:
    phase = phase_word(group.main.series.phase)
    if group.main.period.unit is Unit.SECONDS:
        every = f"Every {say_duration(group.main.period.period_s)}"
        if group.main.period.is_between:
            return f"{every} a {phase} step is followed by a long pause"
        return f"{every} a {phase} step is slow"
    every = f"very {ordinal(round(group.main.period.period_steps))} {phase} step"
    if group.main.period.is_between:
        return f"A long pause follows e{every}"
    return f"E{every} is slow"


def _rhythm(group: Group) -> str:
    period, series = group.main.period, group.main.series
    numbers = [str(step) for step in period.slowest.step[: MOST_NUMBERS + 1].tolist()]
    missing = "" if period.n_found == period.n_expected else f" of {period.n_expected:,} expected"
    others = [item.series.worker for item in group.members if item is not group.main]
    also = f" The same holds for {say_some(others)}." if others else ""
    behind = "behind step" if period.is_between else "step"
    is_cut = period.n_found > len(numbers) or len(numbers) > MOST_NUMBERS
    return (
        f"{series.worker} has {say_count(period.n_found)}{missing} slow "
        f"{phase_word(series.phase)} cycles {say_period(group)} ({behind} "
        f"{', '.join(numbers[:MOST_NUMBERS])}{' …' if is_cut else ''}).{also}"
    )


def say_period(group: Group) -> str:
    """Write a rhythm: ``every 50 steps (28.4 s)``, ``every 30 s (about 58 steps)``."""
    period = group.main.period
    if period.unit is Unit.SECONDS:
        return f"every {say_duration(period.period_s)} (about {period.period_steps:.0f} steps)"
    return f"every {period.period_steps:g} steps ({say_duration(period.period_s)})"


def _cost(group: Group) -> str:
    period, series = group.main.period, group.main.series
    where = "in the pause before the next step" if period.is_between else "within the step"
    return (
        f"Each costs {say_duration(group.cost_s)} more than the usual cycle of "
        f"{say_duration(series.usual_ns / NS_PER_S)}, {where}; together "
        f"{say_duration(period.cost_ns / NS_PER_S)}, {say_pct(100 * group.cost_ratio)} of the loop."
    )


def _why(cause: Compared | None) -> str:
    if cause is None:
        return ""
    if cause.part.work is Work.UNSEEN:
        return (
            f"In {say_pct(100 * min(cause.excess_ratio, 1.0))} of the extra time no recorded "
            "function ran: code that the profiler does not see, or waiting."
        )
    usual = say_duration(cause.normal_ns / NS_PER_S) if cause.normal_ns else "nothing"
    return (
        f"{cause.part.label} takes {say_duration(cause.slow_ns / NS_PER_S)} of each and {usual} "
        f"of the others: {say_pct(100 * min(cause.excess_ratio, 1.0))} of the extra time."
    )


def _dips(group: Group) -> str:
    gpu = _gpu(group)
    if gpu is None or gpu.inside_pct is None or gpu.outside_pct is None:
        return ""
    if gpu.n_inside < LEAST_TICKS:
        seen = say_times(gpu.n_inside, "sample")
        return f"Only {seen} fell into them: too few to tell the GPUs' use."
    return (
        f"GPU utilization is {say_pct(gpu.inside_pct)} inside them and "
        f"{say_pct(gpu.outside_pct)} outside ({gpu.n_inside:,} and {gpu.n_outside:,} samples)"
        f"{_host(group)}."
    )


def _host(group: Group) -> str:
    """Say that the host works harder meanwhile, where it clearly does."""
    core = group.main.period.loads.by_gauge.get(Gauge.CORE)
    if core is None or core.inside_pct is None or core.outside_pct is None:
        return ""
    if core.inside_pct - core.outside_pct < HEAVIER_BY_PCT:
        return ""
    return (
        f"; the busiest core is at {say_pct(core.inside_pct)} inside and "
        f"{say_pct(core.outside_pct)} outside"
    )


def _gpu(group: Group) -> Load | None:
    return group.main.period.loads.by_gauge.get(Gauge.GPU)


def _advice(group: Group, cause: Compared | None) -> str:
    work = cause.part.work if cause else Work.UNSEEN
    if work is Work.LOADER:
        return (
            "Use more loader processes, let them prefetch more batches, and pin memory; look at "
            "what the loader reads at those steps."
        )
    if work is Work.LOADER_START:
        return "Keep the loader's processes alive between epochs (persistent_workers=True)."
    every = (
        f"{say_duration(group.main.period.period_s)}"
        if group.main.period.unit is Unit.SECONDS
        else f"{group.main.period.period_steps:g} steps"
    )
    if cause is not None and work is Work.OTHER:
        return (
            f"Run {cause.part.label} in a thread of its own, less often than every {every}, or on "
            "the GPU."
        )
    return (
        f"Find what the script does every {every} (callback, checkpoint, logging, validation) and "
        "run it in a thread of its own, less often, or on the GPU."
    )
