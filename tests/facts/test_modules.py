"""The tree of modules by hand-made numbers, and against a plain walk over real traces."""

from __future__ import annotations

import re
from typing import Any

import pytest

from reportgen import intake
from reportgen.facts.modules import in_order_of_tree, module_times, with_inner
from reportgen.profile import RankTrace
from reportgen.profile.trace_tables import NONE, SliceKind
from tests.rules.kernels.builders import rank_trace
from tests.shared_data import SHARED_DATA, needs_shared_data

PYTHON = {"kind": SliceKind.PYTHON}


def a_model() -> RankTrace:
    """A net of two blocks, each with a layer that launches, and a launch of the second block."""
    names = [
        ("nn.Module: Net_0", 0.0, 100.0), ("train.py(3): forward", 5.0, 90.0),
        ("nn.Module: Block_0", 10.0, 30.0), ("nn.Module: Linear_0", 15.0, 10.0),
        ("nn.Module: Block_1", 50.0, 40.0), ("nn.Module: Linear_1", 55.0, 20.0),
    ]  # fmt: skip
    launched = ((16.0, 3.0), (56.0, 4.0), (80.0, 5.0), (200.0, 7.0))
    calls = [("cudaLaunchKernel", at, 1.0, {"correlation": at}) for at, _ in launched]
    gpu: list[Any] = [("k", at + 300, long, {"correlation": at}) for at, long in launched]
    return rank_trace(gpu=gpu, calls=calls, slices=[(*name, PYTHON) for name in names])


def test_calls_are_added_up_by_the_classes_around_them() -> None:
    found = module_times(a_model())
    net, block, linear = ("Net",), ("Net", "Block"), ("Net", "Block", "Linear")
    assert found.count == {net: 1, block: 2, linear: 2}
    assert found.host_ns == {net: 100_000, block: 70_000, linear: 30_000}
    assert found.gpu_ns == {linear: 7_000, block: 5_000}
    assert with_inner(found.gpu_ns) == {net: 12_000, block: 12_000, linear: 7_000}


def test_the_order_is_that_of_a_tree_with_the_longest_first() -> None:
    times = {("B",): 9, ("A", "X"): 3, ("A", "Y"): 3, ("A",): 10, ("A", "Y", "Z"): 2, ("B", "C"): 1}
    assert in_order_of_tree(times) == [
        ("A",), ("A", "X"), ("A", "Y"), ("A", "Y", "Z"), ("B",), ("B", "C")
    ]  # fmt: skip


def test_a_trace_without_modules_has_none() -> None:
    found = module_times(rank_trace(slices=[("nn.Module: Net_0", 0.0, 5.0)]))
    assert (found.count, found.host_ns, found.gpu_ns) == ({}, {}, {})


@needs_shared_data
@pytest.mark.parametrize("name", ["h100_qwen_inference", "mi300x_resnet_rank0of8"])
def test_a_walk_over_every_call_gives_the_same(name: str) -> None:
    (part,) = intake.discover(str(SHARED_DATA / "kineto" / f"{name}.json.gz")).parts
    trace = intake.read(part)
    assert isinstance(trace, RankTrace)
    slices, ops, calls = trace.slices, trace.gpu_ops, trace.calls
    columns = (slices.start_ns, slices.end_ns, slices.thread, slices.name)
    modules = [
        (start, end, thread, re.sub(r"_\d+$", "", trace.names[code].removeprefix("nn.Module: ")))
        for start, end, thread, code in zip(*(c.tolist() for c in columns), strict=True)
        if trace.names[code].startswith("nn.Module: ")
    ]
    spent: dict[tuple[str, ...], int] = {}
    for launch, duration_ns in zip(ops.launch.tolist(), ops.duration_ns.tolist(), strict=True):
        at_ns, thread = int(calls.start_ns[launch]), int(calls.thread[launch])
        around = [one for one in modules if one[0] <= at_ns < one[1] and one[2] == thread]
        if launch != NONE and around:
            path = tuple(one[3] for one in sorted(around, key=lambda one: (one[0], -one[1])))
            spent[path] = spent.get(path, 0) + duration_ns
    assert module_times(trace).gpu_ns == spent
