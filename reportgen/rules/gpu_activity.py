"""GPUActivity: when the GPUs were at work and with what, from kernel traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from reportgen import results
from reportgen.facts import device_busy
from reportgen.facts.device_busy import DeviceTime, FineUse
from reportgen.facts.exchanges import Exchanges, exchanges_of, joined
from reportgen.facts.lost_kernels import LOST_RATIO, GraphLoss, graph_loss
from reportgen.facts.meetings import Meetings, alone_in_sends_ns, comparable, meetings_of, worlds_of
from reportgen.profile.trace import RankTrace, hosts_of_ranks
from reportgen.profile.trace_tables import GpuKind
from reportgen.results import (
    ColumnType,
    DashboardPanel,
    Exhibit,
    Finding,
    Place,
    Role,
    Where,
    many_ranks,
)
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.text import device_label, format_ns, write
from reportgen.units import NS_PER_US, pct_of, ratio_of

ABOUT = About(
    checks="How much of the time each GPU was active, and with what, kernel by kernel.",
    reading="""A GPU is active while at least one kernel, copy or memset runs. For the rest of the
        recorded time it is idle. The parts of a chart do not overlap; they add up to the recorded
        time, which the caption names.""",
    advice="""Find out what the GPUs wait for; then run communication and copies at the same time as
        compute.""",
    section=results.Section(id="gpu-activity", title="GPU activity", order=30),
    hint_when_skipped="Trace a job that uses a GPU, with ProfilerActivity.CUDA as an activity.",
    opens_dashboard=True,
)
EXPOSED = kit.Message(
    id="ACT-1",
    cause=results.Cause.EXPOSED_COMMUNICATION,
    title="Communication without compute beside it takes {measured:pct}",
    text="""For {exposed:ns}, {measured:pct} of the GPU time within {window}, communication kernels
        ran while nothing was computed; {hidden:pct} of the communication overlaps with
        compute.{waiting}""",
    advice="""Overlap communication with the backward pass (larger buckets, gradient accumulation,
        prefetching shards), and see first whether it waits for a late rank.""",
    exhibit="activity_split",
)
IN_SENDS = """ {sends:pct} of it is in sends and receives, in which the stages of a pipeline also
    wait for each other."""
PIPELINE = replace(
    EXPOSED,
    text=EXPOSED.text + IN_SENDS,
    advice="""Give each step more micro-batches, or interleave the stages: then the waiting at the
        begin and the end of a step is a smaller part of it. See first whether one stage has more
        work than the others.""",
)
MOSTLY_RATIO = 0.5
"""Communication is that of a pipeline if sends and receives take half of it."""
UNEVEN = kit.Message(
    id="ACT-2",
    cause=results.Cause.SLOW_RANK,
    severity=results.Severity.WARNING,
    title="The ranks compute unevenly: {name} {measured:above} the others",
    text="""Of {window}, {name} computes for {compute:pct}, the other GPUs for {others:pct} of
        theirs (mean), so they wait for it. It runs {n_kernels:count kernel}, the others
        {n_others:n} (mean). With equal shares of the work it would compute for {saved:pct} of the
        time less.""",
    advice="""Give each rank an equal share: balance shards, tables, sequence lengths or layers. If
        it runs as many kernels as the others, compare its clock, power and temperature with theirs
        first (nvidia-smi -q -d CLOCK,PERFORMANCE).""",
    exhibit="activity_by_device",
)
NO_GPU = kit.Message(
    id="ACT-4",
    cause=results.Cause.NOT_RECORDED,
    title="No GPU was recorded: the trace shows only the host",
    text="""No kernel, copy or memset is in {n:count trace}, so nothing is known of the work of a
        GPU.""",
    advice="""If the job uses a GPU, record it: torch.profiler.profile(activities=[
        ProfilerActivity.CPU, ProfilerActivity.CUDA]), or nsys with --trace=cuda. A job on CPUs
        needs nothing.""",
)
LOST = kit.Message(
    id="ACT-5",
    cause=results.Cause.NOT_RECORDED,
    severity=results.Severity.WARNING,
    title="Kernels inside CUDA graphs are missing in the recording of {names:names}",
    text="""On {worst.node}, {worst.n_launches:count launch/launches} of CUDA graphs were recorded.
        Other launches of the same graphs show that {worst.n_expected:count operation} should have
        run in them; {worst.n_missing:n} of these are missing, in
        {worst.n_short:count launch/launches}. Between the operations of one launch the GPU seems
        idle for {worst.hole_ns:ns} of {worst.span_ns:ns}, but it may have worked. So the report
        does not judge idle time, activity and number formats of this trace.""",
    advice="""Record again with fewer steps or a larger buffer of the profiler, or one run without
        CUDA graphs.""",
    unit="% missing",
)

WITHOUT_WAITING = """ The {waited:ns} in which ranks only wait for the last one are not included:
    see “Communication”."""
WAITING_UNKNOWN = " Communication kernels also wait for other ranks: see “Communication”."

SHARES = {
    "active_time": (
        "GPU active time",
        """Shares of {window}, with {n_ops:count GPU operation}. A GPU is active while a kernel,
            copy or memset runs. Kernels run {kernel:pct} of the time; tools such as nvidia-smi show
            this number as utilization.""",
    ),
    "activity_split": (
        "Work of the GPUs",
        """Shares of {window}. Each moment is in exactly one part. Memory operations are copies and
            memsets while no kernel runs.""",
    ),
    "activity_sums": (
        "Durations of kernels, memory operations and synchronization",
        """Durations are added up over the whole trace, even if they overlap; shares are of this
            sum. Synchronization is the waiting calls of the host and the waits that devices
            recorded.""",
    ),
}
"""Titles and captions of the exhibits of shares."""
TABLE_CAPTION = """The window “gpu” lasts from the first start to the last end of a GPU operation of
    the rank. The window “steps” lasts from the start of the first step to the end of the last step,
    or to the end of its last GPU operation if that is later. Operations that run at the same time
    count once. window_start_us is on the clock of the trace. host is the machine after which the
    files of several ranks are named."""

TIMES = (
    *("window", "busy", "idle", "kernel", "compute", "communication", "memory", "overlap"),
    "exposed_communication",
)
"""The times of a device that its table shows."""
ROLES = {
    "idle": Role.IDLE,
    "memory operations": Role.MEMORY,
    "synchronization": Role.CPU,
    "exposed communication": Role.NETWORK,
}
"""Roles of parts; all others are work of the GPU itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """The shares of the window above which the activity of the GPUs is a fault."""

    threshold_exposed_pct: float = kit.share_limit(
        4.0,
        "transfers that no computation overlaps are a fault if they take at least this share of "
        "the window",
    )
    threshold_imbalance_pct: float = kit.share_limit(
        10.0, "ranks are uneven when one computes by this much more than the mean of the others"
    )
    communication_names: str | None = kit.communication_names()


@kit.row
class RankActivity:
    """One rank.

    Attributes:
        host: the machine by the name of the file, else empty.
        local_size: GPUs of the node, 0 where the trace does not say them.
        clock_ns: time of the trace's clock at its origin.
        devices: one for each device and window.
        n_computing: kernels but those that communicate, in the headline window, by device.
        sums_ns: durations added up, not united, by what ran.
        use: busy time over the headline window, one per device.
    """

    rank: int
    node: str
    n_ops: int
    host: str
    local_size: int
    clock_ns: int
    devices: tuple[DeviceTime, ...]
    n_computing: Mapping[int, int]
    sums_ns: Mapping[str, int]
    use: tuple[FineUse, ...]
    exchanges: Exchanges
    loss: GraphLoss | None
    has_host: bool


def measure(part: RankTrace, params: Params) -> RankActivity:
    """Measure every device of a rank in every window."""
    windows = device_busy.windows_of(part)
    unions = device_busy.unions_of(part, params.communication_names)
    ops, calls = part.gpu_ops, part.calls
    is_kernel = ops.kind == GpuKind.KERNEL
    is_sync = device_busy.rows_named(part, calls.name, device_busy.SYNC_CALL.search)
    return RankActivity(
        rank=part.rank,
        node=part.node,
        n_ops=ops.start_ns.size,
        host=part.host,
        local_size=len(part.devices) if part.is_rank_known else 0,
        clock_ns=device_busy.own_clock_ns(part),
        devices=tuple(
            device_busy.time_in(device, window, rank=part.rank)
            for device in unions
            for window in windows
        ),
        n_computing=device_busy.n_computing(part, params.communication_names),
        sums_ns={
            "kernels": int(ops.duration_ns[is_kernel].sum()),
            "memory operations": int(ops.duration_ns[~is_kernel].sum()),
            "synchronization": int(calls.duration_ns[is_sync].sum() + part.syncs.duration_ns.sum()),
        },
        use=tuple(
            device_busy.fine_use(
                device.busy,
                device_busy.headline(windows),
                origin_ns=part.origin_ns,
                node=part.node,
                device=f"gpu{device.device}",
            )
            for device in unions
        ),
        exchanges=exchanges_of(part, params.communication_names),
        loss=graph_loss(part),
        has_host=part.slices.start_ns.size + calls.start_ns.size > 0,
    )


def judge(measurements: Sequence[RankActivity], params: Params) -> Outcome:
    """Say what the GPUs did, by the headline window of each rank."""
    ranks = [rank for rank in measurements if rank.n_ops and not rank.loss]
    lost = [rank.loss for rank in measurements if rank.loss]
    # Of the windows of a rank the headline is the last one.
    rows = [d for rank in ranks for d in rank.devices if d.window == rank.devices[-1].window]
    if not rows and lost:
        return Outcome(
            missing=kit.reason_lost([loss.node for loss in lost]), findings=[_lost(lost)]
        )
    if not rows:
        n_hosts = sum(rank.has_host for rank in measurements)
        unseen = NO_GPU.finding(measured=None, n=n_hosts) if n_hosts else None
        return Outcome(missing=kit.reason_without_gpu(0), findings=[unseen])
    total = kit.merge(rows)
    every = joined([rank.exchanges for rank in ranks])
    meetings = comparable(meetings_of(every))
    window = kit.window_name([item.window for item in rows])
    return Outcome(
        findings=[
            _lost(lost) if lost else None,
            _exposed(ranks, (every, meetings), total, window, params.threshold_exposed_pct),
            _uneven(ranks, _of_largest_world(rows, meetings), window, params),
        ],
        exhibits=_exhibits(ranks, total, window),
        metrics={
            "gpu_active_ratio": ratio_of(total.busy_ns, total.window_ns),
            "kernel_active_ratio": ratio_of(total.kernel_ns, total.window_ns),
            **{
                f"{name.replace(' ', '_')}_ratio": ratio_of(time_ns, total.window_ns)
                for name, time_ns in _split(total).items()
            },
            "communication_overlapped_ratio": ratio_of(total.overlap_ns, total.communication_ns),
        },
    )


def _lost(lost: Sequence[GraphLoss]) -> Finding:
    worst = max(lost, key=lambda loss: loss.lost_ratio)
    return LOST.finding(
        measured=100 * worst.lost_ratio,
        threshold=100 * LOST_RATIO,
        where=Where(node=worst.node),
        names=[loss.node for loss in lost],
        worst=worst,
    )


def _split(total: DeviceTime) -> dict[str, int]:
    """Return the parts that exclude each other; they fill the windows."""
    return {
        "compute": total.compute_ns - total.overlap_ns,
        "compute with communication": total.overlap_ns,
        "exposed communication": total.exposed_communication_ns,
        "memory operations": total.busy_ns - total.kernel_ns,
        "idle": total.idle_ns,
    }


def _exhibits(ranks: Sequence[RankActivity], total: DeviceTime, window: str) -> Iterator[Exhibit]:
    values = {
        "window": window,
        "n_ops": sum(rank.n_ops for rank in ranks),
        "kernel": pct_of(total.kernel_ns, total.window_ns),
    }
    parts_ns = {
        "active_time": {"active": total.busy_ns, "idle": total.idle_ns},
        "activity_split": _split(total),
        "activity_sums": kit.sum_by_key(rank.sums_ns for rank in ranks),
    }
    for exhibit_id, (title, caption) in SHARES.items():
        yield kit.ranking(
            exhibit_id,
            list(parts_ns[exhibit_id].items()),
            title=title,
            caption=write(caption, **values),
            roles=[ROLES.get(name, Role.GPU) for name in parts_ns[exhibit_id]],
        )
        if exhibit_id == "active_time":
            yield _curve(ranks, total, window)
    yield _table(ranks)


def _table(ranks: Sequence[RankActivity]) -> Exhibit:
    rows = [(rank, item) for rank in ranks for item in rank.devices]
    names = hosts_of_ranks([rank.host for rank in ranks])
    hosts = [host or None for host, rank in zip(names, ranks, strict=True) for _ in rank.devices]
    windows = [str(item.window.kind) for _, item in rows]
    starts_us = [(rank.clock_ns + item.window.start_ns) / NS_PER_US for rank, item in rows]
    times = [
        (f"{name}_us", "us", [getattr(item, f"{name}_ns") / NS_PER_US for _, item in rows])
        for name in TIMES
    ]
    return results.exhibit(
        "activity_by_device",
        results.ExhibitKind.TABLE,
        title="GPU activity by rank, device and window",
        caption=TABLE_CAPTION,
        columns=[
            results.column("rank", "", [rank.rank for rank, _ in rows], type=ColumnType.INT),
            results.column("host", "", hosts, type=ColumnType.TEXT),
            results.column("device", "", [item.device for _, item in rows], type=ColumnType.INT),
            results.column("window", "", windows, type=ColumnType.TEXT),
            *kit.floats(("window_start_us", "us", starts_us), *times),
        ],
    )


def _curve(ranks: Sequence[RankActivity], total: DeviceTime, window: str) -> Exhibit:
    owners = [(rank, item) for rank in ranks for item in rank.use]
    devices = [item for _, item in owners]
    use = device_busy.use_together(devices)
    apart = kit.FAR_APART if use.is_apart else ""
    shown = many_ranks.unusual([item.mean for item in devices])
    rest = kit.unusual_only("GPUs", shown=len(shown), every=len(devices))
    named, rest_of_nodes = _means(owners)
    for place in shown:
        item = devices[place]
        named.append((device_label(item.node, item.device, n_nodes=len(ranks)), [place]))
    with np.errstate(invalid="ignore"):
        lines = [
            (name, "%", 100 * use.busy_ns[at].sum(axis=0) / use.length_ns[at].sum(axis=0))
            for name, at in named
        ]
    return results.exhibit(
        "utilization",
        results.ExhibitKind.SERIES,
        title=write(
            "GPU utilization over time: {share:pct} on average",
            share=pct_of(total.busy_ns, total.window_ns),
        ),
        caption=f"""Share of each {format_ns(use.width_ns)} in which a kernel, copy or memset ran,
            over {window}.{apart}{rest}{rest_of_nodes}""",
        columns=[*kit.floats(("time_s", "s", use.time_s)), *kit.floats(*lines, role=Role.GPU)],
        role=Role.GPU,
    )


def _means(
    owners: Sequence[tuple[RankActivity, FineUse]],
) -> tuple[list[tuple[str, list[int]]], str]:
    """Return name and places of all GPUs, or of those of each node where ranks fill several.

    Of many nodes, of all GPUs and of the most unusual ones, and a sentence that says so.
    """
    if len(owners) < 2:
        return [], ""
    nodes: dict[str, list[int]] = {}
    # A name for each rank is no name of a node: worker0_step_12, worker1_step_12.
    are_hosts = 1 < len({rank.host for rank, _ in owners}) < len(owners)
    for place, (rank, _) in enumerate(owners):
        number = rank.rank // rank.local_size if rank.local_size else 0
        nodes.setdefault(rank.host if are_hosts else f"node {number}", []).append(place)
    together = ("mean of GPUs", [*range(len(owners))])
    if len(nodes) == 1:
        return [together], ""
    means = [(f"mean of GPUs of {node or 'others'}", places) for node, places in nodes.items()]
    busy = [sum(owners[place][1].mean for place in places) / len(places) for _, places in means]
    shown = many_ranks.unusual(busy)
    rest = kit.unusual_only("nodes", shown=len(shown), every=len(means))
    return [*([together] if rest else ()), *(means[at] for at in shown)], rest


def _exposed(
    ranks: Sequence[RankActivity],
    exchanges: tuple[Exchanges, Meetings],
    total: DeviceTime,
    window: str,
    limit_pct: float,
) -> Finding | None:
    """Return communication with nothing beside it, without the waiting where that is known."""
    every, meetings = exchanges
    waiting_ns = int(meetings.alone_ns.sum()) if meetings.n else None
    exposed_ns = max(total.exposed_communication_ns - (waiting_ns or 0), 0)
    share_pct = pct_of(exposed_ns, total.window_ns)
    if share_pct < limit_pct or exposed_ns <= 0:
        return None
    waiting = WAITING_UNKNOWN if waiting_ns is None else ""
    if waiting_ns:
        waiting = write(WITHOUT_WAITING, waited=waiting_ns)
    sends_ns = min(alone_in_sends_ns(every, meetings), exposed_ns)
    is_pipeline = sends_ns >= MOSTLY_RATIO * exposed_ns
    return (PIPELINE if is_pipeline else EXPOSED).fault(
        share_pct,
        threshold=limit_pct,
        where=_longest_alone(ranks, every),
        exposed=exposed_ns,
        window=window,
        hidden=pct_of(total.overlap_ns, total.communication_ns),
        waiting=waiting,
        sends=pct_of(sends_ns, exposed_ns),
    )


def _longest_alone(ranks: Sequence[RankActivity], every: Exchanges) -> results.Where:
    if not every.alone_row.size:
        return results.Where()
    part = int(np.argmax(every.alone_end_ns - every.alone_start_ns))
    number = every.rank[every.alone_row[part]]
    node = next(rank.node for rank in ranks if rank.rank == number)
    return kit.stretch(node, None, int(every.alone_start_ns[part]), int(every.alone_end_ns[part]))


def _of_largest_world(rows: Sequence[DeviceTime], meetings: Meetings) -> Sequence[DeviceTime]:
    """Return the devices of the ranks that exchange data with each other: they wait for each other.

    Of several trainings side by side it is the one with most devices; a rank that meets no other
    has only its own devices.
    """
    worlds = worlds_of(meetings)
    found: dict[int, list[DeviceTime]] = {}
    for row in rows:
        found.setdefault(worlds.get(row.rank, row.rank), []).append(row)
    return max(found.values(), key=len)


def _uneven(
    ranks: Sequence[RankActivity], rows: Sequence[DeviceTime], window: str, params: Params
) -> Finding | None:
    """Compare devices by the compute in their headline windows; one device has no peers.

    The rank must be ahead in time as well: a recording that begins late is short, and its compute
    takes a larger share of it.
    """
    limit_pct = params.threshold_imbalance_pct
    if len(rows) < 2:
        return None
    ratios = [ratio_of(item.compute_ns, item.window_ns) or 0.0 for item in rows]
    worst_ratio, worst = max(zip(ratios, rows, strict=True), key=itemgetter(0))
    others_ratio = (sum(ratios) - worst_ratio) / (len(rows) - 1)
    others_ns = (sum(item.compute_ns for item in rows) - worst.compute_ns) / (len(rows) - 1)
    saved_ratio = worst_ratio - sum(ratios) / len(rows)
    above_pct = pct_of(worst_ratio - others_ratio, others_ratio)
    longer_pct = pct_of(worst.compute_ns - others_ns, others_ns)
    if min(above_pct, longer_pct) < limit_pct or saved_ratio < kit.CHEAP_RATIO:
        return None
    node = next(rank.node for rank in ranks if rank.rank == worst.rank)
    device = f"gpu{worst.device}"
    counts = {(rank.rank, at): n for rank in ranks for at, n in rank.n_computing.items()}
    n_kernels = counts[worst.rank, worst.device]
    n_others = sum(counts[row.rank, row.device] for row in rows) - n_kernels
    return UNEVEN.finding(
        measured=above_pct,
        threshold=limit_pct,
        where=results.Where(node=node, device=device),
        share=saved_ratio,
        name=device_label(node, device, n_nodes=len(ranks)),
        compute=100 * worst_ratio,
        others=100 * others_ratio,
        saved=100 * saved_ratio,
        window=window,
        n_kernels=n_kernels,
        n_others=round(n_others / (len(rows) - 1)),
    )


RULE = Rule(
    id=results.RuleId("GPUActivity"),
    title="GPU activity",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    places={
        "active_time": Place(dashboard=DashboardPanel(order=10, headline=results.FIRST_PART)),
        "activity_split": kit.largest(20),
        "utilization": Place(dashboard=DashboardPanel(order=30, is_wide=True, shares_axis=True)),
        "activity_sums": kit.largest(150),
    },
)
