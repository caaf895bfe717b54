"""The peaks of the job's GPUs: of the table, or as the user gave them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reportgen.hardware import GpuPeak, peak_of
from reportgen.rules.efficiency.measure import Gpu
from reportgen.rules.efficiency.params import given_peaks


def peaks_of(gpu: Gpu, given: str | None) -> GpuPeak | None:
    """Return the peaks of a GPU; what the user gave wins over the table."""
    name, n_multiprocessors = gpu
    found = peak_of(name, n_multiprocessors=n_multiprocessors)
    if given is None:
        return found
    values = given_peaks(given)
    memory = values.pop("memory", None)
    base = found or GpuPeak(
        name=name or "GPU",
        flops_per_s={},
        memory_bytes_per_s=None,
        n_multiprocessors=n_multiprocessors,
        boost_hz=None,
        source="",
        has_one_source=False,
        remark="",
    )
    return replace(
        base,
        flops_per_s={**base.flops_per_s, **{kind: value * 1e12 for kind, value in values.items()}},
        memory_bytes_per_s=base.memory_bytes_per_s if memory is None else memory * 1e9,
        source="--gpu-peak",
        has_one_source=False,
    )


def peak_flops(peak: GpuPeak | None, precision: str) -> float | None:
    """Return the dense peak of a number format in operations per second."""
    return None if peak is None else peak.flops_per_s.get(precision.lower())


def sources(peaks: Mapping[str, GpuPeak | None]) -> str:
    """Return a sentence on the peaks that shares are given of, and on GPUs that have none."""
    parts = []
    for name, peak in sorted(peaks.items()):
        if peak is None:
            parts.append(
                f"{name or 'The GPU'} is not in the table of peaks, so shares of its peak are not "
                "given; --gpu-peak bf16=989,memory=3350 gives them (dense, TFLOP/s and GB/s)."
            )
            continue
        values = ", ".join(
            f"{kind.upper()} {value / 1e12:,.4g}" for kind, value in peak.flops_per_s.items()
        )
        memory = (
            f", memory {peak.memory_bytes_per_s / 1e9:,.0f} GB/s" if peak.memory_bytes_per_s else ""
        )
        single = " (one source only)" if peak.has_one_source else ""
        parts.append(
            f"Dense peaks of {peak.name}: {values} TFLOP/s{memory}; {peak.source}{single}."
        )
        if peak.remark:
            parts.append(f"{peak.remark[0].upper()}{peak.remark[1:]}.")
    return " ".join(parts)
