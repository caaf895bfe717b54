"""StepOutlier: steps that take much longer than the others of their worker and phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reportgen import results
from reportgen.facts.contrast import WorkKind
from reportgen.facts.intervals import Union, clip, overlap_ns
from reportgen.facts.loader import MOSTLY_RATIO
from reportgen.facts.slow_steps import HANDFUL, LONGER_RATIO, SLOW_FROM_RATIO
from reportgen.facts.slow_times import leading
from reportgen.facts.step_times import N_BLOCKS, Slowdown
from reportgen.results import Finding, Place, TimelineTrack, Track
from reportgen.rules import contrast, kit
from reportgen.rules.aws.aws_step_outlier import counted_steps
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.step_outlier import tables
from reportgen.rules.step_outlier.measure import NodeSteps, Params, StepSeries, measure
from reportgen.text import format_pct, join_names, mode_word, plural, write

MOST_SLOW_NUMBERS = 8
FAIR_SHARE_FACTOR = 2
"""A worker with more than twice its fair share of outliers is named: chance spreads them evenly."""

ABOUT = About(
    checks="Whether some steps take much longer than usual for their training process and phase.",
    reading=f"""A step is slow if it takes at least 1.5 times as long as the steps around it (the
        column slow_steps). A time between steps is slow if it is four times as long as those around
        it. It is a finding if more than three come at irregular times and their extra time is at
        least {format_pct(100 * kit.CHEAP_RATIO)} of the time from the first to the last step.
        SageMaker's
        rule counts outliers instead: steps longer than the mean plus a few standard deviations of
        all steps of their training process and phase. It triggers if there are too many of them. A
        third table lists steps that take more than twice the median.""",
    advice="""Find out what ran in these steps (callbacks, checkpoints, logging, validation, a slow
        read); run it less often or in a separate thread.""",
    section=results.Section(id="step-durations", title="Step durations", order=140),
    at_a_glance=(
        results.AtAGlance(
            card="Step durations",
            order=40,
            exhibits=("step_histogram", "step_histogram_*"),
            missing="""Record the training steps (for example with reportgen record) to see how
                long they take.""",
        ),
        results.AtAGlance(
            card="Step durations", order=41, exhibits=("step_percentiles",), is_only_here=True
        ),
    ),
    has_counters=True,
)
SLOW = kit.Message(
    id="STEP-1",
    cause=results.Cause.RANDOM_SLOW_STEPS,
    title="{slow.n_slow:n} of {slow.n_steps:n} {slow.word:mode} steps are slow{crowd}{mark}",
    text="""The training process {slow.worker} has {slow.n_slow:n} {slow.word:mode} steps that take
        at least {times:g} times as long as the steps around them. The usual step takes
        {slow.usual_ns:ns}, the longest {slow.longest_ns:ns}: step {numbers}. Their extra time is
        {measured:pct} of the time from the first to the last step.{why}{others}""",
    advice="""Compare the times of the slow steps with callbacks, checkpoints, reads, garbage
        collection and the CPU and GPU curves; events that occur only then are the cause.""",
    exhibit="steps",
)
LONG_BETWEEN = replace(
    SLOW,
    title="{slow.n_slow:n} of {slow.n_steps:n} {slow.word:mode} steps are followed by a long pause"
    "{crowd}{mark}",
    text="""In the training process {slow.worker} {slow.n_slow:n} times between steps are at least
        {times:g} times as long as those around them, in no rhythm; {left_out}.
        The usual one takes {slow.usual_ns:ns}, the longest {slow.longest_ns:ns}: after step
        {numbers}. They cost at most {measured:pct} of the time from the first to the last
        step.{why}{others}""",
    advice="""Compare these times with what the script does between steps now and then: logging,
        metrics, callbacks, saving, garbage collection. Do it less often or in its own thread.""",
)
LEFT_OUT = {
    True: "waits for batches are left out",
    False: "waits for batches, which were not recorded for all steps, may be part of them",
}
MOST_RANDOM_RATIO = 0.2
"""A few long steps (``HANDFUL``) are single pauses, a matter of LongPause. Where more than a fifth
of all steps is slow, there are two kinds of steps, and neither is an exception."""
GAIN_FROM_RATIO = 0.25
"""Other programs crowd out a job if they gain a quarter of the cores that it had. Larger: growth
beside them is more often told as the job's own."""
MOST_OF_ALL = " {named} has most of the outliers of all training processes."
OTHERS = " The same holds for {names:names}."
LATE = " During most of it some training process waits for its batch."
CROWDED = " During most of it all cores are used up, and other programs have some of them."
ALL_THE_TIME = """ All the time other programs have some of the cores, which are used up: that makes
    steps slow as well. Record again without them to be sure."""
OF_ONE_WORKER = "Look at {named} alone: its GPU, its share of the data, other load on its node."
SLOWER = kit.Message(
    id="STEP-2",
    cause=results.Cause.SLOWING_DOWN,
    title="{what} {worst.word:mode} steps {grows}{crowd}: from {found.first_ns:ns} to "
    "{found.last_ns:ns}{mark}",
    text=f"""{{usual}} {{worst.word:mode}} step of {{worst.worker}} takes {{found.first_ns:ns}} at
        the start and {{found.last_ns:ns}} at the end, and rises in between (a line through the
        medians of {N_BLOCKS - 1} blocks of steps, the warm-up left out). At the speed of the start
        the loop would take {{measured:pct}} less.{{others}}""",
    advice="""Look for something that grows during the job: lists and logs that are read again in
        each step, memory that swaps, GPU clocks that fall with heat, longer inputs.""",
    severity=results.Severity.WARNING,
    exhibit="step_series",
)
JUMPED = replace(
    SLOWER,
    cause=results.Cause.WORK_BETWEEN_STEPS,
    advice="""Look for what the script does between two steps since this time: metrics that are read
        with .item(), logging, callbacks. Do it less often, in its own thread, or on the GPU.""",
)
"""Pauses that become longer at once and stay so do not grow: some work began between the steps."""
IN_STEPS: Mapping[str, Any] = {"what": "The", "grows": "grow slower", "usual": "The usual"}
BETWEEN: Mapping[str, Any] = {
    "what": "The pauses behind",
    "grows": "grow longer",
    "usual": "The usual pause behind a",
}

TOO_FEW = """Too few steps to judge: {s.n_steps:n} {s.word:mode} steps of {s.worker} at most, more
    than {least:n} are needed."""


def judge(measurements: Sequence[NodeSteps], params: Params) -> Outcome:
    """Count triggers of all workers and phases and say what the slow steps have in common."""
    job = kit.merge([NodeSteps(), *measurements])
    judged = kit.sum_by_key({item.worker: (item,)} for item in job.series if item.aws)
    entries = {worker: tables.preferred(of_worker).aws for worker, of_worker in judged.items()}
    findings = [found for found in (_random(job), _slower(job)) if found]
    return Outcome(
        missing=None if findings else _missing(job, params),
        findings=findings,
        exhibits=tables.exhibits_of_series(job.series, job.use, batch_size=params.batch_size),
        metrics=_metrics(job.series, params.batch_size),
        data=job.data,
        **counted_steps(
            [item.aws for item in job.series if item.aws],
            {worker: counted.entry for worker, counted in entries.items() if counted},
            [item.during_outliers for item in job.series],
            job.minute_ns,
            n_steps=job.loop.n_steps,
            n_outliers=params.n_outliers,
        ),
    )


def _missing(job: NodeSteps, params: Params) -> results.Reason | None:
    missing = kit.reason_without_steps(job.loop.n_spans, job.loop.n_steps)
    if missing is not None or any(item.aws for item in job.series):
        return missing
    if not job.series:
        text = f"Of {plural(job.loop.n_steps, 'step')} not one is of mode {params.mode}."
        return results.Reason(code=results.ReasonCode.NO_STEPS, text=text)
    longest = max(job.series, key=lambda item: item.n_steps)
    return kit.too_few(TOO_FEW, s=longest, least=params.min_steps)


def named_worker(series: Sequence[StepSeries]) -> str | None:
    """Return the worker with more than twice its fair share of the outliers, or with all of them.

    A worker alone is never named.
    """
    counts = kit.sum_by_key({item.worker: len(item.outliers)} for item in series)
    total = sum(counts.values())
    if len(counts) < 2 or total == 0:
        return None
    worker, most = min(counts.items(), key=lambda item: (-item[1], item[0]))
    is_unfair = most > FAIR_SHARE_FACTOR * total / len(counts)
    return worker if is_unfair or most == total else None


def _random(job: NodeSteps) -> Finding | None:
    """Return the finding on slow steps, or times between them, that come at random and cost most.

    A few of them are pauses, and what is cheap is only in the table.
    """
    costly = [
        slow
        for item in job.series
        for slow in item.random
        if HANDFUL < slow.n_slow <= MOST_RANDOM_RATIO * slow.n_steps
        and slow.cost_ratio >= kit.CHEAP_RATIO
    ]
    if not costly:
        return None
    worst = leading(costly)
    is_late = worst.is_waiting(job.waits)
    hint = contrast.function_hint(worst.contrast.contents)
    # Waits for batches are left out of this time already.
    hint = hint if hint and hint.work is WorkKind.OTHER else None
    named = None if worst.is_between else named_worker(job.series)
    same = [f"{slow.worker} {mode_word(slow.word)}" for slow in costly if slow is not worst]
    message = LONG_BETWEEN if worst.is_between else SLOW
    in_crowd, usually = (
        overlap_ns(some, job.crowded) >= MOSTLY_RATIO * max(some.length_ns, 1)
        for some in (worst.windows, worst.others)
    )
    # What is there all the time does not tell slow steps from the others.
    is_crowded = not is_late and in_crowd and not usually
    cause = results.Cause.SLOW_INPUT if is_late else results.Cause.OTHER_PROGRAMS
    message = replace(message, cause=cause) if is_late or is_crowded else message
    advice = hint.advice if hint else None
    if is_crowded:
        hint, named, advice = None, None, kit.CORES_ALONE
    return message.fault(
        100 * worst.cost_ratio,
        threshold=100 * kit.CHEAP_RATIO,
        where=kit.at_worker(
            worst.worker, int(worst.windows.start_ns[0]), int(worst.windows.end_ns.max())
        ),
        advice=OF_ONE_WORKER if named else advice,
        slow=worst,
        left_out=LEFT_OUT[worst.are_waits_known],
        times=1 + (LONGER_RATIO if worst.is_between else SLOW_FROM_RATIO),
        mark=_mark(worst.worker, [item.worker for item in job.series]),
        crowd=" while other programs use the cores" * is_crowded,
        numbers=join_names([str(step) for step in worst.numbers], most=MOST_SLOW_NUMBERS),
        why=f"{LATE * is_late}{CROWDED * is_crowded}{ALL_THE_TIME * (in_crowd and usually)}"
        f"{f' {hint.text}' if hint else ''}",
        others=write(MOST_OF_ALL, named=named) if named else _others(list(dict.fromkeys(same))),
        named=named,
        function=hint.function if hint else "",
        when="in this time",
    )


def _mark(worker: str, workers: Sequence[str]) -> str:
    """Return which training process a title is about, in brackets; nothing where it is the only."""
    return f" ({kit.process_name(worker, workers)})" if len({*workers}) > 1 else ""


def _others(names: list[str]) -> str:
    return write(OTHERS, names=names) if names else ""


def _slower(job: NodeSteps) -> Finding | None:
    series = job.series
    slower = [
        (item.slowdown.extra_ns / item.loop_ns, item, item.slowdown)
        for item in series
        if item.slowdown and item.slowdown.extra_ns >= kit.CHEAP_RATIO * item.loop_ns
    ]
    if not slower:
        return None
    share, worst, found = max(slower, key=lambda item: (item[0], item[1].worker, item[1].word))
    message = JUMPED if found.is_between and found.is_jump else SLOWER
    if is_crowded := _grows_with_the_crowd(worst, found, job.crowded):
        message = replace(message, cause=results.Cause.OTHER_PROGRAMS, advice=kit.CORES_ALONE)
    return message.fault(
        100 * share,
        threshold=100 * kit.CHEAP_RATIO,
        where=kit.at_worker(worst.worker, found.begin_ns, found.end_ns),
        worst=worst,
        found=found,
        mark=_mark(worst.worker, [item.worker for item in series]),
        crowd=" while other programs use the cores" * is_crowded,
        others=_others(
            [f"{item.worker} {mode_word(item.word)}" for _, item, _ in slower if item is not worst]
        ),
        **(BETWEEN if found.is_between else IN_STEPS),
    )


def _grows_with_the_crowd(item: StepSeries, found: Slowdown, crowded: Union) -> bool:
    """Return whether steps last longer beside other programs, but do no more work.

    It is other work if the processor time of the job for a step grows at least half as much.
    Programs that were there from the first make nothing grow.
    """
    lasts_ns = max(found.end_ns - found.begin_ns, 1)
    in_crowd = clip(crowded, found.begin_ns, found.end_ns).length_ns
    if found.is_between or item.crowding is None or in_crowd < MOSTLY_RATIO * lasts_ns:
        return False
    work_growth, others_gain = item.crowding
    is_same_work = work_growth - 1 < (found.last_ns / max(found.first_ns, 1) - 1) / 2
    return is_same_work and others_gain >= GAIN_FROM_RATIO


def _metrics(series: Sequence[StepSeries], batch_size: int | None) -> dict[str, float | int | None]:
    if not series:
        return {}
    main = tables.main_series(series)
    paces = [item.steps_per_s for item in main if item.steps_per_s is not None]
    rates = [item.per_second(batch_size, digits=2) or 0.0 for item in main] if batch_size else []
    return {
        "steps": sum(item.n_steps for item in main),
        "step_p50_s": float(np.median([item.p50_s for item in main])),
        "step_p99_max_s": max(item.p99_s for item in main),
        "outlier_steps": sum(len(item.outliers) for item in series),
        "slow_steps": sum(item.slow.n_steps for item in series),
        "steps_above_twice_median": sum(item.above_twice_median for item in series),
        **({"steps_per_s": float(np.median(paces))} if paces else {}),
        **({"samples_per_s": round(sum(rates), 2)} if paces and rates else {}),
    }


def _describe(params: Params) -> str:
    """Return ``RuleParameters``; AWS prints ``stddev`` twice, first under another name."""
    return (
        f"threshold:{params.stddev}\nmode:{params.mode}\n"
        f"n_outliers:{params.n_outliers}\nstddev:{params.stddev}"
    )


_OUTLIERS = TimelineTrack(kind=Track.LANE, title="Outlier steps", role=results.Role.WARNING)
_STEP_DURATION = TimelineTrack(kind=Track.PANEL, title="Step duration", order=20)
_NUMBERS = TimelineTrack(kind=Track.STEPS, is_only_here=True)

RULE = Rule(
    id=results.RuleId("StepOutlier"),
    title="Step durations",
    about=ABOUT,
    needs=(Need.FRAMEWORK,),
    params=Params,
    measure=measure,
    judge=judge,
    describe_params=_describe,
    param_aliases={"threshold": "stddev"},
    folded=("median_outliers", "step_series", "*_in_slow_steps"),
    places={
        "step_series": Place(timeline=_STEP_DURATION),
        "step_numbers": Place(timeline=_NUMBERS),
        "outliers": Place(timeline=_OUTLIERS),
    },
)
