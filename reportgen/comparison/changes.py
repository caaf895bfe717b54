"""Further changes: findings by their ids, metrics by name, kernels and operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reportgen.comparison.model import FindingChange, FindingState, MetricChange, Moved
from reportgen.comparison.runs import Run, rows_of
from reportgen.report import RankedFinding, Report
from reportgen.results import Finding, RuleId, Severity, Status

LEAST_CHANGE_RATIO = 0.02
"""A finding whose share of the time changed by less than two points is as it was: its bounds are
not known better."""
_ORDER = tuple(Severity)
_STATES = tuple(FindingState)


@dataclass(frozen=True, slots=True, kw_only=True)
class _TimesTable:
    """A table of times: which columns name an item, and which holds its time in µs.

    ``is_sampled``: it covers the few steps that were profiled in detail, of unknown number; its
    times are those of one call.
    """

    kind: str
    rule: str
    exhibit: str
    names: tuple[str, ...]
    time: str
    is_sampled: bool = False


_SOURCES = (
    _TimesTable(kind="kernel", names=("name", "shape"), time="sum_us",
            rule="KernelTime", exhibit="kernels_by_shape"),
    _TimesTable(kind="kernels of an operator", names=("name",), time="gpu_time_us",
            rule="OperatorTime", exhibit="operators"),
    _TimesTable(kind="operator", names=("name",), time="self_us",
            rule="OperatorTime", exhibit="operators"),
    _TimesTable(kind="kernels of an operator with inputs", names=("operator", "input_dims"),
            time="time_us", rule="Efficiency", exhibit="operators"),
    _TimesTable(kind="number format", names=("part",), time="time_us",
            rule="KernelPrecision", exhibit="precision_shares"),
    _TimesTable(kind="collective", names=("name", "group_size"), time="time_us",
            rule="Collectives", exhibit="bandwidth"),
    _TimesTable(kind="call on the CPU", names=("operator",), time="self_us", is_sampled=True,
            rule="OverallFrameworkMetrics", exhibit="cpu_operators"),
    _TimesTable(kind="call on the GPU", names=("operator",), time="self_us", is_sampled=True,
            rule="OverallFrameworkMetrics", exhibit="gpu_operators"),
)  # fmt: skip


def finding_changes(before: Report, after: Report) -> tuple[FindingChange, ...]:
    """Return the change of each finding: new and worse ones first, by severity."""
    sides = [_by_id(report.findings) for report in (before, after)]
    ids = dict.fromkeys([*sides[1], *sides[0]])
    rows = [_change(finding_id, sides, (before, after)) for finding_id in ids]
    return tuple(sorted(rows, key=lambda row: (_STATES.index(row.state), _rank(row))))


def metric_changes(before: Report, after: Report) -> tuple[MetricChange, ...]:
    """Return every number of both reports by name: ``StepTime.step_p50_us``."""
    one, other = (dict(_metrics(report)) for report in (before, after))
    return tuple(
        metric_change(name, unit_of(name), (one.get(name), other.get(name)))
        for name in dict.fromkeys([*one, *other])
    )


def metric_change(name: str, unit: str, values: Sequence[float | None]) -> MetricChange:
    """Return a number before and after, and its difference where it has both."""
    one, other = values
    difference = None if one is None or other is None else other - one
    return MetricChange(name=name, unit=unit, before=one, after=other, difference=difference)


def _metrics(report: Report) -> Iterator[tuple[str, float | None]]:
    yield "job_duration_s", report.summary.job_duration_in_seconds
    yield "training_loop_s", report.summary.training_loop_duration_in_seconds
    for rule_id, result in report.results.items():
        for name, value in result.metrics.items():
            yield f"{rule_id}.{name}", float(value) if isinstance(value, int | float) else None


def unit_of(name: str) -> str:
    """Return the unit in which a metric's name ends."""
    ending = name.rpartition("_")[2]
    known = {"s": "s", "us": "us", "pct": "%", "ratio": "", "bytes": "bytes", "usd": "USD"}
    return known.get(ending, "") if "_per_" not in name else ""


def moved(before: Run, after: Run) -> tuple[Moved, ...]:
    """Return kernels, operators and functions by the change of their time per step.

    Where a run has no steps its time stands for one. Items that only one run has are not dropped.
    """
    found = []
    launchers = {**_launchers(before), **_launchers(after)}
    for source in _SOURCES:
        sides = [_times(run, source) for run in (before, after)]
        for item in dict.fromkeys([*sides[1], *sides[0]]):
            one, other = (side.get(item) for side in sides)
            found.append(
                Moved(
                    kind=source.kind,
                    name=" · ".join(item),
                    operator=launchers.get(item[0]) if source.kind == "kernel" else None,
                    before_us=one[0] if one else None,
                    after_us=other[0] if other else None,
                    difference_us=(other[0] if other else 0.0) - (one[0] if one else 0.0),
                    before_count=one[1] if one else None,
                    after_count=other[1] if other else None,
                )
            )
    return tuple(sorted(found, key=lambda row: (-abs(row.difference_us), row.kind, row.name)))


def _launchers(run: Run) -> dict[str, str]:
    rows = rows_of(run, "KernelTime", "kernels", "name", "operator")
    return {str(name): str(operator) for name, operator in rows if operator is not None}


def _times(run: Run, source: _TimesTable) -> Mapping[tuple[str, ...], tuple[float, float | None]]:
    """Return time in µs and count of each item, per step and rank, or of one call."""
    n_steps = run.steps.n_measured * run.steps.n_workers if run.steps else 1
    found: dict[tuple[str, ...], tuple[float, float | None]] = {}
    columns = (*source.names, source.time, "count")
    for *names, time, counted in rows_of(run, source.rule, source.exhibit, *columns):
        if not isinstance(time, int | float):
            continue
        count = counted if isinstance(counted, int | float) else None
        item, old = tuple(str(name) for name in names), (0.0, 0.0)
        if source.is_sampled:
            found[item] = (time / count if count else 0.0, None)
            continue
        kept = found.get(item, old)
        found[item] = (
            kept[0] + time / n_steps,
            None if count is None else (kept[1] or 0.0) + count / n_steps,
        )
    return found


def _by_id(findings: Sequence[RankedFinding]) -> dict[str, list[RankedFinding]]:
    found: dict[str, list[RankedFinding]] = {}
    for item in findings:
        found.setdefault(item.finding.id, []).append(item)
    return found


def _change(
    finding_id: str,
    sides: Sequence[Mapping[str, list[RankedFinding]]],
    reports: tuple[Report, Report],
) -> FindingChange:
    before, after = (side.get(finding_id, []) for side in sides)
    some = (after or before)[0]
    shares = [_worst_share([item.finding for item in side]) for side in (before, after)]
    ranks = [
        min((item.finding.severity for item in side), key=_ORDER.index, default=None)
        for side in (before, after)
    ]
    holder, other = reports if before else reports[::-1]
    if before and after:
        state = _state(shares, ranks)
    elif not (_looked(some.rule, other) and _has_place(other, before or after, holder)):
        state = FindingState.NOT_CHECKED
    else:
        state = FindingState.RESOLVED if before else FindingState.NEW
    return FindingChange(
        id=finding_id,
        rule=some.rule,
        cause=some.finding.cause,
        state=state,
        severity_before=ranks[0].value if ranks[0] else None,
        severity_after=ranks[1].value if ranks[1] else None,
        share_before_ratio=shares[0],
        share_after_ratio=shares[1],
        title=some.finding.title,
    )


def _state(shares: Sequence[float | None], ranks: Sequence[Severity | None]) -> FindingState:
    assert ranks[0] is not None
    assert ranks[1] is not None
    by_rank = _ORDER.index(ranks[0]) - _ORDER.index(ranks[1])
    if by_rank:
        return FindingState.WORSE if by_rank > 0 else FindingState.BETTER
    change = (shares[1] or 0.0) - (shares[0] or 0.0)
    if None in shares or abs(change) < LEAST_CHANGE_RATIO:
        return FindingState.UNCHANGED
    return FindingState.WORSE if change > 0 else FindingState.BETTER


def _looked(rule: RuleId, report: Report) -> bool:
    entry = report.rules.get(rule)
    return entry is not None and entry.status in {Status.OK, Status.TRIGGERED}


def _has_place(report: Report, items: Sequence[RankedFinding], holder: Report) -> bool:
    """Return whether a report has data of a place of findings; nodes may be called otherwise."""
    nodes = {item.finding.where.node for item in items}
    return len(report.nodes) >= len(holder.nodes) or not nodes.isdisjoint({None, *report.nodes})


def _worst_share(findings: Sequence[Finding]) -> float | None:
    shares = [item.estimate.share_ratio for item in findings if item.estimate is not None]
    return max(shares, default=None)


def _rank(row: FindingChange) -> tuple[int, float, str]:
    severity = row.severity_after or row.severity_before or Severity.INFO.value
    return (_ORDER.index(Severity(severity)), -(row.share_after_ratio or 0.0), row.id)
