"""Jobs that make most rules speak, and how the tests run one rule over them."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from reportgen.profile import (
    NodeProfile,
    ProfileInterval,
    ProfileMoment,
    PythonFunction,
    PythonProfile,
    PythonTable,
    RankTrace,
)
from reportgen.profile.trace_tables import SliceKind
from reportgen.results import Finding, RuleResult
from reportgen.rules.base import AnyRule, Part
from reportgen.rules.registry import BUILTIN_RULES
from reportgen.rules.runner import judge_all, measure_part, reads
from tests.builders import START_S, known, node_profile, span_table, system_table
from tests.rules.kernels.builders import rank_trace

STEP_US = 1_000.0


def run(rule: AnyRule, *parts: Part, params: Any = None, **settings: Any) -> RuleResult:
    """Run one rule as the runner does, with parameters or with some of them set."""
    chosen = {rule.id: params or rule.params(**settings)}
    measured = [measure_part(part, (rule,), chosen) for part in parts]
    (result,) = judge_all(measured, (rule,), chosen)
    return result


def only(result: RuleResult) -> Finding:
    """Return the one finding."""
    (finding,) = result.findings
    return finding


def column(result: RuleResult, exhibit_id: str, name: str) -> list[Any]:
    """Return the values of one column of an exhibit."""
    found = known(result.exhibit(exhibit_id))
    return list(next(item.values for item in found.columns if item.name == name))


def cases(*, is_rank: bool) -> list[Any]:
    """Return every built-in rule that reads ranks, or nodes, as a pytest parameter."""
    rules = [rule for rule in BUILTIN_RULES if reads(rule, is_rank=is_rank)]
    return [pytest.param(rule, id=str(rule.id)) for rule in rules]


def busy_node(node: str = "algo-1", *, seed: int = 1) -> NodeProfile:
    """A node that makes most rules speak: GPU idle while a core is hot, slow steps, waits."""
    rng = np.random.default_rng(seed)
    n_ticks = 1300
    hot = np.arange(n_ticks) % 10 < 7
    columns = {
        "gpu0": np.where(hot, 0.0, 95.0),
        "gpu0_memory": np.where(np.arange(n_ticks) > 700, 70.0, 20.0),
        "gpu1": rng.integers(20, 40, n_ticks).astype(float),
        "gpu1_memory": rng.integers(10, 15, n_ticks).astype(float),
        "cpu0": np.where(hot, 99.0, 20.0),
        "cpu0_iowait": np.where(hot, 60.0, 0.0),
        "cpu1": rng.integers(5, 20, n_ticks).astype(float),
        "cpu1_iowait": np.zeros(n_ticks),
        "memory": np.linspace(10, 30, n_ticks),
        "receive": rng.integers(0, 10_000, n_ticks).astype(float),
        "transmit": rng.integers(0, 10_000, n_ticks).astype(float),
    }
    rows: list[tuple[Any, ...]] = []
    for step in range(300):
        begin = START_S + 40 + 2 * step
        length = 1.9 if step % 20 == 0 else 0.5
        args = {"step": step, "os_pid": 27}
        rows.append(("Step:ModeKeys.TRAIN", "Step:ModeKeys.TRAIN", begin, begin + length, args))
        rows.append(("Forward", "Net", begin, begin + length / 2, args))
        rows.append(("DataLoaderIter", "It::GetNext", begin - 0.05, begin, {"os_pid": 70}))
        rows.append(("cpu_functions", "aten::conv2d", begin, begin + 0.2, args))
    system = system_table({name: values.tolist() for name, values in columns.items()})
    spans = span_table(rows, worker=f"{node}-27")
    return node_profile(system=system, spans=spans, python=python_table(f"{node}-27"), node=node)


def python_table(worker: str) -> PythonTable:
    """Two profiles of one worker: its start, and a step in which printing takes most time."""
    ends = [
        ProfileMoment(mode=mode, step=step, phase="stepstart", time_us=round(time_s * 1e6))
        for mode, step, time_s in (
            ("prestepzero", None, START_S),
            ("train", 0, START_S + 40),
            ("train", 1, START_S + 42),
        )
    ]
    names = ("main", "<built-in method builtins.print>", "step")
    return PythonTable(
        profiles=tuple(
            PythonProfile(
                worker=worker, profiler="cprofile", interval=ProfileInterval(start=start, end=end)
            )
            for start, end in pairwise(ends)
        ),
        functions=tuple(
            PythonFunction(file="train.py", line=line, name=name) for line, name in enumerate(names)
        ),
        profile=np.array([0, 1, 1], dtype=np.int32),
        function=np.array([0, 1, 2], dtype=np.int32),
        calls=np.array([1, 8, 1], dtype=np.int64),
        own_s=np.array([40.0, 1.5, 0.5]),
        cumulative_s=np.array([40.0, 1.5, 2.0]),
    )


def nodes() -> tuple[NodeProfile, NodeProfile]:
    """Two nodes of one job."""
    return busy_node("algo-1"), busy_node("algo-2", seed=2)


def busy_trace(rank: int = 0, *, late_us: float = 0.0) -> RankTrace:
    """A rank that makes most rules speak: it waits for batches, copies, communicates, leaks."""
    gpu: list[Any] = []
    calls: list[Any] = []
    slices: list[Any] = []
    memory = []
    for step in range(8):
        at = step * STEP_US
        slices.append(
            (
                "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                at,
                300.0,
                {"kind": int(SliceKind.ANNOTATION)},
            )
        )
        slices.append((f"work_{step}", at + 300, 600.0, {"kind": int(SliceKind.ANNOTATION)}))
        calls.append(("cudaMemcpyAsync", at + 300, 40.0, {"correlation": 100 * step}))
        gpu.append(
            (
                "Memcpy HtoD (Pageable -> Device)",
                at + 310,
                30.0,
                {"correlation": 100 * step, "bytes": 400_000},
            )
        )
        for kernel in range(8):
            number = 100 * step + 1 + kernel
            begin = at + 350 + 20 * kernel
            calls.append(("cudaLaunchKernel", begin, 8.0, {"correlation": number}))
            gpu.append(("ampere_sgemm_128x64_nn", begin + 9, 3.0, {"correlation": number}))
        number = 100 * step + 50
        begin = at + 600 + late_us
        calls.append(("cudaLaunchKernelExC", begin - 15, 10.0, {"correlation": number}))
        gpu.append(
            (
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)",
                begin,
                at + 900 - begin,
                {
                    "correlation": number,
                    "stream": 20,
                    "collective": {
                        "name": "allreduce",
                        "group": "0",
                        "seq": step,
                        "dtype": "Float",
                        "in_elements": 1000,
                        "out_elements": 1000,
                        "group_size": 2,
                    },
                },
            )
        )
        sizes = {"input_dims": "[512,512],[512,512]", "input_type": "c10::BFloat16"}
        slices.append(("aten::mm", at + 340, 180.0, sizes))
        calls.append(("cudaStreamSynchronize", at + 650, 250.0, {}))
        held = 1_000_000 * (step + 1)
        memory.append({"time": at, "change": 1_000_000, "allocated": held, "reserved": 2 * held})
    return rank_trace(
        gpu=gpu,
        calls=calls,
        slices=slices,
        memory=memory,
        steps=[(step, step * STEP_US, STEP_US) for step in range(8)],
        rank=rank,
        world_size=2,
        origin_ns=1_783_071_000_000_000_000,
    )


def ranks() -> tuple[RankTrace, RankTrace]:
    """Two ranks of one job; the second arrives late."""
    return busy_trace(0), busy_trace(1, late_us=250.0)


def illegal(constant: str) -> None:
    """Refuse NaN and infinity in JSON."""
    raise AssertionError(constant)


def assert_finite(tree: Any) -> None:
    """Assert that no number of a tree is NaN or infinity."""
    if isinstance(tree, float):
        assert math.isfinite(tree)
    elif isinstance(tree, dict):
        for value in tree.values():
            assert_finite(value)
    elif isinstance(tree, list | tuple):
        for value in tree:
            assert_finite(value)
