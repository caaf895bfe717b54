"""The lanes of a node: work of its workers, phase by phase, and system metrics as counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import Floats
from reportgen.facts.breakdown import SpanClass, class_of_phase, exchanges_data
from reportgen.facts.samples import Counts, totals_of
from reportgen.profile import Clock, NodeProfile
from reportgen.profile.spans import NO_STEP, STEP_PREFIX, SpanTable
from reportgen.profile.system import Series, SystemTable, device_order
from reportgen.results.timeline_file import Family
from reportgen.timeline.lanes import (
    Lane,
    LaneKind,
    LaneSteps,
    Numbers,
    PartLanes,
    TextCodes,
    family_of_counter,
    grouped,
    no_steps,
    strips_of,
)

_FUNCTIONS = "_functions"
"""In the names of phases that hold functions: ``cpu_functions``, ``gpu_functions-dev:0``."""
_UNITS = {
    "bytes": "bytes",
    "rate": "bytes/s",
    "watts": "W",
    "joules": "J",
    "celsius": "°C",
    "mhz": "MHz",
}
_WORDS = {
    "GPU memory": "GPU memory activity",
    "GPU used bytes": "GPU memory in use",
    "GPU total bytes": "GPU memory in all",
    "GPU watts": "GPU power",
    "GPU joules": "GPU energy",
    "GPU celsius": "GPU temperature",
    "GPU clock mhz": "GPU clock",
    "GPU throttle bits": "GPU throttle reasons",
    "GPU others": "processes of other jobs",
    "io wait": "I/O wait",
    "iops": "disk operations",
    "host memory bytes": "host memory in use",
    "job cores": "cores of the job",
    "sm activity": "SM activity",
    "tensor activity": "tensor core activity",
    "dram activity": "DRAM activity",
}
"""What people read for the names of counters."""


def lanes_of_node(part: NodeProfile) -> PartLanes:
    """Return the lanes of a node: every framework event is in one, and so is every sample.

    The cores of the processor are one counter, their mean.
    """
    spans, system = part.spans, part.system
    starts = [int(spans.start_ns[0])] if spans.n_spans else []
    starts += [int(system.tick_ns[0])] if system.n_ticks else []
    origin_ns = min(starts, default=0)
    words, called = spans.called()
    lanes = [Lane(kind=LaneKind.NODE, label=part.node)]
    names = TextCodes()
    _add_workers(lanes, spans, called, words, names, origin_ns)
    _add_system(lanes, system, origin_ns)
    return PartLanes(
        node=part.node,
        origin_ns=origin_ns,
        is_unix=part.job.clock is Clock.UNIX,
        lanes=tuple(lanes),
        names=tuple(name for name, _ in names.codes),
        families=tuple(family for _, family in names.codes),
        details=("", *(f"step {number}" for number in _numbers(spans))),
        steps=_steps(spans, origin_ns),
        n_counters=len(system.series),
    )


def _numbers(spans: SpanTable) -> Numbers:
    numbers = np.unique(spans.arguments.step).astype(np.int64)
    found: Numbers = numbers[numbers != NO_STEP]
    return found


def _add_workers(
    lanes: list[Lane],
    spans: SpanTable,
    called: NDArray[np.signedinteger],
    words: Sequence[str],
    names: TextCodes,
    origin_ns: int,
) -> None:
    numbers, is_exchange = _numbers(spans), exchanges_data(spans)
    step = spans.step
    detail = np.where(step == NO_STEP, 0, np.searchsorted(numbers, step) + 1).astype(np.int32)
    workers = grouped(spans.worker)
    for codes, rows in sorted(workers, key=lambda item: _last(item[0], spans.workers)):
        host = len(lanes)
        label = _label(codes, spans.workers, "training process")
        lanes.append(Lane(kind=LaneKind.HOST, label=label, parent=0))
        for phase, places in sorted(grouped(spans.phase[rows]), key=lambda item: item[1][0]):
            lane_rows = rows[places]
            text = spans.phases[phase[0]] if len(phase) == 1 else _label(phase, (), "phase")
            kind = LaneKind.FUNCTIONS if _FUNCTIONS in text else LaneKind.PHASES
            kind = LaneKind.STEPS if text.startswith(STEP_PREFIX) else kind
            families = (_family_of(kind, text), Family.COMMUNICATION)

            def named(key: int, families: Sequence[Family] = families) -> tuple[str, Family]:
                return words[key // 2], families[key % 2]

            strips = strips_of(
                spans.start_ns[lane_rows] - origin_ns,
                spans.duration_ns[lane_rows],
                names.of_rows(
                    [called[lane_rows].astype(np.int64) * 2 + is_exchange[lane_rows]], named
                ),
                detail=detail[lane_rows],
            )
            lanes.append(Lane(kind=kind, label=text, parent=host, strips=strips))


def _family_of(kind: LaneKind, phase: str) -> Family:
    """Return the family of the events of a phase, but for those that exchange data."""
    if kind is LaneKind.STEPS:
        return Family.ANNOTATIONS
    if kind is LaneKind.PHASES:
        return Family.PHASES
    of_class = {SpanClass.CPU: Family.OPERATORS, SpanClass.GPU: Family.COMPUTE}
    return of_class.get(class_of_phase(phase), Family.FUNCTIONS)


def _label(codes: list[int], words: Sequence[str], what: str) -> str:
    if len(codes) == 1:
        return f"{what} {words[codes[0]]}"
    return f"{len(codes):,} further {what}{'es' if what.endswith('s') else 's'}"


def _last(codes: list[int], words: Sequence[str]) -> tuple[bool, tuple[str, int]]:
    """Sort key that puts workers in the order of their numbers, and those together last."""
    return len(codes) > 1, device_order(words[codes[0]])


def _add_system(lanes: list[Lane], system: SystemTable, origin_ns: int) -> None:
    """Add the counters of each GPU in a separate group, then those of the machine."""
    groups: dict[str, dict[str, tuple[list[int], str]]] = {}
    for column, series in enumerate(system.series):
        group = series.name if series.type == "gpu" else ""
        label, unit = _called(series)
        groups.setdefault(group, {}).setdefault(label, ([], unit))[0].append(column)
    for group in sorted(groups, key=lambda name: (not name, device_order(name))):
        parent = len(lanes)
        kind = LaneKind.GPU if group else LaneKind.HOST
        lanes.append(Lane(kind=kind, label=group or "system", parent=0))
        for label, (columns, unit) in sorted(groups[group].items()):
            track = _Mean(
                system=system,
                columns=columns,
                origin_ns=origin_ns,
                is_there=_totals(system, columns)[1] > 0,
                unit=unit,
                family=family_of_counter(f"{group} {label}"),
            )
            lanes.append(Lane(kind=LaneKind.COUNTER, label=label, parent=parent, track=track))


def _called(series: Series) -> tuple[str, str]:
    """Return the name and unit of a counter; all cores of a processor have one."""
    if series.kind is None:
        return f"{series.name} {series.dimension}".strip(), ""
    words = series.kind.name.lower().replace("_", " ").replace("gpu", "GPU").replace("cpu", "CPU")
    last = words.rpartition(" ")[2]
    is_network = series.type == "network"
    if is_network:  # "algorithm" is the traffic of the job, "platform" that of its agent.
        words = f"network {words.removesuffix(' algorithm')}"
    words = _WORDS.get(words, words)
    unit = "%" if series.kind.is_percent else _UNITS.get(last, "bytes/s" if is_network else "")
    return words, unit


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mean:
    """The mean of some series as a counter, without ticks that no series has.

    It is computed each time: those of a long job are too many for memory.
    """

    system: SystemTable
    columns: Sequence[int]
    origin_ns: int
    is_there: NDArray[np.bool_]
    unit: str
    family: Family

    @property
    def time_ns(self) -> NDArray[np.int64]:
        """Return the times of the ticks."""
        return (self.system.tick_ns - self.origin_ns)[self.is_there]

    @property
    def value(self) -> Floats:
        """Return the means; one series as it is."""
        if len(self.columns) == 1:
            first: Floats = self.system.columns[self.columns[0]]
            return first[self.is_there]
        total, n_there = _totals(self.system, self.columns)
        return total[self.is_there] / n_there[self.is_there]


def _totals(system: SystemTable, columns: Sequence[int]) -> tuple[Floats, Counts]:
    return totals_of((system.columns[column] for column in columns), system.n_ticks)


def _steps(spans: SpanTable, origin_ns: int) -> LaneSteps:
    """Return the training steps of the worker that has most of them, those with a number."""
    steps = spans.training_steps()
    steps = steps.where(steps.step != NO_STEP)
    if not steps.n_spans:
        return no_steps()
    steps = steps.where(steps.worker == np.bincount(steps.worker).argmax())
    return LaneSteps(
        number=steps.step, start_ns=steps.start_ns - origin_ns, end_ns=steps.end_ns - origin_ns
    )
