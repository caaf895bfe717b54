"""KernelPrecision: in which number formats the kernels compute, from kernel traces."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen import results
from reportgen.facts.device_busy import gpu_time_ns
from reportgen.facts.kernel_names import KernelFormat, Precision, short_name
from reportgen.facts.lost_kernels import graph_loss
from reportgen.facts.operators import kernel_readings, precisions_by_inputs
from reportgen.merging import least, rows_by_code
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import GpuKind
from reportgen.results import Finding, Role, Severity
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.text import write
from reportgen.units import pct_of, ratio_of

FASTER_TIMES = 8
"""Matrix units multiply at least eight times faster than ordinary cores in FP32 (V100: 125 to 15.7
TFLOPS in FP16, A100: 156 to 19.5 in TF32, datasheets)."""
LEAST_SAVED_RATIO = 0.01
"""Less than a hundredth of the window is not worth a finding."""
TF32_FROM = 8.0
MATRIX_UNITS_FROM = 7.0
"""Compute capabilities with TF32, and with any tensor cores (CUDA programming guide)."""
_MATRIX = re.compile(
    r"gemm|conv(?!ert)|[a-z]cudnn|dgrad|wgrad|fprop|winograd|matmul|^Cijk_", re.IGNORECASE
)
"""Names of products and convolutions. Libraries' names also appear in the namespaces and types of
other kernels, such as cuDNN's batch normalization: only the kernel's own name counts."""
_ORDINARY = KernelFormat(Precision.FP32, tensor_core=False)

ABOUT = About(
    checks="""In which number formats kernels compute, and how much runs on tensor cores (AMD:
        matrix cores).""",
    reading="""The precision is what the name of the kernel says. If it says none, the precision is
        that of the operator's first input, where types were recorded; this is a part of its own.
        What neither says is Unknown. Communication is not included.""",
    advice="Let matrix products run on these cores: TF32 (NVIDIA), BF16 or FP16.",
    section=results.Section(id="kernels", title="Kernels", order=60),
)
ORDINARY_CORES = kit.Message(
    id="PREC-1",
    cause=results.Cause.FULL_PRECISION,
    title="{measured:pct} of kernel time is FP32 matrix products without {units}",
    text="""FP32 matrix products and convolutions on ordinary cores take {fp32:ns} of {kernels:ns}
        of kernel time, which is {of_window:pct} of the time from the first to the last GPU
        operation ({window:ns} over all GPUs). The possible gain assumes that {units} are
        {faster} times faster.""",
    advice="""Allow TF32 (torch.set_float32_matmul_precision('high'), cudnn.allow_tf32), or train in
        BF16 with torch.autocast.""",
    exhibit="precision_shares",
)
ADVICE_WITHOUT_TF32 = "Train in mixed precision (torch.autocast in FP16 with a GradScaler)."
ADVICE_FOR_ANY_GPU = """If the GPU has tensor cores, train in mixed precision (BF16 or FP16), or
    allow TF32."""
ADVICE_FOR_AMD = """If the GPU has matrix cores, train in mixed precision (torch.autocast in BF16 or
    FP16)."""
CAPTION = """Shares of the time of all kernels but communication ({every:ns}). “Unknown” is
    the time of kernels whose precision follows neither from their names nor from the inputs of
    their operators.
    {on_units:pct} runs on {units}."""
BY_INPUTS = " by input"
"""Ends the names of parts whose kernels have no format in their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """When FP32 matrix kernels are a fault."""

    threshold_fp32_pct: float = kit.share_limit(
        20.0, "FP32 matrix kernels are a fault if they take at least this share of kernel time"
    )
    communication_names: str | None = kit.communication_names()


@dataclass(frozen=True, slots=True, kw_only=True)
class RankPrecision:
    """The kernels of a rank, or of all.

    Attributes:
        times_ns: time of kernels by precision and use of matrix units, communication too.
        by_inputs_ns: of the kernels whose names say no precision, by their operators' inputs.
        fp32_matrix_ns: time of FP32 matrix kernels on ordinary cores.
        window_ns: first to last GPU operation, over all devices.
        capability: the lowest compute capability of the devices, ``None`` where unknown.
        is_amd: whether all GPUs are AMD's, whose units have another name.
        lost: its name, if kernels of its graphs are missing in the recording.
    """

    times_ns: Mapping[tuple[Precision, bool], int] = kit.merged(
        kit.sum_by_key, default_factory=dict
    )
    by_inputs_ns: Mapping[Precision, int] = kit.merged(kit.sum_by_key, default_factory=dict)
    fp32_matrix_ns: int = kit.merged(sum, default=0)
    window_ns: int = kit.merged(sum, default=0)
    capability: float | None = kit.merged(least, default=None)
    is_amd: bool = kit.merged(all, default=True)
    lost: tuple[str, ...] = kit.merged(kit.concat, default=())

    @property
    def units(self) -> str:
        """Return the name that the maker of the GPUs gives to the units that multiply matrices."""
        return "matrix cores" if self.is_amd else "tensor cores"


def measure(trace: RankTrace, params: Params) -> RankPrecision:
    """Measure the precision of a rank's kernels."""
    if graph_loss(trace):
        return RankPrecision(lost=(trace.node,))
    ops, readings = trace.gpu_ops, kernel_readings(trace, params.communication_names)
    kernels = ops.kind == GpuKind.KERNEL
    spent_ns, by_name = ops.duration_ns[kernels], rows_by_code(ops.name[kernels])
    times_ns = {trace.names[code]: int(spent_ns[rows].sum()) for code, rows in by_name}
    used = np.unique(ops.device).tolist()
    versions = [item.compute_capability for item in trace.devices if item.id in used]
    is_amd = any(name.startswith(("hip", "roc")) for name in trace.versions)
    return RankPrecision(
        times_ns=kit.sum_by_key(
            {(reading.precision, reading.tensor_core): times_ns[name]}
            for name, reading in readings.items()
        ),
        by_inputs_ns=precisions_by_inputs(trace, params.communication_names),
        fp32_matrix_ns=sum(
            times_ns[name]
            for name, reading in readings.items()
            if reading == _ORDINARY and _MATRIX.search(short_name(name))
        ),
        window_ns=gpu_time_ns(trace),
        # AMD's numbers mean something else.
        capability=None if is_amd else min(map(float, filter(None, versions)), default=None),
        is_amd=is_amd,
    )


def judge(ranks: Sequence[RankPrecision], params: Params) -> Outcome:
    """Report the number formats, and FP32 matrix kernels as a fault."""
    job = kit.merge(ranks)
    totals = _by_precision(job)
    if not totals:
        without_gpu = kit.reason_without_gpu(job.window_ns)
        return Outcome(missing=kit.reason_lost(job.lost) if job.lost else without_gpu)
    every_ns = sum(totals.values())
    matrix_ns = sum(ns for (_, is_matrix), ns in job.times_ns.items() if is_matrix)
    return Outcome(
        findings=[_fault(job, every_ns, params)],
        exhibits=[
            kit.ranking(
                "precision_shares",
                list(totals.items()),
                title="Kernel time by precision",
                caption=write(
                    CAPTION, every=every_ns, on_units=pct_of(matrix_ns, every_ns), units=job.units
                ),
                role=Role.GPU,
            )
        ],
        metrics={
            **{
                f"{name.lower().replace(' ', '_')}_ratio": ratio_of(ns, every_ns)
                for name, ns in totals.items()
            },
            "tensor_core_ratio": ratio_of(matrix_ns, every_ns),
            "fp32_matrix_ratio": ratio_of(job.fp32_matrix_ns, every_ns),
        },
    )


def _by_precision(job: RankPrecision) -> dict[str, int]:
    """Return the time of each part that occurs, most first, communication left out."""
    named = kit.sum_by_key({precision: ns} for (precision, _), ns in job.times_ns.items())
    named.pop(Precision.COMM, None)
    named[Precision.UNKNOWN] = named.get(Precision.UNKNOWN, 0) - sum(job.by_inputs_ns.values())
    found = [(item.value, named.get(item, 0)) for item in Precision]
    found += [(f"{item}{BY_INPUTS}", job.by_inputs_ns.get(item, 0)) for item in Precision]
    return dict(sorted(((name, ns) for name, ns in found if ns), key=lambda item: -item[1]))


def _fault(job: RankPrecision, every_ns: int, params: Params) -> Finding | None:
    capability, fp32_ns = job.capability, job.fp32_matrix_ns
    share_pct = pct_of(fp32_ns, every_ns)
    has_units = capability is None or capability >= MATRIX_UNITS_FROM
    saved = fp32_ns / max(job.window_ns, fp32_ns, 1e-9) * (1 - 1 / FASTER_TIMES)
    if share_pct < params.threshold_fp32_pct or saved < LEAST_SAVED_RATIO or not has_units:
        return None
    # TF32 is one switch; what needs another training recipe is a chance, not a fault.
    has_tf32 = capability is not None and capability >= TF32_FROM
    any_gpu = ADVICE_FOR_AMD if job.is_amd else ADVICE_FOR_ANY_GPU
    other_advice = any_gpu if capability is None else ADVICE_WITHOUT_TF32
    return ORDINARY_CORES.finding(
        measured=share_pct,
        threshold=params.threshold_fp32_pct,
        severity=Severity.WARNING if has_tf32 else Severity.INFO,
        share=None if capability is None else saved,
        advice=None if has_tf32 else other_advice,
        fp32=fp32_ns,
        kernels=every_ns,
        of_window=pct_of(fp32_ns, job.window_ns),
        window=job.window_ns,
        faster=FASTER_TIMES,
        units=job.units,
    )


RULE = Rule(
    id=results.RuleId("KernelPrecision"),
    title="Kernel precision",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    places={"precision_shares": kit.largest(66)},
)
