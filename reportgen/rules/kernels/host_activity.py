"""What a host thread was doing while the GPU waited for it: each moment has one cause."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.intervals import Union, covered_each, join, union_of
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import SliceKind, Times

Mask = NDArray[np.bool_]


class HostCause(StrEnum):
    """Why the host was late, in the order in which the causes are tried."""

    DATALOADER = "dataloader"
    SYNC = "sync"
    COPY = "copy"
    OPTIMIZER = "optimizer"
    AUTOGRAD = "autograd"
    ALLOC = "alloc"
    PYTHON = "python"
    OTHER = "other"


LOADER_ANNOTATION = re.compile(r"^enumerate\(DataLoader\)#.*__next__")
_LOADER_FRAME = re.compile(r"torch/utils/data/dataloader\.py\(\d+\): __next__")
SYNC_CALL = re.compile(r"^(cuda|hip)(Stream|Device|Event)Synchronize|^cu(Stream|Event|Ctx)Synchron")
COPY_CALL = re.compile(r"^(cuda|hip|cu)Memcpy")
ALLOC_CALL = re.compile(
    r"^(cuda|hip)(Malloc|Free|HostAlloc|HostMalloc|HostFree|HostRegister|ExtMalloc)"
    r"|^cuMem(Alloc|Free|Create|Map|Unmap|Release|Address|HostAlloc|SetAccess)"
)
_OPTIMIZER = re.compile(r"^Optimizer\.")
_AUTOGRAD = re.compile(r"^autograd::engine::|Backward\d*$|AccumulateGrad$")
"""Source: names that PyTorch and the runtimes write, kernel-trace definitions D3, D16 and §4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadCauses:
    """When one thread was busy with the first cause, with one of the first two, and so on."""

    up_to: tuple[Union, ...]


def names_like(names: tuple[str, ...], pattern: re.Pattern[str], codes: NDArray[np.int32]) -> Mask:
    """Return an (n,) mask of the rows whose name a pattern finds."""
    is_like = np.array([pattern.search(name) is not None for name in names], dtype=bool)
    return is_like[codes] if is_like.size else np.zeros(codes.shape, dtype=bool)


def loader_rows(trace: RankTrace) -> Mask:
    """Return an (n_slices,) mask of waits for a batch: annotations, else frames of the loader."""
    slices = trace.slices
    rows = names_like(trace.names, LOADER_ANNOTATION, slices.name)
    return rows if rows.any() else names_like(trace.names, _LOADER_FRAME, slices.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseRows:
    """Which rows of a trace speak of each cause: masks of calls, and of slices."""

    loader: Mask
    sync: Mask
    copy: Mask
    optimizer: Mask
    autograd: Mask
    alloc: Mask
    python: Mask


def cause_rows(trace: RankTrace) -> CauseRows:
    """Return which calls and slices of a trace speak of each cause."""
    slices, calls = trace.slices, trace.calls
    return CauseRows(
        loader=loader_rows(trace),
        sync=names_like(trace.names, SYNC_CALL, calls.name),
        copy=names_like(trace.names, COPY_CALL, calls.name),
        optimizer=names_like(trace.names, _OPTIMIZER, slices.name),
        autograd=names_like(trace.names, _AUTOGRAD, slices.name),
        alloc=names_like(trace.names, ALLOC_CALL, calls.name),
        python=slices.kind == SliceKind.PYTHON,
    )


def causes_of(trace: RankTrace, rows: CauseRows, thread: int) -> ThreadCauses:
    """Return what a thread was busy with; a wait for a batch counts on whichever thread."""
    slices, calls = trace.slices, trace.calls
    own_slices, own_calls = slices.thread == thread, calls.thread == thread

    def of_slices(mask: Mask) -> Union:
        return union_of(slices.start_ns[mask], slices.end_ns[mask])

    def of_calls(mask: Mask) -> Union:
        return union_of(calls.start_ns[own_calls & mask], calls.end_ns[own_calls & mask])

    unions = (
        of_slices(rows.loader),
        of_calls(rows.sync),
        of_calls(rows.copy),
        of_slices(own_slices & rows.optimizer),
        of_slices(own_slices & rows.autograd),
        of_calls(rows.alloc),
        of_slices(own_slices & rows.python),
    )
    return ThreadCauses(up_to=tuple(join(unions[: n + 1]) for n in range(len(unions))))


def split_by_cause(causes: ThreadCauses, low_ns: Times, high_ns: Times) -> dict[HostCause, Times]:
    """Return (n,) ns that each cause takes of the ranges [low, high]; the rest is ``OTHER``."""
    reached = [covered_each(union, low_ns, high_ns) for union in causes.up_to]
    ends = [np.zeros_like(low_ns), *reached, high_ns - low_ns]
    parts = np.diff(ends, axis=0)
    return dict(zip(HostCause, parts, strict=True))
