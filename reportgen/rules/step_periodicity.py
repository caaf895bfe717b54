"""StepPeriodicity: slow steps that come back every n-th step, and why.

Rhythms that workers share are one, with its cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reportgen import results
from reportgen.arrays import Integers, Mask
from reportgen.facts import usage
from reportgen.facts.contrast import Contrast, Gauge, WorkKind, contrast_of
from reportgen.facts.intervals import Union, overlaps_any
from reportgen.facts.loader import (
    NodeWaits,
    are_waits_known,
    is_waiting,
    long_waits_of,
    num_workers_of,
)
from reportgen.facts.slow_steps import Recurrence, SlowSteps, slow_steps_of
from reportgen.facts.step_times import step_times_of
from reportgen.facts.steps import Loop, PhaseSteps, loop_of, phase_word, steps_of
from reportgen.profile import NodeProfile
from reportgen.results import Exhibit
from reportgen.rules import contrast, kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.text import join_names, ordinal, write
from reportgen.units import NS_PER_S

SAME_RATIO = 0.02
"""Periods that differ by at most 2 % are the same: workers wait for each other, if not exactly."""
MOST_MARKS = 500
"""More slow steps than this are not drawn: marks would hide each other; all count."""
MOST_NUMBERS = 6
SHORT_PERIOD = 32
HALF_CYCLE_RATIO = 0.5
"""Every few steps one that is a little longer is what gradient accumulation looks like: workers
exchange gradients and the optimizer runs once for up to this many batches, which takes less than
half of a step. A larger share or a longer period has another reason."""

ABOUT = About(
    checks="Whether slow steps, or long pauses between steps, repeat at regular intervals.",
    reading="""A cycle is a step and the pause after it. Slow cycles that repeat every nth step are
        reported, with their cost and with the functions that ran only in them. Slow steps at random
        times are not reported here.""",
    advice="""Find what the script does at these intervals (callback, checkpoint, logging,
        validation); run it in a separate thread, less often, or on the GPU.""",
    section=results.Section(id="step-periodicity", title="Periodic slow steps", order=150),
)
RECURS = kit.Message(
    id="PERIOD-1",
    cause=results.Cause.PERIODIC_SLOW_STEPS,
    title="{what}: {measured:pct} of the time",
    text="{text}",
    advice="""Find what the script does {every} (callback, checkpoint, logging, validation) and run
        it in a separate thread, less often, or on the GPU.""",
    exhibit="periods",
)
BATCHES_LATE = replace(RECURS, cause=results.Cause.SLOW_INPUT)
"""Batches that come late in a rhythm, as from too few loader processes, are a matter of input; so
are steps that are slow while loaders fill their queue."""
UPDATE_ADVICE = """Nothing to do if gradients are accumulated: in these steps they are exchanged and
    the optimizer runs. Otherwise find what the script does {every}."""
TOO_FEW = """Too few steps to find regular intervals: {longest:n} of one training process and phase
    at most, {least:n} are needed."""
WHAT = {
    True: "A long pause follows every {nth} {p.word:mode} step",
    False: "Every {nth} {p.word:mode} step is slow",
}
EVERY = "every {p.period_steps:g} steps{p.anew}"
ANEW = ", counted anew in each epoch"
RHYTHM = """The training process {p.worker} has {p.n_found:n}{missing} slow {p.word:mode} cycles,
    one {every} ({p.period_s:s}; {behind} {numbers}{more}).{others}"""
COST = """Each takes {p.cost_each_s:s} more than the usual cycle of {p.usual_ns:ns}; this time lies
    {where}. Together it is {p.cost_ns:ns}, {p.cost_pct:pct} of the time from the first to the last
    step."""
WHERE = {True: "in the pause before the next step", False: "within the step"}
HIDDEN = """GPUs leave no more than {p.most_pct:pct} of the time unused (added up per sample), so
    these pauses cost no more."""
LATE = "During most of it some training process waits for its batch."
SET_UP = "They are the first ones behind a data loader that is set up, which fills its queue then."
BURSTS = """Training has {p.num_workers} loader processes: their batches may come in bursts of as
    many, and whether the loop waited for them was not recorded for all steps."""
AT_NETWORK = """In {pct:pct} of the samples in the slow time a GPU is idle while {node} receives
    data at its highest rate ({rate:bytes}/s; the 99th percentile of the job is {limit:bytes}/s):
    the network may be the limit."""
NETWORK_ADVICE = """Read smaller or compressed records, keep a local copy of data that are read
    again, or take an instance with more network bandwidth."""
LOAD_ADVICE = """Record the waits for data of all steps: where the loop waits, use more loader
    processes or make each batch cheaper to load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters of ours; AWS has no such rule."""

    min_share_pct: float = kit.percentage(
        0.5,
        "a rhythm that costs at least this share of the loop is reported",
        source="what costs less is not worth a change of the script",
    )
    min_steps: int = kit.count(
        20,
        "a worker's phase is searched once it has this many steps",
        unit="steps",
        source="four occurrences of the shortest rhythm, every fifth step",
        minimum=4,
    )


@kit.row
class Period:
    """One rhythm of the steps of one worker and phase.

    Attributes:
        anew: says that the steps are counted anew in each epoch; else empty.
        label: its name, with its first step where another rhythm has the same period.
        usual_ns: median cycle of the steps that are not slow.
        cost_ns: time of all occurrences above the usual.
        is_between: whether the pause behind the step is what is slow.
        slowest: the ``MOST_MARKS`` costliest occurrences; ``windows`` is when those were slow,
            ``others`` some times in which the same part was as usual.
        at_network: says that GPUs mostly idle in ``windows`` while the network is at its limit.
        num_workers: loader processes of the worker, where its waits are not known.
        contrast: what was different in the slow part of all.
        most_ratio: the most that it can cost, as a share of the loop: pauses of the host cost what
            GPUs leave unused.
        is_set_up: whether mostly the first two steps behind a loader that is set up are slow.
    """

    label: str = kit.col(name="period")
    node: str
    worker: str = kit.col()
    phase: str
    word: str = kit.col(name="phase")
    anew: str
    period_steps: float = kit.col("steps")
    period_s: float = kit.col("s")
    n_found: int = kit.col(name="found")
    n_expected: int = kit.col(name="expected")
    usual_ns: float = kit.col("s", name="usual_s", per=NS_PER_S)
    cost_each_s: float = kit.derived(lambda item: item.cost_ns / item.n_found / NS_PER_S, "s")
    cost_ns: float = kit.col("s", name="cost_s", per=NS_PER_S)
    cost_pct: float = kit.derived(lambda item: 100 * item.time_ratio, "%")
    slow_part: str = kit.derived(
        lambda item: "pause before the next step" if item.is_between else "step"
    )
    is_between: bool
    loop_ns: int
    n_steps: int
    slowest: PhaseSteps
    windows: Union
    others: Union
    num_workers: int | None
    contrast: Contrast
    at_network: str
    most_ratio: float
    is_set_up: bool = False

    @property
    def time_ratio(self) -> float:
        """Return its time above the usual as a share of the worker's loop, in 0-1."""
        return min(self.cost_ns / self.loop_ns, 1.0) if self.loop_ns else 0.0

    @property
    def cost_ratio(self) -> float:
        """Return what can be saved at most, as a share of the loop, in 0-1."""
        return min(self.time_ratio, self.most_ratio)

    @property
    def most_pct(self) -> float:
        """Return ``most_ratio`` in percent."""
        return 100 * self.most_ratio

    @property
    def is_burst(self) -> bool:
        """Return whether it comes as often as loader processes take turns, and waits are unknown.

        Each process hands over one batch in as many steps, so that the slow ones come together.
        """
        n = self.num_workers or 0
        return n > 1 and round(self.period_steps) == n


@kit.row
class SharedPeriod:
    """The same rhythm in one worker or in several; the costliest stands for all."""

    members: tuple[Period, ...]

    @property
    def main(self) -> Period:
        """Return the rhythm of the worker in which it costs most."""
        return max(self.members, key=lambda item: (item.cost_ratio, item.worker))


@kit.row
class NodeRhythms:
    """One node, or all merged: loop, steps of the longest series, rhythms, waits for data."""

    loop: Loop = kit.merged(kit.merge, default_factory=Loop)
    longest: int = kit.merged(max, default=0)
    periods: tuple[Period, ...] = kit.merged(kit.concat, default=())
    waits: tuple[NodeWaits, ...] = kit.merged(kit.concat, default=())


def measure(part: NodeProfile, _params: Params) -> NodeRhythms:
    """Measure the rhythms of every worker and phase of a node."""
    every = [slow_steps_of(times) for times in step_times_of(part.spans)]
    return NodeRhythms(
        loop=loop_of(part.spans),
        longest=max((steps.n_steps for steps in steps_of(part.spans)), default=0),
        periods=tuple(period for slow in every for period in _periods(part, slow)),
        waits=(long_waits_of(part),),
    )


def _periods(part: NodeProfile, slow: SlowSteps) -> Iterator[Period]:
    steps = slow.times.steps
    is_normal = np.ones(steps.n_steps, dtype=bool)
    is_normal[slow.events.cycles] = False
    if not is_normal.any():
        is_normal[:] = True
    is_set_up = np.diff(slow.times.stretch, prepend=slow.times.stretch[:1]) > 0
    opens = is_set_up | np.roll(is_set_up, 1)
    found = [
        replace(
            _period(part, steps, rhythm, is_normal),
            is_set_up=bool(2 * opens[rhythm.events.row].sum() > rhythm.events.row.size),
        )
        for rhythm in slow.rhythms
    ]
    labels = [item.label for item in found]
    for item in found:
        is_alone = labels.count(item.label) < 2
        first = "" if is_alone else f" from step {item.slowest.number[0]}"
        yield replace(item, label=item.label + first)


def _period(part: NodeProfile, steps: PhaseSteps, found: Recurrence, normal: Mask) -> Period:
    events, worker = found.events, steps.worker
    rows = events.cycles
    first_ns, last_ns, is_between = steps.start_ns, steps.end_ns, _is_between(steps, rows, normal)
    if is_between:
        first_ns, last_ns = steps.end_ns, steps.next_ns
    marked = events.where(np.sort(np.argsort(-events.excess_ns, kind="stable")[:MOST_MARKS]))
    windows = Union(start_ns=first_ns[rows], end_ns=last_ns[rows])
    others = Union(start_ns=first_ns[normal], end_ns=last_ns[normal])
    some = slice(None, None, -(-others.start_ns.size // MOST_MARKS))
    are_known = are_waits_known(part.spans, worker)
    item = Period(
        label="",
        node=part.node,
        worker=worker,
        phase=steps.phase,
        word=phase_word(steps.phase),
        anew=ANEW if found.is_by_epoch else "",
        period_steps=found.period_steps,
        period_s=found.period_s,
        n_found=events.row.size,
        n_expected=found.n_expected,
        usual_ns=float(np.median(steps.cycle_ns[normal])),
        cost_ns=float(events.excess_ns.sum()),
        is_between=is_between,
        loop_ns=steps.loop_ns,
        n_steps=steps.n_steps,
        slowest=steps.where(marked.row),
        windows=Union(start_ns=first_ns[marked.first], end_ns=last_ns[marked.last]),
        others=Union(start_ns=others.start_ns[some], end_ns=others.end_ns[some]),
        num_workers=None if are_known else num_workers_of(part.spans, worker),
        contrast=contrast_of(
            part,
            windows,
            others,
            worker=worker,
            usual_ns=rows.size * others.length_ns / others.start_ns.size,
            n_times=events.row.size,
        ),
        at_network=_at_network(part, windows),
        most_ratio=usage.most_lost_ratio(part.system, windows) if is_between else 1.0,
    )
    return replace(item, label=write(EVERY, p=item))


def _at_network(part: NodeProfile, windows: Union) -> str:
    found, tick_ns = usage.starvation_of(part.system), part.system.tick_ns
    is_inside = overlaps_any(tick_ns, tick_ns, windows.start_ns, windows.end_ns) & found.has_both
    is_starved = found.is_starved & is_inside
    n_inside, n_starved = int(is_inside.sum()), int(is_starved.sum())
    is_few = n_starved < contrast.LEAST_DIP_TICKS
    if is_few or n_starved < contrast.FILLS_RATIO * n_inside or found.limit_bytes_per_s is None:
        return ""
    return write(
        AT_NETWORK,
        pct=100 * n_starved / n_inside,
        node=part.node,
        rate=float(found.received[is_starved].mean()),
        limit=found.limit_bytes_per_s,
    )


def _is_between(steps: PhaseSteps, rows: Integers, normal: Mask) -> bool:
    pause_excess_ns, step_excess_ns = (
        float(length_ns[rows].sum()) - rows.size * float(np.median(length_ns[normal]))
        for length_ns in (steps.next_ns - steps.end_ns, steps.duration_ns)
    )
    return pause_excess_ns > step_excess_ns


def judge(measurements: Sequence[NodeRhythms], params: Params) -> Outcome:
    """Join the rhythms that workers share; those of series that are too short do not count."""
    job = kit.merge([NodeRhythms(), *measurements])
    groups = group_periods([item for item in job.periods if item.n_steps >= params.min_steps])
    costly = [item for item in groups if 100 * item.main.cost_ratio >= params.min_share_pct]
    missing = kit.reason_without_steps(job.loop.n_spans, job.loop.n_steps)
    if missing is None and job.longest < params.min_steps:
        missing = kit.too_few(TOO_FEW, longest=job.longest, least=params.min_steps)
    return Outcome(
        missing=missing,
        findings=[_finding(item, params, job.waits) for item in costly],
        exhibits=_exhibits(groups, costly),
        metrics=_metrics(costly) if job.longest >= params.min_steps else {},
    )


def group_periods(periods: Sequence[Period]) -> list[SharedPeriod]:
    """Return the rhythms of all workers, shared ones as one, the costliest first."""
    groups: list[list[Period]] = []
    for period in periods:
        same = next((group for group in groups if _is_same(group[0], period)), None)
        if same is None:
            groups.append(same := [])
        same.append(period)
    found = [SharedPeriod(members=tuple(members)) for members in groups]
    return sorted(found, key=lambda group: (-group.main.cost_ratio, group.main.period_steps))


def _is_same(one: Period, other: Period) -> bool:
    if one.phase != other.phase or one.worker == other.worker:
        return False
    pairs = ((one.period_steps, other.period_steps), (one.period_s, other.period_s))
    return any(abs(this - that) <= SAME_RATIO * max(this, that) for this, that in pairs)


def _metrics(costly: Sequence[SharedPeriod]) -> dict[str, float | int | None]:
    """Return the numbers to compare jobs by; those of the costliest rhythm, ``None`` without."""
    main = costly[0].main if costly else None
    gpu = main.contrast.loads.get(Gauge.GPU) if main else None
    return {
        "periods": len(costly),
        "periodic_ratio": round(sum(group.main.cost_ratio for group in costly), 6),
        "period_steps": main.period_steps if main else None,
        "period_s": main.period_s if main else None,
        "cost_per_occurrence_s": main.cost_each_s if main else None,
        "gpu_inside_pct": gpu.inside if gpu else None,
        "gpu_outside_pct": gpu.outside if gpu else None,
    }


def _finding(group: SharedPeriod, params: Params, waits: Sequence[NodeWaits]) -> results.Finding:
    main = group.main
    marked_ns = main.cost_ns * main.windows.start_ns.size / main.n_found
    edges, usual = ((union.start_ns, union.end_ns) for union in (main.windows, main.others))
    is_late = is_waiting(
        waits, edges, usual, node=main.node, is_between=main.is_between, extra_ns=marked_ns
    )
    hint = contrast.function_hint(kit.merge([period.contrast.contents for period in group.members]))
    by_loader = hint is not None and hint.work is WorkKind.LOADER
    nth = ordinal(round(main.period_steps))
    is_loading = main.is_set_up and not main.is_between
    parts = (
        _rhythm(group),
        write(COST, p=main, where=WHERE[main.is_between]),
        write(HIDDEN, p=main) if main.cost_ratio < main.time_ratio else "",
        hint.text if hint else "",
        LATE if is_late and not by_loader else "",
        SET_UP if is_loading else "",
        write(BURSTS, p=main) if main.is_burst else "",
        contrast.dip_text(main.contrast),
        main.at_network,
    )
    is_input = by_loader or is_late or main.is_burst or is_loading
    message = BATCHES_LATE if is_input else RECURS
    is_short = main.period_steps <= SHORT_PERIOD
    is_update = is_short and main.cost_each_s * NS_PER_S < HALF_CYCLE_RATIO * main.usual_ns
    advice = hint.advice if hint else LOAD_ADVICE if main.is_burst else None
    if main.at_network and (by_loader or not (hint and hint.advice)):
        advice = NETWORK_ADVICE
    return message.fault(
        100 * main.cost_ratio,
        threshold=params.min_share_pct,
        where=kit.at_worker(main.worker, main.windows.start_ns[0], main.windows.end_ns[-1]),
        severity=results.Severity.INFO if is_update else kit.cost_severity(main.cost_ratio),
        advice=UPDATE_ADVICE if is_update else advice,
        what=write(WHAT[main.is_between], p=main, nth=nth),
        text=" ".join(part for part in parts if part),
        function=hint.function if hint else "",
        every=write(EVERY, p=main),
        when=write(EVERY, p=main),
    )


def _rhythm(group: SharedPeriod) -> str:
    main = group.main
    numbers = [str(step) for step in main.slowest.number[: MOST_NUMBERS + 1].tolist()]
    others = [item.worker for item in group.members if item is not main]
    is_cut = main.n_found > len(numbers) or len(numbers) > MOST_NUMBERS
    return write(
        RHYTHM,
        p=main,
        every=write(EVERY, p=main),
        missing="" if main.n_found == main.n_expected else f" of {main.n_expected:,} expected",
        behind="after step" if main.is_between else "step",
        numbers=", ".join(numbers[:MOST_NUMBERS]),
        more=" …" if is_cut else "",
        others=f" The same holds for {join_names(others)}." if others else "",
    )


def _exhibits(groups: Sequence[SharedPeriod], costly: Sequence[SharedPeriod]) -> Iterator[Exhibit]:
    """Yield the table of all rhythms, and the evidence for those which cost enough."""
    if groups:
        yield kit.table(
            "periods",
            [member for group in groups for member in group.members],
            Period,
            title="Regular slow steps by training process",
            caption="""Costs are the time above the usual cycle at that time. Shares are of the time
                from the first to the last step of the training process. Regular slow steps that
                cost little are only in this table.""",
        )
    if costly:
        merged = [
            (group.main.label, kit.merge([period.contrast.contents for period in group.members]))
            for group in costly
        ]
        yield from contrast.exhibits_of(
            merged, [(group.main.label, group.main.contrast) for group in costly]
        )
        yield kit.intervals(
            [item for group in costly for member in group.members for item in _intervals(member)],
            title="When steps were regularly slow",
            n_all=sum(member.n_found for group in costly for member in group.members),
        )


def _intervals(member: Period) -> Iterator[kit.Interval]:
    windows, numbers = member.windows, member.slowest.number.tolist()
    for number, start_ns, end_ns in zip(numbers, windows.start_ns, windows.end_ns, strict=True):
        where = kit.stretch(member.node, member.worker, start_ns, end_ns)
        yield kit.interval(f"step {number}, slow {member.label}", where)


RULE = Rule(
    id=results.RuleId("StepPeriodicity"),
    title="Periodic slow steps",
    about=ABOUT,
    needs=(Need.FRAMEWORK, Need.SYSTEM),
    params=Params,
    measure=measure,
    judge=judge,
    folded=("intervals", "rates"),
)
