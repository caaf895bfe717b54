"""What GPUs can do at most, by the names that traces and drivers give them.

The values are in ``gpus.csv``, each row with its source. All are dense: no sparsity, and FP16 with
FP32 accumulation. A GPU that is not in the table has no peak here; nothing is guessed.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files

_MAKERS = re.compile(r"^(?:NVIDIA|AMD|Instinct|Tesla|Radeon|\s)++", re.IGNORECASE)
_SLICE = re.compile(r" MIG (\d++)g\.\d++gb$", re.IGNORECASE)
_WHOLE_SLICE = "7"
"""Sevenths of a GPU: a smaller slice that says it has all multiprocessors is of unknown size."""
_FORMATS = ("fp16", "bf16", "tf32", "fp32", "fp8", "int8")


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPeak:
    """What one GPU can do at most.

    Attributes:
        name: as the trace or driver writes it, without the maker.
        flops_per_s: operations per second by number format (``bf16``, ``tf32`` …), dense; formats
            that the GPU does not compute in, or whose peak is unknown, are absent.
        memory_bytes_per_s: bandwidth of its memory; ``None`` where it is not known.
        n_multiprocessors: of the whole GPU; ``None`` where it is not known.
        boost_hz: clock that the peaks stand for; ``None`` where it is not known.
        source: where the values come from.
        has_one_source: whether no second source confirms them.
        remark: what readers of shares of this peak should know; may be empty.
    """

    name: str
    flops_per_s: Mapping[str, float] = field(default_factory=dict)
    memory_bytes_per_s: float | None = None
    n_multiprocessors: int | None = None
    boost_hz: float | None = None
    source: str = ""
    has_one_source: bool = False
    remark: str = ""


def peak_of(name: str, *, n_multiprocessors: int | None = None) -> GpuPeak | None:
    """Return the peaks of a GPU by the name that a trace or driver gives it.

    Args:
        name: ``NVIDIA H100 80GB HBM3``. The maker is left out, the rest has to be equal: "L40S" is
            not an "L4".
        n_multiprocessors: those that the recording says; a MIG slice has the part of the peaks that
            it has of the multiprocessors, and no bandwidth.

    Returns:
        ``None`` for a GPU that is not in the table, for a slice of unknown size, and for a GPU that
        has fewer multiprocessors than its row without being named a slice.
    """
    found = _by_name().get(_short(_SLICE.sub("", name)))
    if found is None:
        return None
    found = replace(found, name=_MAKERS.sub("", name))
    part, n_of_whole = _SLICE.search(name), found.n_multiprocessors
    if part is None:
        is_part = bool(n_multiprocessors and n_of_whole and n_multiprocessors < n_of_whole)
        return None if is_part else found
    if not n_multiprocessors or not n_of_whole:
        return None
    if n_multiprocessors >= n_of_whole + (part[1] == _WHOLE_SLICE):
        return None
    ratio = n_multiprocessors / n_of_whole
    return replace(
        found,
        flops_per_s={kind: value * ratio for kind, value in found.flops_per_s.items()},
        memory_bytes_per_s=None,
        n_multiprocessors=n_multiprocessors,
    )


def _short(name: str) -> str:
    return " ".join(_MAKERS.sub("", name).split()).casefold()


@cache
def _by_name() -> Mapping[str, GpuPeak]:
    text = files("reportgen.gpu_peaks").joinpath("gpus.csv").read_text(encoding="utf-8")
    found: dict[str, GpuPeak] = {}
    for row in csv.DictReader(text.splitlines()):
        peak = _peak(row)
        found |= {_short(name): peak for name in row["name"].split("|")}
    return found


def _peak(row: Mapping[str, str]) -> GpuPeak:
    units = {kind: "tops" if kind == "int8" else "tflops" for kind in _FORMATS}
    values = {kind: _scaled(row[f"{kind}_{unit}"], 1e12) for kind, unit in units.items()}
    n_multiprocessors = row["n_multiprocessors"]
    return GpuPeak(
        name=row["name"].partition("|")[0],
        flops_per_s={kind: value for kind, value in values.items() if value is not None},
        memory_bytes_per_s=_scaled(row["memory_gb_per_s"], 1e9),
        n_multiprocessors=int(n_multiprocessors) if n_multiprocessors else None,
        boost_hz=_scaled(row["boost_mhz"], 1e6),
        source=row["source"],
        has_one_source=row["n_sources"] == "1",
        remark=row["remark"],
    )


def _scaled(text: str, factor: float) -> float | None:
    return float(text) * factor if text else None
