"""Common parts of the readers of all tables: a process of a report, its columns and times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.formats.columns import ABSENT, Columns
from reportgen.formats.kernel_trace.columns import TraceColumns
from reportgen.formats.kernel_trace.numbers import NumberReader
from reportgen.formats.nsight.processes import TID_BITS, pid_of
from reportgen.formats.nsight.source import NsightReport
from reportgen.units import NS_PER_US

NO_TIME_NS = -(2**61)
_TID_MASK = (1 << TID_BITS) - 1
_TIMED = (
    "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_MEMCPY", "NVTX_EVENTS",
)  # fmt: skip
_SAMPLED_ROWS = 1_001

Batch = dict[str, Sequence[Any]]


class ProcessReading:
    """One process of a report, and the columns that its events become.

    ``base_ns`` is a time of the report near its events: what float64 counts from there are whole
    nanoseconds. ``n_graph_runs`` operations are replays of whole CUDA graphs.
    """

    def __init__(self, report: NsightReport, key: int | None) -> None:
        """Start without events; ``key`` as in ``Process``."""
        self.report = report
        self.key = key
        self.columns = TraceColumns()
        self.numbers = self.columns.numbers
        self.base_ns = self._base_ns()
        self.n_graph_runs = 0

    def batches(self, table: str, names: Sequence[str], where: str = "") -> Iterator[Batch]:
        """Yield some columns of the rows of this process; of all rows if no table names it."""
        of_process = self._of_process(table)
        yield from self.report.columns(
            table, names, " AND ".join(filter(None, (where, of_process)))
        )

    def distinct(self, table: str, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the different rows of some columns; none where a column is missing."""
        if self.report.tables.get(table, frozenset()).issuperset(names):
            keys = ", ".join(f'"{name}"' for name in names)
            where = f"{self._of_process(table) or '1 = 1'} GROUP BY {keys}"
            for batch in self.report.columns(table, names, where):
                yield from zip(*batch.values(), strict=True)

    def _of_process(self, table: str) -> str:
        known = self.report.tables.get(table, frozenset())
        column = next((name for name in ("globalPid", "globalTid") if name in known), None)
        named = column and self.key is not None
        return f'"{column}" >> {TID_BITS} = {self.key}' if named else ""

    def spans(self, batch: Batch, texts: Sequence[str]) -> Columns:
        """Return when events began, how long they lasted, and the codes of their names."""
        start_ns, end_ns = self.times_ns(batch["start"]), self.times_ns(batch["end"])
        duration_us = (end_ns - start_ns) / NS_PER_US
        duration_us[(start_ns == NO_TIME_NS) | (end_ns == NO_TIME_NS)] = np.nan
        return {
            "start_us": self.after_base_us(start_ns),
            "duration_us": duration_us,
            "name": self.columns.vocabularies.names.of(texts),
        }

    def times_ns(self, values: Sequence[Any]) -> NDArray[np.int64]:
        """Return times as the report counts them, ``NO_TIME_NS`` where there is none."""
        found = self.numbers(values, absent=NO_TIME_NS)
        return np.where(found == ABSENT, NO_TIME_NS, found)

    def after_base_us(self, time_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return times in microseconds after the base, NaN where there is none."""
        time_us = (time_ns - self.base_ns) / NS_PER_US
        time_us[time_ns == NO_TIME_NS] = np.nan
        return np.asarray(time_us, dtype=np.float64)

    def threads(self, ids: Sequence[Any]) -> NDArray[np.int32]:
        """Return the codes of threads."""
        different, index = np.unique(self.numbers(ids), return_inverse=True)
        pairs = [
            ("", "") if one == ABSENT else (str(pid_of(one >> TID_BITS)), str(one & _TID_MASK))
            for one in different.tolist()
        ]
        return self.columns.vocabularies.threads.of(pairs)[index]

    def matrix(self, batch: Batch, names: Sequence[str]) -> tuple[list[list[int]], NDArray[Any]]:
        """Return the different rows of some columns of numbers, and the index of each row."""
        stacked = np.stack([self.numbers(batch[name]) for name in names], axis=1)
        different, index = np.unique(stacked, axis=0, return_inverse=True)
        return different.tolist(), index.reshape(-1)

    def _base_ns(self) -> int:
        for table in _TIMED:
            if "start" not in self.report.tables.get(table, ()):
                continue
            for batch in self.report.columns(table, ["start"], f"start > 0 LIMIT {_SAMPLED_ROWS}"):
                starts_ns = NumberReader()(batch["start"], absent=0)
                return int(np.median(starts_ns)) // NS_PER_US * NS_PER_US
        return 0


def constant(value: int, batch: Batch, dtype: Any = np.int64) -> NDArray[Any]:
    """Return a column that is the same in all rows of a batch."""
    return np.full(len(next(iter(batch.values()))), value, dtype=dtype)
