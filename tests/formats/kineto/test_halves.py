"""A trace read by two processes is the trace read by one."""

from __future__ import annotations

import gzip
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


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
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
