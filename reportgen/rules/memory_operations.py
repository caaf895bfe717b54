"""MemoryOperations: copies and memsets by direction, and copies from pageable memory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen import results
from reportgen.arrays import select
from reportgen.facts import device_busy
from reportgen.facts.device_busy import DeviceUnions, Window
from reportgen.facts.host_costs import Cost, HostCosts, host_costs
from reportgen.facts.intervals import clip, longest_of, minus, overlap_ns, union_of
from reportgen.merging import joint_codes, merge_by, rows_by_code
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, GpuKind
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.text import write
from reportgen.units import NS_PER_US, pct_of, ratio_of

MEMSET, OTHER, PAGEABLE = "Memset", "other", "Pageable"
DIRECTIONS = ("HtoD", "DtoH", "DtoD", "PtoP", "HtoH", MEMSET, OTHER)
LEAST_BYTES = 1_000_000
"""Fewer bytes from pageable memory are flags and losses, not batches."""
ABOUT = About(
    checks="Copies and memsets in GPU memory: by direction, with bytes and bandwidth.",
    reading="""Durations are added up by direction and kind of memory. A copy from or to pageable
        host memory goes through a hidden pinned buffer: it is slower and blocks the host. A copy is
        exposed if no kernel runs at the same time: it then makes the step longer.""",
    advice="Pin host memory and copy with non_blocking=True.",
    section=results.Section(id="device-memory", title="Memory", order=90),
)
PAGEABLE_COPIES = kit.Message(
    id="COPY-1",
    cause=results.Cause.PAGEABLE_COPIES,
    title="{total.bytes:bytes} are copied {way} pageable host memory",
    text="""{total.count:count copy/copies} {way} pageable host memory {total.count:verb take}
        {total.time_ns:ns} of GPU time. Each of them blocks the host until it is nearly done. With
        pinned memory (25 GB/s, without waiting) {most.node} would finish {won:ns} earlier,
        which is {measured:pct} of {window}.""",
    advice="Set pin_memory=True in the DataLoader, and copy with .to(device, non_blocking=True).",
    exhibit="memory_operations",
)
WAYS = {"HtoD": "from", "DtoH": "to"}
EXPOSED = kit.Message(
    id="COPY-2",
    cause=results.Cause.EXPOSED_COPIES,
    title="Copies without a kernel beside them take {measured:pct} of the time, mostly {main}",
    text="""Copies and memsets ran for {exposed:ns} while no kernel ran: {measured:pct} of
        {window}. Of this, {main} took {most:ns} ({count:count
        operation}{rate}).{hideable}""",
    advice="""Copy on a separate stream, one batch ahead of the step, and from pinned memory if it
        is not pinned yet.""",
    exhibit="memory_operations",
)
COPY_LESS = """Copy less: keep data on the GPU that are copied again and again (offloaded
    parameters, tables), or copy them in a smaller format."""
RATE = ", {rate:bytes}/s"
HIDEABLE = """ Kernels run without a copy for {hideable:ns}: copies that run at those times could
    hide at most as much."""
ADVICE = {
    "DtoD": """Copy less on the device: write into the target (out=, in-place), avoid clone, cat and
        contiguous in the loop, and fuse the rest.""",
    MEMSET: (
        "Set less memory to zero: optimizer.zero_grad(set_to_none=True), and torch.empty for "
        "tensors that are written completely."
    ),
}
SHARES_CAPTION = """Shares of the time of all copies and memsets ({every:ns}). They take {share:pct}
    of the time from the first to the last GPU operation ({window:ns} over all GPUs)."""

TABLE_CAPTION = """Durations are added up. gb_per_s is in units of 10^9 bytes per second of copying.
    If the trace has no sizes, bytes are 0 and the bandwidth is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """When pageable copies, and copies that hide behind no kernel, are a fault."""

    threshold_pageable_pct: float = kit.share_limit(
        3.0, "pageable copies are a fault if pinning would save at least this share of the window"
    )
    threshold_exposed_pct: float = kit.share_limit(
        10.0,
        "copies and memsets that no kernel overlaps are a fault if they take at least this share",
    )


@kit.row
class Copies:
    """One direction between two kinds of memory on one rank; ``bytes`` 0 where not recorded."""

    node: str
    rank: int = kit.col()
    direction: str = kit.col()
    kinds: str = kit.col()
    count: int = kit.col(reduce=sum)
    time_ns: int = kit.col("us", name="time_us", per=NS_PER_US, reduce=sum)
    bytes: int = kit.col("bytes", reduce=sum)
    gb_per_s: float | None = kit.derived(
        lambda row: row.bytes / row.time_ns if row.time_ns > 0 and row.bytes > 0 else None, "GB/s"
    )

    @property
    def is_pageable(self) -> bool:
        """Return whether it crosses to or from host memory that is not pinned."""
        return self.direction in {"HtoD", "DtoH"} and PAGEABLE in self.kinds


@kit.row
class RankCopies:
    """The copies of one rank, or of all.

    Attributes:
        window_ns: first to last GPU operation, over all devices.
        headlines: the window in which each device is judged.
        exposed_ns: copies and memsets of all devices in these windows while no kernel ran.
        hideable_ns: kernels of all devices in these windows while no copy or memset ran.
        longest: of each device the longest of these stretches of copies and memsets.
        direction_ns: ``exposed_ns`` of each direction by itself; directions may overlap.
        costs: of the host of each rank, pageable copies among them.
    """

    rows: tuple[Copies, ...] = kit.merged(kit.concat, default=())
    window_ns: int = kit.merged(sum, default=0)
    headlines: tuple[Window, ...] = kit.merged(kit.concat, default=())
    exposed_ns: int = kit.merged(sum, default=0)
    hideable_ns: int = kit.merged(sum, default=0)
    longest: tuple[results.Where, ...] = kit.merged(kit.concat, default=())
    direction_ns: Mapping[str, int] = kit.merged(kit.sum_by_key, default_factory=dict)
    costs: tuple[HostCosts, ...] = kit.merged(kit.concat, default=())


def measure(trace: RankTrace, _params: Params) -> RankCopies:
    """Measure the memory operations of a rank."""
    windows = device_busy.windows_of(trace)
    if not windows:
        return RankCopies()
    window, devices = device_busy.headline(windows), device_busy.unions_of(trace, None)
    times = [device_busy.time_in(unions, window, rank=trace.rank) for unions in devices]
    return RankCopies(
        costs=tuple(filter(None, (host_costs(trace),))),
        rows=_copies(trace),
        window_ns=device_busy.gpu_time_ns(trace),
        headlines=(window,) * len(devices),
        exposed_ns=sum(time.busy_ns - time.kernel_ns for time in times),
        hideable_ns=sum(time.busy_ns - time.memory_ns for time in times),
        longest=tuple(filter(None, (_longest(trace, window, unions) for unions in devices))),
        direction_ns=kit.sum_by_key(_exposed(trace, window, unions) for unions in devices),
    )


def _copies(trace: RankTrace) -> tuple[Copies, ...]:
    ops = trace.gpu_ops
    rows = np.flatnonzero(ops.kind != GpuKind.KERNEL)
    groups = rows_by_code(joint_codes(ops.name[rows], ops.kind[rows]))
    alike = [select(ops, rows[places]) for _, places in groups]
    copies = [
        Copies(
            node=trace.node,
            rank=trace.rank,
            direction=MEMSET if same.kind[0] == GpuKind.MEMSET else direction_of(name),
            kinds=kinds[1].strip() if (kinds := _KINDS.search(name)) else "",
            count=same.name.size,
            time_ns=int(same.duration_ns.sum()),
            bytes=int(same.bytes[same.bytes != NONE].sum()),
        )
        for same in alike
        for name in [trace.names[same.name[0]]]
    ]
    merged = merge_by(copies, lambda item: (DIRECTIONS.index(item.direction), item.kinds))
    return tuple(merged[key] for key in sorted(merged))


_DIRECTION = re.compile(r"([HDPA])to([HDPA])")
_WORDS = re.compile(r"(Host|Device|Peer)To(Host|Device|Peer)", re.IGNORECASE)
_KINDS = re.compile(r"\(([^()]*)\)")
"""The kinds of memory, as the profiler writes them."""


def direction_of(name: str) -> str:
    """Return the direction in a copy's name; arrays lie on the device.

    Example:
        >>> direction_of("Memcpy HtoD (Pageable -> Device)"), direction_of("CopyDeviceToHost")
        ('HtoD', 'DtoH')
    """
    match = _DIRECTION.search(name) or _WORDS.search(name)
    if match is None:
        return OTHER
    source, target = (text[0].upper().replace("A", "D") for text in match.groups())
    found = f"{source}to{target}"
    if found in DIRECTIONS:
        return found
    return "PtoP" if "P" in found else OTHER


def _exposed(trace: RankTrace, window: Window, unions: DeviceUnions) -> dict[str, int]:
    ops = trace.gpu_ops
    directions = np.array([direction_of(name) for name in trace.names], dtype=object)[ops.name]
    directions[ops.kind == GpuKind.MEMSET] = MEMSET
    is_copy = (ops.device == unions.device) & (ops.kind != GpuKind.KERNEL)
    found = {}
    for direction in sorted(set(directions[is_copy].tolist())):
        rows = is_copy & (directions == direction)
        ran = clip(union_of(ops.start_ns[rows], ops.end_ns[rows]), window.start_ns, window.end_ns)
        found[direction] = ran.length_ns - overlap_ns(ran, unions.kernel)
    return found


def _longest(trace: RankTrace, window: Window, unions: DeviceUnions) -> results.Where | None:
    found = longest_of(minus(clip(unions.memory, window.start_ns, window.end_ns), unions.kernel))
    if not found.start_ns.size:
        return None
    edges_ns = (int(edge[0]) + trace.origin_ns for edge in (found.start_ns, found.end_ns))
    return kit.stretch(trace.node, f"gpu{unions.device}", *edges_ns)


def judge(ranks: Sequence[RankCopies], params: Params) -> Outcome:
    """Report what was moved, what of it was pageable, and what hides behind no kernel."""
    job = kit.merge(ranks)
    missing = kit.reason_without_gpu(len(job.headlines))
    if missing:
        return Outcome(missing=missing)
    title = "Memory operations by rank, direction and kinds of memory"
    by_rank = kit.table("memory_operations", job.rows, Copies, title=title, caption=TABLE_CAPTION)
    pageable = [item for item in job.rows if item.is_pageable]
    metrics = {
        "memory_time_ratio": ratio_of(sum(item.time_ns for item in job.rows), job.window_ns),
        "pageable_time_ratio": ratio_of(sum(item.time_ns for item in pageable), job.window_ns),
        "bytes_moved": sum(item.bytes for item in job.rows),
    }
    return Outcome(
        findings=[
            _pageable_finding(pageable, job, params.threshold_pageable_pct),
            _exposed_finding(job, params.threshold_exposed_pct),
        ],
        exhibits=[*([_shares(job)] if job.rows else []), by_rank],
        metrics=metrics if job.window_ns else {},
    )


def _shares(job: RankCopies) -> results.Exhibit:
    totals = kit.sum_by_key(
        {f"{item.direction} ({item.kinds})" if item.is_pageable else item.direction: item.time_ns}
        for item in job.rows
    )
    every_ns = sum(totals.values())
    share_pct = pct_of(every_ns, job.window_ns)
    return kit.ranking(
        "memory_shares",
        list(totals.items()),
        title="Memory operations by direction",
        caption=write(SHARES_CAPTION, every=every_ns, share=share_pct, window=job.window_ns),
        role=results.Role.MEMORY,
    )


def _pageable_finding(
    rows: Sequence[Copies], job: RankCopies, limit_pct: float
) -> results.Finding | None:
    """Return copies of pageable memory: a fault if pinning saves enough, else a reading."""
    most = max(job.costs, key=lambda rank: rank.share_pct(Cost.COPIES), default=None)
    if not rows or most is None:
        return None
    total, won_pct = kit.merge(rows), most.share_pct(Cost.COPIES)
    is_fault = won_pct >= limit_pct
    if total.bytes < LEAST_BYTES and not is_fault:
        return None
    return PAGEABLE_COPIES.finding(
        severity=kit.fault_severity(won_pct / 100) if is_fault else results.Severity.INFO,
        measured=won_pct,
        threshold=limit_pct,
        is_crossed=is_fault,
        where=results.Where(node=most.node),
        share=won_pct / 100 if is_fault else None,
        total=total,
        most=most,
        won=most.won_ns[Cost.COPIES],
        window=kit.window_name([most.window]),
        way=" and ".join(sorted({WAYS[item.direction] for item in rows})),
    )


def _exposed_finding(job: RankCopies, limit_pct: float) -> results.Finding | None:
    share_pct = pct_of(job.exposed_ns, sum(window.length_ns for window in job.headlines))
    if share_pct < limit_pct or job.exposed_ns <= 0:
        return None
    main = max(job.direction_ns, key=lambda direction: job.direction_ns[direction])
    total = kit.merge([item for item in job.rows if item.direction == main])
    can_hide = job.hideable_ns >= job.exposed_ns / 2
    return EXPOSED.fault(
        share_pct,
        threshold=limit_pct,
        where=max(job.longest, key=lambda item: (item.end_s or 0) - (item.start_s or 0)),
        advice=ADVICE.get(main, None if can_hide else COPY_LESS),
        main=main,
        exposed=job.exposed_ns,
        most=job.direction_ns[main],
        window=kit.window_name(job.headlines),
        count=total.count,
        rate="" if total.gb_per_s is None else write(RATE, rate=total.gb_per_s * 1e9),
        hideable="" if can_hide else write(HIDEABLE, hideable=job.hideable_ns),
    )


RULE = Rule(
    id=results.RuleId("MemoryOperations"),
    title="Memory operations",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    places={"memory_shares": kit.largest(68)},
)
