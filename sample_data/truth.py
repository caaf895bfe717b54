"""What a report must say about a sample job, and what it must not."""

from __future__ import annotations

import numpy as np

from sample_data.schedule import STRAGGLER_FACTOR, Schedule, callback_s
from sample_data.spec import GENERATOR_VERSION, Fault, JobSpec, node_name
from sample_data.system_files import gap_ticks
from sample_data.timelines import profiled_steps, workers

PATIENCE_SAMPLES = 1000
"""The rules judge nothing before more than so many (docs/rules.md, Patience)."""
MIN_STEPS = 100
"""Step times are judged from more steps of one kind than this (docs/rules.md, StepOutlier)."""
N_OUTLIERS = 10

_FAULT_FINDINGS = (
    *(
        "INIT-1",
        "STEP-1",
        "PERIOD-1",
        "STRAG-1",
        "GPU-1",
        "GPU-2",
        "BAL-1",
        "DL-1",
        "DL-2",
        "DL-3",
        "DL-5",
    ),
    *("BATCH-1", "CPU-1", "IO-1", "MEM-1", "MEM-2"),
)
_UNCERTAIN = {
    # A fault may, but need not, look like these to a rule.
    Fault.INPUT_BOUND: ("MEM-1", "DL-5"),
    Fault.IO_BOUND: ("MEM-1", "DL-5"),
    Fault.CALLBACK: ("GPU-1", "MEM-1"),
    Fault.CHECKPOINT: ("GPU-1", "MEM-1", "IO-1"),
    Fault.STRAGGLER: ("GPU-1", "GPU-2", "BATCH-1"),
    Fault.IMBALANCE: ("GPU-2", "BATCH-1"),
    Fault.MEMORY_LEAK: ("MEM-1",),
}
"""Findings that are neither expected nor forbidden, by fault."""


def truth_of(
    spec: JobSpec, schedule: Schedule, *, n_lines: int, n_events: int, n_broken: int
) -> dict[str, object]:
    """Return the content of ``truth.json``: plain JSON values.

    ``expect`` and ``forbid`` are ids of findings; of each group in ``expect_any`` at least one.
    A job too short for the rules' patience expects nothing.
    """
    expect = sorted(_expected(spec, schedule))
    uncertain = {name for fault in spec.faults for name in _UNCERTAIN.get(fault, ())}
    any_of = _any_of(spec)
    return {
        "generator": GENERATOR_VERSION,
        "job": spec.name,
        "made_from": describe(spec),
        "expect": expect,
        "expect_any": any_of,
        "forbid": [
            name
            for name in _FAULT_FINDINGS
            if name not in {*expect, *uncertain, *(name for group in any_of for name in group)}
        ],
        "planted": _planted(spec, schedule, n_lines=n_lines, n_events=n_events, n_broken=n_broken),
    }


def describe(spec: JobSpec) -> dict[str, object]:
    """Return the job's settings as plain JSON values."""
    return {
        name: sorted(spec.faults) if name == "faults" else getattr(spec, name)
        for name in JobSpec.__dataclass_fields__
    }


def _any_of(spec: JobSpec) -> list[list[str]]:
    """Return groups of findings of which the job must have at least one."""
    groups = []
    if spec.has_slow_input and _is_judged(spec) and not _is_sharp(spec):
        groups.append(["GPU-1", "GPU-2", "BATCH-1"])
    return groups


def _is_judged(spec: JobSpec) -> bool:
    """Return whether the GPUs have more samples than the rules' patience."""
    gap_from, gap_to = gap_ticks(spec)
    return spec.gpus > 0 and spec.n_ticks - (gap_to - gap_from) > PATIENCE_SAMPLES


def _is_sharp(spec: JobSpec) -> bool:
    """Return whether a step fills whole sampling intervals, so that samples reach 100 %."""
    return spec.steps_per_second * spec.interval_s < 1 / 1.3


def _has_straggler(spec: JobSpec) -> bool:
    return Fault.STRAGGLER in spec.faults and spec.nodes * spec.workers_per_node > 1


def _expected(spec: JobSpec, schedule: Schedule) -> set[str]:
    found: set[str] = set()
    if spec.steps_per_second:
        found |= _expected_of_events(spec, schedule)
    if _is_judged(spec):
        found |= _expected_of_gpus(spec)
    return found


def _expected_of_events(spec: JobSpec, schedule: Schedule) -> set[str]:
    found: set[str] = set()
    n_slow = int(schedule.is_slow.sum())
    if n_slow > N_OUTLIERS and int(schedule.is_train.sum()) > MIN_STEPS:
        found |= {"PERIOD-1"}
    if _has_straggler(spec):
        found.add("STRAG-1")
    if spec.has_slow_input and spec.cores > 1:
        found |= {"DL-1", "FW-1"}
    if Fault.INPUT_BOUND in spec.faults and spec.gpus:
        found.add("DL-3")
    return found


def _expected_of_gpus(spec: JobSpec) -> set[str]:
    found: set[str] = set()
    if (spec.has_slow_input and _is_sharp(spec)) or callback_s(spec):
        found.add("GPU-2")
    if Fault.INPUT_BOUND in spec.faults:
        found.add("CPU-1")
    if Fault.IO_BOUND in spec.faults:
        found.add("IO-1")
    if Fault.MEMORY_LEAK in spec.faults:
        found.add("MEM-2")
    if Fault.IMBALANCE in spec.faults and spec.gpus > 1:
        found |= {"BAL-1", "GPU-1"}
    if _has_straggler(spec) and spec.gpus > 1:
        found.add("BAL-1")
    return found


def _planted(
    spec: JobSpec, schedule: Schedule, *, n_lines: int, n_events: int, n_broken: int
) -> dict[str, object]:
    """Return the numbers that a reader of the job must find again."""
    gap_from, gap_to = gap_ticks(spec)
    first_s, last_s = schedule.loop_s
    names = {worker.rank: f"{node_name(worker.node)}-{worker.pid}" for worker in workers(spec)}
    n_train = int(schedule.is_train.sum())
    slow = schedule.number[schedule.is_slow]
    has_events = spec.steps_per_second > 0
    return {
        "interval_ms": spec.interval_ms,
        "ticks_per_node": spec.n_ticks - (gap_to - gap_from),
        "system_lines": n_lines,
        "events": n_events,
        "lines_broken": n_broken,
        "loop_start_s": spec.start_s + first_s,
        "loop_end_s": spec.start_s + last_s,
        "steps_per_worker": {"TRAIN": n_train, "EVAL": schedule.n_steps - n_train}
        if has_events
        else {},
        "workers": list(names.values()) if has_events else [],
        "profiled_steps": sorted(schedule.number[list(profiled_steps(schedule))].tolist())
        if has_events
        else [],
        "slow_step_period": spec.callback_period if slow.size else None,
        "slow_steps": slow.tolist(),
        "callback_s": callback_s(spec) or None,
        "straggler": names[max(names)] if _has_straggler(spec) else None,
        "straggler_factor": STRAGGLER_FACTOR if _has_straggler(spec) else None,
        "loader_wait_ratio": _wait_ratio(schedule) if has_events else None,
        "gap_s": [spec.start_s + at * spec.interval_s for at in (gap_from, gap_to)]
        if gap_to
        else None,
    }


def _wait_ratio(schedule: Schedule) -> float:
    """Return the share of the loop spent waiting for batches."""
    first_s, last_s = float(schedule.wait_s[0]), float(schedule.end_s[-1])
    waited_s = float(np.sum(schedule.start_s - schedule.wait_s))
    return round(waited_s / (last_s - first_s), 4)
