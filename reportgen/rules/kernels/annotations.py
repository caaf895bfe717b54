"""Ranges that people marked in their code: how long each lasted and what it cost on the GPU."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.intervals import union_of
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, SliceKind, Times
from reportgen.rules.kernels.windows import launch_start_ns

_INTERNAL = re.compile(
    r"^(ProfilerStep *#|nccl:|c10d::|gloo:|Optimizer\.|enumerate\(DataLoader\)#"
    r"|## Call CompiledFxGraph|PyTorch Profiler)"
)
"""Ranges that frameworks mark themselves. Source: kernel-trace definitions D10."""
_TRAILING_NUMBER = re.compile(r"\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationValues:
    """All instances of one annotation on one rank; numbers at the end of names are left out.

    Attributes:
        duration_ns: (n,) int64 on the host.
        gpu_ns: time in which GPU operations launched inside ran, added up over instances.
    """

    name: str
    duration_ns: Times
    gpu_ns: int


def annotation_values(trace: RankTrace) -> tuple[AnnotationValues, ...]:
    """Return the annotations of a rank by name, internal ones left out."""
    slices = trace.slices
    is_own = np.array([_INTERNAL.match(name) is None for name in trace.names], dtype=bool)
    rows = np.flatnonzero(slices.kind == SliceKind.ANNOTATION)
    rows = rows[is_own[slices.name[rows]]] if rows.size else rows
    groups: dict[str, list[int]] = {}
    for code in np.unique(slices.name[rows]).tolist():
        groups.setdefault(group_of(trace.names[code]), []).append(code)
    launches = _Launches.of(trace)
    return tuple(
        AnnotationValues(
            name=name,
            duration_ns=np.sort(slices.duration_ns[own]),
            gpu_ns=_gpu_ns(trace, launches, own),
        )
        for name, codes in sorted(groups.items())
        for own in (rows[np.isin(slices.name[rows], codes)],)
    )


def group_of(name: str) -> str:
    """Return a name without the number at its end.

    Example:
        >>> group_of("step_123"), group_of("## forward ##"), group_of("epoch 3")
        ('step_*', '## forward ##', 'epoch *')
    """
    return _TRAILING_NUMBER.sub("*", name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Launches:
    """GPU operations by the moment of their launch: (n,) rows, moments and threads."""

    row: NDArray[np.int64]
    time_ns: Times
    thread: NDArray[np.int32]

    @classmethod
    def of(cls, trace: RankTrace) -> _Launches:
        launched = launch_start_ns(trace)
        rows = np.flatnonzero(launched != NONE)
        rows = rows[np.argsort(launched[rows], kind="stable")]
        return cls(
            row=rows,
            time_ns=launched[rows],
            thread=trace.calls.thread[trace.gpu_ops.launch[rows]],
        )

    def on(self, threads: set[int]) -> _Launches:
        """Return the launches of some threads."""
        here = np.isin(self.thread, list(threads))
        return _Launches(row=self.row[here], time_ns=self.time_ns[here], thread=self.thread[here])


def _gpu_ns(trace: RankTrace, launches: _Launches, rows: NDArray[np.int64]) -> int:
    """Add up the GPU time of instances: what their thread launched, or one that it woke."""
    ops, slices, total = trace.gpu_ops, trace.slices, 0
    for thread in np.unique(slices.thread[rows]).tolist():
        woken = trace.flows.to_thread[trace.flows.from_thread == thread]
        own = launches.on({thread, *woken.tolist()} - {NONE})
        here = rows[slices.thread[rows] == thread]
        first = np.searchsorted(own.time_ns, slices.start_ns[here], side="left")
        after = np.searchsorted(own.time_ns, slices.end_ns[here], side="right")
        busy = np.flatnonzero(after > first)
        for low, high in zip(first[busy].tolist(), after[busy].tolist(), strict=True):
            at = own.row[low:high]
            total += union_of(ops.start_ns[at], ops.end_ns[at]).length_ns
    return total
