"""Draw the jobs, write their traces, make the reports, and score them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.exam.analyse import report_of
from benchmarks.exam.traces.drawing import draw_jobs
from benchmarks.exam.traces.faults import Kind
from benchmarks.exam.traces.kineto_file import write_job
from benchmarks.exam.traces.plan import Job
from benchmarks.exam.traces.scoring import Row, alarms_of, describe, is_asked, score
from benchmarks.exam.traces.simulate import truths_of
from reportgen.report import RankedFinding

TIE = 0.03
"""Of two faults whose shares differ by less, either may stand first."""


def run(
    seed: int,
    n_traces: int = 60,
    *,
    only: Sequence[Kind] = (),
    keep: Path | None = None,
) -> list[Row]:
    """Return a row for each planted fault and each healthy trace.

    Args:
        seed: equal seeds give equal traces.
        n_traces: how many.
        only: the faults that are wanted; then there are no healthy traces.
        keep: a folder in which the traces stay.
    """
    rows: list[Row] = []
    for job in draw_jobs(seed, n_traces, tuple(only) or tuple(Kind)):
        if only and not job.faults:
            continue
        with tempfile.TemporaryDirectory(prefix="exam-traces-") as scratch:
            folder = Path(scratch) / job.plan.name
            write_job(job, folder)
            report = report_of(folder)
            rows += rows_of(job, seed, report.findings, list(report.nodes))
            if keep is not None:
                shutil.copytree(folder, keep / job.plan.name, dirs_exist_ok=True)
    return rows


def rows_of(
    job: Job, seed: int, findings: Sequence[RankedFinding], nodes: Sequence[str]
) -> list[Row]:
    """Return the rows of one trace; faults that cost too little are not asked for."""
    plan = job.plan
    row = Row(
        seed=seed,
        trace=plan.name,
        family=plan.family.value,
        detail=f"{plan.n_ranks} ranks, {plan.n_steps} steps {plan.healthy_kind}".strip(),
        found=tuple(describe(item) for item in alarms_of(findings)),
    )
    if not job.faults:
        return [row]
    asked = sorted(filter(is_asked, truths_of(job)), key=lambda truth: -truth.share)
    rows = []
    for truth in asked:
        fault = truth.fault
        place = sum(other.share > truth.share - TIE for other in asked) - 1
        told = replace(
            row,
            kind=fault.kind.value,
            share=truth.share,
            is_only=len(asked) == 1,
            detail=f"{row.detail}, size {fault.size:.4g}, rank {fault.rank}, "
            f"steps {fault.steps}, look {fault.variant}",
        )
        rows.append(
            replace(told, **score(told, truth, findings, place=place, nodes=nodes))  # type: ignore[arg-type]
        )
    return rows
