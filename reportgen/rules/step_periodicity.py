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
from reportgen.facts.contrast import Contrast, Gauge, WorkKind
from reportgen.facts.intervals import Union, overlaps_any
from reportgen.facts.loader import NodeWaits, long_waits_of, num_workers_of
from reportgen.facts.slow_steps import Recurrence, SlowSteps, slow_steps_of
from reportgen.facts.slow_times import SlowTimes, leading, slow_times_of
from reportgen.facts.step_times import step_times_of
from reportgen.facts.steps import Loop, PhaseSteps, loop_of, steps_of
from reportgen.profile import NodeProfile, SystemTable
from reportgen.results import Exhibit
from reportgen.rules import contrast, kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.text import join_names, ordinal, write
from reportgen.units import NS_PER_S

SAME_RATIO = 0.02
"""Periods that differ by at most 2 % are the same: workers wait for each other, if not exactly."""
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
RHYTHM = """The training process {p.worker} has {p.found:n}{missing} slow {p.word:mode} cycles,
    one {every} ({p.period_s:s}; {behind} {numbers}{more}).{others}"""
COST = """Each takes {p.cost_each_s:s} more than the usual cycle of {p.usual_s:s}; this time lies
    {where}. Together it is {p.cost_s:s}, {p.cost_pct:pct} of the time from the first to the last
    step."""
WHERE = {True: "in the pause before the next step", False: "within the step"}
HIDDEN = """GPUs leave no more than {most:pct} of the time unused (added up per sample), so
    these pauses cost no more."""
MADE_UP = "The steps behind them are shorter than usual and make up {share:pct} of it."
TOLD_FROM_RATIO = 0.1
"""Less is the scatter of steps. Larger: less is said of what steps make up."""
LATE = "During most of it some training process waits for its batch."
SET_UP = "They are the first ones behind a data loader that is set up, which fills its queue then."
FULL = """The cores are used up for most of the time: batches of loader processes that compute there
    may come in bursts, and whether the loop waited for them was not recorded for all steps."""
TURN = "Another phase or a new data loader begins then, as at the end of an epoch."
BURSTS = """Training has {p.num_workers} loader processes: their batches may come in bursts of as
    many, and whether the loop waited for them was not recorded for all steps."""
AT_NETWORK = """In {pct:pct} of the samples in the slow time a GPU is idle while {node} receives
    data at its highest rate ({rate:bytes}/s; the 99th percentile of the job is {limit:bytes}/s):
    the network may be the limit."""
NETWORK_ADVICE = """Read smaller or compressed records, keep a local copy of data that are read
    again, or take an instance with more network bandwidth."""
CHEAPER_ADVICE = """Record the waits for data of all steps: where the loop waits, make each batch
    cheaper to load, as no core is left for more loader processes."""
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
        label: its name, with its first step where another rhythm has the same period.
        times: its occurrences; their usual length is that of a cycle.
        anew: says that the steps are counted anew in each epoch; else empty.
        at_network: says that GPUs mostly idle then while the network is at its limit.
        num_workers: loader processes of the worker, where known.
        are_cores_full: whether the cores of the node are used up most of the time.
        is_set_up: whether mostly the first two steps behind a loader that is set up are slow.
        is_turn: whether mostly steps of another phase, or of a new loader, follow.
    """

    label: str = kit.col(name="period")
    times: SlowTimes
    worker: str = kit.derived(lambda item: item.times.worker)
    word: str = kit.derived(lambda item: item.times.word, name="phase")
    anew: str
    period_steps: float = kit.col("steps")
    period_s: float = kit.col("s")
    found: int = kit.derived(lambda item: item.times.n_slow)
    n_expected: int = kit.col(name="expected")
    usual_s: float = kit.derived(lambda item: item.times.usual_ns / NS_PER_S, "s")
    cost_each_s: float = kit.derived(
        lambda item: item.times.cost_ns / item.times.n_slow / NS_PER_S, "s"
    )
    cost_s: float = kit.derived(lambda item: item.times.cost_ns / NS_PER_S, "s")
    cost_pct: float = kit.derived(lambda item: 100 * item.times.time_ratio, "%")
    slow_part: str = kit.derived(
        lambda item: "pause before the next step" if item.times.is_between else "step"
    )
    num_workers: int | None
    are_cores_full: bool
    at_network: str
    is_set_up: bool
    is_turn: bool

    @property
    def is_burst(self) -> bool:
        """Return whether it comes as often as loader processes take turns, and waits are unknown.

        Each process hands over one batch in as many steps, so that the slow ones come together.
        Where their number is unknown, full cores and a short period speak for them.
        """
        n = self.num_workers or 0
        is_turn = n > 1 and round(self.period_steps) == n
        may_be_turn = not n and self.are_cores_full and self.period_steps <= SHORT_PERIOD
        return not self.times.are_waits_known and (is_turn or may_be_turn)


Shared = tuple[Period, ...]
"""The same rhythm in one worker or in several, the one in which it costs most first."""


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
    found = [_period(part, slow, rhythm, is_normal) for rhythm in slow.rhythms]
    labels = [item.label for item in found]
    for item in found:
        is_alone = labels.count(item.label) < 2
        first = "" if is_alone else f" from step {item.times.numbers[0]}"
        yield replace(item, label=item.label + first)


def _period(part: NodeProfile, slow: SlowSteps, found: Recurrence, normal: Mask) -> Period:
    steps, events = slow.times.steps, found.events
    is_set_up = np.diff(slow.times.stretch, prepend=slow.times.stretch[:1]) > 0
    opens = is_set_up | np.roll(is_set_up, 1)
    turns = np.roll(is_set_up, -1)
    turns[:-1] |= steps.next_ns[:-1] < steps.start_ns[1:]
    times = slow_times_of(
        part,
        slow,
        events,
        normal,
        is_between=_is_between(steps, events.cycles, normal),
        length_ns=steps.cycle_ns,
    )
    item = Period(
        label="",
        times=times,
        anew=ANEW if found.is_by_epoch else "",
        period_steps=found.period_steps,
        period_s=found.period_s,
        n_expected=found.n_expected,
        num_workers=num_workers_of(part.spans, steps.worker),
        are_cores_full=_are_cores_full(part.system),
        at_network=_at_network(part, times.windows),
        is_set_up=bool(2 * opens[events.row].sum() > events.row.size),
        is_turn=times.is_between and bool(2 * turns[events.row].sum() > events.row.size),
    )
    return replace(item, label=write(EVERY, p=item))


def _are_cores_full(system: SystemTable) -> bool:
    is_work = usage.while_at_work(system)
    return bool(2 * usage.are_cores_full(system)[is_work].sum() > is_work.sum())


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
    groups = group_periods([item for item in job.periods if item.times.n_steps >= params.min_steps])
    costly = [item for item in groups if 100 * item[0].times.cost_ratio >= params.min_share_pct]
    missing = kit.reason_without_steps(job.loop.n_spans, job.loop.n_steps)
    if missing is None and job.longest < params.min_steps:
        missing = kit.too_few(TOO_FEW, longest=job.longest, least=params.min_steps)
    return Outcome(
        missing=missing,
        findings=[_finding(item, params, job.waits) for item in costly],
        exhibits=_exhibits(groups, costly),
        metrics=_metrics(costly) if job.longest >= params.min_steps else {},
    )


def group_periods(periods: Sequence[Period]) -> list[Shared]:
    """Return the rhythms of all workers, shared ones as one, the costliest first."""
    groups: list[list[Period]] = []
    for period in periods:
        same = next((group for group in groups if _is_same(group[0], period)), None)
        if same is None:
            groups.append(same := [])
        same.append(period)
    found = [
        tuple(sorted(members, key=lambda item: item.times is not main))
        for members in groups
        for main in [leading([item.times for item in members])]
    ]
    return sorted(found, key=lambda group: (-group[0].times.cost_ratio, group[0].period_steps))


def _is_same(one: Period, other: Period) -> bool:
    """Return whether workers share a rhythm: its length is the same, or all pass at one time."""
    if one.worker == other.worker:
        return False
    pairs = ((one.period_steps, other.period_steps), (one.period_s, other.period_s))
    is_alike = any(abs(this - that) <= SAME_RATIO * max(this, that) for this, that in pairs)
    if is_alike and one.times.phase == other.times.phase:
        return True
    return one.times.passes_in(other.times) and other.times.passes_in(one.times)


def _metrics(costly: Sequence[Shared]) -> dict[str, float | int | None]:
    """Return the numbers to compare jobs by; those of the costliest rhythm, ``None`` without."""
    main = costly[0][0] if costly else None
    gpu = main.times.contrast.loads.get(Gauge.GPU) if main else None
    return {
        "periods": len(costly),
        "periodic_ratio": round(sum(group[0].times.cost_ratio for group in costly), 6),
        "period_steps": main.period_steps if main else None,
        "period_s": main.period_s if main else None,
        "cost_per_occurrence_s": main.cost_each_s if main else None,
        "gpu_inside_pct": gpu.inside if gpu else None,
        "gpu_outside_pct": gpu.outside if gpu else None,
    }


def _finding(group: Shared, params: Params, waits: Sequence[NodeWaits]) -> results.Finding:
    main, times = group[0], group[0].times
    is_late = times.is_waiting(waits)
    hint = contrast.function_hint(_contrast(group).contents)
    by_loader = hint is not None and hint.work is WorkKind.LOADER
    nth = ordinal(round(main.period_steps))
    is_loading = main.is_set_up and not times.is_between
    is_made_up = times.made_up_ns >= TOLD_FROM_RATIO * times.cost_ns
    parts = (
        _rhythm(group),
        write(COST, p=main, where=WHERE[times.is_between]),
        write(MADE_UP, share=100 * times.made_up_ns / times.cost_ns) if is_made_up else "",
        write(HIDDEN, most=100 * times.most_ratio) if times.most_ratio < times.net_ratio else "",
        hint.text if hint else "",
        LATE if is_late and not by_loader else "",
        SET_UP if is_loading else "",
        TURN if main.is_turn else "",
        write(BURSTS if main.num_workers else FULL, p=main) if main.is_burst else "",
        contrast.dip_text(times.contrast),
        main.at_network,
    )
    is_input = by_loader or is_late or main.is_burst or is_loading
    message = BATCHES_LATE if is_input else RECURS
    is_short = main.period_steps <= SHORT_PERIOD
    is_update = is_short and main.cost_each_s < HALF_CYCLE_RATIO * main.usual_s
    advice = hint.advice if hint else None
    if main.is_burst:
        advice = advice or (LOAD_ADVICE if main.num_workers else CHEAPER_ADVICE)
    if main.at_network and (by_loader or not (hint and hint.advice)):
        advice = NETWORK_ADVICE
    return message.fault(
        100 * times.cost_ratio,
        threshold=params.min_share_pct,
        where=kit.at_worker(main.worker, times.windows.start_ns[0], times.windows.end_ns[-1]),
        severity=results.Severity.INFO if is_update else kit.cost_severity(times.cost_ratio),
        advice=UPDATE_ADVICE if is_update else advice,
        what=write(WHAT[times.is_between], p=main, nth=nth),
        text=" ".join(part for part in parts if part),
        function=hint.function if hint else "",
        every=write(EVERY, p=main),
        when=write(EVERY, p=main),
    )


def _contrast(group: Shared) -> Contrast:
    """Return the load of the first node, and the functions of all workers."""
    contents = kit.merge([period.times.contrast.contents for period in group])
    return replace(group[0].times.contrast, contents=contents)


def _rhythm(group: Shared) -> str:
    main = group[0]
    numbers = [str(step) for step in main.times.numbers[: MOST_NUMBERS + 1]]
    others = list(dict.fromkeys(item.worker for item in group if item.worker != main.worker))
    is_cut = main.found > len(numbers) or len(numbers) > MOST_NUMBERS
    return write(
        RHYTHM,
        p=main,
        every=write(EVERY, p=main),
        missing="" if main.found == main.n_expected else f" of {main.n_expected:,} expected",
        behind="after step" if main.times.is_between else "step",
        numbers=", ".join(numbers[:MOST_NUMBERS]),
        more=" …" if is_cut else "",
        others=f" The same holds for {join_names(others)}." if others else "",
    )


def _exhibits(groups: Sequence[Shared], costly: Sequence[Shared]) -> Iterator[Exhibit]:
    """Yield the table of all rhythms, and the evidence for those which cost enough."""
    if groups:
        yield kit.table(
            "periods",
            [member for group in groups for member in group],
            Period,
            title="Regular slow steps by training process",
            caption="""Costs are the time above the usual cycle at that time. Shares are of the time
                from the first to the last step of the training process. Regular slow steps that
                cost little are only in this table.""",
        )
    if costly:
        yield from contrast.exhibits_of([(group[0].label, _contrast(group)) for group in costly])
        yield kit.intervals(
            [item for group in costly for member in group for item in _intervals(member)],
            title="When steps were regularly slow",
            n_all=sum(member.found for group in costly for member in group),
        )


def _intervals(member: Period) -> Iterator[kit.Interval]:
    times, windows = member.times, member.times.windows
    edges = zip(times.numbers, windows.start_ns, windows.end_ns, strict=True)
    for number, start_ns, end_ns in edges:
        where = kit.stretch(times.node, times.worker, start_ns, end_ns)
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
