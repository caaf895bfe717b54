"""Whether two jobs can be compared: equal, different and unknown conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reportgen.comparison.model import Condition
from reportgen.comparison.runs import Run, rows_of
from reportgen.comparison.steps import LEAST_STEPS
from reportgen.report import DataKind, Setup
from reportgen.text import format_duration, join_names, plural

HARDWARE = frozenset({"instance type", "GPU", "recorded GPUs", "nodes", "ranks of the job"})
"""Conditions over which a gate passes only with ``--allow-different hardware``."""
SETTINGS = frozenset({"number formats", "batch size", "loader processes", "pinned memory"})
"""Conditions that a change usually is about: their difference is no warning and stops no gate."""
_LARGEST_SHARE = 0.05
"""A number format that takes less of the kernels' time than this is no property of a job."""


def conditions_of(before: Run, after: Run, *, compared: str) -> tuple[Condition, ...]:
    """Return the conditions that should be equal in both runs, one line each.

    Args:
        compared: which steps are compared, in words; empty without any.
    """
    sides = (before, after)
    reports = [side.report for side in sides]
    setups = [report.setup or Setup() for report in reports]
    nodes = [() if side.kind is DataKind.TRACES else side.report.nodes for side in sides]
    intervals_ms = [report.sampling_interval_ms for report in reports]
    versions = [report.versions.get("make-profiler-report", "") for report in reports]
    gpus = [join_names(setup.gpu_names, most=4) if setup.gpu_names else "" for setup in setups]
    rows = [
        ("kind of data", before.kind.value, after.kind.value),
        ("instance type", *(setup.instance_type for setup in setups)),
        ("GPU", *gpus),
        ("recorded GPUs", *(_text(setup.n_gpus) for setup in setups)),
        ("nodes", *(str(len(names) or "") for names in nodes)),
        ("ranks of the job", *(_text(setup.n_ranks) for setup in setups)),
        ("kind of steps", *(side.steps.phase if side.steps else "" for side in sides)),
        ("number formats", *(_formats(side) for side in sides)),
        ("batch size", *(_text(setup.batch_size) for setup in setups)),
        ("loader processes", *(_setting(side, "num_workers") for side in sides)),
        ("pinned memory", *(_setting(side, "pin_memory") for side in sides)),
        ("sampling interval", *(format_duration(ms / 1e3) if ms else "" for ms in intervals_ms)),
        ("part of the job", *(report.job.range or "whole" for report in reports)),
        *_versions(setups),
        ("version of reportgen", *versions),
        ("steps compared", compared, compared),
    ]
    return tuple(
        Condition(what=what, before=one, after=other, same=one == other if one and other else None)
        for what, one, other in rows
        if one or other or (what == "batch size" and compared)
    )


def why_not(before: Run, after: Run) -> str:
    """Return why two runs cannot be compared in time; empty where they can."""
    for run in (before, after):
        missing = sorted(run.report.rules.keys() - run.report.results.keys())
        if missing and run.steps is None:
            return f"“{run.label}” is incomplete: it has no results of {join_names(missing)}."
    kinds = {before.kind, after.kind}
    if len(kinds) > 1:
        return (
            f"“{before.label}” was made from {before.kind.value}, “{after.label}” from "
            f"{after.kind.value}."
        )
    if kinds == {DataKind.IMPORTED}:
        return "Results of SageMaker's rules hold no single steps."
    for run in (before, after):
        if run.steps is None and run.report.figures is None:
            return (
                f"“{run.label}” was made by an older version, which did not keep the steps; report "
                "the job again."
            )
        if run.steps is None:
            return f"“{run.label}” has no recorded steps."
        if run.steps.start_ns.size < LEAST_STEPS:
            n_steps = plural(run.steps.start_ns.size, "step")
            return f"“{run.label}” has {n_steps}; a comparison needs {LEAST_STEPS}."
    return _unlike_steps(before, after)


def _unlike_steps(before: Run, after: Run) -> str:
    assert before.steps is not None
    assert after.steps is not None
    if before.steps.knows_gaps != after.steps.knows_gaps:
        older = after.label if before.steps.knows_gaps else before.label
        return (
            f"“{older}” was made by an older version, which did not keep the time between steps; "
            "report the job again."
        )
    if before.steps.phase != after.steps.phase:
        sides = ((before.steps.phase, before.label), (after.steps.phase, after.label))
        phases = ", ".join(f"{phase or 'none'} in “{label}”" for phase, label in sides)
        return f"The steps have no phase in common: {phases}."
    return ""


def warnings_of(conditions: Sequence[Condition]) -> tuple[str, ...]:
    """Return the differences that a reader must keep in mind with the numbers."""
    return tuple(
        f"{item.what}: {item.before} before, {item.after} after"
        for item in conditions
        if item.same is False and item.what not in SETTINGS
    )


def changed_settings(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """Return the settings that differ: they probably are the change."""
    return tuple(item for item in conditions if item.same is False and item.what in SETTINGS)


def hardware_changes(conditions: Sequence[Condition]) -> tuple[str, ...]:
    """Return the differences that a gate must not pass over without having been allowed to."""
    return tuple(item.what for item in conditions if item.same is False and item.what in HARDWARE)


def _text(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _versions(setups: Sequence[Setup]) -> Iterator[tuple[str, str, str]]:
    for name in sorted({name for setup in setups for name in setup.versions}):
        before, after = (setup.versions.get(name, "") for setup in setups)
        yield name, before, after


def _setting(run: Run, name: str) -> str:
    rows = rows_of(run, "Dataloader", "loaders", name)
    said = sorted({str(value) for (value,) in rows if value is not None})
    return ", ".join({"True": "yes", "False": "no"}.get(value, value) for value in said)


def _formats(run: Run) -> str:
    """Name the formats in use, however they are known: shapes may be recorded in one run alone."""
    parts = {
        str(part).removesuffix(" by input")
        for part, pct in rows_of(run, "KernelPrecision", "precision_shares", "part", "pct")
        if isinstance(pct, float) and pct >= 100 * _LARGEST_SHARE
    }
    return ", ".join(sorted(parts - {"Unknown"}))
