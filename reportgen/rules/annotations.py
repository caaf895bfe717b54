"""Annotations: how long the ranges took that people marked in their code, from kernel traces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Rows
from reportgen.facts.device_busy import launch_start_ns, rows_named
from reportgen.facts.distributions import bin_together, box_of, tally_values
from reportgen.facts.intervals import union_of
from reportgen.merging import merge_by
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, SliceKind, Times
from reportgen.results import DashboardPanel, Exhibit, Place, Role, RuleId, Section
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.kit import boxes, col, concat, derived, histogram, merged, row, table, top_k
from reportgen.text import plural
from reportgen.units import NS_PER_US

_INTERNAL = re.compile(
    r"^(ProfilerStep *#|nccl:|c10d::|gloo:|Optimizer\.|enumerate\(DataLoader\)#"
    r"|## Call CompiledFxGraph|PyTorch Profiler)"
)
"""Ranges that frameworks mark themselves (docs/definitions.md, Annotations)."""

ABOUT = About(
    checks="How long the ranges marked with record_function took.",
    reading="""Durations are those on the host; GPU time is that of the operations launched inside.
        Names that differ only by a number at the end are joined; ranges of the framework are left
        out.""",
    advice="Mark the phases of a step to see which one takes the time.",
    section=Section(id="annotations", title="Annotations", order=120),
    hint_when_skipped='Mark parts of the script: with torch.profiler.record_function("name"): …',
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """How many annotations are drawn."""

    top: int = top_k()


@row
class Annotation:
    """All ranges of one name on a rank, or on all.

    Attributes:
        name: without the number at its end.
        duration_ns: (n,) int64 on the host, ascending.
        gpu_ns: time in which GPU operations launched inside ran, added up over ranges.
    """

    name: str = col()
    duration_ns: Times = merged(lambda parts: np.sort(np.concatenate(parts)))
    count: int = derived(lambda item: item.duration_ns.size)
    sum_us: float = derived(lambda item: item.duration_ns.sum() / NS_PER_US, "us")
    p50_us: float = derived(lambda item: np.percentile(item.duration_ns, 50) / NS_PER_US, "us")
    p95_us: float = derived(lambda item: np.percentile(item.duration_ns, 95) / NS_PER_US, "us")
    p99_us: float = derived(lambda item: np.percentile(item.duration_ns, 99) / NS_PER_US, "us")
    gpu_ns: int = col("us", name="gpu_time_us", per=NS_PER_US, reduce=sum)


def measure(trace: RankTrace, _params: Params) -> tuple[Annotation, ...]:
    """Measure the annotations of a rank by name, those of frameworks left out."""
    slices = trace.slices
    rows = np.flatnonzero(slices.kind == SliceKind.ANNOTATION)
    rows = rows[~rows_named(trace, slices.name[rows], _INTERNAL.match)]
    groups: dict[str, list[int]] = {}
    for code in np.unique(slices.name[rows]).tolist():
        groups.setdefault(group_of(trace.names[code]), []).append(code)
    launched_ns = launch_start_ns(trace)
    in_order = np.argsort(launched_ns, kind="stable")
    launches = in_order[launched_ns[in_order] != NONE]
    return tuple(
        Annotation(
            name=name,
            duration_ns=np.sort(slices.duration_ns[own]),
            gpu_ns=_gpu_ns(trace, own, launches, launched_ns[launches]),
        )
        for name, codes in sorted(groups.items())
        for own in [rows[np.isin(slices.name[rows], codes)]]
    )


def group_of(name: str) -> str:
    """Return a name without the number at its end.

    Example:
        >>> group_of("step_123"), group_of("## forward ##"), group_of("epoch 3")
        ('step_*', '## forward ##', 'epoch *')
    """
    return re.sub(r"(?<!\d)\d++$", "*", name)


def _gpu_ns(trace: RankTrace, rows: Rows, launches: Rows, launched_ns: Times) -> int:
    """Add up the GPU time of ranges: of what their thread launched, or one that works for it.

    ``launches`` are rows of ``gpu_ops`` in the order of their launch at ``launched_ns``.
    """
    ops, slices, total = trace.gpu_ops, trace.slices, 0
    threads = trace.calls.thread[ops.launch[launches]]
    for thread in np.unique(slices.thread[rows]).tolist():
        is_own = np.isin(threads, (thread, *_helpers(trace, thread)))
        own = launches[is_own]
        here = rows[slices.thread[rows] == thread]
        first = np.searchsorted(launched_ns[is_own], slices.start_ns[here], side="left")
        after = np.searchsorted(launched_ns[is_own], slices.end_ns[here], side="right")
        busy = np.flatnonzero(after > first)
        for low, high in zip(first[busy].tolist(), after[busy].tolist(), strict=True):
            inside = own[low:high]
            total += union_of(ops.start_ns[inside], ops.end_ns[inside]).length_ns
    return total


def _helpers(trace: RankTrace, thread: int) -> set[int]:
    """Return the threads that launch for another one: those that it woke, as the trace shows.

    Where the trace does not show which thread woke another, as that of autograd, it is the one that
    makes the steps; without steps a thread without marks of its own works for all that have some.
    """
    slices, flows, makers = trace.slices, trace.flows, set(trace.steps.thread.tolist())
    told = set(flows.to_thread[flows.from_thread == thread].tolist())
    if makers and thread not in makers:
        return told
    marked = set(slices.thread[slices.kind == SliceKind.ANNOTATION].tolist())
    others = set(trace.calls.thread.tolist()) - (makers or marked)
    return told | (others - set(flows.to_thread.tolist()) - {NONE})


def judge(ranks: Sequence[tuple[Annotation, ...]], params: Params) -> Outcome:
    """Show the annotations of all ranks, the longest in all first."""
    groups = merge_by(concat(ranks), lambda item: item.name).values()
    every = sorted(groups, key=lambda item: (-int(item.duration_ns.sum()), item.name))
    return Outcome(
        missing="" if every else "The trace has no ranges of record_function or NVTX.",
        exhibits=_exhibits(every, top=params.top),
    )


def _exhibits(every: Sequence[Annotation], *, top: int) -> Iterator[Exhibit]:
    shown = [(item.name, item.duration_ns / NS_PER_US) for item in every[:top]]
    if shown:
        yield boxes(
            "annotation_durations",
            [(name, box_of(times_us), float(times_us[-1])) for name, times_us in shown],
            title="Durations of annotations",
            unit="us",
            role=Role.STEP,
        )
    for place, item in enumerate(every[:top], start=1):
        if item.duration_ns.size > 1:
            bins = bin_together([tally_values(item.duration_ns)])
            yield histogram(
                f"histogram_{place}",
                bins.edge_ns / NS_PER_US,
                [("instances", bins.counts[0])],
                title=f"Durations of {item.name}",
                caption=f"{plural(item.duration_ns.size, 'instance')} on the host.",
                unit="us",
                role=Role.STEP,
            )
    yield table(
        "annotations",
        every,
        Annotation,
        title="Annotations",
        caption="""All ranks together, largest first. gpu_time_us is the time in which GPU
            operations ran that were launched inside the range, by its thread or a thread that works
            for it; added up over instances.""",
    )


RULE = Rule(
    id=RuleId("Annotations"),
    title="Annotations",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    folded=("histogram_*",),
    places={"annotation_durations": Place(dashboard=DashboardPanel(order=200, is_wide=True))},
)
