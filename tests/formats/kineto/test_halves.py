"""A large trace read by two processes is the trace read by one."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reportgen.formats.kineto import halves
from reportgen.formats.kineto.text import CHUNK_BYTES
from reportgen.formats.kineto.trace_file import read_trace

N_STEPS = 1_500


def step(number: int) -> list[dict[str, Any]]:
    """Events of every kind; every name occurs in one half only, or in both."""
    at, name = 1000.0 * number, f"of {number // 100}"
    on_host = {"ph": "X", "pid": 7, "tid": 7 + number % 3}
    on_gpu = {"ph": "X", "pid": 0, "tid": 7 + number % 2}
    return [
        {
            **on_host, "cat": "cpu_op", "name": f"aten::mm {name}", "ts": at, "dur": 90.5,
            "args": {
                "External id": number, "Input type": ["float", f"type {name}"],
                "Input Dims": [[8, number], [4, 2]],
            },
        },
        {
            **on_host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 5, "dur": 4,
            "args": {"correlation": number, "External id": number},
        },
        {
            **on_gpu, "cat": "kernel", "name": f"triton_{name}", "ts": at + 20, "dur": 50,
            "args": {
                "device": 0, "stream": 7, "correlation": number, "External id": number,
                "grid": [number, 1, 1], "block": [32, 1, 1], "kernel_file": f"/home/me/c{name}.py",
            },
        },
        {
            **on_gpu, "cat": "kernel", "name": "ncclDevKernel_AllReduce", "ts": at + 80, "dur": 9,
            "args": {
                "device": 0, "stream": 8, "correlation": -1, "Collective name": "allreduce",
                "dtype": "Float", "In msg nelems": number, "Group size": 2,
                "Process Group Name": name, "Process Group Ranks": "[0, 1]",
            },
        },
        {"ph": "s", "id": number, "pid": 7, "tid": 7, "ts": at + 6, "cat": "ac2g", "name": "ac2g"},
        {"ph": "f", "id": number, "pid": 0, "tid": 7, "ts": at + 20, "cat": "ac2g", "name": "ac2g"},
        {"ph": "C", "name": f"counter {name}", "pid": 7, "ts": at, "args": {"value": number}},
    ]  # fmt: skip


def plain(value: Any) -> Any:
    """Return a value without arrays, to be compared."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A trace with a header before and after its events, as Kineto writes it."""
    events = [event for number in range(N_STEPS) for event in step(number)]
    text = ",\n".join(json.dumps(event) for event in [{"ph": "M", "name": "n", "pid": 7}, *events])
    path = tmp_path / "trace.json"
    path.write_text(f'{{"schemaVersion": 1, "traceEvents": [\n{text}\n], "traceName": "t"}}')
    return path


def test_both_ways_give_the_same(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = trace.read_bytes()
    assert len(content) > 3 * CHUNK_BYTES
    monkeypatch.setattr(halves, "LEAST_BYTES", 1)
    monkeypatch.setattr(halves, "_HEAD_START_BYTES", 0)
    monkeypatch.setattr(halves, "spare_cores", lambda: 1)

    found = halves.read_halves(trace, len(content), [content])

    assert found is not None
    assert plain(found) == plain(read_trace([content]))
    assert len(found.tables.written_in) == N_STEPS // 100
    assert len(found.tables.input_dims) >= N_STEPS


def test_a_damaged_trace_is_left_to_one_process(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = trace.read_bytes()
    content = content[: len(content) // 4] + b"\x01" + content[len(content) // 4 :]
    trace.write_bytes(content)
    monkeypatch.setattr(halves, "LEAST_BYTES", 1)
    monkeypatch.setattr(halves, "_HEAD_START_BYTES", 0)
    monkeypatch.setattr(halves, "spare_cores", lambda: 1)

    assert halves.read_halves(trace, len(content), [content]) is None
