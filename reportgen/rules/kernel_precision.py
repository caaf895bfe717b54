"""KernelPrecision: in which number formats the kernels compute, from kernel traces."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.facts.groups import sums_by_code
from reportgen.facts.kernel_names import Precision, read_precision, short_name
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import GpuKind
from reportgen.results import (
    FIRST_PART,
    LARGEST_PART,
    Choice,
    Counters,
    DashboardPanel,
    Details,
    Place,
    RuleId,
    RuleResult,
    Section,
)
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.kernels.communication import communication_names, is_communication
from reportgen.rules.kernels.kernel_types import precision_times
from reportgen.rules.kernels.precision_words import (
    Context,
    Times,
    by_precision,
    exhibits_of,
    findings_of,
    join_times,
    on_matrix_units_ns,
)
from reportgen.rules.kernels.saying import (
    ratio_of,
    reason_without_gpu,
    result_of,
    share_limit,
    top_k,
)
from reportgen.rules.kernels.windows import windows_of

ID = RuleId("KernelPrecision")
ABOUT = About(
    checks="In which number formats kernels compute, and how much runs on tensor cores.",
    reading=(
        "Precision is read off the kernel's name; where it says nothing, off the inputs of the "
        "operator that launched it; else it is Unknown. Communication is left out."
    ),
    advice="Let matrix products run on tensor cores: TF32, BF16 or FP16.",
    section=Section(id="kernels", title="Kernels", order=60),
)
_MATRIX = re.compile(
    r"gemm|conv(?!ert)|[a-z]cudnn|dgrad|wgrad|fprop|winograd|matmul|^Cijk_", re.IGNORECASE
)
"""What products and convolutions are called. Libraries' names stand in the namespaces and types of
other kernels, too, such as cuDNN's batch normalization: only the kernel's own name tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """When FP32 matrix kernels are a fault."""

    top: int = top_k()
    threshold_fp32_pct: float = share_limit(
        20.0, "FP32 matrix kernels are a fault from this share of kernel time on"
    )
    communication_names: str | None = communication_names()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One rank; see ``Context``."""

    n_ops: int
    times_ns: Times
    fp32_matrix_ns: Mapping[str, int]
    window_ns: int
    capability: float | None


def measure(part: RankTrace, params: Params) -> Measurement:
    """Measure the precision of a rank's kernels."""
    windows = windows_of(part)
    n_devices = np.unique(part.gpu_ops.device).size
    return Measurement(
        n_ops=part.gpu_ops.start_ns.size,
        times_ns=precision_times(part, params.communication_names),
        fp32_matrix_ns=_fp32_matrix_ns(part, params.communication_names),
        window_ns=windows[0].length_ns * n_devices if windows else 0,
        capability=_capability(part),
    )


def _fp32_matrix_ns(trace: RankTrace, also: str | None) -> dict[str, int]:
    ops = trace.gpu_ops
    rows = ops.kind == GpuKind.KERNEL
    spent = sums_by_code(ops.name[rows], ops.duration_ns[rows], len(trace.names))
    found = {}
    for code in np.flatnonzero(spent):
        name = trace.names[code]
        reading = read_precision(name)
        is_plain = reading.precision is Precision.FP32 and not reading.tensor_core
        if is_plain and _MATRIX.search(short_name(name)) and not is_communication(name, also):
            found[name] = int(spent[code])
    return found


def _capability(trace: RankTrace) -> float | None:
    """Return the lowest compute capability among the devices that ran something.

    Edge cases: AMD's numbers mean something else; they are unknown.
    """
    if any(name.startswith(("hip", "roc")) for name in trace.versions):
        return None
    used = set(np.unique(trace.gpu_ops.device).tolist())
    known = [
        float(device.compute_capability)
        for device in trace.devices
        if device.id in used and device.compute_capability is not None
    ]
    return min(known, default=None)


def judge(measurements: Sequence[Measurement], params: Params) -> RuleResult:
    """Join the ranks."""
    matrix: dict[str, int] = {}
    for rank in measurements:
        for name, time_ns in rank.fp32_matrix_ns.items():
            matrix[name] = matrix.get(name, 0) + time_ns
    known = [rank.capability for rank in measurements if rank.capability is not None]
    context = Context(
        times_ns=join_times([rank.times_ns for rank in measurements]),
        fp32_matrix_ns=matrix,
        window_ns=sum(rank.window_ns for rank in measurements),
        capability=min(known, default=None),
    )
    return result_of(
        ID,
        params=params,
        reason=reason_without_gpu(
            n_ranks=len(measurements), n_ops=sum(rank.n_ops for rank in measurements)
        ),
        presentation=present(Counters(), {}, params, context),
        metrics=_metrics(context),
    )


def _metrics(context: Context) -> dict[str, float | int | None]:
    totals = by_precision(context.times_ns)
    every = sum(totals.values())
    if not totals:
        return {}
    shares = {
        f"{item.value.lower()}_ratio": ratio_of(time_ns, every) for item, time_ns in totals.items()
    }
    return {
        **shares,
        "tensor_core_ratio": ratio_of(on_matrix_units_ns(context.times_ns), every),
        "fp32_matrix_ratio": ratio_of(sum(context.fp32_matrix_ns.values()), every),
    }


def present(
    counters: Counters,  # noqa: ARG001 - a rule's shape
    details: Details,  # noqa: ARG001
    params: Params,
    context: Context | None,
) -> Presentation:
    """Say in what the kernels compute; ``context`` is all ranks joined."""
    if context is None:
        return Presentation()
    return Presentation(
        findings=findings_of(context, limit_pct=params.threshold_fp32_pct),
        exhibits=exhibits_of(context, top=params.top),
    )


def _shares(formats: str) -> Place:
    return Place(
        dashboard=DashboardPanel(order=120, headline=LARGEST_PART, row_of="pct"),
        choice=Choice(group="precision_shares", question="Formats", label=formats),
    )


RULE = Rule(
    id=ID,
    title="Kernel precision",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    folded=("precision",),
    places={
        "precision_shares": _shares("as they are"),
        "precision_shares_folded": _shares("as SageMaker Profiler shows them"),
        "matrix_units": Place(dashboard=DashboardPanel(order=130, headline=FIRST_PART)),
    },
)
