"""What a rule is written with: rows that are their own table, messages, parts that merge.

A rule file reads from top to bottom: its words (``About`` and the ``Message`` of each finding), its
parameters, the rows that it measures and shows, ``measure``, ``judge``, ``RULE``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.device_busy import Window, WindowKind
from reportgen.facts.distributions import Box
from reportgen.facts.intervals import runs_of
from reportgen.facts.parts import concat, merge, merged, sum_by_key
from reportgen.facts.steps import Loop
from reportgen.results import (
    Column,
    ColumnType,
    Estimate,
    Exhibit,
    ExhibitKind,
    Finding,
    Reason,
    ReasonCode,
    Role,
    Severity,
    Where,
    column,
    exhibit,
)
from reportgen.rules.base import param
from reportgen.text import format_ns_range, plural, write
from reportgen.units import NS_PER_MINUTE, percentages, seconds, speedup_at_most

__all__ = [
    "AWS_DEFAULTS",
    "CHEAP_RATIO",
    "CRITICAL_FROM_RATIO",
    "HOW_TO_RECORD",
    "MOST_BOXES",
    "MOST_INTERVALS",
    "Interval",
    "Message",
    "boxes",
    "col",
    "columns_of",
    "communication_names",
    "concat",
    "cost_severity",
    "derived",
    "estimate_of",
    "fault_severity",
    "floats",
    "histogram",
    "intervals",
    "longest_minutes",
    "merge",
    "merged",
    "patience",
    "percentage",
    "ranking",
    "reason_to_skip",
    "reason_without_gpu",
    "reason_without_steps",
    "row",
    "share_limit",
    "sum_by_key",
    "table",
    "too_short",
    "top_k",
    "window",
    "window_name",
]

CRITICAL_FROM_RATIO = 0.5
"""A fault that may cost half of the time is critical: mending it may double the speed."""
CHEAP_RATIO = 0.01
"""What costs less than 1 % of the loop is no fault: of many thousand steps with plain random
scatter some always lie above three deviations."""
MOST_BOXES = 64
"""More boxes than this cannot be told apart in a chart; all numbers stay in tables."""
MOST_INTERVALS = 200
"""More intervals than this cannot be told apart on an axis of time; the longest stay."""
AWS_DEFAULTS = "the defaults of SageMaker's built-in profiler rules (docs/rules.md)"

_T = TypeVar("_T")


# Rows that are tables


def col(
    unit: str = "",
    *,
    name: str = "",
    role: Role | None = None,
    per: float | None = None,
    digits: int | None = None,
    reduce: Callable[[Sequence[Any]], Any] | None = None,
) -> Any:
    """Declare a field of a row that is a column of its table, in the order of declaration.

    Args:
        unit: of the column; empty for text and counts.
        name: of the column; the field's own name by default.
        role: what the column is about.
        per: values are divided by it for the table: nanoseconds are shown in µs by ``NS_PER_US``.
        digits: values are rounded to so many digits.
        reduce: how the values of merged rows become one; see ``merged``.
    """
    meta = {"unit": unit, "name": name, "role": role, "per": per, "digits": digits}
    return field(metadata={"column": meta, "reduce": reduce})


def derived(
    get: Callable[[Any], Any],
    unit: str = "",
    *,
    name: str = "",
    role: Role | None = None,
    per: float | None = None,
    digits: int | None = None,
    init: Literal[False] = False,
) -> Any:
    """Declare a column whose value is computed from the other fields of a row when it is made.

    Args:
        get: from a row to the value.
        unit, name, role, per, digits: as of ``col``.
        init: for the type checker: nobody passes a value.
    """
    meta = {"unit": unit, "name": name, "role": role, "per": per, "digits": digits, "get": get}
    return field(init=init, default=None, repr=False, compare=False, metadata={"column": meta})


@dataclass_transform(
    frozen_default=True, kw_only_default=True, field_specifiers=(col, derived, merged)
)
def row(cls: type[_T]) -> type[_T]:
    """Make a frozen class of a measurement whose ``col`` fields are the columns of a table.

    Other fields are part of the measurement, but not of the table.
    """

    def compute(made: object) -> None:
        for name, get in computed.items():
            object.__setattr__(made, name, get(made))

    declared = {name: getattr(value, "metadata", {}) for name, value in vars(cls).items()}
    computed = {
        name: meta["column"]["get"]
        for name, meta in declared.items()
        if "get" in meta.get("column", {})
    }
    if computed:
        cls.__post_init__ = compute  # type: ignore[attr-defined]  # dataclasses call it
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)


def columns_of(rows: Sequence[object], kind: type[Any]) -> list[Column]:
    """Return the columns of some rows of one kind; also those of no rows at all."""
    return [
        column(
            meta["name"] or item.name,
            meta["unit"],
            [_shown(entry, item.name, meta) for entry in rows],
            type=ColumnType.FLOAT if meta["per"] else _type_of(str(item.type)),
            role=meta["role"],
        )
        for item in fields(kind)
        if (meta := item.metadata.get("column"))
    ]


_TYPES = {"int": ColumnType.INT, "float": ColumnType.FLOAT, "bool": ColumnType.BOOL}


def _type_of(annotation: str) -> ColumnType:
    """Return the type that a field declares; names of all kinds are text."""
    return _TYPES.get(annotation.removesuffix(" | None"), ColumnType.TEXT)


def _shown(entry: object, name: str, meta: Mapping[str, Any]) -> Any:
    value = meta["get"](entry) if "get" in meta else getattr(entry, name)
    if value is None:
        return None
    scaled = value if meta["per"] is None else value / meta["per"]
    return scaled if meta["digits"] is None else round(scaled, meta["digits"])


def floats(
    *specs: tuple[str, str, Iterable[object]], role: Role | None = None
) -> tuple[Column, ...]:
    """Return columns of numbers: (name, unit, values) each."""
    return tuple(
        column(name, unit, values, type=ColumnType.FLOAT, role=role) for name, unit, values in specs
    )


def table(
    exhibit_id: str,
    rows: Sequence[object],
    kind: type[Any],
    *,
    title: str,
    caption: str = "",
    drawn_as: ExhibitKind = ExhibitKind.TABLE,
    role: Role | None = None,
) -> Exhibit:
    """Return rows as a table, or as another kind of exhibit that has their columns.

    Args:
        exhibit_id: stable id, unique within the result.
        rows: of one kind, made with ``row``.
        kind: their class, which declares the columns.
        title: what the table shows, without a full stop.
        caption: how to read it.
        drawn_as: the kind of exhibit.
        role: what the whole exhibit is about.
    """
    columns = columns_of(rows, kind)
    return exhibit(exhibit_id, drawn_as, title=title, caption=caption, columns=columns, role=role)


def ranking(
    exhibit_id: str,
    parts: Sequence[tuple[str, float]],
    *,
    title: str,
    caption: str = "",
    name: str = "part",
    amount: tuple[str, str],
    most: int | None = None,
    others: str = "part",
    per: float = 1,
    drawn_as: ExhibitKind = ExhibitKind.SHARES,
    roles: Sequence[Role | None] = (),
    role: Role | None = None,
) -> Exhibit:
    """Return parts of a whole: a name, an amount and a percentage each; bars in reverse order.

    Args:
        exhibit_id: stable id, unique within the result.
        parts: name and amount, in the order in which they are shown.
        title: what is shared out, without a full stop.
        caption: how to read it; where parts are added up, how many are shown is appended.
        name: of the column of names.
        amount: name and unit of the column of amounts; counts have no unit.
        most: so many parts are shown one by one, the rest is added up as ``others``.
        others: what a part is called where the rest is counted; ``match/matches`` where an s is
            not enough.
        per: amounts are divided by it for the table; percentages do not change.
        drawn_as: shares or bars.
        roles: what each of ``parts`` is about.
        role: what the whole exhibit is about.
    """
    shown, rest = list(parts[:most]), parts[most:] if most is not None else ()
    row_roles = list(roles[:most])
    if rest:
        shown.append(
            (f"others ({plural(len(rest), *others.split('/'))})", sum(value for _, value in rest))
        )
        caption = f"{caption} Showing {most} of {len(parts):,}; the table has all.".strip()
        row_roles += [Role.OTHER] if row_roles else []
    values = [value for _, value in shown]
    kind = ColumnType.FLOAT if amount[1] else ColumnType.INT
    numbers = [
        column(*amount, [value / per for value in values] if amount[1] else values, type=kind),
        column("pct", "%", percentages(values), type=ColumnType.FLOAT),
    ]
    return exhibit(
        exhibit_id,
        drawn_as,
        title=title,
        caption=caption,
        columns=[
            column(name, "", [label for label, _ in shown], type=ColumnType.TEXT),
            *(numbers if drawn_as is ExhibitKind.SHARES else reversed(numbers)),
        ],
        role=role,
        row_roles=row_roles,
    )


def boxes(
    exhibit_id: str,
    items: Sequence[tuple[str, Box, float | None]],
    *,
    title: str,
    unit: str,
    role: Role | None = None,
    row_roles: Sequence[Role | None] = (),
) -> Exhibit:
    """Return the first ``MOST_BOXES`` box plots; the caption says when some are missing.

    Args:
        exhibit_id: stable id, unique within the result.
        items: what each box is about, the box, and the largest value if it is known.
        title: what is distributed, without a full stop.
        unit: of the values.
        role: what the whole exhibit is about.
        row_roles: what each box is about.
    """
    shown = items[:MOST_BOXES]
    caption = (
        "Box: 25th to 75th percentile with the median; whiskers reach to the last value within 1.5 "
        "times the box (Tukey), not to p5 and p95."
    )
    if len(shown) < len(items):
        caption += f" The first {len(shown)} of {len(items)}."
    marks = [
        (mark, [round(getattr(box, mark), 4) for _, box, _ in shown])
        for mark in ("lower", "p25", "p50", "p75", "upper", "p95")
    ]
    largest = [None if most is None else round(most, 4) for *_, most in shown]
    return exhibit(
        exhibit_id,
        ExhibitKind.BOXES,
        title=title,
        caption=caption,
        columns=[
            column("name", "", [name for name, *_ in shown], type=ColumnType.TEXT),
            *(
                column(mark, unit, values, type=ColumnType.FLOAT)
                for mark, values in (*marks, ("max", largest))
            ),
        ],
        role=role,
        row_roles=row_roles[:MOST_BOXES],
    )


def histogram(
    exhibit_id: str,
    edges: Sequence[Any] | NDArray[Any],
    groups: Sequence[tuple[str, Iterable[object]]],
    *,
    title: str,
    caption: str = "",
    unit: str,
    counted: str = "",
    edge_type: ColumnType = ColumnType.FLOAT,
    role: Role | None = None,
) -> Exhibit:
    """Return histograms over common bins.

    Args:
        exhibit_id: stable id, unique within the result.
        edges: (n + 1,) of the bins.
        groups: a name and (n,) counts each.
        title: what was counted, without a full stop.
        caption: how to read it.
        unit: of the edges.
        counted: what is counted, the unit of the counts.
        edge_type: of the edges.
        role: what all groups are about.
    """
    return exhibit(
        exhibit_id,
        ExhibitKind.HISTOGRAM,
        title=title,
        caption=caption,
        columns=[
            column("bin_start", unit, edges[:-1], type=edge_type),
            column("bin_end", unit, edges[1:], type=edge_type),
            *(
                column(name, counted, counts, type=ColumnType.INT, role=role)
                for name, counts in groups
            ),
        ],
        role=role,
    )


def _lane(item: Interval) -> str:
    """Name a line of the chart: a worker's name holds its node's, a GPU's does not."""
    is_whole = not item.device or item.device.startswith(f"{item.node}-")
    return (item.device or item.node) if is_whole else f"{item.node} {item.device}"


@row
class Interval:
    """A stretch of time in which something was detected, in one shape for all rules.

    Attributes:
        what: in a few words.
        start_s, end_s: Unix seconds.
        node, device: where; a device is a GPU or a worker, empty for the whole node.
    """

    lane: str = derived(_lane)
    what: str = col(name="name")
    start_s: float = col("s")
    end_s: float = col("s")
    node: str = col()
    device: str
    shown_device: str | None = derived(lambda item: item.device or None, name="device")


def intervals(
    items: Sequence[Interval],
    *,
    title: str,
    caption: str = "",
    n_all: int | None = None,
    role: Role | None = None,
) -> Exhibit:
    """Return the longest ``MOST_INTERVALS`` as spans in order of time, with the id "intervals".

    Args:
        items: any order, at least one.
        title: what they are.
        caption: how to read them; how many were left out is added.
        n_all: how many there are where not all are given.
        role: what all of them are about.
    """

    def place(item: Interval) -> tuple[float, float, str, str, str]:
        return item.start_s, item.end_s, item.node, item.device, item.what

    longest = sorted(items, key=lambda item: (item.start_s - item.end_s, place(item)))
    shown = sorted(longest[:MOST_INTERVALS], key=place)
    n_all = n_all or len(items)
    if len(shown) < n_all:
        caption = f"{caption} The {len(shown):,} longest of {n_all:,}.".strip()
    return table(
        "intervals",
        shown,
        Interval,
        title=title,
        caption=caption,
        drawn_as=ExhibitKind.SPANS,
        role=role,
    )


# Findings


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A finding in words; what stands in braces is filled as ``reportgen.text.write`` does.

    Attributes:
        id: of the finding, stable: ``GPU-1``.
        title, text, advice: what was found, with numbers; what to try.
        severity: where the finding does not say another one.
        unit: of what was measured.
        exhibit: the id of the exhibit that shows it.
        causes: ids of findings that name the cause of this one.
    """

    id: str
    title: str
    text: str
    advice: str
    severity: Severity = Severity.INFO
    unit: str = "%"
    exhibit: str | None = None
    causes: tuple[str, ...] = ()

    def finding(
        self,
        *,
        measured: float | None,
        threshold: float | None = None,
        where: Where | None = None,
        severity: Severity | None = None,
        share: float | None = None,
        exhibit: str | None = None,
        advice: str | None = None,
        causes: tuple[str, ...] | None = None,
        **values: object,
    ) -> Finding:
        """Return the finding with its numbers.

        Args:
            measured: the value that was found; rounded to 4 digits in the finding.
            threshold: the limit that it crossed.
            where: place and time.
            severity: another one than the message's.
            share: recoverable share of the time in 0-1, an upper bound.
            exhibit: another one than the message's.
            advice: another one than the message's.
            causes: others than the message's.
            **values: what the words name, beside ``measured`` and ``threshold``.
        """
        values = {"measured": measured, "threshold": threshold, **values}
        return Finding(
            id=self.id,
            severity=severity or self.severity,
            title=write(self.title, **values),
            text=write(self.text, **values),
            advice=write(self.advice if advice is None else advice, **values),
            where=where or Where(),
            measured=None if measured is None else round(measured, 4),
            threshold=None if threshold is None else float(threshold),
            unit=self.unit,
            estimate=estimate_of(share),
            exhibit=exhibit or self.exhibit,
            causes=self.causes if causes is None else causes,
        )


def fault_severity(recoverable_ratio: float | None) -> Severity:
    """Return how much a fault matters by the share of the time it may cost."""
    if recoverable_ratio is not None and recoverable_ratio >= CRITICAL_FROM_RATIO:
        return Severity.CRITICAL
    return Severity.WARNING


def cost_severity(recoverable_ratio: float | None) -> Severity:
    """Return the same; a cost of less than ``CHEAP_RATIO`` is only a reading."""
    is_cheap = recoverable_ratio is not None and recoverable_ratio < CHEAP_RATIO
    return Severity.INFO if is_cheap else fault_severity(recoverable_ratio)


def estimate_of(recoverable_ratio: float | None) -> Estimate | None:
    """Return the estimate of a recoverable share, ``None`` when there is nothing to win."""
    if recoverable_ratio is None or recoverable_ratio <= 0:
        return None
    share = round(min(recoverable_ratio, 1.0), 6)
    return Estimate(share_ratio=share, speedup_at_most=speedup_at_most(share))


def longest_minutes(
    node: str, device: str, minutes_ns: NDArray[np.int64], *, last_ns: int
) -> Where:
    """Return the longest run of neighbouring minutes, the first of equally long ones.

    Args:
        node, device: whose minutes they are.
        minutes_ns: (m,) int64 starts of minutes, sorted, m >= 1.
        last_ns: the newest sample; the stretch ends there at the latest.
    """
    runs = runs_of(minutes_ns, max_step=NS_PER_MINUTE)
    longest = int(runs.n_members.argmax())
    end_ns = int(minutes_ns[runs.last[longest]]) + NS_PER_MINUTE
    return Where(
        node=node,
        device=device,
        start_s=seconds(minutes_ns[runs.first[longest]]),
        end_s=seconds(min(end_ns, last_ns)),
    )


# Parameters of rules that read samples, and whether they saw enough


def percentage(default: float, meaning: str) -> Any:
    """Declare a parameter that is a percentage of 0-100."""
    return param(default, unit="%", meaning=meaning, source=AWS_DEFAULTS, minimum=0, maximum=100)


def patience() -> Any:
    """Declare how many samples must be exceeded before a rule judges."""
    return _n_samples(1000, "judge only once more than this many samples exist", minimum=1)


def window(default: int, *, minimum: int = 1) -> Any:
    """Declare how many of the newest samples are looked at."""
    return _n_samples(default, "how many of the newest samples are looked at", minimum=minimum)


def _n_samples(default: int, meaning: str, *, minimum: int) -> Any:
    return param(
        default,
        unit="samples",
        meaning=meaning,
        source=AWS_DEFAULTS,
        minimum=minimum,
        is_whole=True,
    )


def reason_to_skip(
    *, n_ticks: int, n_gpus: int | None, n_samples: int, patience: int
) -> Reason | None:
    """Return why a rule that reads samples cannot look, or ``None`` when it can.

    Args:
        n_ticks: sampling instants of all nodes.
        n_gpus: GPUs of all nodes; ``None`` for a rule that needs none.
        n_samples: samples of the node that has most.
        patience: how many samples must be exceeded: as many are too few.
    """
    if n_ticks == 0:
        return Reason(code=ReasonCode.TOO_FEW_SAMPLES, text="There are no system metrics.")
    if n_gpus == 0:
        return Reason(code=ReasonCode.NO_GPU, text="The job has no GPU.")
    if n_samples <= patience:
        return Reason(code=ReasonCode.TOO_FEW_SAMPLES, text=too_short(n_samples, patience=patience))
    return None


def too_short(n_samples: int, *, patience: int) -> str:
    """Return the sentence that there are no more samples than ``patience``."""
    return write(
        "Too short to judge: {n_samples:count sample}, more than {patience:n} are needed.",
        n_samples=n_samples,
        patience=patience,
    )


HOW_TO_RECORD = "Switch on framework profiling (or import a trace) to get this part."


def reason_without_steps(loop: Loop) -> Reason | None:
    """Return why a rule about steps cannot look: no framework events, or none that is a step."""
    if loop.n_spans == 0:
        text = f"The job has no framework events. {HOW_TO_RECORD}"
        return Reason(code=ReasonCode.NO_FRAMEWORK_METRICS, text=text)
    if loop.n_steps == 0:
        text = write("Of {n:count framework event} none is a training step.", n=loop.n_spans)
        return Reason(code=ReasonCode.NO_STEPS, text=text)
    return None


# Rules that read kernel traces

TOP = 15
"""So many of the largest are shown one by one, as SageMaker Profiler's dashboards do; the tables
are complete."""


def top_k() -> Any:
    """Declare how many of the largest are shown one by one."""
    return param(
        TOP,
        unit="",
        meaning="how many of the largest are shown one by one; the rest is one sector",
        source="SageMaker Profiler's dashboards show 15",
        minimum=1,
        maximum=1000,
        is_whole=True,
    )


def share_limit(default: float, meaning: str) -> Any:
    """Declare a threshold: the share of the window above which something is reported."""
    source = "chosen: a smaller share is hardly worth the effort to win it back"
    return param(default, unit="%", meaning=meaning, source=source, minimum=0, maximum=100)


def communication_names() -> Any:
    """Declare which names of kernels are communication besides those that are known."""
    return param(
        None,
        unit="",
        meaning=(
            "kernels whose name this regular expression finds, case ignored, are communication too"
        ),
        source="docs/definitions.md, Communication kernels",
        is_pattern=True,
        may_be_none=True,
        is_printed=False,
    )


def reason_without_gpu(n_ops: int) -> Reason | None:
    """Return why a rule about GPU operations cannot look, ``None`` when there are any."""
    text = "The trace holds no GPU operations."
    return None if n_ops else Reason(code=ReasonCode.NO_GPU, text=text)


def window_name(windows: Sequence[Window]) -> str:
    """Name the windows of some ranks, at least one, and their length, or the range of lengths."""
    names = {
        WindowKind.STEPS: "the recorded steps",
        WindowKind.GPU: "the time from the first to the last GPU operation",
    }
    kinds = {item.kind for item in windows}
    name = names[kinds.pop()] if len(kinds) == 1 else "each rank's window"
    return f"{name} ({format_ns_range([item.length_ns for item in windows])})"
