"""Costs of the host of a traced rank: how much sooner the rank would be done without each of them.

``reportgen.facts.replay`` plays the recording again without it (docs/definitions.md, Replay).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from reportgen.arrays import Mask, select
from reportgen.facts import device_busy, idle, replay, traced_steps
from reportgen.facts.device_busy import Window, rows_named
from reportgen.facts.intervals import (
    Union,
    clip,
    covered_each,
    gaps_of,
    join,
    longest_of,
    minus,
    runs_of,
    union_of,
)
from reportgen.facts.kernel_names import short_name
from reportgen.facts.lost_kernels import graph_loss
from reportgen.facts.replay import Change, ReplayedRank
from reportgen.merging import rows_between
from reportgen.profile.memo import fact
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, GpuKind, SliceKind, Times
from reportgen.units import NS_PER_MS, NS_PER_US, pct_of

SMALL_NS = 10 * NS_PER_US
"""A shorter kernel cannot hide the next launch, which costs the framework 5 to 20 µs."""
LEAST_RUN = 3
"""So many small kernels in a row are worth fusing."""
KEPT_BY_FUSION = 0.5
"""A fused kernel still reads and writes its tensors once: half of the time is taken as staying."""
LONG_FIRST_CALL_NS = 100 * NS_PER_US
FIRST_CALL_TIMES = 10
"""A launch that loads its kernel takes at least this long, and this many times the usual launch."""
TURNAROUND_NS = 100 * NS_PER_US
"""From the end of a synchronizing call to the next kernel, if the host has nothing else to do: a
few operators."""
TURNAROUND_RATIO = 0.4
"""Such stretches make up at least this share of the cost of synchronizing calls; else they hurt
only because the host is slow elsewhere."""
LONG_GAP_NS = NS_PER_MS
LONG_GAP_RATIO = 0.02
"""Shortest single stretch that is reported, in ns and as a share of the window."""
LONG_WORK_NS = NS_PER_MS
"""After a synchronizing call the host begins anew with calls that are much closer to each other."""
COMPARABLE = 1 / 3
"""Gaps of this share of the longest are as long as it: if there are many, no gap is a single
one."""
MOST_SINGLE_PER_STEP = 0.3
"""More long gaps than this for each step come with the steps; they are no separate events."""

DOING_RATIO = 0.6
"""An operation that covers this share of a stretch names the work of the host in it."""

_LOADS = re.compile(
    r"^cu(Module(Load|GetFunction)|Library(Load|GetKernel|GetModule)|LinkComplete|KernelGetFunction)"
    r"|^hipModuleLoad|^cudaFuncGetAttributes$"
)
_COMPILES = re.compile(
    r"compile_inner|compile_fx|async_compile|benchmark_all_configs|autotune_to_one_config"
)

_COMPILED = re.compile(r"^triton_(poi|red|per|tem|for)_|Torch-Compiled Region|CompiledFunction")
_NO_CUDA_GRAPHS = re.compile(r"^hip|^cu(da)?GraphLaunch")

_BUILT_IN = re.compile(r"^<built-in (?:function|method) (\w++).*>$")
_OWN_FUNCTION = re.compile(r"^(?!<|torch/|threading\.py)\S*\.py\(\d+\): (?!<module>)")
"""Python functions of the script, or of a library that is not PyTorch's."""


class Cost(StrEnum):
    """Costs that can be taken out of a recording."""

    LOADER = "loader"
    COPIES = "pageable copies"
    FIRST_USE = "first use"
    LONG_GAP = "long gap"
    SMALL = "small kernels"
    SYNC = "synchronization"
    HOST = "host work"


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """A stretch that comes once, ns UTC.

    Attributes:
        length_ns: of it, or of its parts.
        before: the operation that ended it, by its short name.
        doing: the operation that the host was in, empty where nothing was recorded.
    """

    start_ns: int
    end_ns: int
    length_ns: int
    before: str = ""
    doing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCosts:
    """The costs of the host of one rank.

    Attributes:
        window: in which they were played.
        won_ns: by how much the rank would be done sooner without each cost.
        stops: single long stretches in which a device did nothing, in order.
        first_use: from the first to the last first use, ``None`` without any.
        longest_row: the row of small kernels in which the host launches longest, or ``None``.
        suits_graphs: whether CUDA graphs are there to be tried: a GPU of NVIDIA's without any.
        trains: whether there is a backward pass or an optimizer; taken to be so where the trace
            holds nothing of the host.
        is_compiled: whether code of torch.compile ran.
        has_stacks: whether Python functions were recorded, which slows the host down.
    """

    rank: int
    node: str
    window: Window
    won_ns: Mapping[Cost, int]
    stops: tuple[Once, ...]
    first_use: Once | None
    longest_row: Once | None
    n_small: int
    suits_graphs: bool
    trains: bool
    is_compiled: bool
    has_stacks: bool

    def share_pct(self, cost: Cost) -> float:
        """Return the share of the window that is won without a cost."""
        return pct_of(self.won_ns[cost], self.window.length_ns)


def is_compiled(trace: RankTrace) -> bool:
    """Return whether code of torch.compile ran."""
    return any(_COMPILED.search(name) for name in trace.names)


@fact
def host_costs(trace: RankTrace) -> HostCosts | None:
    """Return the costs of the host of a rank; ``None`` without kernels, or if some were lost."""
    track = replay.track_of(trace)
    if track is None or graph_loss(trace) is not None:
        return None
    loader = traced_steps.waiting_for_batches(trace)
    first_use = _first_use(trace, track)
    device = int(trace.gpu_ops.device[track.rows[0]])
    unions = next(item for item in device_busy.unions_of(trace, None) if item.device == device)
    gaps = idle.gaps_in(trace, unions, track.window)
    late_ns = idle.causes_of(trace, gaps)
    stops = _stops(trace, track, gaps, late_ns, first_use)
    is_named = rows_named(trace, trace.calls.name, device_busy.SYNC_CALL.search)[track.waits]
    is_small = trace.gpu_ops.bytes < replay.LEAST_COPY_BYTES
    is_read_back = is_small & (trace.gpu_ops.kind == GpuKind.MEMCPY)
    is_sync = is_named | replay.waits_of(trace, track, is_read_back)
    ends_ns = np.array([(item.start_ns, item.end_ns) for item in stops], dtype=np.int64)
    stopped = union_of(*(ends_ns.reshape(-1, 2) - trace.origin_ns).T)
    small, n_small = _small(trace, track)
    row = longest_of(clip(small.spared, track.window.start_ns, track.window.end_ns))
    spared = [Change(spared=when) for when in (loader, first_use, stopped)]
    pinned = replay.from_pinned(trace, track)
    others = (*spared, pinned)
    sync = Change(is_free=is_sync)
    work = minus(
        gaps_of(union_of(track.low_ns, track.high_ns), track.window.start_ns, track.window.end_ns),
        join((loader, first_use, stopped)),
    )
    once, sync_ns = join((first_use, stopped)), _also_won_ns(track, sync, (*others, small))
    if _turnaround_ns(track, gaps, late_ns, is_sync, once) < TURNAROUND_RATIO * sync_ns:
        sync_ns = 0
    work_ns = _also_won_ns(track, Change(spared=work), (*others, sync) if sync_ns else others)
    if sync_ns:  # either is won alone, so that the one hides the other
        long = select(work, work.end_ns - work.start_ns >= LONG_WORK_NS)
        work_ns = max(work_ns, _also_won_ns(track, Change(spared=long), others))
    return HostCosts(
        rank=trace.rank,
        node=trace.node,
        window=track.window,
        won_ns={
            Cost.LOADER: replay.won_ns(track, (Change(spared=loader),)),
            Cost.COPIES: replay.won_ns(track, (pinned,)),
            Cost.FIRST_USE: replay.won_ns(track, (Change(spared=first_use),)),
            Cost.LONG_GAP: replay.won_ns(track, (Change(spared=stopped),)),
            Cost.SMALL: replay.won_ns(track, (small,)),
            Cost.SYNC: max(sync_ns, 0),
            Cost.HOST: max(work_ns, 0),
        },
        stops=stops,
        first_use=_as_once(trace, first_use),
        longest_row=_as_once(trace, row),
        n_small=n_small,
        suits_graphs=not rows_named(trace, trace.calls.name, _NO_CUDA_GRAPHS.search).any(),
        trains=idle.is_training(trace),
        is_compiled=is_compiled(trace),
        has_stacks=bool((trace.slices.kind == SliceKind.PYTHON).any()),
    )


def _also_won_ns(track: ReplayedRank, change: Change, others: Sequence[Change]) -> int:
    return replay.won_ns(track, (*others, change)) - replay.won_ns(track, others)


def _as_once(trace: RankTrace, when: Union) -> Once | None:
    if not when.start_ns.size:
        return None
    return Once(
        start_ns=trace.origin_ns + int(when.start_ns[0]),
        end_ns=trace.origin_ns + int(when.end_ns[-1]),
        length_ns=when.length_ns,
    )


def _turnaround_ns(
    track: ReplayedRank, gaps: idle.Gaps, late_ns: Mapping[str, Times], is_sync: Mask, once: Union
) -> int:
    """Return how long the device idles after synchronizing calls because the host begins anew.

    0 if it mostly idles much longer: then the host does something else, which delays the GPU.
    Work that it does ``once`` is a separate cost.
    """
    if not is_sync.any() or not gaps.low_ns.size:
        return 0
    low_ns, high_ns = track.low_ns[is_sync], track.high_ns[is_sync]
    after = np.searchsorted(low_ns, gaps.low_ns, side="right") - 1
    begins_in = (after >= 0) & (gaps.low_ns <= high_ns[np.maximum(after, 0)])
    loader_ns = late_ns[idle.HostCause.DATALOADER]
    once_ns = covered_each(once, gaps.low_ns, gaps.high_ns)
    rest_ns = np.maximum(gaps.high_ns - gaps.low_ns - loader_ns - once_ns, 0)[begins_in]
    n_calls = np.searchsorted(low_ns, gaps.high_ns[begins_in]) - after[begins_in]
    turnaround_ns = int(np.minimum(rest_ns, n_calls * TURNAROUND_NS).sum())
    return turnaround_ns if turnaround_ns >= 0.5 * rest_ns.sum() else 0


def _small(trace: RankTrace, track: ReplayedRank) -> tuple[Change, int]:
    """Return runs of small kernels as if each were one fused kernel, and how many there are."""
    ops, calls = trace.gpu_ops, trace.calls
    rows = track.rows[ops.launch[track.rows] != NONE]
    order = rows[np.argsort(ops.launch[rows], kind="stable")]
    launch = ops.launch[order]
    is_alone = np.bincount(launch, minlength=calls.start_ns.size)[launch] == 1
    is_kernel = is_alone & (ops.kind[order] == GpuKind.KERNEL)
    is_small = is_kernel & (ops.duration_ns[order] < SMALL_NS)
    small = np.flatnonzero(is_small)
    first, last = small[runs_of(small, max_step=1)]
    is_long = last - first >= LEAST_RUN - 1
    first, last = first[is_long], last[is_long]
    _, fused = rows_between(first, last + 1)
    is_fused = np.isin(track.rows, order[fused])
    length_ns = np.where(is_fused, track.length_ns * KEPT_BY_FUSION, track.length_ns)
    # The first launch of a run stays, and what the host does until the last one goes.
    spared = union_of(calls.end_ns[launch[first]], calls.end_ns[launch[last]])
    return Change(spared=spared, length_ns=length_ns.astype(np.int64)), fused.size


def _first_use(trace: RankTrace, track: ReplayedRank) -> Union:
    ops, calls, slices = trace.gpu_ops, trace.calls, trace.slices
    _, first = np.unique(ops.name, return_index=True)
    every = np.unique(ops.launch[ops.launch != NONE])
    usual_ns = float(np.median(calls.duration_ns[every])) if every.size else 0.0
    least_ns = max(LONG_FIRST_CALL_NS, FIRST_CALL_TIMES * usual_ns)
    is_first = np.zeros(calls.start_ns.size + 1, dtype=bool)
    is_first[ops.launch[first[ops.kind[first] == GpuKind.KERNEL]]] = True  # ``NONE`` is the last
    is_first[track.waits] = False
    is_first = is_first[:-1] & (calls.duration_ns >= least_ns)
    is_first |= rows_named(trace, calls.name, _LOADS.search) & (
        calls.duration_ns >= LONG_FIRST_CALL_NS / 2
    )
    loads = union_of(calls.start_ns[is_first], calls.end_ns[is_first])
    compiles = rows_named(trace, slices.name, _COMPILES.search)
    return join((loads, union_of(slices.start_ns[compiles], slices.end_ns[compiles])))


def _stops(
    trace: RankTrace,
    track: ReplayedRank,
    gaps: idle.Gaps,
    late_ns: Mapping[str, Times],
    first_use: Union,
) -> tuple[Once, ...]:
    """Return single long stretches for which the host came late, but not for a batch."""
    loader_ns = late_ns[idle.HostCause.DATALOADER]
    until_ns = np.maximum(gaps.call_ns, gaps.low_ns)  # nothing is known before an unknown call
    known_ns = covered_each(first_use, gaps.low_ns, until_ns)
    host_ns = until_ns - gaps.low_ns - loader_ns - known_ns
    longest_ns = int(host_ns.max(initial=0))
    least_ns = max(LONG_GAP_NS, LONG_GAP_RATIO * track.window.length_ns)
    places = np.flatnonzero(host_ns >= COMPARABLE * longest_ns)
    most = max(1, int(MOST_SINGLE_PER_STEP * trace.steps.start_ns.size))
    if longest_ns < least_ns or places.size > most:
        return ()
    return tuple(
        Once(
            start_ns=trace.origin_ns + int(gaps.low_ns[place]),
            end_ns=trace.origin_ns + int(until_ns[place]),
            length_ns=int(until_ns[place] - gaps.low_ns[place]),
            before=short_name(trace.names[trace.gpu_ops.name[gaps.before[place]]]),
            doing=_doing(trace, gaps, place, int(until_ns[place])),
        )
        for place in places.tolist()
    )


def _doing(trace: RankTrace, gaps: idle.Gaps, place: int, until_ns: int) -> str:
    """Return the event that covers most of a gap on its thread, the innermost of those around it.

    Of what is around it the range that the script marks is named, and its own Python function.
    """
    low_ns, slices, found = int(gaps.low_ns[place]), trace.slices, list[tuple[int, int, int]]()
    is_work = ~device_busy.step_marks(trace) & (slices.kind != SliceKind.OVERHEAD)
    of_calls = np.full(trace.calls.start_ns.shape, NONE)
    for table, kind, is_meant in (
        (slices, slices.kind, is_work),
        (trace.calls, of_calls, np.True_),
    ):
        inside_ns = np.minimum(table.end_ns, until_ns) - np.maximum(table.start_ns, low_ns)
        is_in = (inside_ns >= DOING_RATIO * (until_ns - low_ns)) & is_meant
        rows = np.flatnonzero(is_in & (table.thread == gaps.thread[place]))
        columns = (table.duration_ns[rows], table.name[rows], kind[rows])
        found += zip(*(column.tolist() for column in columns), strict=True)
    around = [(trace.names[name], kind) for _, name, kind in sorted(found)]
    ranges = [name for name, kind in around if kind == SliceKind.ANNOTATION]
    functions = [name for name, _ in around if _OWN_FUNCTION.match(name)]
    doing = [_BUILT_IN.sub(r"\1", name) for name, _ in around[:1]] + ranges[:1] + functions[:1]
    return " in ".join(dict.fromkeys(doing))
