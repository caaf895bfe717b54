"""The processes of a report that used a GPU: each is a rank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from reportgen.formats.nsight.source import NsightReport

GPU_TABLES = tuple(
    f"CUPTI_ACTIVITY_KIND_{name}" for name in ("KERNEL", "GRAPH_TRACE", "MEMCPY", "MEMSET")
)
WORK = GPU_TABLES[:2]
"""Who only copied computed nothing: workers that prepare data."""

HOST_TABLES = ("CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS")
TID_BITS = 24
"""An id of a thread holds that of its process above as many bits. Source: nsys, User Guide."""

_PID_MASK = (1 << TID_BITS) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process of a report.

    Attributes:
        key: the common part of its ids; ``None`` where the tables name no process.
        first_device: the lowest number of its GPUs.
        rank: its rank in MPI, where that was recorded.
    """

    key: int | None
    first_device: int = 0
    rank: int | None = None


def pid_of(key: int) -> int:
    """Return the process id as the system shows it."""
    return key & _PID_MASK


def find_processes(report: NsightReport) -> tuple[tuple[Process, ...], int]:
    """Return who used a GPU, by GPU and process id, and how many processes only copied.

    Edge cases: without GPU operations the process with most calls, or else most NVTX ranges; one
    process without a key for a report that names none.
    """
    working, copying = (_devices(report, tables) for tables in (WORK, GPU_TABLES))
    chosen = working or copying or _busiest(report)
    ranks = {
        int(tid) >> TID_BITS: int(rank)
        for tid, rank in report.all_rows("MPI_RANKS", ("globalTid", "rank"))
        if isinstance(tid, int) and isinstance(rank, int)
    }
    found = [Process(key=key, first_device=chosen[key], rank=ranks.get(key)) for key in chosen]
    found.sort(key=lambda item: (item.first_device, item.key or 0))
    return tuple(found) or (Process(key=None),), len(copying.keys() - chosen.keys())


def _devices(report: NsightReport, tables: tuple[str, ...]) -> dict[int, int]:
    found: dict[int, int] = {}
    for table in tables:
        for key, first in _by_process(report, table, "globalPid", 'min("deviceId")'):
            device = first if isinstance(first, int) else 0
            found[key] = min(found.get(key, device), device)
    return found


def _busiest(report: NsightReport) -> dict[int, int]:
    for table in HOST_TABLES:
        counts = dict(_by_process(report, table, "globalTid", "count(*)"))
        if counts:
            return {max(counts, key=counts.__getitem__): 0}
    return {}


def _by_process(
    report: NsightReport, table: str, column: str, value: str
) -> Iterator[tuple[int, Any]]:
    if column not in report.tables.get(table, ()):
        return
    query = (
        f'SELECT "{column}" >> {TID_BITS}, {value} FROM "{table}" '  # noqa: S608  # names of ours
        f'WHERE "{column}" IS NOT NULL GROUP BY 1'
    )
    for batch in report.rows(query, table=table):
        yield from ((key, found) for key, found in batch if isinstance(key, int))
    if table in report.damage:  # no sum of its rows is to be had, but the rows before the damage
        for part in report.columns(table, [column]):
            keys = {one >> TID_BITS for one in part[column] if isinstance(one, int)}
            yield from ((key, 0) for key in keys)
