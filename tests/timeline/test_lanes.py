"""Strips of a row do not overlap, nested ones lie below one another, and all of it is bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.intake import discover, read
from reportgen.rules.kernel_time import RULE as KERNEL_TIME
from reportgen.timeline import lanes_of
from reportgen.timeline.lanes import MOST_ALIKE, MOST_ROWS, grouped, rows_of, strips_of
from tests.builders import known, node_profile
from tests.rules.samples import column, run
from tests.traces import kernel, launch, span, trace_text, write_trace


def traced(path: Path, text: str) -> Any:
    """Write a trace and read it."""
    (part,) = discover(str(write_trace(path, text))).parts
    return read(part)


def rows(*spans: tuple[int, int]) -> list[int]:
    starts, lengths = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    found: list[int] = rows_of(starts, lengths).tolist()
    return found


def test_nested_calls_lie_below_one_another() -> None:
    assert rows((0, 100), (0, 60), (10, 20), (30, 30), (60, 40), (100, 5)) == [0, 1, 2, 2, 1, 0]


def test_a_chain_of_overlaps_takes_two_rows() -> None:
    chain = [(at * 10, 15) for at in range(1000)]
    assert rows(*chain) == [0, 1] * 500


def test_instants_have_room() -> None:
    assert rows((0, 10), (5, 0), (5, 0), (10, 0)) == [0, 1, 2, 0]


def test_what_lies_too_deep_shares_the_last_row() -> None:
    nested = [(at, 2000 - 2 * at) for at in range(600)]
    assert max(rows(*nested)) == MOST_ROWS - 1
    overlapping = [(at, 1000) for at in range(600)]
    assert max(rows(*overlapping)) == MOST_ROWS - 1


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 60)), max_size=60))
def test_strips_of_a_row_do_not_overlap(spans: list[tuple[int, int]]) -> None:
    starts, lengths = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    strips = strips_of(starts, lengths, np.arange(len(spans)))

    kept = zip(strips.start_ns.tolist(), strips.duration_ns.tolist(), strict=True)
    assert sorted(kept) == sorted(spans)
    assert strips.start_ns.tolist() == sorted(strips.start_ns.tolist())
    for row in set(strips.row.tolist()):
        here = strips.row == row
        ends = np.maximum(strips.start_ns + strips.duration_ns, strips.start_ns + 1)[here]
        assert (ends[:-1] <= strips.start_ns[here][1:]).all()


@given(st.lists(st.integers(-1, 90), max_size=300))
def test_groups_are_bounded_and_lose_nothing(codes: list[int]) -> None:
    found = grouped(np.array(codes, dtype=np.int64))
    assert len(found) <= MOST_ALIKE
    for members, places in found:
        assert {codes[at] for at in places.tolist()} == set(members)
    every = [at for _, places in found for at in places.tolist()]
    assert sorted(every) == list(range(len(codes)))


def test_one_call_may_start_many_operations(tmp_path: Path) -> None:
    events = [launch(0, 1), *(kernel(10 + 5 * at, 4, 1) for at in range(3)), kernel(30, 4, 9)]
    lanes = lanes_of(traced(tmp_path / "graph.pt.trace.json", trace_text(events)))

    arrows = lanes.arrows
    assert arrows.flow.tolist() == [1, 1, 1]
    assert arrows.to_start_ns.tolist() == [10_000, 15_000, 20_000]
    (stream,) = (lane for lane in lanes.lanes if lane.kind == "stream")
    assert known(stream.strips).flow.tolist() == [1, 1, 1, 0]


def test_modules_have_a_lane_and_fused_kernels_say_what_they_fuse(tmp_path: Path) -> None:
    events = [
        span("python_function", "nn.Module: Net_0", 0, 90),
        span("python_function", "nn.Module: Linear_0", 10, 20),
        span("python_function", "train.py(3): forward", 5, 80),
        launch(12, 1),
        kernel(20, 5, 1, name="triton_poi_fused__to_copy_add_relu_0"),
    ]
    found = lanes_of(traced(tmp_path / "modules.pt.trace.json", trace_text(events)))

    strips = {lane.label: lane.strips for lane in found.lanes if lane.strips is not None}
    assert strips["modules"].row.tolist() == [0, 1]
    assert [found.names[code] for code in strips["modules"].name.tolist()] == [
        "nn.Module: Net_0", "nn.Module: Linear_0",
    ]  # fmt: skip
    (said,) = (found.details[code] for code in strips["stream 7"].detail.tolist())
    assert said.endswith("fuses _to_copy_add_relu")


TRITON = {"kernel_file": "/tmp/torchinductor_ada/ab/cabc12.py", "kernel_backend": "triton"}


@pytest.mark.parametrize("where", ["operator", "kernel"])
def test_a_kernel_of_triton_says_the_file_that_it_is_written_in(tmp_path: Path, where: str) -> None:
    events = [
        span("cpu_op", "triton_red_mine", 10, 20) | {"args": TRITON if where == "operator" else {}},
        launch(12, 1),
        kernel(20, 5, 1, name="triton_red_mine"),
    ]
    events[-1]["args"] |= TRITON if where == "kernel" else {}
    trace = traced(tmp_path / "triton.pt.trace.json", trace_text(events))

    found = lanes_of(trace)

    (stream,) = (lane.strips for lane in found.lanes if lane.label == "stream 7")
    (said,) = (found.details[code] for code in known(stream).detail.tolist())
    assert said.endswith("written in cabc12.py (triton)")
    assert column(run(KERNEL_TIME, trace), "kernels", "written_in") == ["cabc12.py (triton)"]


def counter(name: str, at: int, **values: object) -> dict[str, object]:
    return {"ph": "C", "name": name, "pid": 0, "ts": 104_412_345.0 + at, "args": values}


def test_counters_become_tracks_whatever_they_are_called(tmp_path: Path) -> None:
    events = [
        launch(0, 1),
        counter("<b>power</b>", 1, watts=3.5, note="hot"),
        counter("<b>power</b>", 2, watts="4"),
        counter("queue", 2, queue=float("1e300"), on=True),
        counter("empty", 3),
    ]
    trace = traced(tmp_path / "c.pt.trace.json", trace_text(events))

    lanes = [lane for lane in lanes_of(trace).lanes if lane.kind == "counter"]

    assert [lane.label for lane in lanes] == ["<b>power</b> watts", "queue"]
    assert lanes[0].track is not None
    assert lanes[0].track.time_ns.tolist() == [1000, 2000]
    assert lanes[0].track.value.tolist() == [3.5, 4.0]


def test_strips_have_the_families_that_tables_give_them(tmp_path: Path) -> None:
    kernels = {
        "void deep_ep::intranode::dispatch<8>": "communication",
        "nvshmem_quiet": "communication",
        "msccl_kernel": "communication",
        "hcclAllReduce": "communication",
        "cross_device_reduce_1stage": "communication",
        "my_exchange": "communication",
        "aten::broadcast_tensors": "compute",
        "triton_poi_fused_add_0": "compute",
    }
    events = [
        span("cpu_op", "aten::broadcast_tensors", 0, 10),
        span("cpu_op", "c10d::allreduce_", 10, 10),
        span("cpu_op", "triton_poi_fused_add_0", 20, 10),
        span("user_annotation", "nccl:all_reduce", 30, 10),
        launch(40, 1),
        *(kernel(50 + 10 * at, 5, at + 1, name=name) for at, name in enumerate(kernels)),
        span("gpu_memcpy", "Memcpy HtoD", 200, 5, pid=0, tid=7, device=0, stream=7),
    ]
    found = lanes_of(traced(tmp_path / "f.pt.trace.json", trace_text(events)), "^my_")

    kinds = {
        (lane.kind.value, found.names[code]): found.families[code]
        for lane in found.lanes
        if lane.strips is not None
        for code in lane.strips.name.tolist()
    }
    assert {name: kinds["stream", name] for name in kernels} == kernels
    assert kinds["stream", "Memcpy HtoD"] == "copies"
    assert kinds["thread", "aten::broadcast_tensors"] == "operators"
    assert kinds["thread", "c10d::allreduce_"] == "communication"
    assert kinds["thread", "triton_poi_fused_add_0"] == "operators"
    assert kinds["thread", "cudaLaunchKernel"] == "runtime"
    assert kinds["annotations", "nccl:all_reduce"] == "annotations"


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("gpu-7_2113.1795274438178583583.pt.trace.json", "gpu-7"),
        ("rank-0.pt.trace.json", ""),
        ("worker0_step_12.1694128201545.pt.trace.json", "worker0_step"),
    ],
)
def test_names_of_tensorboard_tell_the_machine(name: str, host: str, tmp_path: Path) -> None:
    assert lanes_of(traced(tmp_path / name, trace_text([launch(0, 1)]))).host == host


def test_gpu_counters_are_called_as_people_say_and_have_their_units() -> None:
    lanes = lanes_of(node_profile({"gpu0_watts": [70.0, 300.0], "gpu0_mhz": [1e3, 1.4e3]})).lanes
    assert [(lane.label, lane.track.unit) for lane in lanes if lane.track] == [
        ("GPU clock", "MHz"),
        ("GPU power", "W"),
    ]


def test_a_hundred_thousand_overlapping_events_find_rows() -> None:
    starts = np.arange(100_000, dtype=np.int64) * 10
    strips = strips_of(starts, np.full(starts.size, 95, dtype=np.int64), np.zeros(starts.size))
    assert strips.row.tolist() == [at % 10 for at in range(starts.size)]
