"""Kernel traces of all ages become the same tables."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from reportgen.formats.kineto.detection import (
    head_text,
    looks_like_trace,
    rank_in_key,
    stamp_in_key,
)
from reportgen.formats.kineto.header import read_header
from reportgen.formats.kineto.trace_file import TraceFile, read_trace
from reportgen.formats.private_names import without_folders
from reportgen.profile.trace_tables import NONE, GpuKind, SliceKind, n_rows
from tests.traces import (
    BASE_NS,
    PID,
    START_US,
    header,
    kernel,
    launch,
    read_text,
    small_events,
    span,
    trace_text,
)


def read_events(events: list[dict[str, Any]]) -> TraceFile:
    return read_text(trace_text(events))


def names_of(trace: TraceFile, codes: Any) -> list[str]:
    return [trace.tables.names[code] for code in codes]


def test_times_count_from_the_last_whole_microsecond_before_everything() -> None:
    trace = read_events([kernel(0.25, 1.5, 1), kernel(10.75, 2.0, 2)])

    assert trace.tables.origin_ns == 1000 * int(START_US)
    assert trace.tables.gpu_ops.start_ns.tolist() == [250, 10_750]
    assert trace.tables.gpu_ops.end_ns.tolist() == [1_750, 12_750]


def test_decimals_beyond_a_nanosecond_are_rounded() -> None:
    event = kernel(0, 1.9996, 1)
    texts = ("104412345.0625", "104412347.0004999", '"104412349.9996"')
    written = json.dumps([event | {"ts": n, "tid": n} for n in range(3)])
    for n, text in enumerate(texts):
        written = written.replace(f'"ts": {n},', f'"ts": {text},')

    ops = read_text(written).tables.gpu_ops

    assert ops.start_ns.tolist() == [62, 2_000, 5_000]
    assert ops.duration_ns.tolist() == [2_000] * 3
    assert {ops.start_ns.dtype, ops.end_ns.dtype, ops.duration_ns.dtype} == {np.dtype(np.int64)}


def test_ends_carry_the_rounding_of_the_file_and_durations_do_not() -> None:
    start_us = 1_712_195_495_505_583.0
    event = kernel(0, 4.928, 1) | {"ts": start_us}

    ops = read_events([event]).tables.gpu_ops

    assert ops.end_ns[0] == 1000 * ((start_us + 4.928) - start_us) == 5_000
    assert ops.duration_ns[0] == 4_928


def test_traces_of_2021_have_the_same_tables() -> None:
    events = [
        span("Operator", "ProfilerStep#7", 0, 100, tid=str(PID)),
        span("Operator", "enumerate(DataLoader)#_Single.__next__", 1, 3, tid=str(PID)),
        span("Operator", "aten::mm", 5, 20, tid=str(PID), external_id=3),
        span("Runtime", "cudaLaunchKernel", 10, 5, tid=str(PID), correlation=9),
        span("Kernel", "gemm", 20, 30, pid=0, tid="stream 7", correlation=9, external_id=3),
        span("Memcpy", "Memcpy HtoD (Pageable -> Device)", 60, 3, pid=0, tid="stream 7", bytes=64),
        span("Memset", "Memset (Device)", 70, 1, pid=0, tid="stream 8"),
        {"ph": "i", "s": "t", "name": "[memory]", "pid": PID, "tid": PID, "ts": START_US + 4,
         "args": {"Device Type": 1, "Device Id": 0, "Bytes": -512}},
    ]  # fmt: skip

    tables = read_events(events).tables

    assert tables.gpu_ops.kind.tolist() == [GpuKind.KERNEL, GpuKind.MEMCPY, GpuKind.MEMSET]
    assert tables.gpu_ops.stream.tolist() == [7, 7, 8]
    assert tables.gpu_ops.device.tolist() == [0, 0, 0]
    assert tables.gpu_ops.bytes.tolist() == [NONE, 64, NONE]
    assert tables.gpu_ops.launch.tolist() == [0, NONE, NONE]
    assert tables.gpu_ops.external_id[0] == tables.slices.external_id[2] == 3
    assert tables.slices.kind.tolist() == [
        SliceKind.ANNOTATION, SliceKind.ANNOTATION, SliceKind.OPERATOR
    ]  # fmt: skip
    assert tables.steps.number.tolist() == [7]
    assert tables.memory.change_bytes.tolist() == [-512]
    assert tables.memory.allocated_bytes.tolist() == [NONE]


def test_a_thread_written_as_number_and_as_text_is_one_thread() -> None:
    events = [span("cpu_op", "a", 0, 1, tid=7), span("cpu_op", "b", 2, 1, tid="7")]

    tables = read_events(events).tables

    assert tables.slices.thread.tolist() == [0, 0]
    assert [(thread.pid, thread.tid) for thread in tables.threads] == [(str(PID), "7")]


def test_only_the_category_makes_a_gpu_operation() -> None:
    events = [
        span("cpu_op", "triton_poi_fused", 0, 5, stream=7),
        span("cuda_runtime", "hipMemcpyAsync", 1, 2, stream="0x0", correlation=1, size=4096),
        span("gpu_memcpy", "Memcpy HtoD", 3, 1, pid=2, tid=0, device=2, stream=0, correlation=1),
        span("gpu_user_annotation", "ProfilerStep#1", 0, 9, pid=2, tid=0),
        span("cuda_sync", "Stream Sync", 0, 9, pid=2, tid=0, stream=0, device=2),
        span("python_function", "x.py(1): f", 0, 9, pid=0, tid=0),
        span("overhead", "Buffer Flush", 0, 9, pid=-1, tid=0),
    ]

    trace = read_events(events)

    tables = trace.tables
    assert names_of(trace, tables.gpu_ops.name) == ["Memcpy HtoD"]
    assert tables.gpu_ops.bytes.tolist() == [4096]
    assert names_of(trace, tables.syncs.name) == ["Stream Sync"]
    assert n_rows(tables.steps) == 0
    assert sorted(names_of(trace, tables.slices.name)) == [
        "Buffer Flush", "triton_poi_fused", "x.py(1): f"
    ]  # fmt: skip


def test_one_launch_may_own_many_operations() -> None:
    events = [
        span("cuda_runtime", "cudaGraphLaunch", 0, 5, correlation=4),
        *(kernel(10.0 * number, 5, 4) for number in range(1, 4)),
    ]

    assert read_events(events).tables.gpu_ops.launch.tolist() == [0, 0, 0]


def test_an_operation_without_correlation_is_found_along_its_arrow() -> None:
    events = [
        launch(0, 1),
        span("kernel", "gemm", 20, 5, pid=0, tid=7),
        {"ph": "s", "id": 3, "pid": PID, "tid": PID, "ts": START_US, "cat": "ac2g"},
        {"ph": "f", "id": 3, "pid": 0, "tid": 7, "ts": START_US + 20, "cat": "ac2g", "bp": "e"},
    ]

    assert read_events(events).tables.gpu_ops.launch.tolist() == [0]


def test_forward_and_backward_are_joined_by_their_arrow() -> None:
    events = [
        span("cpu_op", "mm", 0, 5),
        {"ph": "s", "id": 1, "pid": PID, "tid": PID, "ts": START_US + 1, "cat": "fwdbwd"},
        {"ph": "f", "id": 1, "pid": PID, "tid": 9, "ts": START_US + 4, "cat": "fwdbwd"},
        {"ph": "s", "id": 2, "pid": PID, "tid": PID, "ts": START_US + 2, "cat": "fwdbwd"},
    ]

    tables = read_events(events).tables

    assert tables.flows.start_ns.tolist() == [1_000]
    assert tables.flows.end_ns.tolist() == [4_000]
    assert [tables.threads[code].tid for code in tables.flows.to_thread] == ["9"]


def test_collectives_point_at_the_events_that_tell_of_them() -> None:
    args = {
        "Collective name": "allreduce", "In msg nelems": 10, "Out msg nelems": 10, "Seq": 3,
        "Group size": 2, "dtype": "Float", "Process Group Name": "0",
        "Process Group Description": "mesh_tp", "Process Group Ranks": "[0, 1]",
    }  # fmt: skip
    events = [
        span("cpu_op", "record_param_comms", 5, 2) | {"args": args},
        kernel(1, 2, 1),
        kernel(20, 2, 1, name="nccl", **args),
    ]

    tables = read_events(events).tables

    rows = tables.collectives
    assert sorted(rows.gpu_op.tolist()) == [NONE, 1]
    assert sorted(rows.host_slice.tolist()) == [NONE, 0]
    assert [tables.labels[code] for code in rows.name] == ["allreduce"] * 2
    assert {tables.labels[code] for code in rows.group_ranks} == {"[0, 1]"}
    assert {tables.labels[code] for code in rows.group} == {"0 mesh_tp"}
    assert rows.seq.tolist() == [3, 3]
    assert rows.gpu_op[tables.gpu_ops.collective[1]] == 1
    assert tables.gpu_ops.collective[0] == NONE


def test_the_first_floating_input_type_is_kept() -> None:
    types = {"Input type": ["long int", ["c10::Half", "float"]]}
    events = [span("cpu_op", "a", 0, 1) | {"args": types}, span("cpu_op", "b", 2, 1)]

    tables = read_events(events).tables

    assert tables.input_types == ("c10::Half",)
    assert tables.slices.input_type.tolist() == [0, NONE]


def test_the_sizes_of_inputs_are_kept_of_operators_with_tensors() -> None:
    sizes = [[[8, 4], []], [[8, 4], []], [[], []], [["x" * 99] * 9, [1]]]
    events = [
        span("cpu_op", "a", at, 1) | {"args": {"Input Dims": dims}} for at, dims in enumerate(sizes)
    ]

    tables = read_events([*events, span("cpu_op", "b", 9, 1)]).tables

    assert tables.slices.input_dims.tolist() == [0, 0, NONE, 1, NONE]
    assert tables.input_dims[0] == "[8,4],[]"
    assert len(tables.input_dims[1]) == 160


def test_times_written_as_text_are_times() -> None:
    event = kernel(0, 5, 1)
    event |= {"ts": str(event["ts"]), "dur": "5.5"}

    assert read_events([event]).tables.gpu_ops.duration_ns.tolist() == [5_500]


def test_numbers_beyond_64_bits_are_no_numbers() -> None:
    ops = read_events([kernel(0, 5, 2**70, bytes=2**64), launch(0, 2**70)]).tables.gpu_ops

    assert ops.correlation.tolist() == [NONE]
    assert ops.launch.tolist() == [NONE]


def test_a_bare_list_is_a_trace() -> None:
    assert n_rows(read_text(json.dumps(small_events())).tables.gpu_ops) == 4


def test_the_order_of_the_file_does_not_matter() -> None:
    events = small_events()

    forward, backward = read_events(events).tables, read_events(events[::-1]).tables

    assert np.array_equal(forward.gpu_ops.start_ns, backward.gpu_ops.start_ns)
    assert np.array_equal(forward.gpu_ops.launch, backward.gpu_ops.launch)
    assert forward.steps.number.tolist() == backward.steps.number.tolist() == [0, 1]


def test_the_header_may_come_after_the_events() -> None:
    text = json.dumps(
        {"traceEvents": small_events(),
         "distributedInfo": {"rank": "3", "world_size": 8, "nccl_version": "2.21.5"},
         "record_shapes": 1, "baseTimeNanoseconds": BASE_NS}
    )  # fmt: skip

    found = read_text(text).header

    assert (found.rank, found.world_size, found.base_ns) == (3, 8, BASE_NS)
    assert found.versions == {"nccl": "2.21.5"}


def test_of_a_header_only_the_allowed_keys_are_read() -> None:
    head = header(
        username="SECRET", host_name="SECRET", env={"TOKEN": "SECRET"}, INFO=["SECRET"],
        traceName="/home/SECRET/x.json", cuda_driver_version="SECRET here",
        distributedInfo={"rank": 1, "backend": "SECRET"},
    )  # fmt: skip

    assert "SECRET" not in repr(read_header([json.dumps(head).encode()]))


def test_events_that_cannot_be_told_are_counted() -> None:
    begin = span("cpu_op", "aten::mm", 0, 1) | {"ph": "B"}
    old = {"name": "mm", "ph": "X", "ts": START_US, "dur": 3, "tid": 0, "pid": "CUDA functions"}

    trace = read_events([begin, begin | {"ph": "E"}, old, kernel(0, 1, 1)])

    assert trace.categories["X", ""] == trace.categories["B", "cpu_op"] == 1
    assert trace.categories.total() == 4


@pytest.mark.parametrize(
    ("key", "rank"),
    [
        ("rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", 0),
        ("worker12_step_12.1694128201545.pt.trace.json", 12),
        ("trace-rank-3.json", 3),
        ("llama_rank_7.json.gz", 7),
        ("bs_32_rank0.json.gz", 0),
        ("rank5/trace.json", 5),
        ("ip-10-0-0-1_4711.1623143089861.pt.trace.json", None),
        ("train-worker-0_31.1623143089861.pt.trace.json", None),
        ("rank3_31.1623143089861.pt.trace.json", 3),
        ("frank3.json", None),
        ("trace.json", None),
    ],
)
def test_ranks_are_read_from_names(key: str, rank: int | None) -> None:
    assert rank_in_key(key) == rank


def test_the_time_in_a_name_is_read() -> None:
    assert stamp_in_key("worker0.1623143089861.pt.trace.json") == 1623143089861
    assert stamp_in_key("trace.json") == 0


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("/home/ada/job/train.py(12): step", "train.py(12): step"),
        ("torch/nn/modules/module.py(1501): _call", "torch/nn/modules/module.py(1501): _call"),
        ("/opt/conda/lib/python3.11/site-packages/torch/x.py(1): f", "torch/x.py(1): f"),
        (r"C:\Users\ada\train.py(3): main", "train.py(3): main"),
        ("## Call CompiledFxGraph /tmp/torchinductor_ada/fx/f.py ##",
         "## Call CompiledFxGraph f.py ##"),
        ("void f<int>(a / b)", "void f<int>(a / b)"),
    ],
)  # fmt: skip
def test_names_lose_the_folders_of_people(name: str, kept: str) -> None:
    assert without_folders(name) == kept


@pytest.mark.parametrize(
    ("head", "is_trace"),
    [
        (b'{"traceEvents": [', True),
        (b'\n{\n  "schemaVersion": 1,', True),
        (b'[{"ph": "X", "cat": "cpu_op"', True),
        (b'[{"ph": "B", "name": "NEGOTIATE_ALLREDUCE"}', False),
        (b'[{"name": "process_name", "ph": "M", "pid": 0}', False),
        (b'{"a": 1}', False),
        (b"\x80\x04\x95", False),
        (b"\x1f\x8bnonsense", False),
        (b"", False),
    ],
)
def test_traces_are_told_from_their_beginning(head: bytes, is_trace: bool) -> None:
    assert looks_like_trace(head_text(head)) is is_trace


@pytest.mark.parametrize(
    ("marks", "numbers"),
    [
        ([("user_annotation", "step_41"), ("user_annotation", "step_42")], [41, 42]),
        ([("user_annotation", "Iteration 7"), ("user_annotation", "iter#8")], [7, 8]),
        ([("user_annotation", "step_41"), ("user_annotation", "ProfilerStep#3")], [3]),
        ([("user_annotation", "step_41")], []),
        ([("python_function", "step_41"), ("python_function", "step_42")], []),
    ],
)
def test_numbered_ranges_are_steps_where_the_profiler_marked_none(marks, numbers) -> None:
    ranges = [span(cat, name, 10.0 + 20 * at, 15.0) for at, (cat, name) in enumerate(marks)]
    assert read_events([kernel(0, 5, 1), *ranges]).tables.steps.number.tolist() == numbers


def test_a_whole_trace_keeps_every_decimal_and_the_spans_that_repeat_others() -> None:
    start_us = "1712195495519703.772"
    text = (
        '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "f", "pid": 1, "tid": 1, '
        f'"ts": {start_us}, "dur": 10.003}}, '
        '{"ph": "X", "cat": "gpu_user_annotation", "name": "step", "pid": 0, "tid": 7, '
        f'"ts": "{start_us}", "dur": 0.001}}]}}'
    )
    tables = read_trace([text.encode()], is_whole=True).tables
    assert tables.origin_ns + int(tables.slices.start_ns[0]) == 1712195495519703772
    assert int(tables.slices.end_ns[0] - tables.slices.start_ns[0]) == 10003
    assert tables.origin_ns + int(tables.shadows.start_ns[0]) == 1712195495519703772
    assert tables.shadows.duration_ns.tolist() == [1]
    assert not read_trace([text.encode()]).tables.shadows.name.size
