"""The GPUs of a process, and what was sampled on them (``--gpu-metrics-devices``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reportgen.formats.columns import ABSENT
from reportgen.formats.diagnostics import printable
from reportgen.formats.kernel_trace.numbers import floats
from reportgen.formats.nsight.processes import pid_of
from reportgen.formats.nsight.reading import ProcessReading
from reportgen.formats.nsight.source import Report
from reportgen.profile import Device

_LONGEST_NAME = 80
_BELOW = (2**53, 2**53, 1000, 1000)
"""Bounds of bytes of memory, multiprocessors, and both parts of the compute capability."""
_GPU_MASK = 0xFF
"""The part of ``GPU_METRICS.typeId`` that numbers the GPU. Source: nsys, User Guide."""


def devices_of(report: Report, key: int | None) -> tuple[Device, ...]:
    """Return the GPUs that are described, by the numbers that the process has for them."""
    names = ("id", "name", "totalMemory", "smCount", "computeMajor", "computeMinor")
    rows = {row[0]: row for row in report.all_rows("TARGET_INFO_GPU", names)}
    numbered = _numbers(report, key) or {gpu: gpu for gpu in rows if isinstance(gpu, int)}
    found = {number: rows[gpu] for gpu, number in numbered.items() if gpu in rows}
    return tuple(_device(number, found[number]) for number in sorted(found))


def _numbers(report: Report, key: int | None) -> Mapping[int, int]:
    """Return the number that the process has for each GPU; those of programs begin at 0."""
    told = report.all_rows("TARGET_INFO_CUDA_DEVICE", ("gpuId", "cudaId", "pid"))
    return {
        gpu: number
        for gpu, number, pid in told
        if isinstance(gpu, int) and isinstance(number, int)
        if key is None or pid in {None, pid_of(key)}
    }


def _device(number: int, row: tuple[Any, ...]) -> Device:
    memory, units, major, minor = (
        item if isinstance(item, int) and 0 <= item < most else None
        for item, most in zip(row[2:], _BELOW, strict=True)
    )
    return Device(
        id=number,
        name=printable(str(row[1] or f"GPU {number}"))[:_LONGEST_NAME],
        memory_bytes=memory,
        compute_capability=None if major is None or minor is None else f"{major}.{minor}",
        multiprocessors=units,
    )


def read_gpu_metrics(reading: ProcessReading) -> None:
    """Take what was sampled on the GPUs of the process; those of others are theirs."""
    names = ("typeId", "metricId", "metricName")
    told = reading.report.all_rows("TARGET_INFO_GPU_METRICS", names)
    metrics = {(source, metric): str(name) for source, metric, name in told}
    used = set(np.unique(reading.columns.tables["gpu_ops"].tail("device", 0)).tolist())
    numbers = _numbers(reading.report, reading.key) or {gpu: gpu for gpu in used}
    own = {gpu: number for gpu, number in numbers.items() if number in used}
    tracks = reading.columns.vocabularies.tracks
    for batch in reading.report.columns(
        "GPU_METRICS", ("timestamp", "typeId", "metricId", "value")
    ):
        pairs, index = reading.matrix(batch, ("typeId", "metricId"))
        codes = [
            tracks[f"GPU {own[gpu]} {metrics.get((source, metric), f'metric {metric}')}", "", ""]
            if (gpu := source & _GPU_MASK) in own
            else ABSENT
            for source, metric in pairs
        ]
        track = np.array(codes, dtype=np.int32)[index]
        value = floats(batch["value"])
        rows = (track != ABSENT) & np.isfinite(value)
        time_ns = reading.times_ns(batch["timestamp"])[rows]
        reading.columns.tables["counters"].add(
            start_us=reading.after_base_us(time_ns), track=track[rows], value=value[rows]
        )
