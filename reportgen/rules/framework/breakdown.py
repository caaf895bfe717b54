"""Where the time of framework events went: the sums behind AWS's breakdown members.

Used whole by OverallFrameworkMetrics, and by the rules that ask what ran at certain moments.
Each event counts once with its full duration (source: rules-spec §1 and §11, oracle §10-§11).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum, IntEnum

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.groups import rows_by_code, sums_by_code
from reportgen.facts.intervals import union_length_ns
from reportgen.profile import SpanTable
from reportgen.results import Details, JsonValue
from reportgen.rules.framework.exchange import SOURCES
from reportgen.units import NS_PER_US

LISTED_FROM_RATIO = 0.02
"""Operators and Horovod activities with more than 2 % are listed. Source: rules-spec §11."""

FORWARD_PASS = "Forward pass"  # noqa: S105 - a word of AWS's JSON
BACKWARD_PASS = "Backward pass"  # noqa: S105 - a word of AWS's JSON
OTHERS = "others"
PASS_PHASES = (
    (("Forward-SubModuleInternal",), ("Backward-SubModuleInternal",)),
    (("Forward",), ("Backward(post-forward)",)),
    (("ForwardPass",), ("ComputeGradient", "ApplyGradient")),
)
"""Forward and backward phases; the first pair that has both counts. Source: rules-spec §11."""


class SpanClass(IntEnum):
    """What an event is, in the order in which the classes are tried (oracle §10)."""

    CPU = 0
    GPU = 1
    STEP = 2
    MODULE = 3
    GENERAL = 4
    HOROVOD = 5


class MemberOrder(Enum):
    """The two orders of AWS's members: OverallFrameworkMetrics' and the bottleneck rules'."""

    OVERALL = ("phases", "operators")
    BOTTLENECK = ("operators", "phases")


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """Sums of event durations in ns by name; additive over nodes.

    Attributes:
        device_ns: by phase of the operator events: ``cpu_functions``, ``gpu_functions-dev:0``.
        cpu_ns, gpu_ns: by operator name; nested operators count in themselves and in parents.
        step_ns: by step phase: union of its steps per worker, summed over the workers.
        others_ns: between steps: first start to last end less the union of all steps, per
            worker, summed; never negative.
        pass_ns: by phase of forward and backward events (``PASS_PHASES``).
        general_ns: by phase of all other events.
        horovod_ns: by activity of Horovod timelines.
    """

    device_ns: Mapping[str, int] = field(default_factory=dict)
    cpu_ns: Mapping[str, int] = field(default_factory=dict)
    gpu_ns: Mapping[str, int] = field(default_factory=dict)
    step_ns: Mapping[str, int] = field(default_factory=dict)
    others_ns: int = 0
    pass_ns: Mapping[str, int] = field(default_factory=dict)
    general_ns: Mapping[str, int] = field(default_factory=dict)
    horovod_ns: Mapping[str, int] = field(default_factory=dict)


def class_of_phase(phase: str) -> SpanClass:
    """Return the class of events of a Python, model or TensorFlow timeline by their phase."""
    folded = phase.casefold()
    if "cpu" in folded:
        return SpanClass.CPU
    if "gpu" in folded:
        return SpanClass.GPU
    if "Step" in phase:
        return SpanClass.STEP
    if phase in {"Forward-SubModuleInternal", "Backward-SubModuleInternal"}:
        return SpanClass.MODULE
    return SpanClass.GENERAL


def classes_of(spans: SpanTable) -> NDArray[np.int64]:
    """Return (n,) ``SpanClass`` codes; communication by its writer, whatever the phase says.

    In timelines of Horovod and of SageMaker's data-parallel library a phase is a tensor's name,
    which may well contain "cpu".
    """
    by_phase = np.array([class_of_phase(phase) for phase in spans.phases], dtype=np.int64)
    is_horovod = np.array([source in SOURCES for source in spans.sources], dtype=bool)
    if spans.n_spans == 0:
        return np.empty(0, dtype=np.int64)
    return np.where(is_horovod[spans.source], np.int64(SpanClass.HOROVOD), by_phase[spans.phase])


def breakdown_of(spans: SpanTable) -> Breakdown:
    """Add up the durations of events, each once.

    Args:
        spans: the events that count, of one node; preselected by the caller.
    """
    if spans.n_spans == 0:
        return Breakdown()
    classes = classes_of(spans)
    n_phases = len(spans.phases)
    by_phase = sums_by_code(
        classes * n_phases + spans.phase, spans.duration_ns, len(SpanClass) * n_phases
    ).reshape(len(SpanClass), n_phases)
    seen = np.zeros((len(SpanClass), n_phases), dtype=bool)
    seen[classes, spans.phase] = True

    def phase_sums(*wanted: SpanClass) -> dict[str, int]:
        return {
            phase: int(by_phase[kind, code])
            for code, phase in enumerate(spans.phases)
            for kind in wanted
            if seen[kind, code]
        }

    pass_phases = {phase for pair in PASS_PHASES for side in pair for phase in side}
    plain = phase_sums(SpanClass.MODULE, SpanClass.GENERAL)
    step_ns, others_ns = _step_sums(spans.where(classes == SpanClass.STEP))
    return Breakdown(
        device_ns=phase_sums(SpanClass.CPU, SpanClass.GPU),
        cpu_ns=_name_sums(spans, classes == SpanClass.CPU),
        gpu_ns=_name_sums(spans, classes == SpanClass.GPU),
        step_ns=step_ns,
        others_ns=others_ns,
        pass_ns={phase: total for phase, total in plain.items() if phase in pass_phases},
        general_ns=phase_sums(SpanClass.GENERAL),
        horovod_ns=_activity_sums(spans, classes == SpanClass.HOROVOD),
    )


def merge_breakdowns(breakdowns: Iterable[Breakdown]) -> Breakdown:
    """Add up the breakdowns of several nodes."""
    parts = list(breakdowns)
    merged: dict[str, dict[str, int]] = {}
    for item in fields(Breakdown):
        if item.name == "others_ns":
            continue
        total: dict[str, int] = {}
        for part in parts:
            for name, value in getattr(part, item.name).items():
                total[name] = total.get(name, 0) + value
        merged[item.name] = total
    return Breakdown(others_ns=sum(part.others_ns for part in parts), **merged)


def breakdown_details(
    breakdown: Breakdown, *, with_others: bool, order: MemberOrder = MemberOrder.BOTTLENECK
) -> Details:
    """Return AWS's members ``ratio … horovod`` with correct labels.

    Args:
        breakdown: the sums.
        with_others: whether ``phase`` tells the time between steps; only OverallFrameworkMetrics.
        order: the order of members; source rules-spec §1 and §11.

    Edge cases: without events exactly ``{"ratio": {}, "phase": {}, "phase_time": {}}``.
    """
    steps = dict(breakdown.step_ns)
    if with_others and steps:
        steps[OTHERS] = breakdown.others_ns
    operators = _operator_members("CPU", breakdown.cpu_ns)
    operators |= _operator_members("GPU", breakdown.gpu_ns)
    phases: Details = {"phase": shares_pct(steps), "phase_time": {}}
    blocks = {"operators": operators, "phases": phases}
    device_first = "cpu" if order is MemberOrder.BOTTLENECK else "gpu"
    devices = sorted(breakdown.device_ns, key=lambda name: (device_first not in name, name))
    details: Details = {"ratio": shares_pct({name: breakdown.device_ns[name] for name in devices})}
    for block in order.value:
        details |= blocks[block]
    details |= _present({"general": shares_pct(largest_first(breakdown.general_ns))})
    details |= _present({"forward_backward": shares_pct(forward_backward_ns(breakdown))})
    return details | _present({"horovod": shares_pct(listed(breakdown.horovod_ns))})


def forward_backward_ns(breakdown: Breakdown) -> dict[str, int]:
    """Return the time of both passes, or ``{}`` when only one of them was recorded."""
    for forward, backward in PASS_PHASES:
        sums = [
            sum(breakdown.pass_ns[phase] for phase in side if phase in breakdown.pass_ns)
            for side in (forward, backward)
        ]
        if all(sums):
            return {FORWARD_PASS: sums[0], BACKWARD_PASS: sums[1]}
    return {}


def listed(total_ns: Mapping[str, int]) -> dict[str, int]:
    """Return the entries with more than 2 % of all, largest first."""
    least_ns = LISTED_FROM_RATIO * sum(total_ns.values())
    return {name: value for name, value in largest_first(total_ns).items() if value > least_ns}


def shares_pct(total_ns: Mapping[str, int]) -> dict[str, JsonValue]:
    """Return percentages of the sum in the same order; ``{}`` when there is nothing to share."""
    whole = sum(total_ns.values())
    return {name: 100 * value / whole for name, value in total_ns.items()} if whole else {}


def largest_first(total_ns: Mapping[str, int]) -> dict[str, int]:
    """Return the entries by value, largest first, then by name."""
    return dict(sorted(total_ns.items(), key=lambda item: (-item[1], item[0])))


def _operator_members(device: str, total_ns: Mapping[str, int]) -> Details:
    entries = listed(total_ns)
    if not entries:
        return {}
    total_us: dict[str, JsonValue] = {
        name: round(value / NS_PER_US) for name, value in entries.items()
    }
    return {device: shares_pct(entries), f"{device}_total": total_us}


def _present(members: Details) -> Details:
    return {name: value for name, value in members.items() if value}


def _name_sums(spans: SpanTable, rows: NDArray[np.bool_]) -> dict[str, int]:
    codes = spans.name[rows]
    sums = sums_by_code(codes, spans.duration_ns[rows], len(spans.names))
    return {spans.names[code]: int(sums[code]) for code in np.unique(codes).tolist()}


def _activity_sums(spans: SpanTable, rows: NDArray[np.bool_]) -> dict[str, int]:
    """Return the time of each activity of Horovod; marks named by a rank's number are none."""
    sums = _name_sums(spans, rows)
    return {name: total for name, total in sums.items() if total or not name.isdecimal()}


def _step_sums(steps: SpanTable) -> tuple[dict[str, int], int]:
    by_phase: dict[str, int] = {}
    others_ns = 0
    for _, rows in rows_by_code(steps.worker):
        start_ns, end_ns, phase = steps.start_ns[rows], steps.end_ns[rows], steps.phase[rows]
        whole_ns = int(end_ns.max() - start_ns.min())
        others_ns += whole_ns - union_length_ns(start_ns, end_ns)
        for code, its in rows_by_code(phase):
            name = steps.phases[code]
            union_ns = union_length_ns(start_ns[its], end_ns[its])
            by_phase[name] = by_phase.get(name, 0) + union_ns
    return by_phase, others_ns
