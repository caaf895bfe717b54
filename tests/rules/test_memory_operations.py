"""Copies and memsets by hand-made numbers."""

from __future__ import annotations

from typing import Any

import pytest

from reportgen.results import Status
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


@pytest.mark.parametrize(("pageable_us", "status"), [(1.9, Status.OK), (2.0, Status.TRIGGERED)])
def test_pageable_copies_are_a_fault_from_their_threshold_on(
    pageable_us: float, status: Status
) -> None:
    copy = ("Memcpy HtoD (Pageable -> Device)", 0.0, pageable_us, {"bytes": 4_000_000})
    trace = rank_trace(gpu=[copy, ("k", 50.0, 50.0)])
    result = run(RULE, trace)

    assert result.status is status
    assert [item.id for item in result.findings] == ["COPY-1"]
    assert column(result, "memory_operations", "gb_per_s") == [
        pytest.approx(4_000_000 / pageable_us / 1000)
    ]


@pytest.mark.parametrize(("kernel_us", "is_fault"), [(100.0, True), (101.0, False)])
def test_copies_are_a_fault_where_no_kernel_hides_them(kernel_us: float, is_fault: bool) -> None:
    """Of 200 µs a copy takes 120, all but 20 (or 19) of them beside a kernel."""
    copy = "Memcpy DtoD (Device -> Device)"
    gpu: list[Any] = [
        ("k", 0.0, 80.0),
        (copy, 80.0, 120.0, {"stream": 8}),
        ("k", 80.0, kernel_us),
    ]
    found = {item.id: item for item in run(RULE, rank_trace(gpu=gpu)).findings}

    assert ("COPY-2" in found) is is_fault
    if is_fault:
        assert found["COPY-2"].measured == 10.0
        assert "mostly DtoD" in found["COPY-2"].title
        assert found["COPY-2"].estimate is not None


def test_pinned_copies_are_no_fault() -> None:
    copy = ("Memcpy HtoD (Pinned -> Device)", 0.0, 90.0, {"bytes": 4_000_000})

    trace = rank_trace(gpu=[copy, ("k", 0.0, 90.0)])

    assert run(RULE, trace).findings == ()
