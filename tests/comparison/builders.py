"""Reports with known steps, for comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from reportgen import store
from reportgen.report import (
    DataQuality,
    JobHeader,
    JobSummary,
    RankedFinding,
    Report,
    RuleEntry,
    Setup,
)
from reportgen.results import Finding, PackedTable, RuleId, RuleResult, Severity, Status
from reportgen.results.packed_columns import pack
from reportgen.rules.kit import estimate_of

MS = 1_000_000
START_NS = 1_700_000_000_000_000_000


def steps_table(
    cycle_ms: ArrayLike,
    *,
    inside_ms: ArrayLike | None = None,
    wait_ms: ArrayLike | None = None,
    first: int = 0,
    worker: str = "algo-1-27",
    phase: str = "Step:ModeKeys.TRAIN",
) -> PackedTable:
    """Return all steps of a worker; without further times the cycle is the step."""
    cycle_ns = _ns(cycle_ms)
    inside_ns = cycle_ns if inside_ms is None else _ns(inside_ms, cycle_ns)
    return pack(
        "steps",
        {
            "start_ns": START_NS + np.cumsum(cycle_ns) - cycle_ns,
            "duration_ns": inside_ns,
            "cycle_ns": cycle_ns,
            "input_wait_ns": _ns(0 if wait_ms is None else wait_ms, cycle_ns),
            "step": first + np.arange(cycle_ns.size),
        },
        of={"worker": worker, "phase": phase},
    )


def budget_table(
    steps: PackedTable, parts_ms: Mapping[str, ArrayLike], start_ns: ArrayLike, device: str = "gpu0"
) -> PackedTable:
    """Return the GPU time of a device, a row per step; the rest is unexplained."""
    starts = np.asarray(start_ns)
    columns = {f"{part}_ns": _ns(values, starts) for part, values in parts_ms.items()}
    duration_ns = np.sum(list(columns.values()), axis=0)
    return pack(
        "gpu_time_budget",
        {"start_ns": starts, "duration_ns": duration_ns, **columns},
        of={"node": "algo-1", "device": device, "rows": "steps", **dict(steps.of)},
    )


def finding(
    finding_id: str, *, severity: Severity = Severity.WARNING, share: float | None = None
) -> Finding:
    """Return a finding with little in it."""
    return Finding(
        id=finding_id,
        severity=severity,
        title=f"title of {finding_id}",
        text="text",
        advice="advice",
        estimate=estimate_of(share),
    )


def report_of(
    *tables: PackedTable,
    findings: Mapping[str, Sequence[Finding]] | None = None,
    statuses: Mapping[str, Status] | None = None,
    metrics: Mapping[str, float | None] | None = None,
    setup: Setup | None = None,
    name: str = "job",
) -> Report:
    """Return a report of framework events whose rule StepOutlier keeps the tables."""
    results = {
        "StepOutlier": RuleResult(
            id=RuleId("StepOutlier"), status=Status.OK, data=tables, metrics=dict(metrics or {})
        )
    }
    for rule_id, status in {
        **dict.fromkeys(findings or {}, Status.TRIGGERED),
        **(statuses or {}),
    }.items():
        results[rule_id] = RuleResult(
            id=RuleId(rule_id),
            status=status,
            findings=tuple((findings or {}).get(rule_id, ())),
            metrics=results[rule_id].metrics if rule_id in results else {},
            data=results[rule_id].data if rule_id in results else (),
        )
    return Report(
        report_id="0123456789abcdef",
        job=JobHeader(name=name, source=f"/jobs/{name}", clock="unix"),
        summary=JobSummary(),
        nodes=("algo-1",),
        sampling_interval_ms=500,
        findings=tuple(
            RankedFinding(rule=RuleId(rule_id), finding=item)
            for rule_id, items in (findings or {}).items()
            for item in items
        ),
        rules={
            RuleId(rule_id): RuleEntry(status=result.status, reason=None, file=f"{rule_id}.json")
            for rule_id, result in results.items()
        },
        data_quality=DataQuality(),
        versions={"make-profiler-report": "0"},
        setup=setup,
        results={RuleId(rule_id): result for rule_id, result in results.items()},
    )


def _ns(values_ms: ArrayLike, like: ArrayLike | None = None) -> np.ndarray:
    values = np.rint(np.asarray(values_ms, dtype=np.float64) * MS).astype(np.int64)
    return values if like is None else np.broadcast_to(values, np.shape(like)).copy()


def save(folder: Path, report: Report) -> Path:
    """Save a report in a new folder, which is returned."""
    folder.mkdir(parents=True)
    store.save(report, folder / "profiler-report")
    return folder
