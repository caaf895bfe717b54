"""What OverallSystemUsage says: one reading per kind of node, and the table of statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.results import Details, Exhibit, ExhibitKind, Finding, Severity, Where, exhibit
from reportgen.rules.saying.wording import say_of, say_some
from reportgen.rules.usage.nodes import NodeUsage, Quantity
from reportgen.units import say_pct

HIGH_PCT = 70.0
"""Source: report-spec §2.2, the limits of AWS's report."""
TABLE = "usage"
STATISTICS = ("max", "p99", "p95", "p50", "min")


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow:
    """Statistics of one resource of one node as ``Details`` has them."""

    node: str
    quantity: Quantity
    values: dict[str, float]

    @property
    def unit(self) -> str:
        """Return the unit; AWS's report calls bytes per second bytes."""
        return "bytes/s" if self.quantity is Quantity.NETWORK else "%"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReading:
    """GPU and CPU of one node; ``None`` where not sampled."""

    node: str
    gpu: dict[str, float] | None
    cpu: dict[str, float] | None


def usage_rows(details: Details) -> tuple[UsageRow, ...]:
    """Return the statistics in AWS's order; incomplete entries are left out."""
    rows = []
    for quantity in Quantity:
        nodes = details.get(quantity.value)
        for node, entry in nodes.items() if isinstance(nodes, dict) else ():
            numbers = entry if isinstance(entry, dict) else {}
            values = {
                name: float(value)
                for name in STATISTICS
                if isinstance(value := numbers.get(name), int | float)
            }
            if len(values) == len(STATISTICS):
                rows.append(UsageRow(node=node, quantity=quantity, values=values))
    return tuple(rows)


def usage_table(rows: Sequence[UsageRow], context: Sequence[NodeUsage] | None) -> Exhibit:
    """Return the table of all statistics."""
    platform = [node.node for node in context or () if node.is_platform_network]
    remark = (
        f" Network on {say_some(platform)} is SageMaker's own traffic: no samples of the training "
        "container exist."
        if platform
        else ""
    )
    return exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="Use of each resource",
        caption=f"Over all sampling instants of the job.{remark}",
        columns=[
            ("node", "", [row.node for row in rows]),
            ("metric", "", [row.quantity.value for row in rows]),
            ("unit", "", [row.unit for row in rows]),
            *((name, "", [row.values[name] for row in rows]) for name in STATISTICS),
        ],
    )


def findings_of(rows: Sequence[UsageRow]) -> tuple[Finding, ...]:
    """Return the readings SYS-1 to SYS-4 and SYS-6, each once for all nodes it holds for."""
    by_node: dict[str, dict[Quantity, dict[str, float]]] = {}
    for row in rows:
        by_node.setdefault(row.node, {})[row.quantity] = row.values
    readings = [
        NodeReading(node=node, gpu=values.get(Quantity.GPU), cpu=values.get(Quantity.CPU))
        for node, values in by_node.items()
    ]
    by_id: dict[str, list[NodeReading]] = {}
    for reading in readings:
        found = _id_of(reading)
        if found:
            by_id.setdefault(found, []).append(reading)
    return tuple(_finding(found, by_id[found], len(readings)) for found in sorted(by_id))


def _id_of(reading: NodeReading) -> str | None:
    """Return which reading fits a node. Source: report-spec §2.2 and §3."""
    if reading.gpu is None:
        return "SYS-4" if reading.cpu else None
    if reading.gpu["p95"] < HIGH_PCT and reading.cpu:
        return "SYS-2" if reading.cpu["p95"] >= HIGH_PCT else "SYS-1"
    return "SYS-3" if reading.gpu["p50"] > HIGH_PCT else "SYS-6"


def _finding(finding_id: str, found: Sequence[NodeReading], n_nodes: int) -> Finding:
    resource, statistic = _DECIDED_BY[finding_id]
    main = min(found, key=lambda reading: _value(reading, resource, statistic))
    title, advice = _words(finding_id, main)
    level = _value(main, resource, statistic)
    what = f"{resource.upper()} {'median' if statistic == 'p50' else statistic}"
    on_nodes = "" if n_nodes == 1 else f"On {say_of(len(found), n_nodes, 'node')}; lowest on "
    return Finding(
        id=finding_id,
        severity=Severity.INFO,
        title=f"{title}: {what} {say_pct(level)}",
        text=f"{on_nodes}{main.node}: {_numbers(main)}.",
        advice=advice,
        where=Where(node=main.node),
        measured=round(level, 4),
        threshold=HIGH_PCT,
        unit="%",
        exhibit=TABLE,
        causes=_CAUSES.get(finding_id, ()),
    )


_LOADING = ("DL-1", "DL-2", "DL-5")
_WAITING = (*_LOADING, "CPU-1", "IO-1", "SYS-5", "STRAG-1", "BAL-1", "GPU-1", "GPU-2")
_CAUSES = {
    "SYS-1": (*_WAITING, "BATCH-1"),
    "SYS-2": _WAITING,
    "SYS-4": _LOADING,
    "SYS-6": _WAITING,
}
"""The findings that say why a reading is as it is."""
_DECIDED_BY = {
    "SYS-1": ("gpu", "p95"),
    "SYS-2": ("gpu", "p95"),
    "SYS-3": ("gpu", "p50"),
    "SYS-4": ("cpu", "p95"),
    "SYS-6": ("gpu", "p50"),
}


def _value(reading: NodeReading, resource: str, statistic: str) -> float:
    values = reading.gpu if resource == "gpu" else reading.cpu
    return values[statistic] if values else 0.0


def _numbers(reading: NodeReading) -> str:
    parts = [
        f"{name} p95 {say_pct(values['p95'])}, median {say_pct(values['p50'])}"
        for name, values in (("GPU", reading.gpu), ("CPU", reading.cpu))
        if values
    ]
    return "; ".join(parts)


def _words(finding_id: str, main: NodeReading) -> tuple[str, str]:
    if finding_id == "SYS-1":
        return (
            "GPU and CPU both have room",
            "Raise the batch size or the number of loader workers, or take a smaller instance.",
        )
    if finding_id == "SYS-2":
        return (
            "GPUs have room while the CPU is busy",
            "Move work off the CPU: more efficient loading, prefetching, preprocessing on the GPU.",
        )
    if finding_id == "SYS-3":
        return ("GPUs are well used", "Look at the operators for what is left to win.")
    if finding_id == "SYS-6":
        return (
            "GPUs are busy at times and idle at others",
            "Look at the curve of GPU use, and at what held the GPUs up when it was low.",
        )
    if _value(main, "cpu", "p95") >= HIGH_PCT:
        return (
            "The job runs on CPUs, which are well used",
            "Try an instance with a GPU or with more cores, and compare the cost of a step.",
        )
    return (
        "The job runs on CPUs, which have room",
        "Use more threads or loader workers, or take a smaller instance.",
    )
