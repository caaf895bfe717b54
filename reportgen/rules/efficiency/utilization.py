"""MFU and HFU: how much of the recorded steps the operations would take at the peak."""

from __future__ import annotations

from reportgen.facts.operator_flops import WorkKind
from reportgen.rules import kit
from reportgen.rules.efficiency.measure import Gpu, Params, RankWork
from reportgen.rules.efficiency.peaks import peak_flops, peaks_of
from reportgen.units import NS_PER_S, NS_PER_US, pct_of

LEAST_KNOWN_PCT = 90.0
"""Where operations of less of the time of products, convolutions and attention are known, MFU would
be far too low and is not given. Chosen: a tenth is the spread of MFU between definitions."""


@kit.row
class Utilization:
    """The recorded steps on one kind of GPU, all ranks together."""

    gpu: str = kit.col()
    step_ns: int = kit.col("us", name="steps_us", per=NS_PER_US)
    tflop: float = kit.col()
    mfu_pct: float | None = kit.col("%")
    hfu_pct: float | None = kit.col("%")


def utilization_of(job: RankWork, params: Params) -> list[Utilization]:
    """Return a row for each kind of GPU that has steps with known operations."""
    if known_of_products_pct(job) < LEAST_KNOWN_PCT:
        return []
    rows = [
        _row(gpu, step_ns, job, params) for gpu, step_ns in sorted(job.step_ns.items(), key=str)
    ]
    return [row for row in rows if row.step_ns and (row.tflop or row.hfu_pct)]


def known_of_products_pct(job: RankWork) -> float:
    """Return for how much of the time of products, convolutions and attention FLOPs are known."""
    classes = {kind.value for kind in WorkKind}
    sums = [
        (key.flops is not None, sums.time_ns)
        for key, sums in job.work.items()
        if key.has_operator and key.work_class in classes
    ]
    return pct_of(sum(ns for is_known, ns in sums if is_known), sum(ns for _, ns in sums))


def _row(gpu: Gpu, step_ns: int, job: RankWork, params: Params) -> Utilization:
    peak = peaks_of(gpu, params.gpu_peak)
    flops, ideal_s, again_s, is_known = 0, 0.0, 0.0, True
    for key, sums in job.work.items():
        if (key.gpu, key.multiprocessors) != gpu or key.flops is None:
            continue
        most = peak_flops(peak, key.precision)
        flops += key.flops * sums.n_in_steps
        is_known &= most is not None or not sums.n_in_steps
        ideal_s += key.flops * sums.n_in_steps / (most or float("inf"))
        again_s += key.flops * sums.n_again / (most or float("inf"))
    share = None if not is_known or not step_ns else 100 * NS_PER_S / step_ns
    return Utilization(
        gpu=gpu[0],
        step_ns=step_ns,
        tflop=flops / 1e12,
        mfu_pct=None if share is None else ideal_s * share,
        hfu_pct=None if share is None else (ideal_s + again_s) * share,
    )
