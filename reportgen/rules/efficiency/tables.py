"""Tables of efficiency: classes, operators by size, shares of the peak, MFU and HFU of steps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import ceil, prod

from reportgen.facts.operator_flops import COUNTED, WorkClass
from reportgen.facts.operator_work import Gpu, OperatorKey, OperatorSums
from reportgen.rules import kit
from reportgen.rules.efficiency.measure import Params, RankWork, peak_flops, peaks_of, sources
from reportgen.text import write
from reportgen.units import NS_PER_S, NS_PER_US, pct_of

CLASSES, OPERATORS, PEAK_BANDS, ROOFLINE = "classes", "operators", "peak_bands", "roofline"
BEYOND_PCT = 105.0
"""An operator faster than this is not what the trace says: 5 % for clocks above the boost clock."""
BEYOND = "faster than the peak"
NO_FLOPS = "no FLOPs known"
TOLD_FROM_PCT = 5.0
"""Less of the time of kernels is no part of a sentence: docs/diagnosis.md leaves out as much."""
_THIN = 128
"""Rows or columns of a product below this leave multiprocessors without a tile: tiles of cuBLAS
have 64 to 256 of each."""
_FULL_RATIO = 0.75
"""Tiles that fill less of their rounds over the multiprocessors slow a product down noticeably;
lower: fewer products are told. Source: NVIDIA, Matrix Multiplication Background, Wave Quantization.
"""
_SCORES = re.compile(r"\[([\d,]+),(\d+),(\d+)\]")
LEAST_KNOWN_PCT = 90.0
"""Where operations of less of the time of products, convolutions and attention are known, MFU would
be far too low and is not given; shares of a class say how much of its time is known. Chosen: a
tenth is the spread of MFU between definitions."""


def _per_s(amount: float | None, time_ns: int, limit: float = 1.0) -> float | None:
    """Return an amount per second in units of a limit, ``None`` where it is not known."""
    return amount / time_ns * NS_PER_S / limit if amount and time_ns else None


def _bound_ns(row: BySize) -> float | None:
    """Return the least time for operations and bytes; of a counted operator not for bytes alone."""
    if row.key.work is not None and row.pct_of_peak is None:
        return None
    limits = ((row.flops, row.peak), (row.least_bytes, row.bandwidth))
    bounds = [amount / limit for amount, limit in limits if amount and limit]
    return max(bounds) * NS_PER_S if bounds else None


@kit.row
class BySize:
    """All calls of one operator with inputs of one size and format on one kind of GPU.

    ``flops`` and ``least_bytes`` are of all calls, ``peak`` and ``bandwidth`` per second; ``None``
    where they are not known.
    """

    key: OperatorKey
    sums: OperatorSums
    flops: int | None
    least_bytes: int | None
    peak: float | None
    bandwidth: float | None
    operator: str = kit.derived(lambda row: row.key.operator)
    input_dims: str = kit.derived(lambda row: row.key.input_dims)
    format: str = kit.col()
    n_calls: int = kit.derived(lambda row: row.sums.n_calls, name="count")
    time_ns: int = kit.derived(lambda row: row.sums.time_ns, "us", name="time_us", per=NS_PER_US)
    gflop_per_call: float | None = kit.derived(lambda row: row.flops and row.key.flops / 1e9)
    tflops_per_s: float | None = kit.derived(
        lambda row: _per_s(row.flops, row.time_ns, 1e12), "TFLOP/s"
    )
    pct_of_peak: float | None = kit.derived(
        lambda row: row.peak and _per_s(row.flops, row.time_ns, row.peak / 100), "%"
    )
    gb_per_s: float | None = kit.derived(
        lambda row: _per_s(row.least_bytes, row.time_ns, 1e9), "GB/s"
    )
    pct_of_bandwidth: float | None = kit.derived(
        lambda row: row.bandwidth and _per_s(row.least_bytes, row.time_ns, row.bandwidth / 100), "%"
    )
    bound_ns: float | None = kit.derived(_bound_ns, "us", name="bound_us", per=NS_PER_US)
    headroom_ns: float | None = kit.derived(
        lambda row: None if row.bound_ns is None else row.time_ns - row.bound_ns,
        "us",
        name="headroom_us",
        per=NS_PER_US,
    )
    reason: str = kit.col()

    @property
    def pct_of_bound(self) -> float | None:
        """Return the bound as a share of the time: how much of what the GPU can do is reached."""
        if self.bound_ns is None or not self.time_ns:
            return None
        return 100 * self.bound_ns / self.time_ns


@kit.row
class Dot:
    """Columns of a ``BySize`` on the roofline; limits of its format on its GPU."""

    name: str = kit.derived(lambda row: f"{row.operator} {row.input_dims.partition(',[]')[0]}")
    work_class: str = kit.derived(lambda row: row.key.work_class, name="group")
    format: str = kit.col()
    flop_per_byte: float = kit.derived(lambda row: row.flops / row.least_bytes, "FLOP/B")
    tflops_per_s: float = kit.col("TFLOP/s")
    time_ns: int = kit.col("us", name="time_us", per=NS_PER_US)
    peak: float | None = kit.col("TFLOP/s", name="peak_tflops_per_s", per=1e12)
    bandwidth: float | None = kit.col("GB/s", name="memory_gb_per_s", per=1e9)


@kit.row
class OfClass:
    """All kernels of one class; ``known_ns``: those whose share of a limit is known."""

    known_ns: int
    work_class: str = kit.col(name="class")
    time_ns: int = kit.col("us", name="time_us", per=NS_PER_US)
    pct_of_time: float | None = kit.col("%")
    tflop: float | None = kit.col()
    tflops_per_s: float | None = kit.col("TFLOP/s")
    pct_of_peak: float | None = kit.col("%")
    gb_per_s: float | None = kit.col("GB/s")
    pct_of_bandwidth: float | None = kit.col("%")
    bound_ns: float | None = kit.col("us", name="bound_us", per=NS_PER_US)
    headroom_ns: float | None = kit.col("us", name="headroom_us", per=NS_PER_US)


def operator_rows(job: RankWork, params: Params) -> list[BySize]:
    """Return a row for each operator, size, format and kind of GPU, by time."""
    has_kinds = len({key.gpu for key in job.work}) > 1
    rows = [_row(key, sums, params, has_kinds=has_kinds) for key, sums in job.work.items()]
    return sorted(rows, key=lambda row: (-row.time_ns, row.operator, row.input_dims, row.format))


def _row(key: OperatorKey, sums: OperatorSums, params: Params, *, has_kinds: bool) -> BySize:
    peak = peaks_of(key.gpu, params.gpu_peak)
    flops = None if key.flops is None else key.flops * sums.n_calls
    most = peak_flops(peak, key.precision)
    share_pct = _per_s(flops, sums.time_ns, most / 100) if most else None
    is_beyond = share_pct is not None and share_pct > BEYOND_PCT
    return BySize(
        key=key,
        sums=sums,
        format=f"{key.precision} on {key.gpu[0]}" if has_kinds else key.precision,
        flops=None if is_beyond else flops,
        least_bytes=key.least_bytes * sums.n_calls if key.least_bytes else None,
        peak=most,
        bandwidth=peak.memory_bytes_per_s if peak else None,
        reason=BEYOND if is_beyond else _reason(key) if share_pct is not None else "",
    )


def _reason(key: OperatorKey) -> str:
    """Return why a matrix product may be far from the peak, by its sizes, format and tiles."""
    if not key.product:
        return ""
    if key.precision == "FP32":
        return "FP32 without TF32"
    named = dict(zip("MNK", key.product, strict=True))
    unaligned = [name for name in "NK" if named[name] % 8]
    if unaligned:
        return f"{' and '.join(unaligned)} not a multiple of 8"
    thin = [name for name, size in named.items() if size < _THIN]
    if thin:
        return f"thin: {' and '.join(thin)} below {_THIN}"
    filled = _filled_ratio(key)
    if filled is None or filled >= _FULL_RATIO:
        return ""
    return write("tiles fill the GPU to {pct:pct} (wave quantization)", pct=100 * filled)


def _n_batches(key: OperatorKey) -> int:
    return (key.flops or 0) // (2 * prod(key.product))


def _filled_ratio(key: OperatorKey) -> float | None:
    """Return how full the rounds are in which multiprocessors compute the tiles of a product."""
    if key.tile is None or not key.gpu[1]:
        return None
    n_tiles = [
        _n_batches(key) * ceil(key.product[0] / rows) * ceil(key.product[1] / columns)
        for rows, columns in (key.tile, key.tile[::-1])
    ]
    return max(tiles / (ceil(tiles / key.gpu[1]) * key.gpu[1]) for tiles in n_tiles)


def unfused_attention(rows: Sequence[BySize]) -> tuple[list[BySize], list[BySize]]:
    """Return what attention that writes its scores to memory does on them, and its products.

    Scores are (batch and heads, queries, keys): one product of batches makes them, a softmax reads
    them, another product multiplies them with the values.
    """
    for softmax in rows:
        scores = _SCORES.match(softmax.input_dims) if "softmax" in softmax.operator else None
        if scores is None:
            continue
        n_batches, q, k = prod(map(int, scores[1].split(","))), int(scores[2]), int(scores[3])
        products = [row for row in rows if row.key.product and _n_batches(row.key) == n_batches]
        sizes = {row.key.product for row in products}
        if {(q, k)} & {size[:2] for size in sizes} and {(q, k)} & {size[::2] for size in sizes}:
            of_scores = [row for row in rows if row.input_dims.startswith(scores[0])]
            return [row for row in of_scores if row.key.work is None], [
                row
                for row in products
                if {q, k} in ({*row.key.product[:2]}, {*row.key.product[::2]})
            ]
    return [], []


def class_rows(rows: Sequence[BySize], every_ns: int) -> list[OfClass]:
    """Return a row for each class, most time first."""
    groups: dict[str, list[BySize]] = {}
    for row in rows:
        groups.setdefault(row.key.work_class, []).append(row)
    found = [_of_class(name, group, every_ns) for name, group in groups.items()]
    return sorted(found, key=lambda row: (-row.time_ns, row.work_class))


def _of_class(name: str, rows: Sequence[BySize], every_ns: int) -> OfClass:
    spent_ns = sum(row.time_ns for row in rows)
    with_flops = [row for row in rows if row.pct_of_peak is not None]
    with_bytes = [row for row in rows if row.pct_of_bandwidth is not None]
    bounded = [row for row in rows if row.bound_ns is not None]
    return OfClass(
        known_ns=sum(row.time_ns for row in with_flops or with_bytes),
        work_class=name,
        time_ns=spent_ns,
        pct_of_time=None if name == WorkClass.COPY else pct_of(spent_ns, every_ns),
        tflop=sum(row.flops or 0 for row in rows) / 1e12 or None,
        tflops_per_s=mean(rows, "tflops_per_s"),
        pct_of_peak=mean(rows, "pct_of_peak"),
        gb_per_s=mean(rows, "gb_per_s"),
        pct_of_bandwidth=mean(rows, "pct_of_bandwidth"),
        bound_ns=sum(row.bound_ns or 0 for row in bounded) if bounded else None,
        headroom_ns=sum(row.headroom_ns or 0 for row in bounded) if bounded else None,
    )


def mean(rows: Iterable[BySize], name: str) -> float | None:
    """Return the mean of a rate over the time of the rows that have it."""
    known = [row for row in rows if getattr(row, name) is not None]
    spent_ns = sum(row.time_ns for row in known)
    if not spent_ns:
        return None
    total: float = sum(getattr(row, name) * row.time_ns for row in known)
    return total / spent_ns


def coverage_pct(rows: Sequence[BySize], every_ns: int) -> float:
    """Return the share of kernel time whose operations are counted."""
    return pct_of(sum(row.time_ns for row in rows if row.flops is not None), every_ns)


def by_peak(rows: Sequence[BySize], every_ns: int) -> list[tuple[str, int]]:
    """Return kernel time by the share of the peak that it reaches; what has none is named."""
    found = dict.fromkeys((80, 60, 40, 20, 0), 0)
    for row in rows:
        if row.pct_of_peak is not None:
            found[min(int(row.pct_of_peak) // 20 * 20, 80)] += row.time_ns
    named = {f"{low} to {low + 20} % of the peak": spent_ns for low, spent_ns in found.items()}
    named[NO_FLOPS] = every_ns - sum(found.values())
    return [(name, spent_ns) for name, spent_ns in named.items() if spent_ns]


def how_fast(rows: Sequence[BySize], every_ns: int) -> str:
    """Return the sentence on the classes that take most of the time, and what they reach."""
    parts = []
    for item in class_rows(rows, every_ns):
        if item.pct_of_time is None or item.pct_of_time < TOLD_FROM_PCT:
            continue
        limit, reached = "peak", item.pct_of_peak
        if reached is None:
            limit, reached = "memory's bandwidth", item.pct_of_bandwidth
        known_pct = pct_of(item.known_ns, item.time_ns)
        has_part = reached is not None and known_pct < LEAST_KNOWN_PCT
        said = "{pct:pct} {name}" + " at {reached:pct} of the {limit}" * (reached is not None)
        said += " (known for {known:pct} of it)" * has_part
        values = {"pct": item.pct_of_time, "name": item.work_class, "reached": reached}
        parts.append(write(said, limit=limit, known=known_pct, **values))
    return f"Of kernel time without communication: {'; '.join(parts)}."


def roofs_text(job: RankWork, params: Params) -> str:
    """Return the sentences on the peaks that were used."""
    gpus = {key.gpu for key in job.work}
    return sources({gpu[0]: peaks_of(gpu, params.gpu_peak) for gpu in gpus})


@kit.row
class Utilization:
    """The recorded steps on one kind of GPU, all ranks together."""

    gpu: str = kit.col()
    counted_by: str = kit.col()
    step_ns: int = kit.col("us", name="steps_us", per=NS_PER_US)
    tflop: float = kit.col()
    mfu_pct: float | None = kit.col("%")
    hfu_pct: float | None = kit.col("%")


def known_of_products_pct(rows: Sequence[BySize]) -> float:
    """Return for how much of the time of products, convolutions and attention FLOPs are known."""
    counted = [row for row in rows if row.key.has_operator and row.key.work_class in COUNTED]
    return coverage_pct(counted, sum(row.time_ns for row in counted))


def utilization_of(
    job: RankWork, rows: Sequence[BySize], n_ranks: int, params: Params
) -> list[Utilization]:
    """Return a row for each kind of GPU that has steps with known operations.

    What the sizes of inputs say comes first, then what the number of parameters says.
    """
    is_counted = known_of_products_pct(rows) >= LEAST_KNOWN_PCT
    kinds = [gpu for gpu, step_ns in sorted(job.step_ns.items(), key=str) if step_ns]
    by_size = [_row_of_sizes(gpu, job, rows) for gpu in kinds] if is_counted else []
    found = [row for row in by_size if row.tflop or row.hfu_pct]
    if params.flops_per_step is not None:
        of_rank = params.flops_per_step / (job.world_size or n_ranks)
        found += [_row_of_model(gpu, job, of_rank, params) for gpu in kinds]
    return found


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


def _row_of_sizes(gpu: Gpu, job: RankWork, rows: Sequence[BySize]) -> Utilization:
    known = [row for row in rows if row.key.gpu == gpu and row.flops is not None]
    in_steps = [(row.key.flops or 0) * row.sums.n_in_steps for row in known]
    again = [(row.key.flops or 0) * row.sums.n_again for row in known]
    has_peaks = all(row.peak or not row.sums.n_in_steps for row in known)

    def share_pct(flops: Sequence[int]) -> float | None:
        ideal_s = sum(n / row.peak for n, row in zip(flops, known, strict=True) if row.peak)
        return 100 * ideal_s * NS_PER_S / job.step_ns[gpu] if has_peaks else None

    return Utilization(
        gpu=gpu[0],
        counted_by="sizes of inputs",
        step_ns=job.step_ns[gpu],
        tflop=sum(in_steps) / 1e12,
        mfu_pct=share_pct(in_steps),
        hfu_pct=share_pct([*map(sum, zip(in_steps, again, strict=True))]),
    )
