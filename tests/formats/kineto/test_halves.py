"""A trace read by two processes is the trace read by one."""

from __future__ import annotations

import gzip
import json
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reportgen.formats.kineto import halves
from reportgen.formats.kineto.halves import read_halves
from reportgen.formats.kineto.trace_file import TraceFile, read_trace
from sample_data.kernel_trace import trace_chunks


@pytest.fixture(scope="module")
def content() -> bytes:
    return b"".join(trace_chunks(0, n_steps=60))


@pytest.fixture(autouse=True, params=["interpreter", "copy"])
def two_cores(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if request.param == "copy" and sys.platform != "linux":
        pytest.skip("only Linux can copy processes")
    monkeypatch.setattr(halves, "may_copy", lambda: request.param == "copy")
    monkeypatch.setattr(halves, "spare_cores", lambda: 1)
    monkeypatch.setattr(halves, "LEAST_BYTES", 1 << 20)
    monkeypatch.setattr(halves, "_HEAD_START_BYTES", 0)


def _in_halves(folder: Path, content: bytes) -> TraceFile | None:
    path = folder / "trace.json"
    path.write_bytes(content)
    return read_halves(path, len(content), [content])


def _assert_same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if is_dataclass(one):
        for field in fields(one):
            _assert_same(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    else:
        assert one == other


def test_both_ways_give_the_same_tables_and_counts(tmp_path: Path, content: bytes) -> None:
    made = _in_halves(tmp_path, content)
    assert made is not None
    whole = read_trace([content])
    assert whole.n_events > 10_000
    for name in ("header", "tables", "losses", "n_events", "n_apart", "n_numbers_dropped"):
        _assert_same(getattr(made, name), getattr(whole, name))


def _step(number: int) -> list[dict[str, Any]]:
    """Return events with each kind of text, some of it in one half only."""
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
                "device": 0, "stream": 8, "correlation": number + 9_000, "dtype": "Float",
                "Collective name": "allreduce", "In msg nelems": number, "Group size": 2,
                "Process Group Name": name, "Process Group Ranks": "[0, 1]",
            },
        },
        {"ph": "s", "id": number, "pid": 7, "tid": 7, "ts": at + 6, "cat": "ac2g", "name": "ac2g"},
        {"ph": "f", "id": number, "pid": 0, "tid": 7, "ts": at + 20, "cat": "ac2g", "name": "ac2g"},
        {"ph": "C", "name": f"counter {name}", "pid": 7, "ts": at, "args": {"value": number}},
    ]  # fmt: skip


def test_texts_of_both_halves_are_kept_apart(tmp_path: Path) -> None:
    events = [event for number in range(1_500) for event in _step(number)]
    text = ",\n".join(json.dumps(event) for event in [{"ph": "M", "name": "n", "pid": 7}, *events])
    content = f'{{"schemaVersion": 1, "traceEvents": [\n{text}\n], "traceName": "t"}}'.encode()

    made = _in_halves(tmp_path, content)

    assert made is not None
    _assert_same(made, read_trace([content]))
    assert len(made.tables.written_in) == 15
    assert len(made.tables.input_dims) >= 1_500


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_operations_without_correlation_need_their_arrows(
    tmp_path: Path, content: bytes, share: float
) -> None:
    at = content.index(
        b'"correlation": ', content.index(b'"cat": "kernel"', int(len(content) * share))
    )
    without = content[:at] + content[at:].replace(b"correlation", b"nothing", 1)
    assert _in_halves(tmp_path, without) is None


def _damaged(content: bytes, share: float) -> bytes:
    at = content.index(b'"name"', int(len(content) * share))
    return content[:at] + b"\x00\x01{{" + content[at + 4 :]


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_a_damaged_trace_is_not_for_two(tmp_path: Path, content: bytes, share: float) -> None:
    assert _in_halves(tmp_path, _damaged(content, share)) is None


def test_a_trace_that_is_cut_off_is_not_for_two(tmp_path: Path, content: bytes) -> None:
    assert _in_halves(tmp_path, content[: int(len(content) * 0.9)]) is None


def test_two_documents_are_not_for_two(tmp_path: Path, content: bytes) -> None:
    assert _in_halves(tmp_path, content + b"\n" + content) is None


def test_a_packed_trace_is_not_for_two(tmp_path: Path) -> None:
    packed = gzip.compress(np.random.default_rng(0).bytes(3 << 20), compresslevel=0)
    assert _in_halves(tmp_path, packed) is None


def test_one_core_reads_alone(
    tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(halves, "spare_cores", lambda: 0)
    assert _in_halves(tmp_path, content) is None
