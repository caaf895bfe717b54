"""Framework events: what kind each is, where their time went, which functions ran at some moments.

Each event counts once with its full duration (docs/rules.md, Breakdown of framework events).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import Instants, Integers, Mask
from reportgen.facts.intervals import covered_each, union_of
from reportgen.merging import merged, rows_by_code, sum_by_key, sums_by_code
from reportgen.profile import SpanSource, SpanTable
from reportgen.profile.spans import EPOCH_END, LOADER_PROCESS, STEP_PREFIX, Words, where_word

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
    r"nccl|horovod|^c10d::|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|(^|::)broadcast_?$",
    re.IGNORECASE,
)
"""Names of c10d and Horovod (docs/formats.md). Tensors that are broadcast to another shape
(``aten::broadcast_tensors``) stay where they are."""

LEAST_INCREASE = 1.5
LEAST_EVENTS = 10
"""A function is named as a cause when its share of the time is one and a half times as large as
otherwise, and when this many events on both sides show it: fewer may be chance."""
_NONE = np.empty(0, dtype=np.int64)

Function = tuple[str, str]
"""Name and phase of a function."""


class SpanClass(IntEnum):
    """Classes of events, in the order in which they are tried (docs/rules.md)."""

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


def classes_of(spans: SpanTable) -> NDArray[np.int8]:
    """Return (n,) ``SpanClass`` codes; communication by its writer, whatever the phase says.

    In timelines of Horovod and of SageMaker's data-parallel library a phase is a tensor's name,
    which may well contain "cpu".
    """
    by_phase = np.array([class_of_phase(phase) for phase in spans.phases], dtype=np.int8)
    return np.where(_is_of_exchange(spans), np.int8(SpanClass.HOROVOD), by_phase[spans.phase])


def _is_of_exchange(spans: SpanTable) -> Mask:
    """Return an (n,) mask of the events of writers that record nothing but communication."""
    return where_word(spans.source, spans.sources, EXCHANGE_SOURCES.__contains__)


def is_exchange_name(name: str) -> bool:
    """Return whether an event of the host exchanges data with other workers, by its name.

    Example:
        >>> is_exchange_name("c10d::allreduce_"), is_exchange_name("aten::broadcast_tensors")
        (True, False)
    """
    return _EXCHANGE_NAME.search(name) is not None


def exchanges_data(spans: SpanTable) -> Mask:
    """Return an (n,) mask of the events in which workers exchange data.

    They are known by their writer, their phase or their name.
    """
    is_exchange = spans.named(is_exchange_name) | spans.in_phases(_EXCHANGE_PHASES)
    return np.asarray(is_exchange | _is_of_exchange(spans))


def breakdown_of(spans: SpanTable) -> Breakdown:
    """Add up the durations of events of one node, which the caller has chosen."""
    classes = classes_of(spans)
    of_class = {kind: spans.where(classes == kind) for kind in SpanClass}
    phase_ns = {
        kind: _sums(events.phase, events.duration_ns, events.phases)
        for kind, events in of_class.items()
    }
    pass_phases = {phase for pair in PASS_PHASES for side in pair for phase in side}
    plain_ns = phase_ns[SpanClass.MODULE] | phase_ns[SpanClass.GENERAL]
    step_ns, others_ns = _step_sums(of_class[SpanClass.STEP])
    activity_ns = sums_by_name(of_class[SpanClass.HOROVOD]).items()
    return Breakdown(
        device_ns=phase_ns[SpanClass.CPU] | phase_ns[SpanClass.GPU],
        cpu_ns=sums_by_name(of_class[SpanClass.CPU]),
        gpu_ns=sums_by_name(of_class[SpanClass.GPU]),
        step_ns=step_ns,
        others_ns=others_ns,
        pass_ns={phase: time_ns for phase, time_ns in plain_ns.items() if phase in pass_phases},
        general_ns=phase_ns[SpanClass.GENERAL],
        # Marks that are named by a rank's number are no activities.
        horovod_ns={name: ns for name, ns in activity_ns if ns or not name.isdecimal()},
    )


def forward_backward_ns(breakdown: Breakdown) -> dict[str, int]:
    """Return the time of both passes, or ``{}`` when only one of them was recorded."""
    for pair in PASS_PHASES:
        sums = [sum(breakdown.pass_ns.get(phase, 0) for phase in side) for side in pair]
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


def sums_by_name(spans: SpanTable) -> dict[str, int]:
    """Return the time of the events of each name in ns."""
    return _sums(spans.name, spans.duration_ns, spans.names)


def _sums(codes: Words, time_ns: Integers, words: Sequence[str]) -> dict[str, int]:
    sums = sums_by_code(codes, time_ns, len(words))
    return {words[code]: int(sums[code]) for code in np.unique(codes).tolist()}


def _step_sums(steps: SpanTable) -> tuple[dict[str, int], int]:
    by_phase: Counter[str] = Counter()
    others_ns = 0
    for _, rows in rows_by_code(steps.worker):
        start_ns, end_ns = steps.start_ns[rows], steps.end_ns[rows]
        others_ns += int(end_ns.max() - start_ns.min()) - union_of(start_ns, end_ns).length_ns
        for code, of_phase in rows_by_code(steps.phase[rows]):
            by_phase[steps.phases[code]] += union_of(start_ns[of_phase], end_ns[of_phase]).length_ns
    return dict(by_phase), others_ns


# Functions: which events they are, and what they are called


def is_function(spans: SpanTable) -> Mask:
    """Return an (n,) mask of the events that are functions.

    Steps, lives of processes and the time between two epochs only hold functions.
    """
    is_other = spans.in_phases((LOADER_PROCESS, EPOCH_END)) | (classes_of(spans) == SpanClass.STEP)
    return np.asarray(~is_other)


def labels_of(spans: SpanTable) -> tuple[Integers, tuple[str, ...]]:
    """Return (n,) codes of functions, and their labels.

    A function is a name within a phase, because a model's name appears in its forward and its
    backward events. The phases of communication are tensors: there the name alone is the function.
    """
    n_names = max(len(spans.names), 1)
    place = np.where(_is_of_exchange(spans), np.int64(0), spans.phase + np.int64(1))
    found, codes = np.unique(place * n_names + spans.name, return_inverse=True)
    pairs = [(code // n_names - 1, code % n_names) for code in found.tolist()]
    n_phases = Counter(name for _, name in pairs)
    labels = tuple(
        spans.names[name]
        if n_phases[name] == 1
        else f"{spans.names[name]} ({spans.phases[code] if code >= 0 else 'communication'})"
        for code, name in pairs
    )
    return codes, labels


# Events that meet some moments


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSums:
    """Functions: how many events of each, their full lengths, and the part inside some windows."""

    count: Mapping[Function, int] = merged(sum_by_key, default_factory=dict)
    total_ns: Mapping[Function, int] = merged(sum_by_key, default_factory=dict)
    inside_ns: Mapping[Function, int] = merged(sum_by_key, default_factory=dict)

    @property
    def n_events(self) -> int:
        """Return how many events there are."""
        return sum(self.count.values())

    @property
    def share_pct(self) -> dict[Function, float]:
        """Return the share of each function in the time of all, 0-100."""
        whole_ns = sum(self.total_ns.values()) or 1
        return {key: 100 * total_ns / whole_ns for key, total_ns in self.total_ns.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Increase:
    """A function whose share of the time, 0-100, is larger at some moments than otherwise."""

    name: str
    share_pct: float
    other_share_pct: float

    @property
    def factor(self) -> float:
        """Return the share by the other one, infinite when the function did not run otherwise."""
        return self.share_pct / self.other_share_pct if self.other_share_pct else math.inf


def is_step(spans: SpanTable) -> Mask:
    """Return an (n,) mask of the events of step phases, whatever precedes the word."""
    return spans.in_phases(phase for phase in spans.phases if STEP_PREFIX in phase)


def function_sums(spans: SpanTable, rows: Mask) -> FunctionSums:
    """Add up the chosen events of each function; ``is_function`` says which they are."""
    return event_sums(spans, rows & is_function(spans))


def event_sums(
    spans: SpanTable,
    rows: Mask,
    *,
    called: tuple[tuple[str, ...], Words] | None = None,
    windows: tuple[Instants, Instants] = (_NONE, _NONE),
) -> FunctionSums:
    """Add up the chosen events of each name and phase, in the order of their codes.

    Args:
        spans: events of one node or of several joined.
        rows: (n,) which of them.
        called: words and (n,) codes of what events are called; their own names by default.
        windows: start and end of the windows for ``inside_ns``, any order.
    """
    words, name = called or (spans.names, spans.name)
    places, n_phases = np.flatnonzero(rows), max(len(spans.phases), 1)
    pair = name[places].astype(np.int64) * n_phases + spans.phase[places]
    codes, place, count = np.unique(pair, return_inverse=True, return_counts=True)
    keys = [(words[code // n_phases], spans.phases[code % n_phases]) for code in codes.tolist()]
    start_ns, end_ns = spans.start_ns[places], spans.end_ns[places]
    inside_ns = covered_each(union_of(*windows), start_ns, end_ns)
    sums = (
        sums_by_code(place.reshape(-1), length_ns, codes.size)
        for length_ns in (end_ns - start_ns, inside_ns)
    )
    by_key = [dict(zip(keys, column.tolist(), strict=True)) for column in (count, *sums)]
    return FunctionSums(count=by_key[0], total_ns=by_key[1], inside_ns=by_key[2])


def largest_increase(sums: FunctionSums, others: FunctionSums) -> Increase | None:
    """Return the function that takes much more of the time at the moments than otherwise.

    Of the functions whose share rose ``LEAST_INCREASE``-fold or more it is the one whose share rose
    by most points; the mean time alone does not show one that is as long as ever, but runs at every
    bottleneck and at no other time. ``None`` when there are too few events.
    """
    if others.n_events < LEAST_EVENTS:
        return None
    shares, other_shares = sums.share_pct, others.share_pct
    risen = [
        (other_shares.get(key, 0.0) - shares[key], key)
        for key, count in sums.count.items()
        if count >= LEAST_EVENTS and shares[key] >= LEAST_INCREASE * other_shares.get(key, 0.0)
    ]
    increase, key = min(risen, default=(0.0, ("", "")))
    if increase >= 0:
        return None
    return Increase(name=key[0], share_pct=shares[key], other_share_pct=other_shares.get(key, 0.0))
