"""What the tables of a report become; what no real report here holds is made after its schema."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from reportgen.formats.nsight import source
from reportgen.formats.nsight.processes import find_processes
from reportgen.formats.nsight.source import open_report
from reportgen.formats.nsight.trace import ReportTrace, read_process
from reportgen.profile import Thread
from reportgen.profile.trace_tables import HOST_MEMORY, NONE, GpuKind, SliceKind
from sample_data.kernel_trace import BASE_NS
from sample_data.nsight_report import ReportTables, Row, global_pid, training

PID, TID = 300, 301
START_NS = 5_000_000_000
THREAD = {"globalTid": global_pid(PID) + TID}


@pytest.fixture
def report() -> ReportTables:
    """One kernel of 100 ns, at 1 µs, launched by a call."""
    made = ReportTables()
    add_kernel(made, 1_000, 1_100, correlation=7)
    name = made.text("cudaLaunchKernel_v7000")
    made.add(
        "CUPTI_ACTIVITY_KIND_RUNTIME", **span(500, 600), **THREAD, correlationId=7, nameId=name
    )
    return made


def span(start_ns: int, end_ns: int | None) -> Row:
    return {"start": START_NS + start_ns, "end": None if end_ns is None else START_NS + end_ns}


def activity(start_ns: int, end_ns: int, *, pid: int = PID, device: int = 0) -> Row:
    place = {"deviceId": device, "contextId": 1, "streamId": 7, "globalPid": global_pid(pid)}
    return {**span(start_ns, end_ns), **place}


def add_kernel(
    report: ReportTables, start_ns: int, end_ns: int, *, correlation: int, **more: int
) -> None:
    row = activity(start_ns, end_ns, **more)
    name = report.text("gemm")
    report.add("CUPTI_ACTIVITY_KIND_KERNEL", **row, correlationId=correlation, demangledName=name)


def add_range(
    report: ReportTables, text: str, start_ns: int, end_ns: int | None, **more: int
) -> None:
    row: Row = {**span(start_ns, end_ns), **THREAD, "eventType": 59, "domainId": 0, **more}
    report.add("NVTX_EVENTS", **row, text=text)


def read(report: ReportTables, tmp_path: Path, *, process: int = 0) -> ReportTrace:
    with open_report(report.write(tmp_path / "report.sqlite")) as opened:
        found, _ = find_processes(opened)
        return read_process(opened, found[process].key)


def slices_of(trace: ReportTrace) -> list[tuple[str, SliceKind, int, int]]:
    slices, names = trace.tables.slices, trace.tables.names
    columns = (slices.name, slices.kind, slices.start_ns, slices.duration_ns)
    return [
        (names[name], SliceKind(kind), start_ns + trace.tables.origin_ns - START_NS, duration_ns)
        for name, kind, start_ns, duration_ns in zip(*(c.tolist() for c in columns), strict=True)
    ]


def test_a_kernel_has_its_launch_and_its_time_to_the_nanosecond(report: ReportTables, tmp_path):
    trace = read(report, tmp_path)
    ops, calls = trace.tables.gpu_ops, trace.tables.calls
    assert trace.header.base_ns == BASE_NS
    assert trace.tables.origin_ns == START_NS
    assert (ops.start_ns.tolist(), ops.end_ns.tolist()) == ([1_000], [1_100])
    assert [trace.tables.names[code] for code in calls.name] == ["cudaLaunchKernel"]
    assert ops.launch.tolist() == [0]
    assert trace.tables.threads[calls.thread[0]] == Thread(pid=str(PID), tid=str(TID))
    assert ops.shape.tolist() == [NONE]


def test_correlation_joins_within_a_process_only(report: ReportTables, tmp_path: Path) -> None:
    add_kernel(report, 2_000, 2_300, correlation=7, pid=PID + 1)
    first, second = (read(report, tmp_path, process=number) for number in (0, 1))
    assert first.tables.gpu_ops.duration_ns.tolist() == [100]
    assert first.tables.gpu_ops.launch.tolist() == [0]
    assert second.tables.gpu_ops.duration_ns.tolist() == [300]
    assert second.tables.gpu_ops.launch.tolist() == [NONE]


def test_processes_are_those_that_ran_kernels_by_gpu(report: ReportTables, tmp_path: Path) -> None:
    add_kernel(report, 0, 1, correlation=1, pid=200, device=3)
    add_kernel(report, 0, 1, correlation=1, pid=900, device=0)
    report.add("CUPTI_ACTIVITY_KIND_MEMCPY", **activity(0, 9, pid=17), bytes=1, copyKind=1)
    report.add("MPI_RANKS", globalTid=global_pid(200) + 1, rank=12)
    with open_report(report.write(tmp_path / "report.sqlite")) as opened:
        found, n_copying = find_processes(opened)
    assert n_copying == 1
    assert [((one.key or 0) & 0xFFFFFF, one.first_device, one.rank) for one in found] == [
        (PID, 0, None), (900, 0, None), (200, 3, 12)
    ]  # fmt: skip


def test_a_report_without_gpu_work_is_its_busiest_process(tmp_path: Path) -> None:
    report = ReportTables()
    for pid, n_ranges in ((5, 1), (6, 3)):
        for _ in range(n_ranges):
            add_range(report, "work", 0, 10, globalTid=global_pid(pid) + pid)
    trace = read(report, tmp_path)
    assert len(slices_of(trace)) == 3
    assert trace.tables.threads == (Thread(pid="6", tid="6"),)


def test_whole_graphs_are_one_operation_each_and_counted(report: ReportTables, tmp_path: Path):
    row = activity(3_000, 4_000)
    report.add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", **row, correlationId=7, graphId=12)
    trace = read(report, tmp_path)
    ops = trace.tables.gpu_ops
    assert [trace.tables.names[code] for code in ops.name] == ["gemm", "CUDA graph 12"]
    assert ops.kind.tolist() == [GpuKind.KERNEL] * 2
    assert ops.launch.tolist() == [0, 0]
    assert trace.n_graph_runs == 1


def test_ranges_keep_their_names_kinds_and_nesting(report: ReportTables, tmp_path: Path) -> None:
    add_range(report, "forward", 100, 900)
    add_range(report, "aten::mm, seq = 2, op_id = 9, sizes = [[2, 2]]", 200, 300)
    add_range(report, "FSDP::post_forward (layer.0), op_id = 10", 300, 400)
    add_range(report, "AddmmBackward0, op_id = 11", 400, 450)
    add_range(report, "crossing", 800, 1_200, eventType=60)
    add_range(report, "here", 850, None, eventType=34)
    assert slices_of(read(report, tmp_path)) == [
        ("forward", SliceKind.ANNOTATION, 100, 800),
        ("aten::mm", SliceKind.OPERATOR, 200, 100),
        ("FSDP::post_forward (layer.0)", SliceKind.ANNOTATION, 300, 100),
        ("AddmmBackward0", SliceKind.OPERATOR, 400, 50),
        ("crossing", SliceKind.ANNOTATION, 800, 400),
        ("here", SliceKind.OTHER, 850, 0),
    ]


def test_ranges_of_other_domains_have_its_name_before_but_for_steps(report: ReportTables, tmp_path):
    add_range(report, "NCCL", 0, None, eventType=75, domainId=1)
    add_range(report, "ncclAllReduce", 10, 20, domainId=1)
    add_range(report, "step_41", 30, 40, domainId=1)
    add_range(report, "step_42", 40, 50, domainId=1)
    trace = read(report, tmp_path)
    assert [name for name, *_ in slices_of(trace)] == ["NCCL:ncclAllReduce", "step_41", "step_42"]
    assert trace.tables.steps.number.tolist() == [41, 42]


@pytest.mark.parametrize("name", ["iteration {}", "ProfilerStep#{}", "step {}, op_id = 77"])
def test_names_of_ranges_tell_steps(report: ReportTables, tmp_path: Path, name: str) -> None:
    for number in range(3):
        add_range(report, name.format(number), 100 * number, 100 * number + 80)
    assert read(report, tmp_path).tables.steps.number.tolist() == [0, 1, 2]


def test_a_range_that_never_ended_is_left_out_and_counted(report: ReportTables, tmp_path: Path):
    add_range(report, "open", 100, None)
    trace = read(report, tmp_path)
    assert slices_of(trace) == []
    assert trace.tables.bad_durations == 1


def test_calls_of_the_system_and_the_tracers_costs_are_slices(report: ReportTables, tmp_path: Path):
    report.add("OSRT_API", **span(10, 90), **THREAD, nameId=report.text("poll"))
    name = report.text("Command Buffer Full")
    report.add("CUPTI_ACTIVITY_KIND_OVERHEAD", **span(20, 30), **THREAD, nameId=name)
    assert slices_of(read(report, tmp_path)) == [
        ("poll", SliceKind.OTHER, 10, 80),
        ("Command Buffer Full", SliceKind.OVERHEAD, 20, 10),
    ]


def test_allocations_are_memory_events_without_totals(report: ReportTables, tmp_path: Path) -> None:
    for at_ns, size, operation, kind in ((10, 512, 0, 2), (20, 64, 0, 1), (30, 512, 1, 2)):
        row = {"start": START_NS + at_ns, "globalPid": global_pid(PID), "deviceId": 0}
        columns = {"bytes": size, "memKind": kind, "memoryOperationType": operation}
        report.add("CUDA_GPU_MEMORY_USAGE_EVENTS", **row, **columns)
    trace = read(report, tmp_path)
    memory = trace.tables.memory
    assert (memory.time_ns + trace.tables.origin_ns - START_NS).tolist() == [10, 20, 30]
    assert memory.change_bytes.tolist() == [512, 64, -512]
    assert memory.device_type.tolist() == [1, HOST_MEMORY, 1]
    assert memory.device.tolist() == [0, NONE, 0]
    assert set(memory.allocated_bytes) == {NONE}


def test_gpus_have_the_numbers_of_the_process(report: ReportTables, tmp_path: Path) -> None:
    report.add("TARGET_INFO_CUDA_DEVICE", gpuId=5, cudaId=0, pid=PID)
    report.add("TARGET_INFO_GPU", id=5, name="NVIDIA H100", smCount=132)
    (device,) = read(report, tmp_path).header.devices
    assert (device.id, device.name) == (0, "NVIDIA H100")
    assert (device.multiprocessors, device.compute_capability) == (132, None)


def test_times_since_1970_are_taken_as_they_are(tmp_path: Path) -> None:
    report = ReportTables()
    row = {"start": BASE_NS + 1, "end": BASE_NS + 4, "deviceId": 0, "streamId": 7}
    report.add("CUPTI_ACTIVITY_KIND_KERNEL", **row, globalPid=global_pid(PID))
    trace = read(report, tmp_path)
    assert trace.header.base_ns is None
    assert trace.tables.origin_ns + int(trace.tables.gpu_ops.start_ns[0]) == BASE_NS + 1
    assert trace.tables.gpu_ops.duration_ns.tolist() == [3]


def test_ids_beyond_what_can_be_are_dropped_and_counted(report: ReportTables, tmp_path: Path):
    row = activity(2_000, 2_050)
    report.add("CUPTI_ACTIVITY_KIND_KERNEL", **row | {"streamId": 2.0**70}, correlationId="x")
    report.add("CUPTI_ACTIVITY_KIND_KERNEL", **row | {"start": 2**63 - 1}, correlationId=2**62 + 1)
    trace = read(report, tmp_path)
    ops = trace.tables.gpu_ops
    assert ops.duration_ns.tolist() == [100, 50]
    assert ops.stream.tolist() == [7, NONE]
    assert ops.correlation.tolist() == [7, NONE]
    assert trace.tables.bad_numbers == 3
    assert trace.tables.bad_times == 1


@pytest.mark.parametrize("nonsense", [b"\xff\x00", "x", 1e300, -(2**63)])
@pytest.mark.parametrize("column", ["start", "end", "deviceId", "streamId", "demangledName"])
def test_nonsense_in_a_column_costs_that_row_at_most(report, tmp_path, column, nonsense) -> None:
    row = activity(2_000, 2_050) | {column: nonsense}
    report.add("CUPTI_ACTIVITY_KIND_KERNEL", **row)
    assert read(report, tmp_path).tables.gpu_ops.duration_ns.tolist() in ([100], [100, 50])


def test_a_name_of_100_kb_is_cut(report: ReportTables, tmp_path: Path) -> None:
    add_range(report, "n" * 100_000, 0, 9)
    (found,) = slices_of(read(report, tmp_path))
    assert found[0].startswith("nnn")
    assert len(found[0]) < 70_000


@pytest.mark.parametrize("table", ["CUPTI_ACTIVITY_KIND_KERNEL", "NVTX_EVENTS"])
def test_a_table_with_other_columns_is_no_crash(report: ReportTables, tmp_path: Path, table):
    path = report.write(tmp_path / "report.sqlite")
    with closing(sqlite3.connect(path)) as writer:
        writer.execute(f"DROP TABLE IF EXISTS {table}")
        writer.execute(f"CREATE TABLE {table} (other TEXT)")
        writer.execute(f"INSERT INTO {table} VALUES ('x')")
        writer.commit()
    with open_report(path) as opened:
        found, _ = find_processes(opened)
        trace = read_process(opened, found[0].key)
    assert np.all(trace.tables.calls.duration_ns == 100)


@pytest.mark.parametrize("name", ["report.sqlite", "report_pqtdir"])
def test_batches_of_any_size_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name):
    path = training().write(tmp_path / name)
    found = []
    for n_rows in (source.BATCH_ROWS, 7):
        monkeypatch.setattr(source, "BATCH_ROWS", n_rows)
        with open_report(path) as opened:
            found.append(read_process(opened, find_processes(opened)[0][0].key).tables)
    whole, pieces = found
    assert [whole.names[code] for code in whole.gpu_ops.name] == [
        pieces.names[code] for code in pieces.gpu_ops.name
    ]
    for table in ("gpu_ops", "calls", "slices"):
        for column in ("start_ns", "duration_ns", "launch", "kind"):
            if hasattr(getattr(whole, table), column):
                one, other = (getattr(getattr(item, table), column) for item in found)
                assert one.tolist() == other.tolist()


def test_a_wait_is_of_the_device_of_its_context(report: ReportTables, tmp_path: Path) -> None:
    add_kernel(report, 2_000, 2_100, correlation=8, device=1)
    row = activity(2_200, 2_300) | {"contextId": 1, "streamId": 7, "correlationId": 9}
    report.rows["CUPTI_ACTIVITY_KIND_KERNEL"][0]["contextId"] = 2
    report.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", **row, syncType=3)

    assert read(report, tmp_path).tables.syncs.device.tolist() == [1]
