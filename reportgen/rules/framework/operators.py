"""Operators of a framework: how often, how long, and how long without what they call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.facts.breakdown import SpanClass, classes_of, listed, shares_pct
from reportgen.facts.groups import joint_codes, rows_by_code, sums_by_code
from reportgen.facts.nesting import self_times_ns
from reportgen.profile import SpanTable
from reportgen.results import Details, Exhibit, ExhibitKind, exhibit
from reportgen.results.exhibits import ColumnSpec
from reportgen.units import NS_PER_S, NS_PER_US, percentages

MOST_OPERATORS = 20
REST = "others"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One operator on one device, over any number of calls.

    Attributes:
        device: the phase it was recorded under: ``cpu_functions``, ``gpu_functions-dev:0``.
        total_ns: sum of durations; an operator inside another counts in both.
        self_ns: the same without the operators inside it.
    """

    device: str
    name: str
    count: int
    total_ns: int
    self_ns: int


def operators_of(spans: SpanTable, kind: SpanClass) -> tuple[Operator, ...]:
    """Return the operators of one node on its CPU or GPUs, by device, then by name.

    Nesting is looked for within one worker, device and thread.
    """
    its = _in_nesting_order(spans.where(classes_of(spans) == kind))
    if its.n_spans == 0:
        return ()
    thread = joint_codes(its.worker, its.phase, its.tid)
    self_ns = self_times_ns(its.start_ns, its.end_ns, thread)
    found = []
    n_names = len(its.names)
    for phase, rows in rows_by_code(its.phase):
        names = its.name[rows]
        counts = np.bincount(names, minlength=n_names)
        totals = sums_by_code(names, its.duration_ns[rows], n_names)
        selves = sums_by_code(names, self_ns[rows], n_names)
        found += [
            Operator(
                device=its.phases[phase],
                name=its.names[code],
                count=int(counts[code]),
                total_ns=int(totals[code]),
                self_ns=int(selves[code]),
            )
            for code in np.flatnonzero(counts).tolist()
        ]
    return tuple(found)


def join_operators(
    operators: Sequence[Operator], *, key: Callable[[Operator], str]
) -> list[Operator]:
    """Return one operator per name and ``key`` (which becomes its device), largest total first."""
    sums: dict[tuple[str, str], list[int]] = {}
    for item in operators:
        its = sums.setdefault((key(item), item.name), [0, 0, 0])
        its[0] += item.count
        its[1] += item.total_ns
        its[2] += item.self_ns
    joined = [
        Operator(device=device, name=name, count=count, total_ns=total_ns, self_ns=self_ns)
        for (device, name), (count, total_ns, self_ns) in sums.items()
    ]
    return sorted(joined, key=lambda item: (-item.total_ns, item.device, item.name))


def operator_exhibits(operators: Sequence[Operator], *, kind: str) -> tuple[Exhibit, ...]:
    """Return a table of the most used operators and a bar chart of the same.

    Args:
        operators: of one device class.
        kind: ``cpu`` or ``gpu``; begins the ids.
    """
    joined = join_operators(operators, key=lambda _: kind)
    if not joined:
        return ()
    devices = sorted({item.device for item in operators})
    tables = [_table(f"{kind}_operators", joined, title=f"{kind.upper()} operators")]
    if len(devices) > 1:
        apart = join_operators(operators, key=lambda item: item.device)
        tables.append(_device_table(f"{kind}_operators_by_device", apart, kind=kind))
    return (*tables, _bars(f"{kind}_operator_bars", joined, title=f"{kind.upper()} operators"))


def operator_exhibit_of_details(details: Details, *, kind: str) -> tuple[Exhibit, ...]:
    """Return the same table from AWS's JSON, which lists only operators above 2 %."""
    pct, total_us = details.get(kind.upper()), details.get(f"{kind.upper()}_total")
    if not isinstance(pct, dict) or not isinstance(total_us, dict) or not pct:
        return ()
    names = sorted(pct, key=lambda name: (-_number(pct[name]), name))
    return (
        exhibit(
            f"{kind}_operators",
            ExhibitKind.TABLE,
            title=f"{kind.upper()} operators",
            caption="Only operators above 2 %; their percentages are those of the listed ones.",
            columns=[
                ("operator", "", names),
                ("total_us", "us", [total_us.get(name) for name in names]),
                ("aws_pct", "%", [pct[name] for name in names]),
            ],
        ),
    )


def _in_nesting_order(spans: SpanTable) -> SpanTable:
    """Sort so that of equal intervals the same name is always the outer one."""
    return spans.where(np.lexsort((spans.name, -spans.end_ns, spans.start_ns)))


def _shown(joined: Sequence[Operator]) -> list[Operator]:
    """Return the first by total and the first by self time; the rest as one row."""
    by_self = sorted(joined, key=lambda item: (-item.self_ns, item.name))[:MOST_OPERATORS]
    kept = {item.name for item in (*joined[:MOST_OPERATORS], *by_self)}
    shown = [item for item in joined if item.name in kept]
    rest = [item for item in joined if item.name not in kept]
    if rest:
        shown.append(
            Operator(
                device=rest[0].device,
                name=REST,
                count=sum(item.count for item in rest),
                total_ns=sum(item.total_ns for item in rest),
                self_ns=sum(item.self_ns for item in rest),
            )
        )
    return shown


def _table(exhibit_id: str, joined: Sequence[Operator], *, title: str) -> Exhibit:
    shown = _shown(joined)
    aws_pct = shares_pct(listed({item.name: item.total_ns for item in joined}))
    columns: list[ColumnSpec] = [
        ("operator", "", [item.name for item in shown]),
        ("count", "", [item.count for item in shown]),
        ("total_us", "us", [round(item.total_ns / NS_PER_US) for item in shown]),
        ("self_us", "us", [round(item.self_ns / NS_PER_US) for item in shown]),
        ("pct_of_all", "%", percentages([item.total_ns for item in shown])),
        ("self_pct", "%", percentages([item.self_ns for item in shown])),
        ("aws_pct", "%", [aws_pct.get(item.name) for item in shown]),
    ]
    return exhibit(
        exhibit_id,
        ExhibitKind.TABLE,
        title=title,
        caption=(
            "Totals count an operator again in each operator that calls it; self time does not. "
            "SageMaker's share is that among the operators above 2 %, as its report prints it."
        ),
        columns=columns,
    )


def _device_table(exhibit_id: str, apart: Sequence[Operator], *, kind: str) -> Exhibit:
    shown = [
        row
        for device in sorted({item.device for item in apart})
        for row in _shown([item for item in apart if item.device == device])
    ]
    return exhibit(
        exhibit_id,
        ExhibitKind.TABLE,
        title=f"{kind.upper()} operators of each device",
        columns=[
            ("device", "", [item.device for item in shown]),
            ("operator", "", [item.name for item in shown]),
            ("count", "", [item.count for item in shown]),
            ("total_us", "us", [round(item.total_ns / NS_PER_US) for item in shown]),
            ("self_us", "us", [round(item.self_ns / NS_PER_US) for item in shown]),
        ],
    )


def _bars(exhibit_id: str, joined: Sequence[Operator], *, title: str) -> Exhibit:
    shown = _shown(joined)
    return exhibit(
        exhibit_id,
        ExhibitKind.BARS,
        title=title,
        caption="Time in total, and without the operators inside.",
        columns=[
            ("name", "", [item.name for item in shown]),
            ("total_s", "s", [item.total_ns / NS_PER_S for item in shown]),
            ("self_s", "s", [item.self_ns / NS_PER_S for item in shown]),
        ],
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
