"""KernelTime: which kernels took the time and the launches, from kernel traces."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reportgen import results
from reportgen.arrays import Integers
from reportgen.facts import operators
from reportgen.facts.device_busy import gpu_time_ns, rows_named
from reportgen.facts.host_costs import LEAST_RUN, SMALL_NS, Cost, HostCosts, host_costs
from reportgen.facts.kernel_names import KernelFormat, Precision, short_names
from reportgen.facts.operators import DurationRow, Durations
from reportgen.merging import joint_codes, merged, rows_by_code
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, GpuKind
from reportgen.results import Choice, ColumnType, Exhibit, Finding, Place, Role
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.slow_host import advice_on_launches
from reportgen.text import format_ns, plural, write
from reportgen.units import NS_PER_US, pct_of

ABOUT = About(
    checks="Which kernels take the GPU's time and which are launched most.",
    reading="""The durations of all kernels of the same full name are added up over all ranks.
        Kernels that are shorter than their launch calls cannot keep the GPU busy, however many
        there are.""",
    advice="""Improve or fuse the kernels with the most time, and those that are launched most
        often.""",
    section=results.Section(id="kernels", title="Kernels", order=60),
)
TINY = kit.Message(
    id="KERN-1",
    cause=results.Cause.SMALL_KERNELS,
    title="Small kernels in a row cost {measured:pct} of the time",
    text="""On {most.node}, {most.n_small:count kernel} of less than {small_us} µs
        {most.n_small:verb run} in sequences of {least_run} or more. With one fused kernel for each
        sequence the rank would finish {won:ns} earlier, which is {measured:pct} of {window}. On all
        ranks {job.n_tiny:n} of {job.n_launched:count kernel} {job.n_tiny:verb take} less than
        {tiny_us} µs and less than the call that launches them.""",
    advice="Fuse them: {compile}{graphs}{optimizers}or a larger batch.{stacks}",
    exhibit="top_by_launches",
)
AVOIDED = kit.Message(
    id="KERN-3",
    title="{who} take {measured:pct} of the computing time of the GPU",
    text="""{who} run for {spent:ns}: {measured:pct} of the time of all kernels that compute; more
        than {threshold:pct} is worth a change.""",
    advice="",
    exhibit="top_by_time",
)

TINY_NS = 5 * NS_PER_US
"""A shorter kernel that is also shorter than its launch is launch-bound (docs/definitions.md,
Launch counts)."""
COMMUNICATION, COMPUTE = "communication", "compute"
NOT_RECORDED = "not recorded"
"""The size of a launch that the trace does not hold."""
FUSE = "Fuse them with torch.compile: each reads and writes whole tensors."
AVOIDABLE = (
    (
        re.compile(r"batched_transpose|nchwToNhwc|nhwcToNchw", re.IGNORECASE),
        5.0,
        "Kernels that only change the layout of tensors",
        "Use memory_format=torch.channels_last for the model and its inputs.",
    ),
    (
        re.compile(r"elementwise_kernel|CatArrayBatchedCopy"),
        40.0,
        "Kernels that compute elementwise or copy",
        FUSE,
    ),
)
"""Kernels that a setting avoids: their names, the least share of the computing time, who they are,
and the remedy."""
_PRODUCT = re.compile(r"^aten::(bmm|baddbmm)$")
_SOFTMAX = re.compile(r"^aten::_(safe_)?softmax$")
UNFUSED_FROM_PCT = 5.0
"""As of kernels that change layouts."""
UNFUSED = "The products and the softmax of attention, one by one,"
USE_FUSED = """Call torch.nn.functional.scaled_dot_product_attention instead of bmm, softmax and
    bmm: it computes them in one kernel and keeps no matrix of scores."""
_SHAPE = re.compile(r"\s*\[([\d\s,]+)\]\s*\[([\d\s,]+)\]\s*")


BY_NAME, BY_SHAPE = "kernels", "kernels_by_shape"
CAPTIONS = {
    BY_NAME: """All ranks together, sorted by total time. pct_of_kernel_time is the share of the
        time of all kernels. pct_of_profile_time is the share of the time from the first to the last
        GPU operation, added up over the GPUs ({profile:ns}); kernels that run at the same time all
        count. The precision is what the name of the kernel says.""",
    BY_SHAPE: """Each kernel with each size of its launches, sorted by total time. All ranks
        together; the columns are those of the table by name.""",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """How many kernels are shown one by one, and when tiny ones are a fault."""

    top: int = kit.top_k()
    threshold_won_pct: float = kit.share_limit(
        3.0, "small kernels are a fault if fusing them would save at least this share of the window"
    )
    communication_names: str | None = kit.communication_names()


def _first(ranks: Sequence[dict[str, object]]) -> dict[str, object]:
    """Return what the first rank that knows a name says of it."""
    return dict(ChainMap(*ranks))


@dataclass(frozen=True, slots=True, kw_only=True)
class RankKernels:
    """The kernels of a rank, or of all.

    Attributes:
        durations: by name, and grid and block of the launch.
        readings: number format by the name of each kernel.
        callers: which operator launched each kernel most often.
        files: generated code that has a kernel, by its name.
        attention_ns: kernels of products and a softmax that one fused kernel could compute.
        profile_ns: first to last GPU operation, over all devices.
        n_launched, n_tiny: kernels with a recorded launch, and those that are launch-bound.
        n_ranks: how many ranks these are.
        has_sizes: whether sizes of inputs were recorded: Efficiency then judges elementwise work.
    """

    n_ranks: int = kit.merged(sum)
    durations: Durations = merged(operators.joined_durations)
    readings: Mapping[str, KernelFormat] = kit.merged(_first)
    callers: Mapping[str, str] = kit.merged(_first)
    files: Mapping[str, str] = kit.merged(_first)
    profile_ns: int = kit.merged(sum)
    n_launched: int = kit.merged(sum)
    n_tiny: int = kit.merged(sum)
    costs: tuple[HostCosts, ...] = kit.merged(kit.concat)
    has_sizes: bool = kit.merged(any)
    attention_ns: int = kit.merged(sum)


def measure(trace: RankTrace, params: Params) -> RankKernels:
    """Measure the kernels of a rank."""
    ops = trace.gpu_ops
    is_launched = (ops.kind == GpuKind.KERNEL) & (ops.launch != NONE)
    launch = ops.launch[is_launched]
    # Of a call that launches many kernels, as that of a graph does, each bears its part.
    call_ns = trace.calls.duration_ns[launch] / np.bincount(launch)[launch]
    is_tiny = ops.duration_ns[is_launched] < np.minimum(call_ns, TINY_NS)
    readings = operators.kernel_readings(trace, params.communication_names)
    launched_by = operators.launching_operators(trace)
    return RankKernels(
        n_ranks=1,
        durations=_durations(trace),
        readings=readings,
        callers=_callers(trace, launched_by),
        files={name: file for name, file in trace.written_in.items() if name in readings},
        profile_ns=gpu_time_ns(trace),
        n_launched=int(is_launched.sum()),
        n_tiny=int(is_tiny.sum()),
        costs=tuple(filter(None, (host_costs(trace),))),
        has_sizes=bool(trace.input_dims),
        attention_ns=_unfused_attention_ns(trace, launched_by),
    )


def _unfused_attention_ns(trace: RankTrace, launched_by: Integers) -> int:
    """Return the time of kernels of batched products with a softmax between them."""
    slices = trace.slices
    is_product = rows_named(trace, slices.name, _PRODUCT.search)
    is_softmax = rows_named(trace, slices.name, _SOFTMAX.search)
    is_meant = np.zeros(slices.start_ns.size + 1, dtype=bool)
    rows = np.flatnonzero(is_product | is_softmax)
    rows = rows[np.argsort(slices.thread[rows], kind="stable")]
    before, middle, after = rows[:-2], rows[1:-1], rows[2:]
    is_chain = is_product[before] & is_softmax[middle] & is_product[after]
    is_chain &= slices.thread[before] == slices.thread[after]
    is_meant[[before[is_chain], middle[is_chain], after[is_chain]]] = True
    is_part = is_meant[launched_by] & (trace.gpu_ops.kind == GpuKind.KERNEL)  # ``NONE`` is the last
    return int(trace.gpu_ops.duration_ns[is_part].sum())


def _durations(trace: RankTrace) -> Durations:
    """Return the durations of kernels by their name, and the grid and block of the launch."""
    ops = trace.gpu_ops
    rows = np.flatnonzero(ops.kind == GpuKind.KERNEL)
    name, shape, duration_ns = ops.name[rows], ops.shape[rows], ops.duration_ns[rows]
    shapes = [*map(shape_name, trace.shapes), NOT_RECORDED]  # ``NONE`` is the last
    return operators.joined_durations(
        {(trace.names[name[same[0]]], shapes[shape[same[0]]]): duration_ns[same]}
        for _, same in rows_by_code(joint_codes(name, shape))
    )


def _callers(trace: RankTrace, launched_by: Integers) -> dict[str, str]:
    rows = np.flatnonzero((trace.gpu_ops.kind == GpuKind.KERNEL) & (launched_by != NONE))
    name, caller = trace.gpu_ops.name[rows], trace.slices.name[launched_by[rows]]
    alike = (rows for _, rows in rows_by_code(joint_codes(name, caller)))
    found = [rows[0] for rows in sorted(alike, key=len)]
    return {trace.names[name[row]]: trace.names[caller[row]] for row in found}


def shape_name(text: str) -> str:
    """Return grid and block of a launch as people write them.

    Example:
        >>> shape_name("[4, 106, 1] [128, 1, 1]")
        'grid 4×106×1, block 128×1×1'
        >>> shape_name("as the file says it")
        'as the file says it'
    """
    found = _SHAPE.fullmatch(text)
    if found is None:
        return " ".join(text.split())
    grid, block = ("".join(part.split()).replace(",", "×") for part in found.groups())
    return f"grid {grid}, block {block}"


Rows = Sequence[DurationRow]


def judge(ranks: Sequence[RankKernels], params: Params) -> Outcome:
    """Report the largest kernels, and tiny ones as a fault."""
    job = kit.merge(ranks)
    by_shape = operators.duration_rows(job.durations)
    by_name = ({key[:1]: duration_ns} for key, duration_ns in job.durations.items())
    kernels = operators.duration_rows(operators.joined_durations(by_name))
    if not kernels:
        return Outcome(missing=kit.reason_without_gpu(job.profile_ns))
    every_ns = sum(item.sum_ns for item in kernels)
    by_launches = sorted(kernels, key=lambda item: (-item.count, item.key))
    every_name = [item.key[0] for item in kernels]
    labels = dict(zip(every_name, short_names(every_name), strict=True))
    return Outcome(
        findings=[_tiny(job, params), *_avoidable(kernels, job)],
        exhibits=[
            _ranking("time", kernels, job, labels, top=params.top),
            _ranking("launches", by_launches, job, labels, top=params.top),
            _table(BY_NAME, kernels, job, labels),
            _table(BY_SHAPE, by_shape, job, labels),
        ],
        metrics={
            "n_kernels": sum(item.count for item in kernels),
            "n_distinct_kernels": len(kernels),
            "kernel_time_us": every_ns / NS_PER_US,
            "tiny_kernels_ratio": round(pct_of(job.n_tiny, job.n_launched) / 100, 6),
        },
    )


def _avoidable(kernels: Rows, job: RankKernels) -> Iterator[Finding]:
    """Yield the kinds of kernels that take much of the computing time and that a setting avoids."""
    compute = [row for row in kernels if _category(row, job) == COMPUTE]
    every_ns = sum(row.sum_ns for row in compute)
    is_compiled = any(rank.is_compiled for rank in job.costs)
    found = [(job.attention_ns, UNFUSED_FROM_PCT, UNFUSED, USE_FUSED)]
    for pattern, from_pct, who, remedy in AVOIDABLE:
        spent_ns = sum(row.sum_ns for row in compute if pattern.search(row.key[0]))
        if remedy != FUSE or not job.has_sizes:
            advice = kit.FIND_BREAKS if remedy == FUSE and is_compiled else remedy
            found.append((spent_ns, from_pct, who, advice))
    for spent_ns, from_pct, who, advice in found:
        share_pct = pct_of(spent_ns, every_ns)
        if share_pct >= from_pct:
            yield AVOIDED.finding(
                measured=share_pct, threshold=from_pct, advice=advice, who=who, spent=spent_ns
            )


def _tiny(job: RankKernels, params: Params) -> Finding | None:
    most = max(job.costs, key=lambda rank: rank.share_pct(Cost.SMALL), default=None)
    share_pct = most.share_pct(Cost.SMALL) if most else 0.0
    if most is None or not share_pct or share_pct < params.threshold_won_pct:
        return None
    where = results.Where(node=most.node)
    if row := most.longest_row:
        where = kit.stretch(most.node, None, row.start_ns, row.end_ns)
    return TINY.fault(
        share_pct,
        threshold=params.threshold_won_pct,
        where=where,
        job=job,
        most=most,
        won=most.won_ns[Cost.SMALL],
        window=kit.window_name([most.window]),
        small_us=SMALL_NS // NS_PER_US,
        least_run=LEAST_RUN,
        tiny_us=TINY_NS // NS_PER_US,
        **advice_on_launches(job.costs),
    )


def _category(item: DurationRow, job: RankKernels) -> str:
    """Return whether a kernel communicates or computes."""
    communicates = job.readings[item.key[0]].precision is Precision.COMM
    return COMMUNICATION if communicates else COMPUTE


def _ranking(
    by: str, rows: Rows, job: RankKernels, labels: Mapping[str, str], *, top: int
) -> Exhibit:
    """Return the first kernels of some rows; the rest is one part."""
    is_time = by == "time"
    names = [item.key[0] for item in rows[:top]]
    amounts = [item.sum_ns if is_time else item.count for item in rows]
    of_all = plural(sum(amounts), "launch", "launches")
    if is_time:
        ranks = f" over {job.n_ranks} ranks" if job.n_ranks > 1 else ""
        of_all = f"the time of all kernels ({format_ns(sum(amounts))}{ranks})"
    categories = [_category(item, job) for item in rows[:top]]
    found = kit.ranking(
        f"top_by_{by}",
        [(labels[row.key[0]], n) for row, n in zip(rows, amounts, strict=True)],
        title=f"Kernels by {by}",
        caption=f"Shares of {of_all}.",
        amount=("time_us", "us") if is_time else ("launches", ""),
        per=NS_PER_US,
        most=top,
        others="kernel",
        roles=[Role.NETWORK if item == COMMUNICATION else Role.GPU for item in categories],
    )
    rest = [None] * (len(rows) > top)
    more = (_text("full_name", [*names, *rest]), _text("category", [*categories, *rest]))
    return replace(found, columns=(*found.columns, *more))


def _table(exhibit_id: str, rows: Rows, job: RankKernels, labels: Mapping[str, str]) -> Exhibit:
    is_by_name = exhibit_id == BY_NAME
    names = [item.key[0] for item in rows]
    sums_ns = [item.sum_ns for item in rows]
    kernels_ns = sum(sums_ns)
    columns = [
        _text("name", names),
        _text("short_name", [labels[name] for name in names]),
        *([] if is_by_name else [_text("shape", [item.key[1] for item in rows])]),
        results.column("count", "", [item.count for item in rows], type=ColumnType.INT),
        *kit.floats(
            *(
                (f"{name}_us", "us", [getattr(item, f"{name}_ns") / NS_PER_US for item in rows])
                for name in ("sum", "mean", "p50", "p95", "p99", "min", "max", "std")
            ),
            ("pct_of_kernel_time", "%", [pct_of(spent_ns, kernels_ns) for spent_ns in sums_ns]),
            (
                "pct_of_profile_time",
                "%",
                [pct_of(spent_ns, job.profile_ns) for spent_ns in sums_ns],
            ),
        ),
    ]
    if is_by_name:
        read = [job.readings[item.key[0]] for item in rows]
        on_units = [item.tensor_core for item in read]
        columns.append(_text("operator", [job.callers.get(item.key[0]) for item in rows]))
        if job.files:
            columns.append(_text("written_in", [job.files.get(item.key[0]) for item in rows]))
        columns.append(_text("precision", [item.precision for item in read]))
        columns.append(results.column("tensor_core", "", on_units, type=ColumnType.BOOL))
    columns.append(_text("category", [_category(item, job) for item in rows]))
    return results.exhibit(
        exhibit_id,
        results.ExhibitKind.TABLE,
        title="All kernels" if is_by_name else "All kernels by name, grid and block",
        caption=write(CAPTIONS[exhibit_id], profile=job.profile_ns),
        columns=columns,
    )


def _text(name: str, values: Sequence[str | None]) -> results.Column:
    return results.column(name, "", values, type=ColumnType.TEXT)


def _choice(label: str) -> Place:
    return Place(choice=Choice(group="tables", question="Group by", label=label))


RULE = Rule(
    id=results.RuleId("KernelTime"),
    title="Kernels",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    places={
        "top_by_time": kit.largest(62, row_noun="kernel", is_wide=True),
        "top_by_launches": kit.largest(64, row_noun="kernel", is_wide=True),
        BY_NAME: _choice("name"),
        BY_SHAPE: _choice("name, grid and block"),
    },
)
