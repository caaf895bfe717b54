"""Events of a kernel trace as Nsight Systems exports them: an SQLite file, or Parquet files.

``python -m sample_data.nsight_report`` writes the two ranks of ``kernel_trace`` as one report. The
tables and columns are those of NVIDIA's documentation of the export and of a report of 2026; those
of 2021 have fewer.
"""

from __future__ import annotations

import json
import re
import sqlite3
import struct
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import duckdb

from sample_data.kernel_trace import BASE_NS, N_RANKS, trace_chunks

FOLDER = Path(__file__).parent / "nsight_reports"
REPORT = FOLDER / "training.sqlite"
VERSION = "2026.2.1.210"
PROCESS_BITS = 0x1_0000_0000_0000
"""What a report sets above the bits of processes: its machine."""

Event = Mapping[str, Any]
Row = dict[str, Any]

_COPY_KINDS = {"HtoD": 1, "DtoH": 2, "DtoD": 8, "HtoH": 9, "PtoP": 10}
_MEMORY_KINDS = {"Pageable": 0, "Pinned": 1, "Device": 2, "Array": 3, "Managed": 4}
_COPY = re.compile(r"Memcpy (\w+) \((\w+) -> (\w+)\)")
_SYNC_KINDS = {"Event Sync": 1, "Stream Wait Event": 2, "Stream Sync": 3, "Context Sync": 4}
_PUSH_POP, _DOMAIN = 59, 75
_NCCL_DOMAIN, _ALL_REDUCE, _INIT = 1, 16_777_220, 16_777_218
_HEAD, _COMMUNICATOR = struct.Struct("<IIIIQQ"), 0x5EED
_BYTES_OF = {"BFloat16": 2, "Float": 4, "Byte": 1}
_TYPED = "start end eventType text textId globalTid domainId rangeId"


class Schema(StrEnum):
    """Which versions write such tables."""

    OF_2021 = "2021"
    OF_2026 = "2026"


_ACTIVITY = "start end deviceId contextId streamId correlationId globalPid"
_SHAPE = "gridX gridY gridZ blockX blockY blockZ"
COLUMNS: Mapping[str, str] = {
    "StringIds": "id value",
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        f"{_ACTIVITY} demangledName shortName {_SHAPE} registersPerThread staticSharedMemory "
        "dynamicSharedMemory graphNodeId mangledName graphId greenContextId"
    ),
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": f"{_ACTIVITY} graphId graphExecId",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{_ACTIVITY} bytes copyKind srcKind dstKind graphNodeId",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{_ACTIVITY} bytes value memKind graphNodeId",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": f"{_ACTIVITY} syncType eventId",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end eventClass globalTid correlationId nameId",
    "PROFILER_OVERHEAD": "start end globalTid nameId overheadType",
    "CUPTI_ACTIVITY_KIND_OVERHEAD": "start end globalTid correlationId nameId overheadType",
    "NVTX_EVENTS": f"{_TYPED} jsonText binaryData",
    "CUDA_GRAPH_NODE_EVENTS": "start end nameId globalTid graphNodeId originalGraphNodeId",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": "domainId schemaId idx type name offset",
    "OSRT_API": "start end eventClass globalTid correlationId nameId nestingLevel",
    "CUDA_GPU_MEMORY_USAGE_EVENTS": (
        "start globalPid deviceId contextId address pc bytes memKind memoryOperationType name"
    ),
    "GPU_METRICS": "timestamp typeId metricId value",
    "TARGET_INFO_GPU_METRICS": "typeId sourceId typeName metricId metricName",
    "TARGET_INFO_GPU": "vmId id name totalMemory smCount computeMajor computeMinor",
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId pid uuid numMultiprocessors",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime localTime systemClockNs",
    "PROCESSES": "globalPid pid name",
    "MPI_RANKS": "globalTid rank",
    "META_DATA_EXPORT": "name value",
}
"""The tables that are written where they have rows, with the columns that matter here."""

_SINCE_2021: Mapping[str, str] = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "mangledName graphId greenContextId",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": COLUMNS["CUPTI_ACTIVITY_KIND_GRAPH_TRACE"],
    "CUPTI_ACTIVITY_KIND_OVERHEAD": COLUMNS["CUPTI_ACTIVITY_KIND_OVERHEAD"],
    "NVTX_EVENTS": "jsonText binaryData",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": COLUMNS["NVTX_PAYLOAD_SCHEMA_ENTRIES"],
    "TARGET_INFO_CUDA_DEVICE": COLUMNS["TARGET_INFO_CUDA_DEVICE"],
    "TARGET_INFO_SESSION_START_TIME": "systemClockNs",
}
"""Tables and columns that reports of 2021 have not."""


@dataclass(slots=True, kw_only=True)
class ReportTables:
    """A report as it is made: the rows of its tables, and its texts."""

    base_ns: int = BASE_NS
    schema: Schema = Schema.OF_2026
    rows: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    texts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Write what every report says of itself."""
        self.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=self.base_ns, systemClockNs=7)
        self.add("META_DATA_EXPORT", name="EXPORT_PRODUCT_VERSION", value=VERSION)

    def add(self, table: str, **row: Any) -> None:
        """Append a row; a column without a value holds ``NULL``."""
        self.rows[table].append(row)

    def text(self, text: str) -> int:
        """Return the id of a text."""
        return self.texts.setdefault(text, len(self.texts) + 1)

    def add_process(self, events: Iterable[Event], *, pid: int) -> None:
        """Take the events of a process, which ``kernel_trace`` and PyTorch's profiler write."""
        self.add("PROCESSES", globalPid=global_pid(pid), pid=pid, name="python3")
        for event in events:
            if event.get("ph") == "X" and event.get("cat") in _WRITERS:
                _WRITERS[event["cat"]](self, event, _times_ns(event), pid)

    def tables(self) -> dict[str, tuple[list[str], list[tuple[Any, ...]]]]:
        """Return columns and rows by table."""
        texts = [{"id": code, "value": text} for text, code in self.texts.items()]
        found = {}
        for table, rows in {"StringIds": texts, **self.rows}.items():
            later = _SINCE_2021.get(table, "") if self.schema is Schema.OF_2021 else ""
            columns = [name for name in COLUMNS[table].split() if name not in later.split()]
            if columns:
                lines = [tuple(row.get(name) for name in columns) for row in rows]
                found[table] = (columns, lines)
        return found

    def write(self, path: Path) -> Path:
        """Write an SQLite file, or a folder of Parquet files where the name has no ending."""
        path.parent.mkdir(parents=True, exist_ok=True)
        (_write_sqlite if path.suffix else _write_parquet)(path, self.tables())
        return path


def global_pid(pid: int) -> int:
    """Return the id of a process in a report."""
    return PROCESS_BITS + (pid << 24)


def _times_ns(event: Event) -> dict[str, int]:
    start_ns = round(event["ts"] * 1000)
    return {"start": start_ns, "end": start_ns + round(event["dur"] * 1000)}


def _activity(event: Event, times_ns: Mapping[str, int], pid: int) -> Row:
    args = event["args"]
    return {
        **times_ns,
        "deviceId": args["device"],
        "contextId": 1,
        "streamId": args["stream"],
        "correlationId": args.get("correlation"),
        "globalPid": global_pid(pid),
    }


def _write_kernel(report: ReportTables, event: Event, times_ns: dict[str, int], pid: int) -> None:
    args = event["args"]
    shape = [*args.get("grid", (None,) * 3), *args.get("block", (None,) * 3)]
    report.add(
        "CUPTI_ACTIVITY_KIND_KERNEL",
        **_activity(event, times_ns, pid),
        **dict(zip(_SHAPE.split(), shape, strict=True)),
        demangledName=report.text(event["name"]),
        shortName=report.text(event["name"].split("<")[0]),
        registersPerThread=32,
        graphNodeId=args.get("graph node id"),
    )


def _write_copy(report: ReportTables, event: Event, times_ns: dict[str, int], pid: int) -> None:
    found = _COPY.fullmatch(event["name"])
    kinds: Row = {"copyKind": 0}
    if found:
        ends = (_MEMORY_KINDS[found[2]], _MEMORY_KINDS[found[3]])
        kinds = {"copyKind": _COPY_KINDS[found[1]], "srcKind": ends[0], "dstKind": ends[1]}
    row = _activity(event, times_ns, pid)
    report.add("CUPTI_ACTIVITY_KIND_MEMCPY", **row, bytes=event["args"]["bytes"], **kinds)


def _write_memset(report: ReportTables, event: Event, times_ns: dict[str, int], pid: int) -> None:
    row = _activity(event, times_ns, pid)
    size = event["args"]["bytes"]
    report.add("CUPTI_ACTIVITY_KIND_MEMSET", **row, bytes=size, value=0, memKind=2)


def _write_sync(report: ReportTables, event: Event, times_ns: dict[str, int], pid: int) -> None:
    row = _activity(event, times_ns, pid)
    kind = _SYNC_KINDS[event["name"]]
    report.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", **row, syncType=kind)


def _write_call(report: ReportTables, event: Event, times_ns: dict[str, int], pid: int) -> None:
    report.add(
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        **times_ns,
        eventClass=0,
        globalTid=global_pid(pid) + event["tid"],
        correlationId=event["args"].get("correlation"),
        nameId=report.text(f"{event['name']}_v7000"),
    )


def _write_range(report: ReportTables, event: Event, times_ns: dict[str, int], pid: int) -> None:
    """Write a range; operators are numbered, as ``emit_nvtx`` of PyTorch does it."""
    text = event["name"]
    if event["cat"] == "cpu_op":
        text += f", seq = 3, op_id = {len(report.rows['NVTX_EVENTS'])}"
    is_registered = report.schema is not Schema.OF_2021 and event["cat"] != "cpu_op"
    named = {"textId": report.text(text)} if is_registered else {"text": text}
    thread = global_pid(pid) + event["tid"]
    row = {**times_ns, "eventType": _PUSH_POP, "globalTid": thread, "domainId": 0}
    report.add("NVTX_EVENTS", **row, **named)


def _write_overhead(report: ReportTables, event: Event, times_ns: dict[str, int], pid: int) -> None:
    name = report.text(event["name"])
    thread = global_pid(pid) + event["tid"]
    is_old = report.schema is Schema.OF_2021
    table = "PROFILER_OVERHEAD" if is_old else "CUPTI_ACTIVITY_KIND_OVERHEAD"
    report.add(table, **times_ns, globalTid=thread, nameId=name)


_WRITERS: Mapping[str, Callable[[ReportTables, Event, dict[str, int], int], None]] = {
    "kernel": _write_kernel,
    "gpu_memcpy": _write_copy,
    "gpu_memset": _write_memset,
    "cuda_sync": _write_sync,
    "cuda_runtime": _write_call,
    "cpu_op": _write_range,
    "user_annotation": _write_range,
    "overhead": _write_overhead,
}


def add_collectives(report: ReportTables, events: Sequence[Event], *, pid: int) -> None:
    """Write the calls of NCCL around the launches of its kernels, with sizes as payloads."""
    fields = ((_ALL_REDUCE, "Message size [bytes]", 8), (_INIT, "No. of ranks", 8))
    for schema, name, offset in fields:
        for index, (said, at) in enumerate((("NCCL communicator ID", 0), (name, offset))):
            row = {"domainId": _NCCL_DOMAIN, "schemaId": schema, "idx": index}
            report.add("NVTX_PAYLOAD_SCHEMA_ENTRIES", **row, name=said, offset=at)
    launches = {
        event["args"]["correlation"]: event
        for event in events
        if event.get("cat") == "cuda_runtime"
    }
    common = {"globalTid": global_pid(pid) + pid, "domainId": _NCCL_DOMAIN}
    report.add("NVTX_EVENTS", **common, eventType=_DOMAIN, start=0, text="NCCL")
    for event in events:
        args = event.get("args", {})
        if "Collective name" not in args or event["cat"] != "kernel":
            continue
        times_ns = _times_ns(launches[args["correlation"]])
        size = args["In msg nelems"] * _BYTES_OF[args["dtype"]]
        for name, schema, body in (
            ("ncclCommInitRank", _INIT, struct.pack("<Qi", _COMMUNICATOR, args["Group size"])),
            ("ncclAllReduce", _ALL_REDUCE, struct.pack("<QQ", _COMMUNICATOR, size)),
        ):
            head = _HEAD.pack(_NCCL_DOMAIN, 0, schema, 0, len(body), _HEAD.size + len(body))
            columns: Row = {**common, **times_ns, "eventType": _PUSH_POP, "binaryData": head + body}
            report.add("NVTX_EVENTS", **columns, text=name)


def _write_sqlite(
    path: Path, tables: Mapping[str, tuple[list[str], list[tuple[Any, ...]]]]
) -> None:
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    for table, (columns, rows) in tables.items():
        connection.execute(f"CREATE TABLE {table} ({', '.join(map(_quoted, columns))})")
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608  # ours
    connection.commit()
    connection.close()


def _write_parquet(
    folder: Path, tables: Mapping[str, tuple[list[str], list[tuple[Any, ...]]]]
) -> None:
    folder.mkdir(exist_ok=True)
    connection = duckdb.connect()
    for table, (columns, rows) in tables.items():
        kinds = [_kind([row[at] for row in rows]) for at in range(len(columns))]
        typed = [f"{_quoted(name)} {kind}" for name, kind in zip(columns, kinds, strict=True)]
        connection.execute(f"CREATE TABLE {table} ({', '.join(typed)})")
        marks = ", ".join("?" * len(columns))
        if rows:
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608
        target = str(folder / table).replace("'", "''")
        connection.execute(f"COPY {table} TO '{target}.parquet' (FORMAT parquet)")
    connection.close()


def _kind(values: Sequence[Any]) -> str:
    found = next((value for value in values if value is not None), 0)
    return {str: "VARCHAR", bytes: "BLOB", float: "DOUBLE"}.get(type(found), "BIGINT")


def _quoted(name: str) -> str:
    return f'"{name}"'


def events_of(rank: int) -> list[Event]:
    """Return the events of a rank of ``kernel_trace``."""
    trace = json.loads(b"".join(trace_chunks(rank)))
    events: list[Event] = trace["traceEvents"]
    return events


def training() -> ReportTables:
    """Return the report of the training of ``kernel_trace``."""
    report = ReportTables()
    for rank in range(N_RANKS):
        events, pid = events_of(rank), 4100 + rank
        report.add_process(events, pid=pid)
        add_collectives(report, events, pid=pid)
        gpu = {"id": rank, "name": "NVIDIA A100-SXM4-40GB", "totalMemory": 42_297_524_224}
        report.add("TARGET_INFO_GPU", **gpu, smCount=108, computeMajor=8, computeMinor=0)
        report.add("TARGET_INFO_CUDA_DEVICE", gpuId=rank, cudaId=rank, pid=pid)
    return report


def main() -> int:
    """Write the report; one line on stderr."""
    path = training().write(REPORT)
    print(f"{path}: {path.stat().st_size / 1e3:.0f} kB", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
