"""One side of a comparison: the steps of a saved report that can be held against another's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Floats, Integers
from reportgen.report import DataKind, Report, data_kind
from reportgen.report.steps import cycle_ns, phase_of, training_tables
from reportgen.results import PackedTable, RuleId
from reportgen.results.model import Scalar
from reportgen.results.packed_columns import unpack

MEETING_RATIO = 0.02
"""Workers whose median cycles differ by less wait for each other; clocks and noise do the rest."""
Columns = Mapping[str, Integers]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSteps:
    """The training steps of one run.

    Attributes:
        phase: ``TRAIN`` of ``Step:ModeKeys.TRAIN``, or what marks the steps of a trace.
        number: (n,) as recorded, ``None`` where they are not.
        start_ns: (n,) of the worker that stands for all.
        cycle_ns: (n,) float64 time to the start of the next step, the mean of all workers where
            each of them has every step.
        inside_ns, wait_ns: (n,) float64 time in the step but that of waiting for data, and all
            waiting, in it and after it; where workers meet in each step, the longest wait of any
            is that of all.
        n_measured: steps that were recorded; more than n where rows are means of several.
        n_workers: workers or ranks that are in the means.
        knows_gaps: whether the report says how long it is from the end of a step to the next one.
    """

    phase: str
    number: Integers | None
    start_ns: Integers
    cycle_ns: Floats
    inside_ns: Floats
    wait_ns: Floats
    n_measured: int
    n_workers: int
    knows_gaps: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A report and what a comparison needs of it.

    ``budget`` holds the GPU time of each device, a row per step: ``start_ns``, ``duration_ns`` and
    one column for each part of the time.
    """

    label: str
    report: Report
    kind: DataKind
    steps: RunSteps | None
    budget: tuple[Columns, ...]


def run_of(report: Report, *, label: str) -> Run:
    """Return one side of a comparison."""
    budget = [
        unpack(table)
        for result in report.results.values()
        for table in result.data
        if table.id == "gpu_time_budget" and table.of.get("rows") == "steps"
    ]
    return Run(
        label=label,
        report=report,
        kind=data_kind(report.results),
        steps=_training_steps(training_tables(report.results.values())),
        budget=tuple(budget),
    )


def rows_of(run: Run, rule_id: str, exhibit_id: str, *names: str) -> Iterator[tuple[Scalar, ...]]:
    """Yield the rows of an exhibit as values of some columns, ``None`` where it has no such column.

    Nothing comes where the report does not have the exhibit: older ones, imported ones.
    """
    result = run.report.results.get(RuleId(rule_id))
    exhibit = result.exhibit(exhibit_id) if result is not None else None
    if exhibit is not None and exhibit.columns:
        nothing = (None,) * len(exhibit.columns[0].values)
        columns = {column.name: column.values for column in exhibit.columns}
        yield from zip(*(columns.get(name, nothing) for name in names), strict=True)


def _training_steps(tables: Sequence[PackedTable]) -> RunSteps | None:
    if not tables:
        return None
    columns = [unpack(table) for table in tables]
    first = columns[0]
    cycles_ns = np.array([cycle_ns(table) for table in columns], dtype=np.float64)
    waits = [_column(columns, name) for name in ("input_wait_ns", "inside_wait_ns")]
    inside_ns, wait_ns = _column(columns, "duration_ns") - waits[1], waits[0] + waits[1]
    for_others_ns = _meeting(cycles_ns) * (wait_ns.max(axis=0) - wait_ns.mean(axis=0))
    for_others_ns = np.clip(for_others_ns, 0, inside_ns.mean(axis=0))
    return RunSteps(
        phase=phase_of(tables[0]),
        number=first.get("step"),
        start_ns=first["start_ns"],
        cycle_ns=cycles_ns.mean(axis=0),
        inside_ns=inside_ns.mean(axis=0) - for_others_ns,
        wait_ns=wait_ns.mean(axis=0) + for_others_ns,
        n_measured=tables[0].n_measured,
        n_workers=len(tables),
        knows_gaps="cycle_ns" in first,
    )


def _column(columns: Sequence[Columns], name: str) -> Floats:
    return np.array(
        [table.get(name, np.zeros_like(table["start_ns"])) for table in columns], dtype=np.float64
    )


def _meeting(cycle_ns: Floats) -> bool:
    """Return whether workers meet in each step: all then wait for the batch that comes last.

    The others spend that time inside their steps, where it is no work.
    """
    middle_ns = np.median(cycle_ns, axis=1)
    return bool(np.ptp(middle_ns) <= MEETING_RATIO * middle_ns.mean())
