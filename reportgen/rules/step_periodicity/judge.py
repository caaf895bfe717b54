"""What StepPeriodicity makes of rhythms: those that workers share are one, with its cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from reportgen.facts.inside import NodeGauge
from reportgen.results import Finding, Reason, ReasonCode, Where
from reportgen.rules.base import Outcome
from reportgen.rules.kit import cost_severity, merge, reason_without_steps
from reportgen.rules.step_periodicity import tables, texts
from reportgen.rules.step_periodicity.measure import NodeRhythms, Params, Period, SharedPeriod
from reportgen.rules.step_periodicity.tables import Compared, compare
from reportgen.text import write
from reportgen.units import seconds

SAME_RATIO = 0.02
"""Periods that differ by at most 2 % are the same: workers wait for each other, if not exactly."""
NAMED_FROM_RATIO = 0.5
"""A cause explains more than half of the extra time."""


def judge(measurements: Sequence[NodeRhythms], params: Params) -> Outcome:
    """Join the rhythms that workers share; those of series that are too short do not count."""
    job = merge([NodeRhythms(), *measurements])
    groups = group_periods([item for item in job.periods if item.n_steps >= params.min_steps])
    told = [item for item in groups if 100 * item.main.cost_ratio >= params.min_share_pct]
    missing = reason_without_steps(job.loop)
    if missing is None and job.longest < params.min_steps:
        text = write(texts.TOO_FEW, longest=job.longest, least=params.min_steps)
        missing = Reason(code=ReasonCode.TOO_FEW_SAMPLES, text=text)
    return Outcome(
        missing=missing,
        findings=[_finding(item, params) for item in told],
        exhibits=tables.exhibits_of(groups, told),
        metrics=_metrics(told) if job.longest >= params.min_steps else {},
    )


def group_periods(periods: Sequence[Period]) -> list[SharedPeriod]:
    """Return the rhythms of all workers, shared ones as one, the costliest first.

    Two rhythms of one worker can have the same period; their labels then name their first steps:
    ``every 50 steps from step 9``.
    """
    groups: list[list[Period]] = []
    for period in periods:
        same = next((group for group in groups if _is_same(group[0], period)), None)
        if same is None:
            groups.append([period])
        else:
            same.append(period)
    found = [SharedPeriod(members=tuple(members)) for members in groups]
    named = [(texts.every(group.main), group.members) for group in found]
    n_alike = Counter(
        (item.worker, item.phase, every) for every, members in named for item in members
    )

    def labelled(item: Period, every: str) -> Period:
        is_alone = n_alike[item.worker, item.phase, every] < 2
        return replace(item, label=every if is_alone else f"{every} from step {item.first_step}")

    found = [
        SharedPeriod(members=tuple(labelled(item, every) for item in members))
        for every, members in named
    ]
    return sorted(found, key=lambda group: (-group.main.cost_ratio, group.main.period_steps))


def _is_same(one: Period, other: Period) -> bool:
    if one.phase != other.phase or one.worker == other.worker:
        return False
    pairs = ((one.period_steps, other.period_steps), (one.period_s, other.period_s))
    return any(abs(this - that) <= SAME_RATIO * max(this, that) for this, that in pairs)


def _metrics(told: Sequence[SharedPeriod]) -> dict[str, float | int | None]:
    """Return the numbers to compare jobs by; those of the costliest rhythm, ``None`` without."""
    main = told[0].main if told else None
    gpu = main.loads.get(NodeGauge.GPU) if main else None
    return {
        "periods": len(told),
        "periodic_ratio": round(sum(group.main.cost_ratio for group in told), 6),
        "period_steps": main.period_steps if main else None,
        "period_s": main.period_s if main else None,
        "cost_per_occurrence_s": main.cost_each_s if main else None,
        "gpu_inside_pct": gpu.inside_pct if gpu else None,
        "gpu_outside_pct": gpu.outside_pct if gpu else None,
    }


def _finding(group: SharedPeriod, params: Params) -> Finding:
    main, cause = group.main, cause_of(compare(group))
    parts = (texts.rhythm(group), texts.cost(main), texts.why(cause), texts.dips(main))
    return texts.RECURS.finding(
        measured=100 * main.cost_ratio,
        threshold=params.min_share_pct,
        where=Where(
            node=main.node,
            device=main.worker,
            start_s=seconds(main.windows.first_ns[0]),
            end_s=seconds(main.windows.last_ns[-1]),
        ),
        severity=cost_severity(main.cost_ratio),
        share=main.cost_ratio,
        advice=texts.advice(cause),
        what=texts.what(main),
        text=" ".join(part for part in parts if part),
        function=cause.function if cause else "",
        every=texts.interval(main),
    )


def cause_of(compared: Sequence[Compared]) -> Compared | None:
    """Return the function that took most of the extra time, ``None`` when none did."""
    likely = [item for item in compared if item.evidence_ratio > NAMED_FROM_RATIO]
    return max(likely, key=lambda item: (item.evidence_ratio, item.function), default=None)
