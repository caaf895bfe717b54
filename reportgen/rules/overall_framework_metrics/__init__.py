"""OverallFrameworkMetrics: where the framework's time went, and whether one worker lags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from reportgen import results
from reportgen.facts import usage
from reportgen.facts.between_steps import waited_for_ns
from reportgen.facts.breakdown import forward_backward_ns, shares_pct
from reportgen.facts.paces import LaggingWorker, between_each_ns, find_straggler
from reportgen.facts.steps import Loop
from reportgen.profiler_config import ProfilingKind
from reportgen.results import Exhibit, Finding, Role, Where
from reportgen.rules import kit
from reportgen.rules.aws import breakdown as aws
from reportgen.rules.base import About, Need, NoParams, Outcome, Rule
from reportgen.rules.overall_framework_metrics import recorded, tables
from reportgen.rules.overall_framework_metrics.measure import FrameworkSums, measure
from reportgen.rules.overall_framework_metrics.recorded import Recorded
from reportgen.rules.overall_framework_metrics.tables import (
    Between,
    OperatorTimes,
    Overhead,
    PaceRow,
    sampling,
)
from reportgen.text import mode_word, plural, write
from reportgen.units import NS_PER_S, seconds

OTHERS_PCT = 25.0
"""Time between steps above this share is told, as in AWS's report notebook."""
PASS_PCT = 70.0
"""A backward pass takes two thirds of both passes; three quarters mean checkpointing."""
STRAGGLER_PCT = 3.0
"""Chosen: medians of equal devices differ by 1 to 2 % in clock and temperature."""

OPERATORS = results.Section(
    id="operators",
    title="Operators",
    order=135,
    lead="The framework's operators by the time they took, on the CPU and on the GPU.",
    missing="The framework events contain no operators.",
    hint="""To record them, pass a DetailedProfilingConfig in the job's FrameworkProfile: it traces
        every operator of the steps that you name.""",
    recorded_by=ProfilingKind.DETAILED,
)
ABOUT = About(
    checks="Where the framework's time went: phases, passes, operators, communication.",
    reading="""The events of all training processes are added up. 'others' is the time between
        steps. The total time of an operator contains the operators that it calls; its self time
        does not.""",
    advice="""If 'others' is large, look at data loading, callbacks, logging and checkpoints. If one
        operator takes most of the time, try mixed precision, a fused or compiled version, or
        another memory layout.""",
    section=results.Section(id="framework", title="Framework", order=130),
    has_counters=True,
    at_a_glance=(
        results.AtAGlance(
            card="Framework",
            order=30,
            exhibits=("phase_shares",),
            missing="""Record the steps of training, data loading and passes (for example with
                reportgen record) to see how the time divides into them.""",
        ),
        results.AtAGlance(
            card="Framework",
            order=31,
            exhibits=("loop_shares", "forward_backward"),
            missing="""Record framework events with data loading and passes (for example with
                reportgen record) to see their shares.""",
        ),
    ),
    further=(OPERATORS,),
    host_picture="loop_shares",
)

BETWEEN_STEPS = kit.Message(
    id="FW-1",
    cause=results.Cause.WORK_BETWEEN_STEPS,
    title="{measured:pct} of the time from the first to the last step lies between steps",
    text="""From the first to the last step, evaluation included, no step was running for
        {measured:pct} of the time ({whose}); more than {threshold:pct} is worth a
        look.{lost}{known}""",
    advice="""Check what runs between steps: waiting for data, callbacks, logging, checkpoints, the
        optimizer when the framework counts it outside.""",
    exhibit="phase_shares",
)
HOST_WORK = kit.Message(
    id=BETWEEN_STEPS.id,
    cause=results.Cause.WORK_BETWEEN_STEPS,
    title="Work of the script between steps takes {measured:pct} of the loop",
    text="""After each of {worst.n_steps:count step} of {worst.worker}, the script works for
        {worst.each_ns:ns} on something that is neither a step nor a wait for a batch.{gpus} Single
        pauses, and events that return only after several steps, are not counted.""",
    advice="""Look at what the script does between two steps: metrics that are read with .item() or
        .cpu(), logging, progress bars, callbacks, checkpoints on the main thread. Do it less often,
        in its own thread, or on the GPU.""",
    exhibit="between_steps",
)
MAYBE_COPIES = replace(
    HOST_WORK,
    cause=results.Cause.LOST_GPU_TIME,
    title="GPUs wait between steps: {measured:pct} of the loop",
    text=f"""{HOST_WORK.text} Most of this lies between receiving a batch and its step, when
        batches are also copied to the GPU; whether they are in pinned memory was not recorded.""",
    advice=f"Set pin_memory=True and copy with non_blocking=True. {HOST_WORK.advice}",
)
IN_STEPS = replace(
    HOST_WORK,
    title="Work of the script beside the passes takes {measured:pct} of the loop",
    text="""In each training step of {worst.worker}, the script works for {worst.inside_each_ns:ns}
        (median) on something that is no wait, no pass and no optimizer.""",
    advice="""Look at what the script does with a batch before the forward pass, such as
        augmentation, masks and copies, and at callbacks. Let loader processes do it, or do it for
        whole batches at once, or less often.""",
)
UNDECIDED = replace(
    BETWEEN_STEPS,
    cause=results.Cause.LOST_GPU_TIME,
    severity=results.Severity.WARNING,
    title="GPUs have no work for {unused:pct} of the loop, perhaps between steps",
)
"""The GPUs are unused for as long, and the samples do not show whether these are the same times; or
waits for batches are unknown."""
WITHOUT_STEP = replace(UNDECIDED, cause=results.Cause.HOST_BOUND, title=BETWEEN_STEPS.title)
KNOWN = " Without waits for batches and single pauses it is {rest:pct}."
IDLE = """ During this work the GPUs do {idle:pct} less than in steps, so they wait for it."""
PASSES = kit.Message(
    id="FW-2",
    title="{name} takes {measured:pct} of the time of forward and backward passes",
    text="""{name} takes {measured:pct} of the time of forward and backward passes together; more
        than {threshold:pct} is worth a look.""",
    advice="Look for the operator that takes most of the time in the {lower}.",
    exhibit="forward_backward",
)
TOP_OPERATOR = kit.Message(
    id="FW-3",
    title="{top.name} takes {measured:pct} of the time of all {kind} operators",
    text="""In {steps}, {top.name} ran {top.count:count time} and took
        {top.self_ns:ns}{alone}: {measured:pct} of the time of all {kind} operators.{inside}""",
    advice="Use a fused or compiled version of it, or mixed precision.",
)
ALONE = " without the operators that it called"
INSIDE = " With them it took {total:ns}."
_ON_CORES = "Do it for whole batches at once, call it less often, or move it out of the steps."
_COPY_LESS = "Avoid copies between devices: pin memory, copy without blocking, copy less."
_ADVICE_BY_WORD = (
    ("singleprocessdataloader", "It loads the batches in the loop: see the data loading section."),
    ("dataloader", "The operator waits for data: see the data loading section."),
    ("conv", "Use mixed precision, channels-last layout and cuDNN's autotuning."),
    ("mm", "Use mixed precision, and make layer and batch sizes multiples of 8."),
    ("copy_", _COPY_LESS),
)
RECORDING = kit.Message(
    id="FW-4",
    cause=results.Cause.PROFILER_OVERHEAD,
    title="Steps whose {worst.detail} were recorded take {measured:longer} others",
    text="""For {n_with} of {worst.worker} the {worst.detail} were recorded. These steps take
        {worst.with_ns:ns} (median); {worst.n_without:count other step} take {worst.without_ns:ns}.
        The recording may be the reason.{sampling}""",
    advice="Record the details of few steps, and judge the speed by the other steps.",
    exhibit="overhead",
)
VALIDATION = kit.Message(
    id="FW-5",
    cause=results.Cause.MUCH_VALIDATION,
    title="Steps of validation take {measured:pct} of the {whole}",
    text="""From batch to batch, steps of validation take {validation:ns} and those of training
        {training:ns} (added up over the training processes).""",
    advice="""Validate less often or on a part of the data, with larger batches and without
        gradients.""",
    exhibit="phase_shares",
)
VALIDATION_FROM_RATIO = 0.3
"""Validation is wanted work: of each epoch on half of the data it takes a fifth of the time, as it
has no backward pass. Below this the table of phases shows it."""
LEAST_VALIDATIONS = 2
"""One in a part of the loop that was recorded does not show how much of the whole it takes."""
STRAGGLER = kit.Message(
    id="STRAG-1",
    cause=results.Cause.SLOW_WORKER,
    title="The {what} of {who} take {measured:longer} those of other processes",
    text="""The {what} of the training process {pace.worker}{gpu} take {found.median_ns:ns}
        (median); those of the other training processes take {found.usual_ns:ns}.{wait} If all its
        work became as fast as theirs, up to {found.extra_ns:ns} would be saved: {share_pct:pct} of
        the {pace.loop_ns:ns} from its first to its last step, evaluation included.""",
    advice="Compare {who} with the others: its share of the data, {of_gpu}other load on its node.",
    exhibit="workers",
)
STRAGGLER_FOR_A_TIME = replace(
    STRAGGLER,
    title="For a time, the {what} of {who} take {measured:longer} those of other processes",
    text=f"The training process is slower only from step {{reach}}. {STRAGGLER.text}",
    advice="""Look for what began and ended on the node of {who} with these steps: other
        load, {clock_fell}longer batches.""",
)
_WAITED_FOR = " All steps are equally long, so the others wait for it in each step."
RECORDING_FROM_PCT = 5.0
"""Recorded steps that are longer by less are no reason to record less."""
LOADER_PREFIX = "enumerate(DataLoader)#"
"""The autograd profiler also lists fetching a batch among the GPU's operators; it is none."""


def judge(measurements: Sequence[FrameworkSums], _params: NoParams) -> Outcome:
    """Add up the nodes; AWS's counters stay 0 by definition."""
    job = kit.merge([FrameworkSums(), *measurements])
    waited_ns = waited_for_ns(job.phases)
    between = ((waited_ns.get(item.worker.rpartition("-")[0], 0.0), item) for item in job.between)
    job = replace(job, between=tuple(replace(item, waited_ns=ns) for ns, item in between))
    missing = _missing(job)
    return Outcome(
        missing=missing,
        findings=(
            _straggler(job),
            _between(job),
            _passes(job),
            _top_operator(job),
            _recording(job),
            _validation(job),
        ),
        exhibits=_exhibits(job),
        metrics={} if missing else _metrics(job),
        details=aws.breakdown_details(job.breakdown, with_others=True, phases_first=True),
    )


def _missing(job: FrameworkSums) -> results.Reason | str | None:
    if job.loop.n_spans and not job.n_lasting:
        text = "Of {n:count framework event} none lasts: all are instants."
        return write(text, n=job.loop.n_spans)
    return None if job.n_lasting else kit.reason_without_steps(job.loop.n_spans, job.loop.n_steps)


def _exhibits(job: FrameworkSums) -> Iterator[Exhibit]:
    yield from tables.exhibit_of_stages(job.stages)
    yield from aws.exhibits_of_breakdown(job.breakdown, with_others=True)
    yield from tables.exhibit_of_loop(job.loop_parts)
    yield from tables.exhibits_of_operators(job.cpu_operators, role=Role.CPU)
    yield from tables.exhibits_of_operators(job.gpu_operators, role=Role.GPU)
    title = "Between the steps of each training process"
    between, caption = job.between, tables.BETWEEN_CAPTION
    yield from kit.filled_table("between_steps", between, Between, title=title, caption=caption)
    title, caption = "Speed of the training processes", tables.PACES_CAPTION
    yield from kit.filled_table("workers", job.paces, PaceRow, title=title, caption=caption)
    yield from tables.exhibit_of_functions(job.functions)
    sampled = sampling(job.interval_ns)
    title, caption = "Cost of recording", f"{tables.OVERHEAD_CAPTION}{sampled}"
    yield from kit.filled_table("overhead", job.overheads, Overhead, title=title, caption=caption)
    title, caption = recorded.TITLE, f"{recorded.CAPTION}{sampled}"
    yield from kit.filled_table("recorded", job.recorded, Recorded, title=title, caption=caption)


def _between_ns(job: FrameworkSums) -> int:
    """Return the time between steps without that of which nothing was recorded."""
    return max(job.breakdown.others_ns - job.lost_ns, 0)


def _metrics(job: FrameworkSums) -> dict[str, float | int | None]:
    step_ns, between_ns = sum(job.breakdown.step_ns.values()), _between_ns(job)
    whole_ns = step_ns + between_ns
    return {
        "step_total_s": step_ns / NS_PER_S if job.breakdown.step_ns else None,
        "between_steps_ratio": between_ns / whole_ns if whole_ns else None,
        "cpu_operator_self_s": _self_s(job.cpu_operators),
        "gpu_operator_self_s": _self_s(job.gpu_operators),
    }


def _self_s(operators: Sequence[OperatorTimes]) -> float | None:
    return sum(item.self_ns for item in operators) / NS_PER_S if operators else None


def _between(job: FrameworkSums) -> Finding | None:
    worst = max(job.between, key=lambda item: (item.inside_ratio, item.worker), default=None)
    if worst and worst.inside_ratio >= max(worst.host_ratio, kit.CHEAP_RATIO):
        return IN_STEPS.fault(
            100 * worst.inside_ratio,
            threshold=100 * kit.CHEAP_RATIO,
            where=_where(job.loop),
            worst=worst,
        )
    worst = max(job.between, key=lambda item: (item.host_ratio, item.worker), default=None)
    # A bound may be high since little is known: half of it must be seen.
    if worst is not None and min(worst.host_ratio, 2 * worst.seen_ratio) >= kit.CHEAP_RATIO:
        is_whole = worst.idle_ratio == 1 and not worst.is_fitted
        idle_ns = worst.regular_ns * (worst.idle_ratio or 0.0)
        message = MAYBE_COPIES if 2 * worst.maybe_copied_ns > idle_ns else HOST_WORK
        return message.fault(
            100 * worst.host_ratio,
            threshold=100 * kit.CHEAP_RATIO,
            where=_where(job.loop),
            worst=worst,
            gpus="" if is_whole else write(IDLE, idle=100 * (worst.idle_ratio or 0.0)),
        )
    return _share_between(job)


def _share_between(job: FrameworkSums) -> Finding | None:
    between_ns, steps_ns = _between_ns(job), sum(job.breakdown.step_ns.values())
    between_pct = 100 * between_ns / (steps_ns + between_ns) if steps_ns else 0.0
    whose, items = "added up over the training processes", [it for it in job.between if it.loop_ns]
    undecided = [item for item in items if not item.is_decided]
    worst = max(undecided, key=lambda item: (item.short_ratio, item.worker), default=None)
    least_ratio = usage.SHORT_FROM_RATIO if worst and worst.has_gpu else OTHERS_PCT / 100
    is_short = worst is not None and worst.short_ratio > least_ratio
    if worst and is_short and len(items) > 1 and between_pct <= OTHERS_PCT:
        # The others wait inside their steps.
        between_pct, whose = 100 * worst.open_ratio, f"in {worst.worker}"
    if between_pct <= OTHERS_PCT:
        return None
    share = max((item.open_ratio for item in items), default=between_pct / 100)
    most = max((item.most_unused_ratio for item in items), default=1.0)
    effect = UNDECIDED if any(item.has_gpu for item in undecided) else WITHOUT_STEP
    lost = " {lost:ns} without any record are left out." if job.lost_ns else ""
    return (effect if is_short else BETWEEN_STEPS).finding(
        measured=between_pct,
        threshold=OTHERS_PCT,
        where=_where(job.loop),
        share=worst.short_ratio if worst and is_short else min(share, most),
        unused=100 * worst.short_ratio if worst else 0.0,
        whose=whose,
        lost=write(lost, lost=job.lost_ns),
        known=write(KNOWN, rest=100 * share) if 100 * share < between_pct else "",
    )


def _passes(job: FrameworkSums) -> Finding | None:
    passes = shares_pct(forward_backward_ns(job.breakdown))
    share, name = max(((share, name) for name, share in passes.items()), default=(0.0, ""))
    if share <= PASS_PCT:
        return None
    return PASSES.finding(
        measured=share, threshold=PASS_PCT, where=_where(job.loop), name=name, lower=name.lower()
    )


def _top_operator(job: FrameworkSums) -> Finding | None:
    kind = Role.GPU if job.gpu_operators else Role.CPU
    operators = [
        item
        for item in tables.by_name(job.gpu_operators or job.cpu_operators)
        if not (kind is Role.GPU and item.name.startswith(LOADER_PREFIX))
    ]
    total_ns = sum(item.self_ns for item in operators)
    if not total_ns:
        return None
    top = max(operators, key=lambda item: (item.self_ns, item.name))
    bare = top.name.casefold().removeprefix("aten::")
    windows = recorded.windows_of_operators(job.recorded)
    fitting = (text for word, text in _ADVICE_BY_WORD if word in bare)
    advice = _ON_CORES if kind is Role.CPU else None
    return TOP_OPERATOR.finding(
        measured=100 * top.self_ns / total_ns,
        where=_where(job.loop),
        exhibit=f"{kind}_operators",
        advice=_COPY_LESS if bare == "to" else next(fitting, advice),
        top=top,
        steps=f"the recorded steps {windows}" if windows else "the recorded steps",
        kind=kind.upper(),
        alone=ALONE if top.total_ns > top.self_ns else "",
        inside=write(INSIDE, total=top.total_ns) if top.total_ns > top.self_ns else "",
    )


def _recording(job: FrameworkSums) -> Finding | None:
    compared = [item for item in job.overheads if (item.longer_pct or 0) >= RECORDING_FROM_PCT]
    if not compared:
        return None
    worst = max(compared, key=lambda item: (item.longer_pct, item.n_with, item.worker, item.detail))
    return RECORDING.finding(
        measured=worst.longer_pct,
        threshold=RECORDING_FROM_PCT,
        worst=worst,
        n_with=plural(worst.n_with, f"{mode_word(worst.phase)} step"),
        sampling=sampling(job.interval_ns),
    )


def _validation(job: FrameworkSums) -> Finding | None:
    training_ns, validation_ns = (job.turns_ns.get(word, 0) for word in ("TRAIN", "EVAL"))
    ratio = validation_ns / max(sum(job.breakdown.step_ns.values()) + _between_ns(job), 1)
    may_be_chance = job.is_window and job.n_validations < LEAST_VALIDATIONS
    if not training_ns or ratio < VALIDATION_FROM_RATIO or may_be_chance:
        return None
    return VALIDATION.fault(
        100 * ratio,
        threshold=100 * VALIDATION_FROM_RATIO,
        whole="recorded time" if job.is_part else "loop",
        validation=validation_ns,
        training=training_ns,
    )


def _straggler(job: FrameworkSums) -> Finding | None:
    found = find_straggler(job.paces, above_pct=STRAGGLER_PCT)
    if found is None or _waits_itself(found, job):
        return None
    has_gpu = any(item.has_gpu for item in job.between)
    worker, where, message, reach = found.pace.worker, _where(job.loop), STRAGGLER, ""
    if found.is_for_a_time:
        reach = f"{found.pace.number[0]} to {found.pace.number[-1]}"
        start_s, end_s = (seconds(found.pace.start_ns[at]) for at in (0, -1))
        where, message = Where(start_s=start_s, end_s=end_s), STRAGGLER_FOR_A_TIME
    finding = message.finding(
        measured=found.longer_pct,
        where=replace(where, node=worker.rpartition("-")[0] or None, device=worker),
        severity=kit.fault_severity(found.extra_ratio),
        share=found.extra_ratio,
        found=found,
        pace=found.pace,
        who=kit.process_name(worker, [pace.worker for pace in job.paces]),
        gpu=f", which computes on {found.pace.gpu}," if found.pace.gpu else "",
        of_gpu="the clock and temperature of its GPU, " * has_gpu,
        clock_fell="a GPU whose clock fell, " * has_gpu,
        reach=reach,
        what="forward passes" if found.by_forward else "steps",
        wait=_WAITED_FOR if found.is_waited_for else "",
        share_pct=100 * found.extra_ratio,
    )
    return replace(finding, threshold=STRAGGLER_PCT)


def _waits_itself(found: LaggingWorker, job: FrameworkSums) -> bool:
    """Return whether a worker that is longer in its passes may wait there for another one.

    A host that is ahead waits in any call. The time between the steps of another one is longer by
    as much then, and only a GPU of its own that lacks more work than that one's shows that the
    other waits for it. Where it is so of most of several others, they wait, in one place.
    """
    between_ns = between_each_ns(job.paces)
    worker = found.pace.worker
    least_ns = between_ns.pop(worker) + (found.median_ns - found.usual_ns) / 2
    longer = [other for other, each_ns in between_ns.items() if each_ns >= least_ns]
    if len(longer) > max(len(between_ns) / 2, 1):
        return False
    unused = job.unused
    return any(unused[worker] - unused[other] < usage.SHORT_FROM_RATIO for other in longer)


def _where(loop: Loop) -> Where:
    if loop.start_ns is None or loop.end_ns is None:
        return Where()
    return Where(start_s=seconds(loop.start_ns), end_s=seconds(loop.end_ns))


_FUNCTIONS = results.TimelineTrack(kind=results.Track.FUNCTIONS)

RULE = Rule(
    id=results.RuleId("OverallFrameworkMetrics"),
    title="Framework metrics",
    about=ABOUT,
    needs=(Need.FRAMEWORK,),
    params=NoParams,
    measure=measure,
    judge=judge,
    folded=("*_operators_by_device", "function_time", "overhead", "recorded"),
    places={
        "function_time": results.Place(timeline=_FUNCTIONS),
        "*operator*": results.Place(section=OPERATORS.id),
    },
)
