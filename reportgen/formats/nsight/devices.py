"""The GPUs of a process, as an export describes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reportgen.formats.diagnostics import printable
from reportgen.formats.nsight.processes import pid_of
from reportgen.formats.nsight.source import NsightReport
from reportgen.profile import Device

_LONGEST_NAME = 80
_BELOW = (2**53, 1000, 1000)
"""Bounds of multiprocessors, and of both parts of the compute capability."""


def devices_of(report: NsightReport, key: int | None) -> tuple[Device, ...]:
    """Return the GPUs that are described, by the numbers that the process has for them."""
    names = ("id", "name", "smCount", "computeMajor", "computeMinor")
    rows = {row[0]: row for row in report.all_rows("TARGET_INFO_GPU", names)}
    numbered = _numbers(report, key) or {gpu: gpu for gpu in rows if isinstance(gpu, int)}
    found = {number: rows[gpu] for gpu, number in numbered.items() if gpu in rows}
    return tuple(_device(number, found[number]) for number in sorted(found))


def _numbers(report: NsightReport, key: int | None) -> Mapping[int, int]:
    """Return the number that the process has for each GPU; those of programs begin at 0."""
    numbers = report.all_rows("TARGET_INFO_CUDA_DEVICE", ("gpuId", "cudaId", "pid"))
    return {
        gpu: number
        for gpu, number, pid in numbers
        if isinstance(gpu, int) and isinstance(number, int)
        if key is None or pid in {None, pid_of(key)}
    }


def _device(number: int, row: tuple[Any, ...]) -> Device:
    units, major, minor = (
        item if isinstance(item, int) and 0 <= item < most else None
        for item, most in zip(row[2:], _BELOW, strict=True)
    )
    return Device(
        id=number,
        name=printable(str(row[1] or f"GPU {number}"))[:_LONGEST_NAME],
        compute_capability=None if major is None or minor is None else f"{major}.{minor}",
        multiprocessors=units,
    )
