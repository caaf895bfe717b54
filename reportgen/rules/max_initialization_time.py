"""MaxInitializationTime: how long the job needed until its first step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reportgen import results
from reportgen.arrays import Instants
from reportgen.facts.samples import count_where, mean_of_present, sum_of, training_loop_ns
from reportgen.facts.steps import WARM_UP_STEPS, Loop, loop_of, steps_of
from reportgen.facts.usage import IDLE_BELOW_PCT, at_work, begun_rows
from reportgen.merging import greatest, least
from reportgen.profile import NO_STEP, NodeProfile, SeriesKind
from reportgen.rules import kit
from reportgen.rules.aws.aws_max_initialization_time import (
    Phases,
    details_of,
    phases_exhibit,
    phases_of,
    step_num,
)
from reportgen.rules.base import About, Need, Outcome, Rule, param
from reportgen.text import write
from reportgen.units import percentages, seconds

SHORT_START_S = 20.0
"""Imports, the start of processes and the first batch of any job take some seconds; start-up below
twenty is no fault, even when a short loop is shorter still."""
COSTLY_S, COSTLY_RATIO = 150.0, 0.15
"""Containers, devices, data and compilation take a minute or two in many healthy jobs: more is
worth a look if it is also a good part of the job."""
LEAST_START_S = 5.0
"""No process imports its framework and opens its devices in less: this part is not to be won."""
QUICK_PCT = 10
"""One cycle of ten is as quick, or quicker: a few stops make the mean too long."""
WORKED_RATIO = 0.5
"""GPUs at work for half of the time before the first step trained in it: its steps are lacking."""
METRICS = ("initialization_s", "training_loop_s", "finalization_s")
QUIET_BYTES_PER_S = 1_000_000
"""Below one megabyte a second nothing is copied that could explain a wait."""

ABOUT = About(
    checks="Whether the start-up before the first training step takes too long.",
    reading="""Initialization is the time from the first sample to the first training step. The
        training loop lasts from there to the end of the last training step, and finalization from
        there to the last sample. Evaluation before or after the training loop is not part of the
        loop.""",
    advice="""Stream the data instead of copying them first, use a smaller image, cache downloads
        and compiled code, and move preprocessing out of the training job.""",
    section=results.Section(id="initialization", title="Initialization", order=250),
    at_a_glance=(
        results.AtAGlance(
            card="Job summary",
            order=10,
            exhibits=("phases",),
            section="job-summary",
            missing="""Record the training steps (for example with reportgen record) to see how
                long initialization, training loop and finalization took.""",
        ),
    ),
    is_quiet=True,
    has_counters=True,
)
LONG = kit.Message(
    id="INIT-1",
    cause=results.Cause.LONG_START,
    title="Start-up took {measured:s} before {what}",
    text="""{began} {measured:s} after the first sample ({limit}); the training {loop} lasted
        {loop_s:s}. Start-up is {share_pct:pct} of the job.{meanwhile}""",
    advice=ABOUT.advice,
    unit="s",
    exhibit="phases",
)
LATE_END = kit.Message(
    id="INIT-2",
    title="""The job went on for {measured:s} after the last recorded training step: {share_pct:pct}
        of the job""",
    text="""Either the job did other work in this time, such as saving or uploading its results, or
        its later steps were not recorded.""",
    advice="""If no more steps ran, save and upload less, or do so during the training: you pay for
        the instance until the job ends.""",
    unit="s",
    exhibit="phases",
)
QUIET_ADVICE = """Keep compiled code and what is computed at the start in a cache, import less,
    start processes side by side, and move preprocessing out of the training job."""
SHORT_ADVICE = "Nothing to do, unless such short jobs run often: then keep the container warm."
QUIET = """ During this time network and disks were hardly used (at most {mean:bytes}/s on average):
    it was spent on something else, such as imports, compilation or the start of processes."""
ESTIMATED = """ Earlier steps were not recorded: when the first one began is estimated from the
    number of the first recorded one."""
OF_JOB = "more than {s:s}, which a job of this length may take"
FIRST_STEP = "first training step"
OF_STEPS = {"what": f"the {FIRST_STEP}", "began": f"The {FIRST_STEP} began", "loop": "loop"}
OF_GPUS = {"what": "the GPUs worked", "began": "The GPUs began to work", "loop": "that they did"}
OF_CORES = {name: words.replace("GPUs", "cores") for name, words in OF_GPUS.items()}
BY_GPUS = "without steps the loop is counted from the first work of the GPUs to their last"
OUR_END = "the loop lasts from the first to the last training step"

_INCOMING: Mapping[str, tuple[SeriesKind, ...]] = {
    "received": (SeriesKind.RECEIVE_ALGORITHM, SeriesKind.RECEIVE_PLATFORM),
    "read from disk": (SeriesKind.READ_RATE,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order."""

    threshold: float = param(
        20,
        unit="min",
        meaning="the first step may begin this many minutes after the first sample",
        source=kit.AWS_DEFAULTS,
        minimum=0,
    )


@kit.row
class Ends:
    """Its first start and its last end, ``None`` where there is nothing of a kind."""

    first_ns: int | None = kit.merged(least, default=None)
    last_ns: int | None = kit.merged(greatest, default=None)


@kit.row
class NodeStart:
    """One node, or all of them merged: samples, events, and what came in before the first step.

    Attributes:
        steps: of any phase.
        is_unrecorded: whether GPUs trained before the first step that was recorded.
        begun_ns: when the training began, by the number of its first recorded step.
        gpus, cores: the work of GPUs, or of the cores of nodes without a GPU.
        interval_ns: between two samples; work began at most that long before it was seen.
        incoming: of each node, the means of what it received and read before its first step.
    """

    loop: Loop = kit.merged(kit.merge, default_factory=Loop)
    samples: Ends = kit.merged(kit.merge, default_factory=Ends)
    events: Ends = kit.merged(kit.merge, default_factory=Ends)
    steps: Ends = kit.merged(kit.merge, default_factory=Ends)
    gpus: Ends = kit.merged(kit.merge, default_factory=Ends)
    cores: Ends = kit.merged(kit.merge, default_factory=Ends)
    interval_ns: int = kit.merged(max, default=0)
    is_unrecorded: bool = kit.merged(any, default=False)
    begun_ns: int | None = kit.merged(least, default=None)
    incoming: tuple[tuple[str, Mapping[str, float]], ...] = kit.merged(kit.concat, default=())


def measure(part: NodeProfile, _params: Params) -> NodeStart:
    """Measure one node."""
    system, spans, steps = part.system, part.spans, part.spans.steps()
    gpus = SeriesKind.GPU_UTILIZATION
    n_busy = count_where(system, gpus, lambda use: use >= IDLE_BELOW_PCT)
    has_gpus = system.n_ticks > 0 and bool(system.names(gpus))
    is_busy = n_busy > 0 if has_gpus else at_work(system)[0]
    work_ns = system.tick_ns[is_busy]
    began_ns = system.tick_ns[begun_rows(system, is_busy)]
    work = _ends(began_ns, work_ns)
    is_before = system.tick_ns < (training_loop_ns(spans) or (0, 0))[0]
    return NodeStart(
        is_unrecorded=bool(has_gpus and is_busy[is_before].sum() > WORKED_RATIO * is_before.sum()),
        begun_ns=_begun_ns(part, began_ns[:1] if has_gpus else began_ns[:0]),
        interval_ns=system.interval_ns or 0,
        loop=loop_of(spans),
        samples=Ends(first_ns=system.first_ns, last_ns=system.last_ns),
        events=_ends(spans.start_ns, spans.end_ns),
        steps=_ends(steps.start_ns, steps.end_ns),
        gpus=work if has_gpus else Ends(),
        cores=Ends() if has_gpus else work,
        incoming=_incoming(part),
    )


def _begun_ns(part: NodeProfile, worked_ns: Instants) -> int | None:
    """Return when the training of a node began, if the numbers of its steps can say it.

    Steps before the first recorded one took as long as the others do, slow ones among them, or as
    the quick ones, if the time since the first sample is too short for more. A counter that an
    earlier run began has no room for them. Where steps ran unrecorded, the first work of GPUs,
    (0,) or (1,), is theirs.
    """
    steps, first_ns = part.spans.training_steps(), part.system.first_ns
    phases = {steps.phases[code] for code in np.unique(steps.phase).tolist()}
    begun = list[int]()
    for item in steps_of(part.spans):
        n_before, start_ns = int(item.step[0]), int(item.start_ns[0])
        if item.phase not in phases or n_before <= NO_STEP or first_ns is None:
            continue
        usual_ns = start_ns - n_before * int(item.cycle_ns.mean())
        quick_ns = start_ns - n_before * int(np.percentile(item.cycle_ns, QUICK_PCT))
        if quick_ns >= first_ns:
            begun.append(max(usual_ns, first_ns))
        if n_before > WARM_UP_STEPS:
            begun += worked_ns.tolist()
    return min(begun, default=None)


def _ends(start_ns: Instants, end_ns: Instants) -> Ends:
    is_any = start_ns.size > 0
    return Ends(first_ns=int(start_ns.min()), last_ns=int(end_ns.max())) if is_any else Ends()


def _incoming(part: NodeProfile) -> tuple[tuple[str, dict[str, float]], ...]:
    loop_ns = training_loop_ns(part.spans)
    if loop_ns is None:
        return ()
    is_before = part.system.tick_ns < loop_ns[0]
    rates = {what: sum_of(part.system, *kinds) for what, kinds in _INCOMING.items()}
    means = {what: mean_of_present(rate[is_before]) for what, rate in rates.items()}
    found = {what: mean for what, mean in means.items() if mean is not None}
    return ((part.node, found),) if found else ()


def judge(measurements: Sequence[NodeStart], params: Params) -> Outcome:
    """Decide once for the job: is the first step later than the threshold."""
    job = kit.merge([NodeStart(), *measurements])
    whole = job.events if job.samples.first_ns is None else job.samples
    # The latest end of a step of any phase counts (docs/rules.md).
    details = details_of((whole.first_ns, whole.last_ns), (job.steps.first_ns, job.steps.last_ns))
    by_any_step = phases_of(details)
    phases = phases_of(details | {"step_num": step_num(job.loop.start_ns, job.loop.end_ns)})
    by_work, words, end = _phases_of_work(job, job.gpus), OF_GPUS, BY_GPUS
    if by_work is None:
        # Cores that are busy from the start do not show when training began.
        by_work = _phases_of_work(job, job.cores, least_start_s=SHORT_START_S)
        words, end = OF_CORES, BY_GPUS.replace("GPUs", "cores")
    is_late = int(by_any_step is not None and by_any_step.parts_s[0] > 60 * params.threshold)
    shown, estimated, counters = by_work, "", results.Counters()
    if by_work is None:
        loop_ns, begun_ns, shown = job.loop.start_ns, job.begun_ns, phases
        if phases and loop_ns is not None and begun_ns is not None and begun_ns < loop_ns:
            estimated, shown = write(ESTIMATED), _by_number(phases, begun_ns)
        words, end = OF_STEPS, f"{OUR_END}.{estimated}".rstrip(".")
        counters = results.Counters(
            rule_triggered=is_late, violations=is_late, datapoints=job.loop.n_steps
        )
    return Outcome(
        missing=None if by_work else kit.reason_without_steps(job.loop.n_spans, job.loop.n_steps),
        findings=[
            _finding(job, shown, params, words=words, estimated=estimated),
            None if job.gpus.last_ns else _late_end(phases),  # of GPUs other rules report it
        ],
        exhibits=phases_exhibit(shown, end=end),
        metrics=dict(zip(METRICS, phases.parts_s, strict=True)) if phases else {},
        counters=counters,
        details=details,
    )


def _phases_of_work(job: NodeStart, work: Ends, *, least_start_s: float = 0.0) -> Phases | None:
    """Return the phases of a job without steps by its first and its last work."""
    samples = job.samples
    phases = phases_of(
        details_of((samples.first_ns, samples.last_ns), (work.first_ns, work.last_ns))
    )
    is_known = phases and not job.loop.n_steps and phases.parts_s[0] >= least_start_s
    return phases if is_known else None


def _by_number(phases: Phases, begun_ns: int) -> Phases:
    """Return the phases with the begin of the training that the number of a step shows."""
    before_s, loop_s, after_s = phases.parts_s
    shown_s = min(max(seconds(begun_ns) - phases.start_s, 0.0), before_s)
    return replace(phases, parts_s=(shown_s, loop_s + before_s - shown_s, after_s))


def _finding(
    job: NodeStart,
    phases: Phases | None,
    params: Params,
    *,
    words: Mapping[str, Any],
    estimated: str,
) -> results.Finding | None:
    """Return INIT-1; a loop shorter than what follows it was hardly recorded as a whole.

    ``words`` say by what the loop is known; work began at most an interval before it was seen.
    """
    if phases is None or not sum(phases.parts_s):
        return None
    before_s, loop_s, after_s = phases.parts_s
    share = before_s / sum(phases.parts_s)
    sure_s = before_s if words is OF_STEPS else before_s - seconds(job.interval_ns)
    limit_s, limit = max(COSTLY_S, COSTLY_RATIO * sum(phases.parts_s)), OF_JOB
    late_s = 60 * params.threshold
    is_late = sure_s > late_s
    is_longer = sure_s > loop_s >= after_s
    is_known = job.begun_ns is not None or (not job.is_unrecorded and loop_s >= after_s)
    is_fault = is_late or (is_known and sure_s >= limit_s)
    if not is_fault and not is_longer:
        return None
    meanwhile, advice = _meanwhile(job.incoming)
    if is_late or is_longer:
        limit_s = late_s if is_late else loop_s
        limit = "the limit is {s:s}" if is_late else "longer than the loop"
    found = LONG.finding(
        measured=before_s,
        threshold=limit_s,
        where=results.Where(start_s=phases.start_s, end_s=phases.start_s + before_s),
        severity=kit.fault_severity(share) if is_fault else results.Severity.INFO,
        share=max(before_s - LEAST_START_S, 0.0) / sum(phases.parts_s),
        advice=advice if is_fault else SHORT_ADVICE,
        limit=write(limit, s=limit_s),
        loop_s=loop_s,
        share_pct=percentages(phases.parts_s, decimals=1)[0],
        meanwhile=meanwhile + estimated,
        **words,
    )
    return replace(found, measured=round(before_s, 3))


def _late_end(phases: Phases | None) -> results.Finding | None:
    """Return INIT-2 if as much passed after the loop as would be a fault before it."""
    _, loop_s, after_s = phases.parts_s if phases else (0.0, 0.0, 0.0)
    if phases is None or after_s > loop_s:
        return None
    share_pct = percentages(phases.parts_s, decimals=1)[2]
    if after_s < COSTLY_S or share_pct < 100 * COSTLY_RATIO:
        return None
    end_s = phases.start_s + sum(phases.parts_s)
    where = results.Where(start_s=end_s - after_s, end_s=end_s)
    return LATE_END.finding(measured=after_s, where=where, share_pct=share_pct)


def _meanwhile(incoming: Sequence[tuple[str, Mapping[str, float]]]) -> tuple[str, str]:
    """Say what the busiest node received and read meanwhile, and what to try.

    Nothing is said where nothing was sampled.
    """
    if not incoming:
        return "", ABOUT.advice
    node, means = max(incoming, key=lambda item: (max(item[1].values()), item[0]))
    if (most := max(means.values())) < QUIET_BYTES_PER_S:
        return write(QUIET, mean=most), QUIET_ADVICE
    said = [write("{what} {mean:bytes}/s", what=what, mean=mean) for what, mean in means.items()]
    return f" During this time {node} had on average: {', '.join(said)}.", ABOUT.advice


RULE = Rule(
    id=results.RuleId("MaxInitializationTime"),
    title="Initialization time",
    about=ABOUT,
    needs=(Need.SYSTEM, Need.FRAMEWORK),
    params=Params,
    measure=measure,
    judge=judge,
    folded=("phases",),
)
