"""Figures of a real report equal those that plain SQL gives."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import numpy as np
import pytest

from reportgen import intake
from reportgen.facts.device_busy import own_clock_ns, time_in, unions_of, windows_of
from reportgen.profile import RankTrace
from reportgen.profile.trace_tables import GpuKind, SliceKind
from tests.shared_data import SHARED_DATA

REPORT = SHARED_DATA / "nsys" / "h100_2gpu_1s.sqlite"
PROCESSES = (281476838981632, 281476855758848)
OPS = " UNION ALL ".join(
    f"SELECT start, end, globalPid, correlationId, '{kind}' AS kind FROM CUPTI_ACTIVITY_KIND_{kind}"
    for kind in ("KERNEL", "MEMCPY", "MEMSET")
)
pytestmark = pytest.mark.skipif(not REPORT.is_file(), reason="the report is not on this machine")

UNION = f"""
WITH ops AS (SELECT start, end FROM ({OPS}) WHERE globalPid = ? AND kind GLOB ?),
     marked AS (SELECT start, end, max(end) OVER (
         ORDER BY start, end ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reach FROM ops)
SELECT sum(max(end - max(start, coalesce(reach, start)), 0)), min(start), max(end) FROM marked
"""
"""Length of a union: of each operation what lies behind the ends of all before it."""


@pytest.fixture(scope="module")
def plain() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(f"{REPORT.as_uri()}?mode=ro", uri=True)
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def traces() -> list[RankTrace]:
    found = [intake.read(part) for part in intake.discover(str(REPORT)).parts]
    return [trace for trace in found if isinstance(trace, RankTrace)]


def test_each_process_is_a_rank_on_the_clock_of_the_world(traces: list[RankTrace]) -> None:
    assert [(trace.rank, trace.is_rank_known) for trace in traces] == [(0, False), (1, False)]
    for trace in traces:
        assert {trace.threads[code].pid for code in np.unique(trace.calls.thread)} == {
            str(111 + trace.rank)
        }
        assert trace.base_ns == 1779630014975716426
        assert np.unique(trace.gpu_ops.device).tolist() == [trace.rank]


@pytest.mark.parametrize("rank", [0, 1])
def test_busy_and_idle_equal_sql(plain: sqlite3.Connection, traces: list[RankTrace], rank) -> None:
    for pattern, union in (("*", "busy_ns"), ("KERNEL", "kernel_ns"), ("MEM*", "memory_ns")):
        (length_ns, first_ns, last_ns) = plain.execute(UNION, (PROCESSES[rank], pattern)).fetchone()
        (unions,) = unions_of(traces[rank], None)
        time = time_in(unions, windows_of(traces[rank])[0], rank=rank)
        assert getattr(time, union) == length_ns
        if pattern == "*":
            assert time.window_ns == last_ns - first_ns
            assert time.idle_ns == last_ns - first_ns - length_ns
            assert int(unions.busy.start_ns[0]) + own_clock_ns(traces[rank]) == first_ns


@pytest.mark.parametrize("rank", [0, 1])
def test_kernels_by_name_equal_sql(plain: sqlite3.Connection, traces: list[RankTrace], rank):
    expected = plain.execute(
        "SELECT value, count(*), sum(end - start), min(start), max(end) "
        "FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName "
        "WHERE globalPid = ? GROUP BY 1 ORDER BY 1",
        (PROCESSES[rank],),
    ).fetchall()
    trace = traces[rank]
    ops, zero_ns = trace.gpu_ops, own_clock_ns(trace)
    found = []
    for code in np.unique(ops.name[ops.kind == GpuKind.KERNEL]).tolist():
        rows = (ops.name == code) & (ops.kind == GpuKind.KERNEL)
        begin, end = int(ops.start_ns[rows].min()), int(ops.end_ns[rows].max())
        sums = (int(rows.sum()), int(ops.duration_ns[rows].sum()))
        found.append((trace.names[code], *sums, begin + zero_ns, end + zero_ns))
    assert sorted(found) == expected


@pytest.mark.parametrize("rank", [0, 1])
def test_copies_by_direction_equal_sql(plain: sqlite3.Connection, traces: list[RankTrace], rank):
    expected = plain.execute(
        "SELECT copyKind, srcKind, count(*), sum(bytes), sum(end - start) "
        "FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE globalPid = ? GROUP BY 1, 2 ORDER BY 1, 2",
        (PROCESSES[rank],),
    ).fetchall()
    kinds = {
        "Memcpy HtoD (Pageable -> Device)": (1, 0), "Memcpy HtoD (Pinned -> Device)": (1, 1),
        "Memcpy DtoH (Device -> Pinned)": (2, 2), "Memcpy DtoH (Device -> Pageable)": (2, 2),
        "Memcpy DtoD (Device -> Device)": (8, 2),
    }  # fmt: skip
    trace = traces[rank]
    ops = trace.gpu_ops
    found = []
    for code in np.unique(ops.name[ops.kind == GpuKind.MEMCPY]).tolist():
        rows = ops.name == code
        sums = (int(rows.sum()), int(ops.bytes[rows].sum()), int(ops.duration_ns[rows].sum()))
        found.append((*kinds[trace.names[code]], *sums))
    assert sorted(found) == expected


@pytest.mark.parametrize("rank", [0, 1])
def test_launches_equal_a_join_of_sql(plain: sqlite3.Connection, traces: list[RankTrace], rank):
    expected = plain.execute(
        f"SELECT count(*), sum(ops.start - r.start) FROM ({OPS}) ops "
        "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r "
        "ON r.correlationId = ops.correlationId AND r.globalTid >> 24 = ops.globalPid >> 24 "
        "WHERE ops.globalPid = ?",
        (PROCESSES[rank],),
    ).fetchone()
    trace = traces[rank]
    rows = trace.gpu_ops.launch >= 0
    delay_ns = trace.gpu_ops.start_ns[rows] - trace.calls.start_ns[trace.gpu_ops.launch[rows]]
    assert (int(rows.sum()), int(delay_ns.sum())) == expected


@pytest.mark.parametrize("rank", [0, 1])
def test_ranges_and_calls_equal_sql(plain: sqlite3.Connection, traces: list[RankTrace], rank):
    trace = traces[rank]
    of_process = "globalTid >> 24 = ? >> 24"
    for table, kept, length in (
        ("NVTX_EVENTS", "text GLOB 'aten::*' OR text GLOB 'detach_,*'", SliceKind.OPERATOR),
        ("NVTX_EVENTS", "text GLOB 'FSDP::*'", SliceKind.ANNOTATION),
        ("CUPTI_ACTIVITY_KIND_OVERHEAD", "1", SliceKind.OVERHEAD),
        ("CUPTI_ACTIVITY_KIND_RUNTIME", "1", None),
    ):
        query = f"SELECT count(*), sum(end - start) FROM {table} WHERE {of_process} AND ({kept})"
        expected = plain.execute(query, (PROCESSES[rank],)).fetchone()
        table_of = trace.calls if length is None else trace.slices
        rows = np.ones(table_of.start_ns.size, bool)
        if length is not None:
            rows = trace.slices.kind == length
        assert (int(rows.sum()), int(table_of.duration_ns[rows].sum())) == expected
