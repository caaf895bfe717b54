"""Copies and memsets by hand-made numbers."""

from __future__ import annotations

from typing import Any

import pytest

from reportgen.results import Severity
from reportgen.rules.memory_operations import RULE, direction_of
from tests.rules.kernels.builders import rank_trace
from tests.rules.samples import column, run


@pytest.mark.parametrize(
    ("name", "direction"),
    [
        ("Memcpy HtoD (Pageable -> Device)", "HtoD"),
        ("Memcpy DtoH (Device -> Pinned)", "DtoH"),
        ("Memcpy DtoA (Device -> Array)", "DtoD"),
        ("Memcpy PtoP (Device -> Device)", "PtoP"),
        ("Memcpy HtoH", "HtoH"),
        ("CopyHostToDevice", "HtoD"),
        ("Memcpy", "other"),
    ],
)
def test_directions_are_read_off_names(name: str, direction: str) -> None:
    assert direction_of(name) == direction


@pytest.mark.parametrize(
    ("kernel_us", "severity"), [(970.0, Severity.WARNING), (973.0, Severity.INFO)]
)
def test_pageable_copies_are_a_fault_from_what_pinning_wins_on(kernel_us, severity) -> None:
    """Of a copy of 190 µs 160 stay at 25 GB/s, and 5 µs pass until the kernel begins."""
    copy = ("Memcpy HtoD (Pageable -> Device)", 5.0, 190.0, {"bytes": 4_000_000, "correlation": 1})
    trace = rank_trace(
        gpu=[copy, ("k", 200.0, kernel_us, {"correlation": 2})],
        calls=[
            ("cudaMemcpyAsync", 0.0, 195.0, {"correlation": 1}),
            ("cudaLaunchKernel", 196.0, 2.0, {"correlation": 2}),
        ],
    )
    result = run(RULE, trace)

    found = {item.id: item for item in result.findings}["COPY-1"]
    assert found.severity is severity
    assert found.threshold == (3.0 if severity is Severity.WARNING else None)
    assert column(result, "memory_operations", "gb_per_s") == [pytest.approx(4_000_000 / 190_000)]


@pytest.mark.parametrize(("kernel_us", "is_fault"), [(100.0, True), (101.0, False)])
def test_copies_are_a_fault_where_no_kernel_hides_them(kernel_us: float, is_fault: bool) -> None:
    """Of 200 µs a copy takes 120, all but 20 (or 19) of them beside a kernel."""
    copy = "Memcpy DtoD (Device -> Device)"
    gpu: list[Any] = [("k", 0.0, 80.0), (copy, 80.0, 120.0, {"stream": 8}), ("k", 80.0, kernel_us)]
    found = {item.id: item for item in run(RULE, rank_trace(gpu=gpu)).findings}

    assert ("COPY-2" in found) is is_fault
    if is_fault:
        assert found["COPY-2"].measured == 10.0
        assert "mostly DtoD" in found["COPY-2"].title
        assert found["COPY-2"].estimate is not None
        where = found["COPY-2"].where
        assert (where.node, where.device) == ("rank 0", "gpu0")
        assert [where.start_s, where.end_s] == pytest.approx([180e-6, 200e-6])


@pytest.mark.parametrize(
    ("kernel_us", "kinds", "advice"),
    [
        (80.0, "Pageable -> Device", "one batch ahead"),
        (80.0, None, "one batch ahead"),
        (5.0, "Pinned -> Device", "Copy less"),
    ],
)
def test_the_advice_for_exposed_copies_follows_what_could_hide_them(kernel_us, kinds, advice):
    name = f"Memcpy HtoD ({kinds})" if kinds else "Memcpy HtoD"
    gpu: list[Any] = [(name, 0.0, 90.0, {"bytes": 900_000}), ("k", 90.0, kernel_us)]

    found = {item.id: item for item in run(RULE, rank_trace(gpu=gpu)).findings}["COPY-2"]

    assert advice in found.advice
    assert "(1 operation, 10 GB/s)" in found.text
    assert ("without a copy for 5 µs: copies that run" in found.text) is (kernel_us == 5.0)


def test_pinned_copies_are_no_fault() -> None:
    copy = ("Memcpy HtoD (Pinned -> Device)", 0.0, 90.0, {"bytes": 4_000_000})

    assert run(RULE, rank_trace(gpu=[copy, ("k", 0.0, 90.0)])).findings == ()
