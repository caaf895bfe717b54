"""KernelPrecision in words: kernel time by number format, matrix units, what FP32 costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reportgen.facts.kernel_names import Precision, short_names
from reportgen.results import Exhibit, ExhibitKind, Finding, Severity, exhibit
from reportgen.rules.kernels.saying import pct_of, say_ns
from reportgen.rules.kernels.time_shares import time_shares
from reportgen.rules.saying.verdict import estimate_of
from reportgen.units import NS_PER_US, say_pct

TABLE, SHARES, UNITS, MATRIX = "precision", "precision_shares", "matrix_units", "fp32_matrix"
FOLDED_SHARES = "precision_shares_folded"
FOLDED: dict[str, tuple[Precision, ...]] = {
    "FP32": (Precision.FP32, Precision.TF32),
    "FP16": (Precision.FP16, Precision.BF16),
    "INT32": (Precision.INT64, Precision.INT32, Precision.INT16),
    "INT8": (Precision.INT8,),
    "other": (Precision.FP64, Precision.FP8, Precision.FP4),
    "Unknown": (Precision.UNKNOWN,),
}
"""The four formats that SageMaker Profiler knows, each with those nearest to it, and the rest."""
FASTER_TIMES = 8
"""Matrix units multiply at least eight times faster than ordinary cores in FP32 (V100: 125 to 15.7
TFLOPS in FP16, A100: 156 to 19.5 in TF32, datasheets)."""
LEAST_SAVED_RATIO = 0.01
"""Less than a hundredth of the window is not worth a finding. Source: ours."""
TF32_FROM = 8.0
MATRIX_UNITS_FROM = 7.0
"""Compute capabilities with TF32, and with any tensor cores. Source: CUDA programming guide."""

Times = Mapping[tuple[Precision, bool], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """All ranks.

    Attributes:
        times_ns: time of kernels by precision and use of matrix units, communication too.
        fp32_matrix_ns: time of each FP32 matrix kernel on ordinary cores, by name.
        window_ns: first to last GPU operation, over all devices.
        capability: the lowest compute capability of the devices, ``None`` where unknown.
    """

    times_ns: Times
    fp32_matrix_ns: Mapping[str, int]
    window_ns: int
    capability: float | None


def by_precision(times_ns: Times) -> dict[Precision, int]:
    """Return the time of each precision that occurs, most first, communication left out."""
    totals: dict[Precision, int] = {}
    for (precision, _), time_ns in times_ns.items():
        if precision is not Precision.COMM:
            totals[precision] = totals.get(precision, 0) + time_ns
    order = list(Precision)
    return dict(sorted(totals.items(), key=lambda item: (-item[1], order.index(item[0]))))


def on_matrix_units_ns(times_ns: Times) -> int:
    """Return the time of kernels on tensor cores or MFMA."""
    return sum(time_ns for (_, is_matrix), time_ns in times_ns.items() if is_matrix)


def exhibits_of(context: Context, *, top: int) -> tuple[Exhibit, ...]:
    """Return the shares of precisions and matrix units, and the tables behind them."""
    totals = by_precision(context.times_ns)
    if not totals:
        return ()
    every = sum(totals.values())
    matrix_ns = on_matrix_units_ns(context.times_ns)
    caption = f"Shares of the time of all kernels but communication ({say_ns(every)})."
    names, values = [item.value for item in totals], list(totals.values())
    shares = time_shares(
        SHARES,
        dict(zip(names, values, strict=True)),
        title="Kernel time by precision",
        caption=f"{caption} Unknown: neither the name nor the operator's inputs tell it.",
    )
    as_sagemaker = time_shares(
        FOLDED_SHARES,
        folded(totals),
        title="Kernel time by SageMaker Profiler's formats",
        caption=(
            f"{caption} FP32 holds TF32, FP16 holds BF16, INT32 holds INT16 and INT64; "
            "other: FP64, FP8 and FP4."
        ),
    )
    units = time_shares(
        UNITS,
        {"tensor cores": matrix_ns, "other units": every - matrix_ns},
        title="Kernel time on tensor cores",
        caption=f"{caption} Tensor cores, or AMD's matrix cores, as far as names tell.",
    )
    table = exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="Kernel time by precision, exact",
        caption=caption,
        columns=[
            ("precision", "", names),
            ("time_us", "us", [value / NS_PER_US for value in values]),
            ("pct", "%", [pct_of(value, every) for value in values]),
        ],
    )
    return (shares, as_sagemaker, units, *_matrix(context, top=top), table)


def folded(totals_ns: Mapping[Precision, int]) -> dict[str, int]:
    """Return the time of each of SageMaker Profiler's formats that occurs, most first."""
    found = {
        name: sum(totals_ns.get(item, 0) for item in joined) for name, joined in FOLDED.items()
    }
    occurring = [name for name in found if any(item in totals_ns for item in FOLDED[name])]
    return {name: found[name] for name in sorted(occurring, key=lambda name: -found[name])}


def findings_of(context: Context, *, limit_pct: float) -> tuple[Finding, ...]:
    """Return FP32 matrix kernels as a fault, and the precisions as a reading."""
    totals = by_precision(context.times_ns)
    if not totals:
        return ()
    fp32 = _fp32(context, sum(totals.values()), limit_pct)
    return ((fp32,) if fp32 else ()) + (_reading(context, totals),)


def _matrix(context: Context, *, top: int) -> tuple[Exhibit, ...]:
    ordered = sorted(context.fp32_matrix_ns.items(), key=lambda item: (-item[1], item[0]))[:top]
    if not ordered:
        return ()
    more = len(context.fp32_matrix_ns) - len(ordered)
    rest = f" {more} more are in the table of kernels." if more else ""
    return (
        exhibit(
            MATRIX,
            ExhibitKind.BARS,
            title="FP32 matrix kernels on ordinary cores",
            caption=f"Matrix products and convolutions that could use tensor cores.{rest}",
            columns=[
                ("name", "", short_names([name for name, _ in ordered])),
                ("time_us", "us", [time_ns / NS_PER_US for _, time_ns in ordered]),
            ],
        ),
    )


def _fp32(context: Context, kernel_ns: float, limit_pct: float) -> Finding | None:
    fp32_ns = sum(context.fp32_matrix_ns.values())
    share_pct = pct_of(fp32_ns, kernel_ns)
    has_units = context.capability is None or context.capability >= MATRIX_UNITS_FROM
    saved = fp32_ns / max(context.window_ns, fp32_ns, 1e-9) * (1 - 1 / FASTER_TIMES)
    if share_pct < limit_pct or saved < LEAST_SAVED_RATIO or not has_units:
        return None
    return Finding(
        id="PREC-1",
        severity=Severity.WARNING if _has_tf32(context.capability) else Severity.INFO,
        title=f"{say_pct(share_pct)} of kernel time is FP32 matrix products without tensor cores",
        text=(
            f"{say_ns(fp32_ns)} of {say_ns(kernel_ns)} of kernel time, "
            f"{say_pct(pct_of(fp32_ns, context.window_ns))} of the time from the first to the "
            f"last GPU operation ({say_ns(context.window_ns)} over all GPUs), went into FP32 "
            "matrix products and convolutions on ordinary cores. The bound takes tensor cores "
            f"as {FASTER_TIMES} times faster."
        ),
        advice=_advice(context.capability),
        measured=round(share_pct, 4),
        threshold=limit_pct,
        unit="%",
        estimate=estimate_of(saved) if context.capability is not None else None,
        exhibit=MATRIX,
    )


def _has_tf32(capability: float | None) -> bool:
    """TF32 is one switch; what needs another training recipe is a chance, not a fault."""
    return capability is not None and capability >= TF32_FROM


def _advice(capability: float | None) -> str:
    if capability is None:
        return (
            "If the GPU has tensor cores, train in mixed precision (BF16 or FP16), or allow TF32."
        )
    if not _has_tf32(capability):
        return "Train in mixed precision (torch.autocast in FP16 with a GradScaler)."
    return (
        "Allow TF32 (torch.set_float32_matmul_precision('high'), cudnn.allow_tf32), or train in "
        "BF16 with torch.autocast."
    )


def _reading(context: Context, totals: Mapping[Precision, int]) -> Finding:
    every = sum(totals.values())
    main = next(iter(totals))
    matrix_pct = pct_of(on_matrix_units_ns(context.times_ns), every)
    unknown_pct = pct_of(totals.get(Precision.UNKNOWN, 0), every)
    return Finding(
        id="PREC-2",
        severity=Severity.INFO,
        title=(
            f"{say_pct(pct_of(totals[main], every))} of kernel time is {main.value}, "
            f"{say_pct(matrix_pct)} runs on tensor cores"
        ),
        text=(
            f"Of {say_ns(every)} in kernels other than communication; the precision of "
            f"{say_pct(unknown_pct)} is unknown."
        ),
        advice="Lower precision is faster where the model bears it.",
        measured=round(matrix_pct, 4),
        unit="%",
        exhibit=SHARES,
    )


def join_times(ranks: Sequence[Times]) -> Times:
    """Return the times of several ranks added up."""
    totals: dict[tuple[Precision, bool], int] = {}
    for rank in ranks:
        for key, time_ns in rank.items():
            totals[key] = totals.get(key, 0) + time_ns
    return totals
