"""StepTime: how long steps took, from kernel traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reportgen import results
from reportgen.arrays import Floats
from reportgen.facts.device_busy import own_clock_ns
from reportgen.facts.distributions import bin_together
from reportgen.facts.traced_steps import StepRows, step_rows
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import Times
from reportgen.results import many_ranks
from reportgen.results.packed_columns import pack
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule, param
from reportgen.text import join_names, part_of, plural, write
from reportgen.units import NS_PER_US, seconds

LEAST_TO_COMPARE = 3
COMPLETE_FROM_RATIO = 0.8
"""A first step with fewer operations than this share of the median lacks some: the recording began
inside it (docs/definitions.md, Steps of a trace)."""
LOADER_RATIO = 0.5
"""Steps are slow for the data loader if at least half of what they take longer is a wait for it."""
NO_STEPS = (
    "The trace does not mark steps: call prof.step() in the loop, or for nsys mark each step "
    "with an NVTX range named step_1, step_2, and so on."
)
ABOUT = About(
    checks="How long steps take, and which are much slower than the others.",
    reading="""A step lasts from its start to the start of the next one, the last step to its end. A
        GPU is busy with a step while operations run that were launched in this step.""",
    advice="Find the work that only the slow steps do.",
    section=results.Section(id="steps", title="Steps", order=50),
    hint_when_skipped="Call prof.step() at the end of each training step.",
)
SLOW = kit.Message(
    id="STEPT-1",
    cause=results.Cause.RANDOM_SLOW_STEPS,
    title="{some} {n_slow:verb take} more than {threshold:g} times the median",
    text="""{n_slow:verb Steps/Step} {names} of {rank.node}; the slowest takes {slowest:ns}, the
        median is {rank.p50_ns:ns}. The GPUs take longer, too. Without this extra time the recorded
        steps would take {lost:pct} less.""",
    advice="""Look for evaluation, checkpoints, logging or recompilation in these steps, and do them
        less often.""",
    unit="times the median",
    exhibit="steps",
)
LOADER = replace(
    SLOW,
    cause=results.Cause.SLOW_INPUT,
    text=SLOW.text
    + """ The slow steps take {excess:ns} longer in all; for {waited:ns} of it the host waits for
        a batch of the data loader.""",
    advice="""Make the slow batches cheaper to load, or load further ahead: num_workers and
        prefetch_factor of the DataLoader.""",
)
PERIODS, GPU_TIMES = "Time from step to step", "Step durations on the GPU"
SPREAD = "{what}: median {p50_ns:ns}, p95 {p95_ns:ns}, p99 {p99_ns:ns}"
ONE_STEP = "{what}: {p50_ns:ns}"
FROM_TO = "From the start of a step to the start of the next one."
ON_GPU_FROM_TO = (
    "From the start of the first GPU operation that a step launched to the end of its last one."
)
INCOMPLETE = kit.Message(
    id="STEPT-3",
    title="The first recorded step seems incomplete",
    text="""It launched {r.first_step_gpu_ops:n} GPU operations on {r.node}; the median step
        launches {r.median_step_gpu_ops:,g}. Operations before the recording was ready are missing,
        so this step may not be comparable with the others.""",
    advice="Give the profiler's schedule a warm-up step before the active ones.",
    exhibit="step_percentiles",
)

_POINTS = ("p50", "p95", "p99", "max")


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
    least_steps: int = kit.count(
        4,
        "fewer have no median",
        unit="steps",
        source="of three steps one slow one moves the median",
        minimum=2,
    )


@kit.row
class RankSteps:
    """The steps of one rank, with percentiles of their periods and of their time on the GPUs.

    Those of the GPUs are about the steps that launched operations, ``None`` where no step did.
    ``clock_ns`` is what the trace's own clock showed at its origin, ``excess_ns`` the extra time of
    each step that lasts several medians, else 0.
    """

    node: str
    origin_ns: int
    clock_ns: int
    steps: StepRows
    excess_ns: Floats
    rank: int = kit.col()
    count: int = kit.col()
    p50_ns: float = kit.col("us", name="p50_us", per=NS_PER_US)
    p95_ns: float = kit.col("us", name="p95_us", per=NS_PER_US)
    p99_ns: float = kit.col("us", name="p99_us", per=NS_PER_US)
    max_ns: float = kit.col("us", name="max_us", per=NS_PER_US)
    gpu_span_p50_ns: float | None = kit.col("us", name="gpu_span_p50_us", per=NS_PER_US)
    gpu_span_p95_ns: float | None = kit.col("us", name="gpu_span_p95_us", per=NS_PER_US)
    gpu_span_p99_ns: float | None = kit.col("us", name="gpu_span_p99_us", per=NS_PER_US)
    gpu_span_max_ns: float | None = kit.col("us", name="gpu_span_max_us", per=NS_PER_US)
    gpu_busy_pct: float = kit.col("%", role=results.Role.GPU)
    first_step_gpu_ops: int = kit.col()
    median_step_gpu_ops: float = kit.col()

    @property
    def lost_ratio(self) -> float:
        """Return the share of its time that slow steps take beyond the median."""
        whole_ns = max(self.steps.period_ns.sum(), self.steps.pace_ns.sum(), 1)
        return float(self.excess_ns.sum() / whole_ns)


def measure(trace: RankTrace, params: Params) -> tuple[int, RankSteps | None]:
    """Return the number of GPU operations of a rank, and its steps."""
    n_ops, steps = trace.gpu_ops.start_ns.size, step_rows(trace)
    if steps is None:
        return n_ops, None
    return n_ops, RankSteps(
        node=trace.node,
        origin_ns=trace.origin_ns,
        clock_ns=own_clock_ns(trace),
        steps=steps,
        excess_ns=_excess_ns(steps, times=params.threshold_times),
        rank=trace.rank,
        gpu_busy_pct=100 * steps.busy_ratio,
        first_step_gpu_ops=int(steps.n_ops[0]),
        median_step_gpu_ops=float(np.median(steps.n_ops)),
        count=steps.period_ns.size,
        **_percentiles(steps.period_ns),
        **_percentiles(steps.on_gpu_ns, of="gpu_span_"),
    )


def _excess_ns(steps: StepRows, *, times: float) -> Floats:
    """Return (n,) extra time of steps that last several medians, else 0.

    Both clocks must show it: a host that runs ahead takes long steps when the queue is full, and
    the GPUs keep their pace. They idle before the work of a slow step, or after it.
    """
    usual_ns = float(np.median(steps.period_ns))
    pace_ns = np.maximum(steps.pace_ns, np.append(steps.pace_ns[1:], 0))
    excess_ns = np.minimum(steps.period_ns - usual_ns, pace_ns - np.median(steps.pace_ns))
    is_slow = (steps.period_ns > times * usual_ns) & (excess_ns > (times - 1) / 2 * usual_ns)
    return np.where(is_slow, excess_ns, 0.0)


def _percentiles(values_ns: Times, *, of: str = "") -> dict[str, Any]:
    """Return the percentiles of (n,) times by name, ``None`` each where there are no times."""
    names = [f"{of}{point}_ns" for point in _POINTS]
    if not values_ns.size:
        return dict.fromkeys(names)
    points_ns = (*np.percentile(values_ns, (50, 95, 99)).tolist(), float(values_ns.max()))
    return dict(zip(names, points_ns, strict=True))


def judge(ranks: Sequence[tuple[int, RankSteps | None]], params: Params) -> Outcome:
    """Report the pace, the slow steps, and whether the first step is whole."""
    traced = [rank for _, rank in ranks if rank]
    if not traced:
        unseen = results.Reason(code=results.ReasonCode.NO_STEPS, text=NO_STEPS)
        return Outcome(missing=kit.reason_without_gpu(sum(n_ops for n_ops, _ in ranks)) or unseen)
    n_steps = sum(rank.count for rank in traced)
    every = _percentiles(np.concatenate([rank.steps.period_ns for rank in traced]))
    on_gpu = _percentiles(np.concatenate([rank.steps.on_gpu_ns for rank in traced]))
    by_rank = kit.table(
        "step_percentiles",
        traced,
        RankSteps,
        title="Step times by rank",
        caption="""p50_us to max_us: from the start of a step to the start of the next one.
            gpu_span_p50_us to gpu_span_max_us: from the first GPU operation that a step launched to
            the end of its last one, of the steps that launched some. gpu_busy_pct is the share of
            the step time in which a GPU operation ran, as a mean over the GPUs of the rank. The
            last columns count the operations that a step launched.""",
    )
    return Outcome(
        findings=[_slow(traced, params), _incomplete(traced)],
        exhibits=[*_histograms(traced, every, on_gpu), by_rank, _all(traced)],
        metrics={
            "n_steps": n_steps,
            **{f"step_{point}_us": every[f"{point}_ns"] / NS_PER_US for point in _POINTS},
            **{
                f"step_gpu_span_{point}_us": value and value / NS_PER_US
                for point, value in zip(_POINTS, on_gpu.values(), strict=True)
            },
        },
        data=[
            pack(
                "steps",
                {
                    "start_ns": rank.origin_ns + rank.steps.start_ns,
                    "duration_ns": rank.steps.period_ns,
                    "step": rank.steps.number,
                },
                of={"rank": str(rank.rank), "phase": str(rank.steps.source)},
            )
            for rank in traced
        ],
    )


def _slow(traced: Sequence[RankSteps], params: Params) -> results.Finding | None:
    long = [rank for rank in traced if rank.count >= params.least_steps]
    rank = max(long, key=lambda rank: rank.lost_ratio, default=traced[0])
    steps, lost = rank.steps, rank.lost_ratio
    if not long or lost <= 0:
        return None
    rows = np.flatnonzero(rank.excess_ns)
    longest = rows[steps.period_ns[rows].argmax()]
    slowest_ns = int(steps.period_ns[longest])
    start_s = seconds(rank.origin_ns + int(steps.start_ns[longest]))
    excess_ns, longer_ns = int(rank.excess_ns.sum()), steps.loader_ns - np.median(steps.loader_ns)
    waited_ns = int(np.clip(longer_ns, 0, rank.excess_ns).sum())
    message = LOADER if waited_ns >= LOADER_RATIO * excess_ns else SLOW
    return message.finding(
        severity=kit.fault_severity(lost),
        measured=round(slowest_ns / rank.p50_ns, 2) if rank.p50_ns > 0 else None,
        threshold=params.threshold_times,
        where=results.Where(node=rank.node, start_s=start_s, end_s=start_s + seconds(slowest_ns)),
        share=lost,
        some=part_of(rows.size, rank.count, "step"),
        n_slow=rows.size,
        names=join_names([str(number) for number in steps.number[rows].tolist()]),
        rank=rank,
        slowest=slowest_ns,
        lost=100 * lost,
        excess=excess_ns,
        waited=waited_ns,
    )


def _incomplete(traced: Sequence[RankSteps]) -> results.Finding | None:
    few = [
        rank
        for rank in traced
        if rank.count >= LEAST_TO_COMPARE
        and rank.first_step_gpu_ops < COMPLETE_FROM_RATIO * rank.median_step_gpu_ops
    ]
    if not few:
        return None
    least = min(few, key=lambda rank: rank.first_step_gpu_ops / rank.median_step_gpu_ops)
    return INCOMPLETE.finding(
        measured=100 * least.first_step_gpu_ops / least.median_step_gpu_ops,
        threshold=100 * COMPLETE_FROM_RATIO,
        where=results.Where(node=least.node),
        r=least,
    )


def _histograms(
    traced: Sequence[RankSteps], every: Mapping[str, Any], on_gpu: Mapping[str, Any]
) -> Iterator[results.Exhibit]:
    """Yield how long steps took on the GPUs, where they worked, and from step to step."""
    for exhibit_id, name, what, spread, caption, role in (
        ("gpu_step_times", "on_gpu_ns", GPU_TIMES, on_gpu, ON_GPU_FROM_TO, results.Role.GPU),
        ("step_times", "period_ns", PERIODS, every, FROM_TO, results.Role.STEP),
    ):
        times: list[tuple[RankSteps, Times]] = [(r, getattr(r.steps, name)) for r in traced]
        times = [(rank, times_ns) for rank, times_ns in times if times_ns.size]
        if not times:
            continue
        # Equal times, as of one step, have no percentiles.
        title = ONE_STEP if spread["p50_ns"] == spread["max_ns"] else SPREAD
        shown = [times[at] for at in many_ranks.unusual([np.median(of) for _, of in times])]
        edge_ns, counts = bin_together([times_ns for _, times_ns in shown])
        names = ["steps"] if len(shown) == 1 else [rank.node for rank, _ in shown]
        n_steps = sum(times_ns.size for _, times_ns in shown)
        of_what = f"{plural(n_steps, 'step')} on {plural(len(shown), 'rank')}"
        yield kit.histogram(
            exhibit_id,
            edge_ns / NS_PER_US,
            list(zip(names, counts, strict=True)),
            title=write(title, what=what, **spread),
            caption=f"{caption} {of_what}, marked by {shown[0][0].steps.source}."
            + kit.unusual_only("ranks", shown=len(shown), every=len(times)),
            unit="us",
            role=role,
        )


def _all(traced: Sequence[RankSteps]) -> results.Exhibit:
    number, period_ns, pace_ns, gpu_span_ns, gpu_busy_ns = (
        np.concatenate([getattr(rank.steps, name) for rank in traced])
        for name in ("number", "period_ns", "pace_ns", "gpu_span_ns", "gpu_busy_ns")
    )
    # Instants of the trace's own clock are divided as whole numbers of any size.
    starts_us = [
        (rank.clock_ns + start_ns) / NS_PER_US
        for rank in traced
        for start_ns in rank.steps.start_ns.tolist()
    ]
    ranks = np.repeat([rank.rank for rank in traced], [rank.count for rank in traced])
    return results.exhibit(
        "steps",
        results.ExhibitKind.TABLE,
        title="All steps",
        caption="""period_us is the time from the start of the step to the start of the next one.
            gpu_pace_us is the time from the end of the GPU work of the step before to the end of
            that of this step. gpu_span_us is the time from the first GPU operation of the step to
            the end of its last one. gpu_busy_us is the time in which GPU operations of the step
            ran, added up over the GPUs. start_us is on the clock of the trace.""",
        columns=[
            results.column("rank", "", ranks, type=results.ColumnType.INT),
            results.column("step", "", number, type=results.ColumnType.INT),
            *kit.floats(
                ("start_us", "us", starts_us),
                ("period_us", "us", period_ns / NS_PER_US),
                ("gpu_pace_us", "us", pace_ns / NS_PER_US),
                ("gpu_span_us", "us", gpu_span_ns / NS_PER_US),
                ("gpu_busy_us", "us", gpu_busy_ns / NS_PER_US),
            ),
        ],
    )


RULE = Rule(
    id=results.RuleId("StepTime"),
    title="Step times",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=Params,
    measure=measure,
    judge=judge,
    places={
        "gpu_step_times": results.Place(dashboard=results.DashboardPanel(order=60)),
        "step_times": results.Place(dashboard=results.DashboardPanel(order=61)),
    },
)
