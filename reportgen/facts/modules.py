"""The tree of a program's modules, of the ranges that PyTorch writes for each call of one.

With ``with_modules`` or ``with_stack`` the profiler writes ``nn.Module: Linear_3``. Calls are added
up by the classes of the modules around them, so that the layers of a model are one row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Mask
from reportgen.facts.device_busy import rows_named
from reportgen.facts.intervals import nest
from reportgen.facts.operators import slices_around
from reportgen.merging import merged, sum_by_key
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, SliceKind

_MODULE = re.compile(r"nn\.Module: (.+?)(?:_\d+)?")

Path = tuple[str, ...]
"""Classes from the outermost module to the one that is meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleTimes:
    """The modules of a rank, or of all, by path.

    Attributes:
        host_ns: durations of the calls, with the modules inside.
        gpu_ns: durations of the GPU operations that were launched in the module itself.
    """

    count: Mapping[Path, int] = merged(sum_by_key)
    host_ns: Mapping[Path, int] = merged(sum_by_key)
    gpu_ns: Mapping[Path, int] = merged(sum_by_key)


def module_calls(trace: RankTrace) -> Mask:
    """Return an (n_slices,) mask of the calls of modules."""
    slices = trace.slices
    is_module = rows_named(trace, slices.name, _MODULE.fullmatch)
    is_module &= slices.kind == SliceKind.PYTHON
    return is_module


def module_times(trace: RankTrace) -> ModuleTimes:
    """Return the times of a rank's modules; empty where the trace has none.

    Another thread, outside of all modules, launches the work of the backward pass.
    """
    slices, ops = trace.slices, trace.gpu_ops
    is_module = module_calls(trace)
    count, host_ns, gpu_ns = Counter[Path](), Counter[Path](), Counter[Path]()
    path_of: dict[int, Path] = {}
    for thread in np.unique(slices.thread[is_module]).tolist():
        rows = np.flatnonzero(is_module & (slices.thread == thread))
        parents = nest(slices.start_ns[rows], slices.end_ns[rows]).parent.tolist()
        codes, spent_ns = slices.name[rows].tolist(), slices.duration_ns[rows].tolist()
        paths: list[Path] = []
        for parent, code, duration_ns in zip(parents, codes, spent_ns, strict=True):
            match = _MODULE.fullmatch(trace.names[code])
            assert match is not None
            path = (*(paths[parent] if parent != NONE else ()), match[1])
            paths.append(path)
            count[path] += 1
            host_ns[path] += duration_ns
        path_of |= zip(rows.tolist(), paths, strict=True)
    if path_of:
        launched = np.flatnonzero(ops.launch != NONE)
        around = slices_around(trace, ops.launch[launched], is_module).tolist()
        for row, duration_ns in zip(around, ops.duration_ns[launched].tolist(), strict=True):
            if row != NONE:
                gpu_ns[path_of[row]] += duration_ns
    return ModuleTimes(count=dict(count), host_ns=dict(host_ns), gpu_ns=dict(gpu_ns))


def with_inner(times_ns: Mapping[Path, int]) -> dict[Path, int]:
    """Return for each path its time and that of all modules inside.

    Example:
        >>> with_inner({("Net",): 1, ("Net", "Block", "Linear"): 5})
        {('Net',): 6, ('Net', 'Block', 'Linear'): 5, ('Net', 'Block'): 5}
    """
    found = Counter[Path]()
    for path, time_ns in times_ns.items():
        for length in range(1, len(path) + 1):
            found[path[:length]] += time_ns
    return dict(found)


def in_order_of_tree(host_ns: Mapping[Path, int]) -> list[Path]:
    """Return the paths so that each follows the module around it, those that took longest first."""

    def key(path: Path) -> list[tuple[int, str]]:
        ends = range(1, len(path) + 1)
        return [(-host_ns.get(path[:end], 0), path[end - 1]) for end in ends]

    return sorted(host_ns, key=key)
