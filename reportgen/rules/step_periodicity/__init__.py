"""StepPeriodicity: slow steps that come back every n-th step or every t seconds, and why.

Rhythms that workers share are one, with its cause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from reportgen import results
from reportgen.facts.inside import NodeGauge, Work
from reportgen.facts.intervals import Union
from reportgen.facts.loader import is_waiting
from reportgen.rules import kit
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.step_periodicity import tables
from reportgen.rules.step_periodicity.measure import NodeRhythms, Params, Period, Unit, measure
from reportgen.text import format_ns, join_names, ordinal, write
from reportgen.units import NS_PER_S

SAME_RATIO = 0.02
"""Periods that differ by at most 2 % are the same: workers wait for each other, if not exactly."""
NAMED_FROM_RATIO = 0.5
"""A cause explains more than half of the extra time."""
MOST_NUMBERS = 6
SHORT_PERIOD = 32
HALF_CYCLE_RATIO = 0.5
"""Every few steps one that is a little longer is what gradient accumulation looks like: workers
exchange gradients and the optimizer runs once for up to this many batches, which takes less than
half of a step. A larger share or a longer period has another reason."""
LEAST_TICKS = 3
"""With fewer samples inside slow steps their mean is chance."""
HEAVIER_BY_PCT = 20.0
"""The host clearly works harder when its busiest core gains this many percentage points."""

ABOUT = About(
    checks="Whether slow steps, or long pauses between steps, repeat at regular intervals.",
    reading="""A cycle is a step and the pause after it. Slow cycles that repeat every nth step or
        every t seconds are reported, with their cost and with the functions that ran only in them.
        Slow steps at random times are not reported here.""",
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
    exhibit="cycles",
)
BATCHES_LATE = replace(RECURS, cause=results.Cause.SLOW_INPUT)
"""Batches that come late in a rhythm, as from too few loader processes, are a matter of input."""
UPDATE_ADVICE = """Nothing to do if gradients are accumulated: in these steps they are exchanged and
    the optimizer runs. Otherwise find what the script does {every}."""
ADVICE = {
    Work.LOADER: """Use more loader processes, let them prefetch more batches, and pin memory; look
        at what the loader reads at those steps.""",
    Work.LOADER_START: """Keep the loader's processes alive between epochs
        (persistent_workers=True).""",
    Work.OTHER: ("Run {function} in a separate thread, less often than {every}, or on the GPU."),
}
TOO_FEW = """Too few steps to find regular intervals: {longest:n} of one training process and phase
    at most, {least:n} are needed."""
WHAT = {
    (Unit.SECONDS, True): "Every {p.period_s:s} a {p.word:mode} step is followed by a long pause",
    (Unit.SECONDS, False): "Every {p.period_s:s} a {p.word:mode} step is slow",
    (Unit.STEPS, True): "A long pause follows every {nth} {p.word:mode} step",
    (Unit.STEPS, False): "Every {nth} {p.word:mode} step is slow",
}
PERIOD = {
    Unit.SECONDS: "every {p.period_s:s} (about {p.period_steps:.0f} steps)",
    Unit.STEPS: "every {p.period_steps:g} steps ({p.period_s:s})",
}
EVERY = {Unit.SECONDS: "every {p.period_s:s}", Unit.STEPS: "every {p.period_steps:g} steps"}
RHYTHM = """The training process {p.worker} has {p.n_found:n}{missing} slow {p.word:mode} cycles,
    one {period} ({behind} {numbers}{more}).{others}"""
COST = """Each takes {p.cost_each_s:s} more than the usual cycle of {p.usual_ns:ns}, {where};
    together this is {p.cost_ns:ns}, {p.cost_pct:pct} of the time from the first to the last
    step."""
WHERE = {True: "in the pause before the next step", False: "within the step"}
UNSEEN = """In {share:pct} of the extra time no recorded function ran: this is code that the
    profiler does not see, or waiting."""
FUNCTION = """{cause.function} takes {cause.slow_ns:ns} of each and {usual} of the others:
    {share:pct} of the extra time."""
LATE = "During most of it some training process waits for its batch."
FEW_SAMPLES = "Only {gpu.n_inside:count sample} lie in them: too few to know the use of the GPUs."
DIPS = """GPU utilization is {gpu.inside_pct:pct} inside them and {gpu.outside_pct:pct} outside
    ({gpu.n_inside:n} and {gpu.n_outside:n} samples){host}."""
HOST = "; the busiest core is at {core.inside_pct:pct} inside and {core.outside_pct:pct} outside"


def judge(measurements: Sequence[NodeRhythms], params: Params) -> Outcome:
    """Join the rhythms that workers share; those of series that are too short do not count."""
    job = kit.merge([NodeRhythms(), *measurements])
    groups = group_periods([item for item in job.periods if item.n_steps >= params.min_steps])
    told = [item for item in groups if 100 * item.main.cost_ratio >= params.min_share_pct]
    missing = kit.reason_without_steps(job.loop.n_spans, job.loop.n_steps)
    if missing is None and job.longest < params.min_steps:
        missing = kit.too_few(TOO_FEW, longest=job.longest, least=params.min_steps)
    return Outcome(
        missing=missing,
        findings=[_finding(item, params, job.waits) for item in told],
        exhibits=tables.exhibits_of(groups, told),
        metrics=_metrics(told) if job.longest >= params.min_steps else {},
    )


def group_periods(periods: Sequence[Period]) -> list[tables.SharedPeriod]:
    """Return the rhythms of all workers, shared ones as one, the costliest first.

    Labels of two rhythms of one worker with the same period name their first steps.
    """
    groups: list[list[Period]] = []
    for period in periods:
        same = next((group for group in groups if _is_same(group[0], period)), None)
        if same is None:
            groups.append(same := [])
        same.append(period)
    named = []
    for members in groups:
        main = tables.SharedPeriod(members=tuple(members)).main
        label = write(EVERY[main.unit], p=main)
        named.append([replace(item, label=label) for item in members])
    n_alike = Counter((its.worker, its.phase, its.label) for members in named for its in members)

    def told_apart(item: Period) -> Period:
        is_alone = n_alike[item.worker, item.phase, item.label] < 2
        first = "" if is_alone else f" from step {item.first_step}"
        return replace(item, label=item.label + first)

    found = [tables.SharedPeriod(members=tuple(map(told_apart, members))) for members in named]
    return sorted(found, key=lambda group: (-group.main.cost_ratio, group.main.period_steps))


def _is_same(one: Period, other: Period) -> bool:
    if one.phase != other.phase or one.worker == other.worker:
        return False
    pairs = ((one.period_steps, other.period_steps), (one.period_s, other.period_s))
    return any(abs(this - that) <= SAME_RATIO * max(this, that) for this, that in pairs)


def _metrics(told: Sequence[tables.SharedPeriod]) -> dict[str, float | int | None]:
    """Return the numbers to compare jobs by; those of the costliest rhythm, ``None`` without."""
    main = told[0].main if told else None
    gpu = main.loads.get(NodeGauge.GPU) if main else None
    return {
        "periods": len(told),
        "periodic_ratio": round(sum(group.main.cost_ratio for group in told), 6),
        "period_steps": main.period_steps if main else None,
        "period_s": main.period_s if main else None,
        "cost_per_occurrence_s": main.cost_each_s if main else None,
        "gpu_inside_pct": gpu.inside_pct if gpu else None,
        "gpu_outside_pct": gpu.outside_pct if gpu else None,
    }


def _finding(group: tables.SharedPeriod, params: Params, waits: Union) -> results.Finding:
    main = group.main
    marked_ns = main.cost_ns * main.windows.start_ns.size / main.n_found
    edges, drawn = ((its.start_ns, its.end_ns) for its in (main.windows, main.drawn))
    is_late = is_waiting(waits, edges, drawn, extra_ns=marked_ns)
    likely = [item for item in tables.compare(group) if item.evidence_ratio > NAMED_FROM_RATIO]
    cause = max(likely, key=lambda item: (item.evidence_ratio, item.function), default=None)
    by_loader = cause is not None and cause.work is Work.LOADER
    nth = ordinal(round(main.period_steps))
    parts = (
        _rhythm(group),
        write(COST, p=main, where=WHERE[main.is_between]),
        _why(cause),
        LATE if is_late and not by_loader else "",
        _dips(main),
    )
    message = BATCHES_LATE if by_loader or is_late else RECURS
    is_short = main.unit is Unit.STEPS and main.period_steps <= SHORT_PERIOD
    is_update = is_short and main.cost_each_s * NS_PER_S < HALF_CYCLE_RATIO * main.usual_ns
    severity = results.Severity.INFO if is_update else kit.cost_severity(main.cost_ratio)
    return message.fault(
        100 * main.cost_ratio,
        threshold=params.min_share_pct,
        where=kit.at_worker(main.worker, main.windows.start_ns[0], main.windows.end_ns[-1]),
        severity=severity,
        advice=UPDATE_ADVICE if is_update else ADVICE.get(cause.work) if cause else None,
        what=write(WHAT[main.unit, main.is_between], p=main, nth=nth),
        text=" ".join(part for part in parts if part),
        function=cause.function if cause else "",
        every=write(EVERY[main.unit], p=main),
    )


def _rhythm(group: tables.SharedPeriod) -> str:
    main = group.main
    numbers = [str(step) for step in main.slowest.number[: MOST_NUMBERS + 1].tolist()]
    others = [item.worker for item in group.members if item is not main]
    is_cut = main.n_found > len(numbers) or len(numbers) > MOST_NUMBERS
    return write(
        RHYTHM,
        p=main,
        missing="" if main.n_found == main.n_expected else f" of {main.n_expected:,} expected",
        period=write(PERIOD[main.unit], p=main),
        behind="after step" if main.is_between else "step",
        numbers=", ".join(numbers[:MOST_NUMBERS]),
        more=" …" if is_cut else "",
        others=f" The same holds for {join_names(others)}." if others else "",
    )


def _why(cause: tables.Compared | None) -> str:
    if cause is None:
        return ""
    return write(
        UNSEEN if cause.work is Work.UNSEEN else FUNCTION,
        cause=cause,
        usual=format_ns(cause.normal_ns) if cause.normal_ns else "nothing",
        share=100 * min(cause.excess_ratio, 1.0),
    )


def _dips(main: Period) -> str:
    gpu, core = (main.loads.get(gauge) for gauge in (NodeGauge.GPU, NodeGauge.CORE))
    if gpu is None or gpu.inside_pct is None or gpu.outside_pct is None:
        return ""
    if gpu.n_inside < LEAST_TICKS:
        return write(FEW_SAMPLES, gpu=gpu)
    host = ""
    if core and core.inside_pct is not None and core.outside_pct is not None:
        is_heavier = core.inside_pct - core.outside_pct >= HEAVIER_BY_PCT
        host = write(HOST, core=core) if is_heavier else ""
    return write(DIPS, gpu=gpu, host=host)


RULE = Rule(
    id=results.RuleId("StepPeriodicity"),
    title="Periodic slow steps",
    about=ABOUT,
    needs=(Need.FRAMEWORK, Need.SYSTEM),
    params=Params,
    measure=measure,
    judge=judge,
    folded=("intervals",),
)
