"""MFU and HFU: how much of the recorded steps the operations would take at the peak."""

from __future__ import annotations

from reportgen.facts.operator_flops import COUNTED
from reportgen.rules import kit
from reportgen.rules.efficiency.measure import Gpu, RankWork
from reportgen.rules.efficiency.params import Params
from reportgen.rules.efficiency.peaks import peak_flops, peaks_of
from reportgen.units import NS_PER_S, NS_PER_US, pct_of

LEAST_KNOWN_PCT = 90.0
"""Where operations of less of the time of products, convolutions and attention are known, MFU would
be far too low and is not given; shares of a class say how much of its time is known. Chosen: a
tenth is the spread of MFU between definitions."""


@kit.row
class Utilization:
    """The recorded steps on one kind of GPU, all ranks together."""

    gpu: str = kit.col()
    counted_by: str = kit.col()
    step_ns: int = kit.col("us", name="steps_us", per=NS_PER_US)
    tflop: float = kit.col()
    mfu_pct: float | None = kit.col("%")
    hfu_pct: float | None = kit.col("%")


def utilization_of(job: RankWork, n_ranks: int, params: Params) -> list[Utilization]:
    """Return a row for each kind of GPU that has steps with known operations.

    What the sizes of inputs say comes first, then what the number of parameters says.
    """
    is_counted = known_of_products_pct(job) >= LEAST_KNOWN_PCT
    kinds = [gpu for gpu, step_ns in sorted(job.step_ns.items(), key=str) if step_ns]
    counted = [_row(gpu, job, params) for gpu in kinds] if is_counted else []
    rows = [row for row in counted if row.tflop or row.hfu_pct]
    if params.flops_per_step is not None:
        of_rank = params.flops_per_step / (job.world_size or n_ranks)
        rows += [_row_of_model(gpu, job, of_rank, params) for gpu in kinds]
    return rows


def _row_of_model(gpu: Gpu, job: RankWork, flops_of_rank: float, params: Params) -> Utilization:
    peak = peaks_of(gpu, params.gpu_peak)
    most = peak_flops(peak, "bf16") or peak_flops(peak, "fp16")
    flops, step_ns = flops_of_rank * job.n_steps[gpu], job.step_ns[gpu]
    return Utilization(
        gpu=gpu[0],
        counted_by="parameters and tokens" + " and attention" * (params.attention is not None),
        step_ns=step_ns,
        tflop=flops / 1e12,
        mfu_pct=None if most is None else 100 * flops / most * NS_PER_S / step_ns,
        hfu_pct=None,
    )


def known_of_products_pct(job: RankWork) -> float:
    """Return for how much of the time of products, convolutions and attention FLOPs are known."""
    sums = [
        (key.flops is not None, sums.time_ns)
        for key, sums in job.work.items()
        if key.has_operator and key.work_class in COUNTED
    ]
    return pct_of(sum(ns for is_known, ns in sums if is_known), sum(ns for _, ns in sums))


def _row(gpu: Gpu, job: RankWork, params: Params) -> Utilization:
    peak = peaks_of(gpu, params.gpu_peak)
    step_ns, flops, ideal_s, again_s, is_known = job.step_ns[gpu], 0, 0.0, 0.0, True
    for key, sums in job.work.items():
        if (key.gpu, key.multiprocessors) != gpu or key.flops is None:
            continue
        most = peak_flops(peak, key.precision)
        flops += key.flops * sums.n_in_steps
        is_known &= most is not None or not sums.n_in_steps
        ideal_s += key.flops * sums.n_in_steps / (most or float("inf"))
        again_s += key.flops * sums.n_again / (most or float("inf"))
    share = None if not is_known else 100 * NS_PER_S / step_ns
    return Utilization(
        gpu=gpu[0],
        counted_by="sizes of inputs",
        step_ns=step_ns,
        tflop=flops / 1e12,
        mfu_pct=None if share is None else ideal_s * share,
        hfu_pct=None if share is None else (ideal_s + again_s) * share,
    )
