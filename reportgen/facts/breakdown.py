"""What kind of event each is, and where the time of framework events went.

The sums are those behind the breakdown members of AWS's rules (docs/rules.md): of all events, or
of those that ran at certain moments. Each event counts once with its full duration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.groups import rows_by_code, sums_by_code
from reportgen.facts.intervals import union_length_ns
from reportgen.merging import merged, sum_by_key
from reportgen.profile import SpanSource, SpanTable

LISTED_FROM_RATIO = 0.02
"""Operators and Horovod activities with more than 2 % are listed, as in AWS's results."""

FORWARD_PASS = "Forward pass"  # noqa: S105 - a word of AWS's JSON
BACKWARD_PASS = "Backward pass"  # noqa: S105 - a word of AWS's JSON
OTHERS = "others"
PASS_PHASES = (
    (("Forward-SubModuleInternal",), ("Backward-SubModuleInternal",)),
    (("Forward",), ("Backward(post-forward)",)),
    (("ForwardPass",), ("ComputeGradient", "ApplyGradient")),
)
"""Forward and backward phases; the first pair that has both counts (docs/rules.md)."""

EXCHANGE_SOURCES = frozenset({SpanSource.HOROVOD.value, SpanSource.SMDATAPARALLEL.value})
_EXCHANGE_PHASES = ("NcclManager",)
_EXCHANGE_NAME = re.compile(
    r"nccl|horovod|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|(^|::)broadcast_?$",
    re.IGNORECASE,
)
"""Names of c10d and Horovod (docs/formats.md). Tensors that are broadcast to another shape
(``aten::broadcast_tensors``) stay where they are."""


class SpanClass(IntEnum):
    """What an event is, in the order in which the classes are tried (docs/rules.md)."""

    CPU = 0
    GPU = 1
    STEP = 2
    MODULE = 3
    GENERAL = 4
    HOROVOD = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """Sums of event durations in ns by name; ``merge`` adds up those of several nodes.

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

    device_ns: Mapping[str, int] = merged(sum_by_key, default_factory=dict)
    cpu_ns: Mapping[str, int] = merged(sum_by_key, default_factory=dict)
    gpu_ns: Mapping[str, int] = merged(sum_by_key, default_factory=dict)
    step_ns: Mapping[str, int] = merged(sum_by_key, default_factory=dict)
    others_ns: int = merged(sum, default=0)
    pass_ns: Mapping[str, int] = merged(sum_by_key, default_factory=dict)
    general_ns: Mapping[str, int] = merged(sum_by_key, default_factory=dict)
    horovod_ns: Mapping[str, int] = merged(sum_by_key, default_factory=dict)


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
    is_horovod = np.array([source in EXCHANGE_SOURCES for source in spans.sources], dtype=bool)
    if spans.n_spans == 0:
        return np.empty(0, dtype=np.int64)
    return np.where(is_horovod[spans.source], np.int64(SpanClass.HOROVOD), by_phase[spans.phase])


def exchanges_data(spans: SpanTable) -> NDArray[np.bool_]:
    """Return an (n,) mask of the events in which workers exchange data.

    They are known by their writer, their phase or their name.
    """
    sources = [code for code, source in enumerate(spans.sources) if source in EXCHANGE_SOURCES]
    names = [code for code, name in enumerate(spans.names) if _EXCHANGE_NAME.search(name)]
    is_named = np.isin(spans.source, sources) | np.isin(spans.name, names)
    return np.asarray(is_named | spans.in_phases(_EXCHANGE_PHASES))


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


def shares_pct(total_ns: Mapping[str, int]) -> dict[str, float]:
    """Return percentages of the sum in the same order; ``{}`` when there is nothing to share."""
    whole = sum(total_ns.values())
    return {name: 100 * value / whole for name, value in total_ns.items()} if whole else {}


def largest_first(total_ns: Mapping[str, int]) -> dict[str, int]:
    """Return the entries by value, largest first, then by name."""
    return dict(sorted(total_ns.items(), key=lambda item: (-item[1], item[0])))


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
