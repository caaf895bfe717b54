"""Annotations: how long the ranges took that people marked in their code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import Rows
from reportgen.facts.device_busy import launch_start_ns
from reportgen.facts.distributions import bin_together
from reportgen.facts.intervals import union_by_code_ns
from reportgen.merging import joint_codes, merge_by, rows_between, sum_of_known
from reportgen.profile import RankTrace, SpanTable
from reportgen.profile.trace_tables import NONE, HostSlices, SliceKind, Times
from reportgen.results import Choice, Exhibit, Place, Role, RuleId, Section
from reportgen.rules.base import About, Need, NoParams, Outcome, Part, Rule
from reportgen.rules.kit import col, concat, derived, histogram, left_out, merged, row, table
from reportgen.text import format_ns, plural
from reportgen.units import NS_PER_US

_INTERNAL = re.compile(
    r"^(ProfilerStep *#|nccl:|c10d::|gloo:|Optimizer\.|enumerate\(DataLoader\)#"
    r"|## Call CompiledFxGraph|PyTorch Profiler)"
)
"""Ranges that frameworks mark themselves (docs/definitions.md, Annotations)."""
_PHASE = "annotation"
"""Of the framework events that ``reportgen record`` makes of ranges (docs/record.md)."""

ABOUT = About(
    checks="How long the ranges took that the script marks.",
    reading="""Durations are those on the host. Names that differ only by a number at the end are
        joined, and ranges inside one of the same name count with it; ranges of the framework are
        left out.""",
    advice="Mark the phases of a step to see which one takes the time.",
    section=Section(id="annotations", title="Annotations", order=120),
    hint_when_skipped="""Mark parts of the script: with torch.profiler.record_function("name"): …
        or, recorded by reportgen record, with reportgen.annotate("name"): …""",
)
MOST_HISTOGRAMS = 100
"""Each histogram to choose is a chart in the page: more make it larger."""
GPU_TIME = """ gpu_time_us is the time in which GPU operations ran that were launched inside the
range, by its thread or a thread that works for it, added up over instances."""
LEFT_OUT = " Of {every:n} names that repeat, the {shown:n} that take the most time can be chosen."


@row
class Annotation:
    """All ranges of one name on a rank, or on all.

    Attributes:
        name: without the number at its end.
        duration_ns: (n,) int64 on the host, ascending.
        gpu_ns: time in which GPU operations launched inside ran, added up over ranges; ``None``
            without a kernel trace.
    """

    name: str = col()
    duration_ns: Times = merged(lambda parts: np.sort(np.concatenate(parts)))
    count: int = derived(lambda item: item.duration_ns.size)
    sum_us: float = derived(lambda item: item.duration_ns.sum() / NS_PER_US, "us")
    p50_us: float = derived(lambda item: np.percentile(item.duration_ns, 50) / NS_PER_US, "us")
    p95_us: float = derived(lambda item: np.percentile(item.duration_ns, 95) / NS_PER_US, "us")
    p99_us: float = derived(lambda item: np.percentile(item.duration_ns, 99) / NS_PER_US, "us")
    gpu_ns: int | None = col("us", name="gpu_time_us", per=NS_PER_US, reduce=sum_of_known)


def measure(part: Part, _params: NoParams) -> tuple[Annotation, ...]:
    """Measure the annotations of a part by name, those of frameworks left out."""
    return _of_trace(part) if isinstance(part, RankTrace) else _of_events(part.spans)


def _of_events(spans: SpanTable) -> tuple[Annotation, ...]:
    spans = spans.where(spans.in_phases((_PHASE,)))
    thread, every = joint_codes(spans.worker, spans.tid), np.arange(spans.n_spans)
    return tuple(
        Annotation(name=name, duration_ns=np.sort(spans.duration_ns[rows]), gpu_ns=None)
        for name, rows in _outermost_by_name(spans, spans.names, thread, every)
    )


def _outermost_by_name(
    ranges: SpanTable | HostSlices, names: Sequence[str], thread: NDArray[np.integer], rows: Rows
) -> Iterator[tuple[str, Rows]]:
    """Yield each name without its number and its outermost ranges, but for those of frameworks."""
    groups: dict[str, list[int]] = {}
    for code in np.unique(ranges.name[rows]).tolist():
        if not _INTERNAL.match(names[code]):
            groups.setdefault(group_of(names[code]), []).append(code)
    for name, members in sorted(groups.items()):
        named = rows[np.isin(ranges.name[rows], members)]
        at = outermost(ranges.start_ns[named], ranges.end_ns[named], thread[named])
        yield name, named[at]


def outermost(start_ns: Times, end_ns: Times, thread: NDArray[np.integer]) -> Rows:
    """Return the places of the ranges that lie in no other one of their thread, by start.

    Example:
        >>> times = np.array([[0, 2, 10], [8, 5, 12]])
        >>> outermost(times[0], times[1], np.zeros(3, dtype=np.int32)).tolist()
        [0, 2]
    """
    order = np.lexsort((-end_ns, start_ns, thread))
    kept = []
    for code in np.unique(thread).tolist():
        in_thread = order[thread[order] == code]
        reach_ns = np.maximum.accumulate(end_ns[in_thread])
        kept.append(in_thread[np.append(True, end_ns[in_thread][1:] > reach_ns[:-1])])
    return np.sort(np.concatenate(kept)) if kept else order


def _of_trace(trace: RankTrace) -> tuple[Annotation, ...]:
    slices = trace.slices
    rows = np.flatnonzero(slices.kind == SliceKind.ANNOTATION)
    launched_ns = launch_start_ns(trace)
    in_order = np.argsort(launched_ns, kind="stable")
    launches = in_order[launched_ns[in_order] != NONE]
    return tuple(
        Annotation(
            name=name,
            duration_ns=np.sort(slices.duration_ns[outer]),
            gpu_ns=_gpu_ns(trace, outer, launches, launched_ns[launches]),
        )
        for name, outer in _outermost_by_name(slices, trace.names, slices.thread, rows)
    )


def group_of(name: str) -> str:
    """Return a name without the number at its end.

    Example:
        >>> group_of("step_123"), group_of("## forward ##"), group_of("epoch 3")
        ('step_*', '## forward ##', 'epoch *')
    """
    return f"{bare}*" if (bare := name.rstrip("0123456789")) != name else name


def _gpu_ns(trace: RankTrace, rows: Rows, launches: Rows, launched_ns: Times) -> int:
    """Add up the GPU time of ranges: of what their thread launched, or one that works for it.

    ``launches`` are rows of ``gpu_ops`` in the order of their launch at ``launched_ns``.
    """
    ops, slices, total = trace.gpu_ops, trace.slices, 0
    threads = trace.calls.thread[ops.launch[launches]]
    for thread in np.unique(slices.thread[rows]).tolist():
        is_own = np.isin(threads, (thread, *_helpers(trace, thread)))
        of_thread = launches[is_own]
        here = rows[slices.thread[rows] == thread]
        first = np.searchsorted(launched_ns[is_own], slices.start_ns[here], side="left")
        after = np.searchsorted(launched_ns[is_own], slices.end_ns[here], side="right")
        at, places = rows_between(first, after)
        inside = of_thread[places]
        busy_ns = union_by_code_ns(at, ops.start_ns[inside], ops.end_ns[inside], here.size)
        total += int(busy_ns.sum())
    return total


def _helpers(trace: RankTrace, thread: int) -> set[int]:
    """Return the threads that launch for another one: those that it woke, as the trace shows.

    Where the trace does not show which thread woke another, as that of autograd, it is the one that
    makes the steps; without steps a thread without marks of its own works for all that have some.
    """
    slices, flows, makers = trace.slices, trace.flows, set(trace.steps.thread.tolist())
    to_threads = set(flows.to_thread[flows.from_thread == thread].tolist())
    if makers and thread not in makers:
        return to_threads
    marked = set(slices.thread[slices.kind == SliceKind.ANNOTATION].tolist())
    others = set(trace.calls.thread.tolist()) - (makers or marked)
    return to_threads | (others - set(flows.to_thread.tolist()) - {NONE})


def judge(ranks: Sequence[tuple[Annotation, ...]], _params: NoParams) -> Outcome:
    """Show the annotations of all ranks, the longest in all first."""
    groups = merge_by(concat(ranks), lambda item: item.name).values()
    every = sorted(groups, key=lambda item: (-int(item.duration_ns.sum()), item.name))
    return Outcome(
        missing="" if every else "No ranges of record_function, NVTX or annotate were recorded.",
        exhibits=_exhibits(every),
    )


def _exhibits(every: Sequence[Annotation]) -> Iterator[Exhibit]:
    repeated = [item for item in every if item.duration_ns.size > 1]
    chosen = repeated[:MOST_HISTOGRAMS]
    rest = left_out(LEFT_OUT, shown=len(chosen), every=len(repeated))
    for place, item in enumerate(chosen, start=1):
        edge_ns, counts = bin_together([item.duration_ns])
        drawn = histogram(
            f"histogram_{place}",
            edge_ns / NS_PER_US,
            [("instances", counts[0])],
            title=f"Durations of {item.name}",
            caption=_percentiles(item) + rest,
            unit="us",
            role=Role.STEP,
        )
        choice = Choice(group="histograms", question="Annotation", label=item.name)
        yield replace(drawn, place=Place(choice=choice))
    yield table(
        "annotations",
        every,
        Annotation,
        title="Annotations",
        caption="All ranks or nodes together, largest first."
        + GPU_TIME * any(item.gpu_ns is not None for item in every),
    )


def _percentiles(item: Annotation) -> str:
    said = ", ".join(
        f"{word} {format_ns(np.percentile(item.duration_ns, pct))}"
        for word, pct in (("p50", 50), ("p95", 95), ("p99", 99), ("longest", 100))
    )
    return f"{plural(item.duration_ns.size, 'instance')} on the host: {said}."


RULE = Rule(
    id=RuleId("Annotations"),
    title="Annotations",
    about=ABOUT,
    needs=(Need.KERNELS, Need.FRAMEWORK),
    params=NoParams,
    measure=measure,
    judge=judge,
)
