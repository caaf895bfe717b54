"""StepTime: how long training steps took, from kernel traces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen import results
from reportgen.facts.device_busy import own_clock_ns
from reportgen.facts.distributions import bin_together, tally_values
from reportgen.facts.traced_steps import StepRows, StepSource, step_rows
from reportgen.profile.trace import RankTrace
from reportgen.results.packed import pack
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule, param
from reportgen.text import join_names, part_of, plural, write
from reportgen.units import NS_PER_US, seconds

MOST_GROUPS = 16
"""More distributions cannot be told apart in one chart."""
LEAST_TO_COMPARE = 3
COMPLETE_FROM_RATIO = 0.8
"""A first step with fewer operations than this share of the median lacks some: the recording began
inside it (docs/definitions.md, Steps of a trace)."""
POINTS_PCT = (50, 95, 99)
ABOUT = About(
    checks="How long training steps take, and which are much slower than the others.",
    reading=(
        "A step lasts from its start to the start of the next; the last one to its own end. GPU "
        "busy is the time in which operations launched in the step ran."
    ),
    advice="Look at what the slow steps do that the others do not.",
    section=results.Section(id="steps", title="Steps", order=50),
    hint_when_skipped="Call prof.step() at the end of each training step.",
)
SLOW = kit.Message(
    id="STEPT-1",
    title="{some} {n_slow:verb take} more than {threshold:g} times the median",
    text=(
        "{steps} {names} of {node}; the slowest takes {slowest:ns}, the median is {median:ns}. "
        "Without their excess the recorded steps would take {lost:pct} less."
    ),
    advice="Look for evaluation, checkpoints, logging or recompilation in these steps.",
    unit="times the median",
    exhibit="steps",
)
READING = kit.Message(
    id="STEPT-2",
    title="A step takes {p50:ns} (median)",
    text=("{n:count step}: 95 % take up to {p95:ns}, the longest takes {longest:ns}.{guessed}"),
    advice="Compare it with the same job on other settings.",
    unit="us",
    exhibit="step_times",
)
ONE_STEP = kit.Message(
    id="STEPT-2",
    title=READING.title,
    text="One step was recorded.",
    advice=READING.advice,
    unit="us",
    exhibit="step_times",
)
GUESSED = " They are told by {source}."
INCOMPLETE = kit.Message(
    id="STEPT-3",
    title="The first recorded step seems incomplete",
    text=(
        "It launched {first:n} GPU operations on {node}, where a step launches {usual:,g} "
        "(median): what ran before the recording was ready is missing, and the step may be no "
        "measure of the others."
    ),
    advice="Give the profiler's schedule a warm-up step before the active ones.",
    exhibit="step_percentiles",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """When a step is an outlier."""

    threshold_times: float = param(
        2.0,
        unit="",
        meaning="a step is slow when it takes this many times the median",
        source="docs/definitions.md, Steps of a trace",
        minimum=1,
    )
    least_steps: int = param(
        4,
        unit="steps",
        meaning="fewer have no median",
        source="of three steps one slow one moves the median",
        minimum=2,
        is_whole=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSteps:
    """One rank; ``clock_ns`` is what the trace's own clock showed at its origin."""

    rank: int
    node: str
    n_ops: int
    origin_ns: int
    clock_ns: int
    steps: StepRows | None


Traced = tuple[RankSteps, StepRows]


@kit.row
class StepsOfRank:
    """Percentiles of the periods of one rank."""

    rank: int = kit.col()
    count: int = kit.col()
    p50_ns: float = kit.col("us", name="p50_us", per=NS_PER_US)
    p95_ns: float = kit.col("us", name="p95_us", per=NS_PER_US)
    p99_ns: float = kit.col("us", name="p99_us", per=NS_PER_US)
    max_ns: float = kit.col("us", name="max_us", per=NS_PER_US)
    gpu_busy_pct: float = kit.col("%", role=results.Role.GPU)
    first_step_gpu_ops: int = kit.col()
    median_step_gpu_ops: float = kit.col()


def measure(trace: RankTrace, _params: Params) -> RankSteps:
    """Measure the steps of a rank."""
    return RankSteps(
        rank=trace.rank,
        node=trace.node,
        n_ops=trace.gpu_ops.start_ns.size,
        origin_ns=trace.origin_ns,
        clock_ns=own_clock_ns(trace),
        steps=step_rows(trace),
    )


def judge(ranks: Sequence[RankSteps], params: Params) -> Outcome:
    """Report the pace, the slow steps, and whether the first step is whole."""
    traced = [(rank, rank.steps) for rank in ranks if rank.steps]
    if not traced:
        text = "Nothing in the trace tells steps: call prof.step() in the loop."
        no_gpu = kit.reason_without_gpu(sum(rank.n_ops for rank in ranks))
        return Outcome(
            missing=no_gpu or results.Reason(code=results.ReasonCode.NO_STEPS, text=text)
        )
    every_ns = np.concatenate([steps.period_ns for _, steps in traced])
    p50_ns, p95_ns, p99_ns = np.percentile(every_ns, POINTS_PCT).tolist()
    message = ONE_STEP if every_ns.size == 1 else READING
    source = traced[0][1].source
    reading = message.finding(
        measured=round(p50_ns / NS_PER_US, 3),
        n=every_ns.size,
        p50=p50_ns,
        p95=p95_ns,
        longest=int(every_ns.max()),
        guessed="" if source is StepSource.PROFILER else write(GUESSED, source=source),
    )
    p50_us, p95_us, p99_us = (np.array([p50_ns, p95_ns, p99_ns]) / NS_PER_US).tolist()
    return Outcome(
        findings=[_slow(traced, params), _incomplete(traced), reading],
        exhibits=[_histogram(traced, (p50_ns, p95_ns, p99_ns)), _percentiles(traced), _all(traced)],
        metrics={
            "n_steps": int(every_ns.size),
            "step_p50_us": p50_us,
            "step_p95_us": p95_us,
            "step_p99_us": p99_us,
            "step_max_us": float(every_ns.max()) / NS_PER_US,
        },
        data=[
            pack(
                "steps",
                {
                    "start_ns": rank.origin_ns + steps.start_ns,
                    "duration_ns": steps.period_ns,
                    "step": steps.number,
                },
                of={"rank": str(rank.rank), "phase": str(steps.source)},
            )
            for rank, steps in traced
        ],
    )


def _slow(traced: Sequence[Traced], params: Params) -> results.Finding | None:
    """Report the rank that loses most to its slow steps."""
    times, worst = params.threshold_times, None
    for rank, steps in traced:
        if steps.number.size < params.least_steps:
            continue
        median_ns = float(np.median(steps.period_ns))
        rows = np.flatnonzero(steps.period_ns > times * median_ns)
        lost = float((steps.period_ns[rows] - median_ns).sum() / steps.period_ns.sum())
        if lost > 0 and (worst is None or lost > worst[0]):
            worst = (lost, rank, steps, median_ns, rows)
    if worst is None:
        return None
    lost, rank, steps, median_ns, rows = worst
    longest = int(rows[steps.period_ns[rows].argmax()])
    slowest_ns = int(steps.period_ns[longest])
    start_s = seconds(rank.origin_ns + int(steps.start_ns[longest]))
    return SLOW.finding(
        severity=kit.fault_severity(lost),
        measured=round(slowest_ns / median_ns, 2) if median_ns > 0 else None,
        threshold=times,
        where=results.Where(node=rank.node, start_s=start_s, end_s=start_s + seconds(slowest_ns)),
        share=lost,
        some=part_of(rows.size, steps.number.size, "step"),
        n_slow=rows.size,
        steps="Step" if rows.size == 1 else "Steps",
        names=join_names([str(number) for number in steps.number[rows].tolist()]),
        node=rank.node,
        slowest=slowest_ns,
        median=median_ns,
        lost=100 * lost,
    )


def _incomplete(traced: Sequence[Traced]) -> results.Finding | None:
    """Report where the recording seems to have begun inside the first step."""
    few = [
        (int(steps.n_ops[0]), float(np.median(steps.n_ops)), rank)
        for rank, steps in traced
        if steps.number.size >= LEAST_TO_COMPARE
        and steps.n_ops[0] < COMPLETE_FROM_RATIO * np.median(steps.n_ops)
    ]
    if not few:
        return None
    first, median, rank = min(few, key=lambda item: item[0] / item[1])
    return INCOMPLETE.finding(
        measured=100 * first / median,
        threshold=100 * COMPLETE_FROM_RATIO,
        where=results.Where(node=rank.node),
        first=first,
        usual=median,
        node=rank.node,
    )


def _histogram(traced: Sequence[Traced], points_ns: tuple[float, float, float]) -> results.Exhibit:
    shown = traced[:MOST_GROUPS]
    bins = bin_together([tally_values(steps.period_ns) for _, steps in shown])
    names = ["steps"] if len(shown) == 1 else [rank.node for rank, _ in shown]
    p50, p95, p99 = points_ns
    caption = (
        f"{plural(sum(s.number.size for _, s in shown), 'step')}, told by {shown[0][1].source}."
    )
    if len(shown) < len(traced):
        caption += f" The first {len(shown)} of {len(traced)} ranks."
    return kit.histogram(
        "step_times",
        bins.edge_ns / NS_PER_US,
        list(zip(names, bins.counts, strict=True)),
        title=write(
            "Step times: median {p50:ns}, p95 {p95:ns}, p99 {p99:ns}", p50=p50, p95=p95, p99=p99
        ),
        caption=caption,
        unit="us",
        role=results.Role.STEP,
    )


def _percentiles(traced: Sequence[Traced]) -> results.Exhibit:
    def of_rank(rank: RankSteps, steps: StepRows) -> StepsOfRank:
        p50_ns, p95_ns, p99_ns = np.percentile(steps.period_ns, POINTS_PCT).tolist()
        return StepsOfRank(
            rank=rank.rank,
            count=steps.number.size,
            p50_ns=p50_ns,
            p95_ns=p95_ns,
            p99_ns=p99_ns,
            max_ns=float(steps.period_ns.max()),
            gpu_busy_pct=100 * steps.busy_ratio,
            first_step_gpu_ops=int(steps.n_ops[0]),
            median_step_gpu_ops=float(np.median(steps.n_ops)),
        )

    return kit.table(
        "step_percentiles",
        [of_rank(rank, steps) for rank, steps in traced],
        StepsOfRank,
        title="Step times by rank",
        caption=(
            "Percentiles of the periods; gpu_busy_pct is the share of them in which a GPU "
            "operation ran, the mean of the rank's GPUs. The last columns count the operations "
            "that a step launched."
        ),
    )


def _all(traced: Sequence[Traced]) -> results.Exhibit:
    ranks = np.repeat([rank.rank for rank, _ in traced], [s.number.size for _, s in traced])
    numbers = np.concatenate([steps.number for _, steps in traced])
    period_ns = np.concatenate([steps.period_ns for _, steps in traced])
    busy_ns = np.concatenate([steps.gpu_busy_ns for _, steps in traced])
    return results.exhibit(
        "steps",
        results.ExhibitKind.TABLE,
        title="All steps",
        caption=(
            "period_us lasts to the start of the next step, that of a last one to its own end; "
            "gpu_busy_us is the union of the GPU operations launched in the step, added up over "
            "devices. start_us is in the trace's own clock."
        ),
        columns=[
            results.column("rank", "", ranks, type=results.ColumnType.INT),
            results.column("step", "", numbers, type=results.ColumnType.INT),
            *kit.floats(
                ("start_us", "us", list(_starts_us(traced))),
                ("period_us", "us", period_ns / NS_PER_US),
                ("gpu_busy_us", "us", busy_ns / NS_PER_US),
            ),
        ],
    )


def _starts_us(traced: Sequence[Traced]) -> Iterator[float]:
    """Yield starts in the trace's own clock, divided as whole numbers of any size."""
    for rank, steps in traced:
        for start_ns in steps.start_ns.tolist():
            yield (rank.clock_ns + start_ns) / NS_PER_US


RULE = Rule(
    id=results.RuleId("StepTime"),
    title="Step times",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    places={"step_times": results.Place(dashboard=results.DashboardPanel(order=60))},
)
