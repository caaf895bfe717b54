"""Copies and memsets of a rank by direction and by kinds of memory."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from reportgen.facts.groups import sums_by_code
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, GpuKind

MEMSET, OTHER = "Memset", "other"
DIRECTIONS = ("HtoD", "DtoH", "DtoD", "PtoP", "HtoH", MEMSET, OTHER)
PAGEABLE = "Pageable"

_DIRECTION = re.compile(r"([HDPA])to([HDPA])")
_WORDS = re.compile(r"(Host|Device|Peer)To(Host|Device|Peer)", re.IGNORECASE)
_KINDS = re.compile(r"\(([^()]*)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRow:
    """One direction between two kinds of memory on one rank; ``bytes`` 0 where not recorded."""

    rank: int
    direction: str
    kinds: str
    count: int
    time_ns: int
    bytes: int

    @property
    def gb_per_s(self) -> float | None:
        """Return the bandwidth in 10^9 bytes per second, ``None`` without time or bytes."""
        if self.time_ns <= 0 or self.bytes <= 0:
            return None
        return self.bytes / self.time_ns

    @property
    def is_pageable(self) -> bool:
        """Return whether it crosses to or from host memory that is not pinned."""
        return self.direction in {"HtoD", "DtoH"} and PAGEABLE in self.kinds


def copy_rows(trace: RankTrace) -> tuple[CopyRow, ...]:
    """Return the copies and memsets of a rank, by direction, then kinds."""
    ops = trace.gpu_ops
    totals: dict[tuple[str, str], tuple[int, int, int]] = {}
    rows = np.flatnonzero(ops.kind != GpuKind.KERNEL)
    is_set = (ops.kind[rows] == GpuKind.MEMSET).astype(np.int64)
    codes, place = np.unique(ops.name[rows] * 2 + is_set, return_inverse=True)
    counts = np.bincount(place, minlength=codes.size)
    times_ns = sums_by_code(place, ops.duration_ns[rows], codes.size)
    moved = sums_by_code(place, np.where(ops.bytes[rows] == NONE, 0, ops.bytes[rows]), codes.size)
    for at, code in enumerate(codes.tolist()):
        name = trace.names[code // 2]
        key = (MEMSET if code % 2 else direction_of(name), kinds_of(name))
        count, time_ns, size = totals.get(key, (0, 0, 0))
        totals[key] = (
            count + int(counts[at]),
            time_ns + int(times_ns[at]),
            size + int(moved[at]),
        )
    return tuple(
        CopyRow(
            rank=trace.rank,
            direction=direction,
            kinds=kinds,
            count=count,
            time_ns=time_ns,
            bytes=size,
        )
        for (direction, kinds), (count, time_ns, size) in sorted(
            totals.items(), key=lambda item: (DIRECTIONS.index(item[0][0]), item[0][1])
        )
    )


def direction_of(name: str) -> str:
    """Return the direction in a copy's name; arrays lie on the device.

    Example:
        >>> direction_of("Memcpy HtoD (Pageable -> Device)"), direction_of("CopyDeviceToHost")
        ('HtoD', 'DtoH')
    """
    match = _DIRECTION.search(name)
    letters = match.groups() if match else None
    if letters is None and (words := _WORDS.search(name)):
        letters = (words[1][0].upper(), words[2][0].upper())
    if letters is None:
        return OTHER
    source, target = (letter.replace("A", "D") for letter in letters)
    found = f"{source}to{target}"
    if found in DIRECTIONS:
        return found
    return "PtoP" if "P" in found else OTHER


def kinds_of(name: str) -> str:
    """Return the kinds of memory in a copy's name, as the profiler writes them, or ``""``."""
    match = _KINDS.search(name)
    return match[1].strip() if match else ""
