"""OperatorTime: how long each operator ran on the host and on the GPU, from kernel traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Integers
from reportgen.facts import operators
from reportgen.facts.device_busy import SYNC_CALL, rows_named
from reportgen.facts.intervals import covered_each, nest, self_ns, union_of
from reportgen.facts.modules import ModuleTimes, in_order_of_tree, module_times, with_inner
from reportgen.merging import merged, rows_by_code, sums_by_code
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, SliceKind, Times
from reportgen.results import Exhibit, ExhibitKind, Role, RuleId, Section
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.text import write
from reportgen.units import NS_PER_US, pct_of

INDENT = "· "
_SAY_NONE = (
    "The trace has no operators; nsys records those of PyTorch only under "
    "torch.autograd.profiler.emit_nvtx()."
)
ABOUT = About(
    checks="""How long the operators of the framework ran on the host, and how much GPU time they
        launched.""",
    reading="""The time of an operator includes the operators that it calls; its self time does
        not, so only self times can be added up. A part of it may be a wait for the GPU. GPU time
        is that of the GPU operations that it launched itself.""",
    advice="Look for operators that take much time on the host but little on the GPU.",
    section=Section(id="traced-operators", title="Traced operators", order=70),
    hint_when_skipped="Trace with ProfilerActivity.CPU as an activity.",
)
BY_SELF_TIME = (
    "Operators by self time on the host",
    """Shares of the self time of all operators on all threads ({every:ns}). Waits for the
    GPU in synchronizing calls are left out: they are the GPU's time.""",
)
BY_GPU_TIME = (
    "Operators by time on the GPU",
    "Shares of the GPU time that operators launched directly ({every:ns}).",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """How many operators rankings show one by one."""

    top: int = kit.top_k()


@dataclass(frozen=True, slots=True, kw_only=True)
class RankOperators:
    """The operators of a rank, or of all, by name.

    Attributes:
        durations: on the host, with what they called.
        self_ns: on the host, without the operators that they called.
        wait_ns: waits for the GPU among it.
        gpu_ns: durations of the GPU operations that they launched themselves.
    """

    durations: operators.Durations = merged(operators.joined_durations)
    self_ns: Mapping[str, int] = merged(kit.sum_by_key)
    wait_ns: Mapping[str, int] = merged(kit.sum_by_key)
    gpu_ns: Mapping[str, int] = merged(kit.sum_by_key)
    modules: ModuleTimes = merged(kit.merge)


@kit.row
class Module:
    """One class of modules at one place of the tree, over all ranks."""

    module: str = kit.col()
    count: int = kit.col()
    host_ns: int = kit.col("us", name="host_time_us", per=NS_PER_US)
    gpu_ns: int = kit.col("us", name="gpu_time_us", per=NS_PER_US)
    own_gpu_ns: int = kit.col("us", name="own_gpu_time_us", per=NS_PER_US)


@kit.row
class Operator:
    """One operator over all ranks."""

    name: str = kit.col()
    count: int = kit.col()
    sum_ns: int = kit.col("us", name="sum_us", per=NS_PER_US)
    self_ns: int = kit.col("us", name="self_us", per=NS_PER_US)
    wait_ns: int = kit.col("us", name="gpu_wait_us", per=NS_PER_US)
    pct_of_self_time: float = kit.col("%")
    mean_ns: float = kit.col("us", name="mean_us", per=NS_PER_US)
    p50_ns: float = kit.col("us", name="p50_us", per=NS_PER_US)
    p95_ns: float = kit.col("us", name="p95_us", per=NS_PER_US)
    p99_ns: float = kit.col("us", name="p99_us", per=NS_PER_US)
    min_ns: int = kit.col("us", name="min_us", per=NS_PER_US)
    max_ns: int = kit.col("us", name="max_us", per=NS_PER_US)
    std_ns: float = kit.col("us", name="std_us", per=NS_PER_US)
    gpu_ns: int = kit.col("us", name="gpu_time_us", per=NS_PER_US)


_OF_DURATIONS = (
    "count",
    *(f"{name}_ns" for name in ("sum", "mean", "p50", "p95", "p99", "min", "max", "std")),
)


def measure(trace: RankTrace, _params: Params) -> RankOperators:
    """Measure the operators of a rank."""
    slices = trace.slices
    rows = np.flatnonzero(slices.kind == SliceKind.OPERATOR)
    groups = [(trace.names[code], at) for code, at in rows_by_code(slices.name[rows])]

    def by_name(time_ns: Times) -> dict[str, int]:
        return {name: int(time_ns[places].sum()) for name, places in groups}

    each_self_ns, waits_ns = _self_ns(trace, rows)
    launching, launched_ns = operators.launching_operators(trace), trace.gpu_ops.duration_ns
    # ``NONE`` is the last.
    launched_ns = sums_by_code(launching, launched_ns, slices.start_ns.size + 1)
    return RankOperators(
        durations={(name,): slices.duration_ns[rows[places]] for name, places in groups},
        self_ns=by_name(each_self_ns),
        wait_ns=by_name(waits_ns),
        gpu_ns=by_name(launched_ns[rows]),
        modules=module_times(trace),
    )


def _self_ns(trace: RankTrace, rows: Integers) -> tuple[Times, Times]:
    """Return (n,) ns of each operator without those that it called, and of its waits for the GPU.

    The waits are those of its self time that lie in synchronizing calls, as those of a copy do:
    they are the GPU's time, not the host's.
    """
    slices, calls = trace.slices, trace.calls
    is_wait = rows_named(trace, calls.name, SYNC_CALL.search)
    found_ns, waits_ns = np.zeros((2, rows.size), dtype=np.int64)
    for thread in np.unique(slices.thread[rows]).tolist():
        here = slices.thread[rows] == thread
        at, waits = rows[here], np.flatnonzero(is_wait & (calls.thread == thread))
        nesting = nest(slices.start_ns[at], slices.end_ns[at])
        found_ns[here] = self_ns(nesting, slices.duration_ns[at])
        waiting = union_of(calls.start_ns[waits], calls.end_ns[waits])
        waited_ns = covered_each(waiting, slices.start_ns[at], slices.end_ns[at])
        inner = np.flatnonzero(nesting.parent != NONE)
        waits_ns[here] = waited_ns - sums_by_code(nesting.parent[inner], waited_ns[inner], at.size)
    return found_ns, np.clip(waits_ns, 0, found_ns)


def judge(ranks: Sequence[RankOperators], params: Params) -> Outcome:
    """Report which operators took the time, by self time, ties by name."""
    job = kit.merge(ranks)
    rows = _rows(job)
    if not rows:
        return Outcome(missing=_SAY_NONE)
    self_time_ns, gpu_time_ns = sum(item.self_ns for item in rows), sum(i.gpu_ns for i in rows)
    work = [(item.name, item.self_ns - item.wait_ns) for item in rows]
    on_gpu = [(item.name, item.gpu_ns) for item in rows]
    by_host, by_gpu = (
        kit.ranking(
            exhibit_id,
            sorted(parts, key=lambda part: (-part[1], part[0])),
            title=title,
            caption=write(caption, every=sum(time_ns for _, time_ns in parts)),
            name="operator",
            most=params.top,
            others="operator",
            drawn_as=ExhibitKind.BARS,
            role=role,
        )
        for exhibit_id, parts, role, title, caption in (
            ("top_by_self_time", work, Role.CPU, *BY_SELF_TIME),
            ("top_by_gpu_time", on_gpu, Role.GPU, *BY_GPU_TIME),
        )
    )
    every = kit.table(
        "operators",
        rows,
        Operator,
        title="All operators",
        caption="""All ranks and threads together, sorted by self time. The durations are those on
            the host and include the operators that were called. pct_of_self_time is the share of
            the self time of all operators. gpu_wait_us is the part of the self time in which the
            operator waits in synchronizing calls for the GPU. gpu_time_us adds up the durations of
            the GPU operations that the operator launched directly.""",
    )
    return Outcome(
        exhibits=[
            by_host,
            *([by_gpu] if gpu_time_ns > 0 else []),
            every,
            *_module_tree(job.modules),
        ],
        metrics={
            "n_operators": sum(item.count for item in rows),
            "n_distinct_operators": len(rows),
            "self_time_us": self_time_ns / NS_PER_US,
            "gpu_time_us": gpu_time_ns / NS_PER_US,
        },
    )


def _module_tree(modules: ModuleTimes) -> Iterator[Exhibit]:
    if not modules.count:
        return
    gpu_ns = with_inner(modules.gpu_ns)
    rows = [
        Module(
            module=INDENT * (len(path) - 1) + path[-1],
            count=modules.count[path],
            host_ns=modules.host_ns[path],
            gpu_ns=gpu_ns.get(path, 0),
            own_gpu_ns=modules.gpu_ns.get(path, 0),
        )
        for path in in_order_of_tree(modules.host_ns)
    ]
    yield kit.table(
        "modules",
        rows,
        Module,
        title="Modules of the model",
        caption="""Calls of nn.Module on all ranks, added up by the classes of the modules around
            them; each dot is one level. Times include the modules inside; own_gpu_time_us does not.
            The GPU work of the backward pass belongs to no module.""",
    )


def _rows(job: RankOperators) -> list[Operator]:
    every_ns = sum(job.self_ns.values())
    rows = [
        Operator(
            name=name,
            self_ns=job.self_ns[name],
            wait_ns=job.wait_ns[name],
            pct_of_self_time=pct_of(job.self_ns[name], every_ns),
            gpu_ns=job.gpu_ns[name],
            **{figure: getattr(item, figure) for figure in _OF_DURATIONS},
        )
        for item in operators.duration_rows(job.durations)
        for name in item.key
    ]
    return sorted(rows, key=lambda item: (-item.self_ns, item.name))


RULE = Rule(
    id=RuleId("OperatorTime"),
    title="Operators",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
)
