"""LowGPUUtilization: a GPU that is under-used, or that swings between busy and idle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from reportgen import results
from reportgen.facts.contrast import Contrast
from reportgen.facts.usage import SHORT_FROM_RATIO, used_gpus
from reportgen.rules import contrast, kit
from reportgen.rules.aws.aws_low_gpu_utilization import Params
from reportgen.rules.aws.details import counted
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.low_gpu_utilization.measure import (
    LONG_END_RATIO,
    USUAL_FROM_PCT,
    GpuUtilization,
    IdleEnd,
    NodeGpus,
    UseVerdict,
    measure,
)
from reportgen.text import format_places, part_of
from reportgen.units import NS_PER_MINUTE, NS_PER_S

LONG_NS, LONG_RATIO, VERY_LONG_NS = 150 * NS_PER_S, 0.15, 20 * NS_PER_MINUTE
"""The end of a job, in which the model is saved and uploaded, is told from the same cost on as its
start (rule MaxInitializationTime). A GPU that idles while others work has no such reason."""
HOST_BOUND_PCT = 30.0
"""From this share of idle samples with a busy or waiting core on the host is named first: idle
samples meet such a core by chance as well, but hardly in every third."""

ABOUT = About(
    checks="Whether a GPU is under-used, or swings between busy and idle.",
    reading="""A GPU is under-used if even the 95th percentile of its samples in its working time is
        low, or if it is never idle and its mean is low. It swings if the 95th percentile is high
        but the 5th is close to zero and it rests at least three times: one or two rests are pauses,
        which “Long pauses” and “GPU time budget” show. The working time of a GPU is the training
        loop; without recorded steps it is the job without an idle start and end. Utilization is the
        share of the time in which at least one kernel ran. The counters are SageMaker's: it looks
        at the latest samples once a minute, as soon as there are more than “patience” of them. A
        finding needs 60 samples, or 20 that span ten minutes.""",
    advice="""Remove what the GPU waits for (data loading, CPU, I/O, synchronization) first; when it
        waits for nothing, give it more work with a larger batch, or use a smaller GPU.""",
    section=results.Section(id="gpu-utilization", title="GPU utilization", order=160),
    has_counters=True,
)
CAPTION = """Mean and percentiles over the whole job; the columns “work …” are of the working time
    of the GPU alone."""
UNDER_USED = kit.Message(
    id="GPU-1",
    cause=results.Cause.GPU_UNDERUSED,
    title="GPU under-used: the 95th percentile of {gpu.gpu} on {gpu.node} is only {measured:pct}",
    text="""In its working time the mean utilization of this GPU is {gpu.work_mean_pct:pct}, and
        95 % of the samples are at most {measured:pct} (threshold {threshold:pct}). It is idle
        (below {params.threshold_p5:pct}) for {gpu.work_idle_pct:pct} of this time.{concerned}""",
    advice="""Give it more work at a time (see batch size), or use a smaller GPU or fewer of them;
        the samples do not show that it waits for the host.""",
    unit="% (95th percentile in its working time)",
    exhibit="utilization",
)
LOW_ON_AVERAGE = replace(
    UNDER_USED,
    unit="% (mean in its working time)",
    title="GPU under-used: {gpu.gpu} on {gpu.node} is at {measured:pct} on average",
    text="""In its working time the mean utilization of this GPU is {measured:pct} (threshold
        {threshold:pct}). 95 % of the samples are at least {gpu.work_p5_pct:pct}
        (idle is below {params.threshold_p5:pct}).{concerned}""",
)
SHORT = replace(
    UNDER_USED,
    id="GPU-4",
    cause=results.Cause.LOST_GPU_TIME,
    unit="% of the usual use",
    title="GPUs are short of work: {measured:pct} of their usual use is missing",
    text="""In their working time the GPUs that the job uses are used {measured:pct} less than they
        usually are when they work (75th percentile of the best quarter of the time, or 100 % if
        that is below {usual_from:pct}).
        {gpu.gpu} on {gpu.node} misses most: its mean utilization is {gpu.work_mean_pct:pct}.
        {known}""",
    advice="""Record the job with reportgen record, or switch on framework profiling: steps and
        waits show which of the possible causes it is.""",
)
TRACE_STEPS = """Record some steps with the PyTorch profiler or Nsight Systems and make a report
    of the trace: it shows copies, small kernels and waits for other GPUs, which events of the
    framework do not."""
IN_SAMPLES = "Samples alone do not show what the GPUs wait for."
IN_EVENTS = "How much of it waits, pauses and work of the script take, other findings tell."
BUT_FOR = ", and that in a few samples only, as while a process sets up CUDA"
NEVER = replace(
    UNDER_USED,
    cause=results.Cause.GPU_IDLE,
    title="{which} {n_unused:verb are/is} never used: {unused}",
    text="""The largest utilization of {gpu.gpu} on {gpu.node} in {gpu.n_samples:count sample} was
        {gpu.max_pct:pct}{but_for}.""",
)
STOPPED = replace(
    UNDER_USED,
    unit="% of the time",
    cause=results.Cause.GPU_STOPPED,
    title="GPU stopped: {gpu.gpu} on {gpu.node} is idle for the last {end.pct:pct} of the time",
    text="""It last worked {end.length_ns:ns} before its last sample. In its working time its mean
        utilization was {gpu.work_mean_pct:pct}.{concerned}""",
    advice="""Find out why its work ended: if training was over, end the job sooner; if not, its
        process hung or died.""",
)
USE_ANY = """Check that model and batches are moved to the GPU and that the framework is built for
    it; a job that needs no GPU is cheaper on an instance without one."""
USE_NODES = """Check whether the processes on {nodes:names} run and have joined the others; start
    them, or take fewer nodes."""
USE_ALL = """Start one process per GPU (torchrun, DistributedDataParallel), or take an instance with
    fewer GPUs."""
RELIEVE_HOST = """Take work off the host first: in {gpu.hot_when_idle_pct:pct} of the idle samples a
    CPU core was busy or waited for I/O; find its work with a sampling profiler such as py-spy."""

FLUCTUATING = kit.Message(
    id="GPU-2",
    cause=results.Cause.GPU_SWINGS,
    title="""GPU swings between busy and idle: {gpu.gpu} on {gpu.node} is idle
        for {gpu.work_idle_pct:pct} of its working time""",
    text="""In its working time the mean utilization of this GPU is {gpu.work_mean_pct:pct}. The
        95th percentile is {gpu.work_p95_pct:pct} and the 5th {measured:pct}: it is idle (below
        {threshold:pct}) for {gpu.work_idle_pct:pct} of this time.{concerned}{meanwhile}""",
    advice="""Find what the GPU waits for between its bursts of work: data loading, synchronization
        with other GPUs, checkpoints or logging.""",
    unit="% (5th percentile in its working time)",
    exhibit="utilization",
)


def judge(nodes: Sequence[NodeGpus], params: Params) -> Outcome:
    """Count the violations of all nodes and say what they mean."""
    gpus = [gpu for node in nodes for gpu in node.gpus]
    return Outcome(
        missing=kit.reason_to_skip(
            n_ticks=sum(node.n_ticks for node in nodes),
            n_gpus=len(gpus),
            n_samples=max((gpu.n_samples for gpu in gpus), default=0),
            patience=min((node.n_enough for node in nodes), default=0),
        ),
        **counted([node.aws for node in nodes]),
        findings=_findings(nodes, params),
        exhibits=kit.filled_table(
            "utilization", gpus, GpuUtilization, title="Use of each GPU", caption=CAPTION
        ),
        metrics=_metrics(gpus) if gpus else {},
    )


def _metrics(gpus: Sequence[GpuUtilization]) -> dict[str, float | int | None]:
    return {
        "gpu_count": len(gpus),
        "gpu_mean_pct": round(float(np.mean([gpu.mean_pct for gpu in gpus])), 4),
        "gpu_work_mean_pct": round(float(np.mean([gpu.work_mean_pct for gpu in gpus])), 4),
        "gpu_work_p95_min_pct": round(min(gpu.work_p95_pct for gpu in gpus), 4),
        "gpu_idle_ratio": round(float(np.mean([gpu.idle_ratio for gpu in gpus])), 6),
    }


def _findings(nodes: Sequence[NodeGpus], params: Params) -> Iterator[results.Finding | None]:
    gpus = [gpu for node in nodes for gpu in node.gpus]
    judged = [gpu for node in nodes for gpu in node.gpus if gpu.n_samples > node.n_enough]
    most_pct = [np.array([gpu.reached_pct]) for gpu in judged]
    is_used = used_gpus(most_pct, above=params.threshold_p5)
    is_used |= np.array([gpu.is_light for gpu in judged], dtype=np.bool_)
    used, unused = ([judged[at] for at in np.flatnonzero(mask)] for mask in (is_used, ~is_used))
    ended = _ended(used)
    low, swings = (
        [gpu for gpu in used if gpu.verdict is verdict]
        for verdict in (UseVerdict.UNDER_USED, UseVerdict.FLUCTUATING)
    )
    if unused:
        yield _unused(unused, used, params)
    if ended:
        yield _stopped(ended, used, len(gpus))
    if low:
        is_shared = any(node.has_one_process for node in nodes)
        yield _under_used(low, used, params, is_shared=is_shared)
    if swings:
        yield _swinging(swings, used, params, [node.meanwhile for node in nodes if node.meanwhile])
    if not low and not swings:
        has_steps = any(node.has_steps for node in nodes)
        sure = [gpu for gpu in used if gpu.verdict is not UseVerdict.NOT_JUDGED]
        yield _short_of_work(sure, has_steps=has_steps)


def _unused(
    unused: Sequence[GpuUtilization], used: Sequence[GpuUtilization], params: Params
) -> results.Finding:
    """Return the finding on GPUs that never reach ``threshold_p5``."""
    first, n_gpus = unused[0], len(unused) + len(used)
    busy_nodes = {gpu.node for gpu in used}
    nodes = list(dict.fromkeys(gpu.node for gpu in unused if gpu.node not in busy_nodes))
    which = part_of(len(unused), n_gpus, "GPU")
    advice = USE_NODES if nodes else USE_ALL
    return NEVER.finding(
        measured=first.work_p95_pct,
        threshold=params.threshold_p95,
        where=kit.stretch(first.node, first.gpu, first.start_ns, first.end_ns),
        severity=kit.fault_severity(len(unused) / n_gpus),
        share=len(unused) / n_gpus if used else None,
        advice=advice if used else USE_ANY,
        gpu=first,
        which=which[0].upper() + which[1:],
        but_for=BUT_FOR * (first.max_pct > first.reached_pct),
        n_unused=len(unused),
        unused=format_places([(gpu.node, gpu.gpu) for gpu in unused]),
        nodes=nodes,
    )


def _ended(used: Sequence[GpuUtilization]) -> list[tuple[GpuUtilization, IdleEnd]]:
    """Return the GPUs with an idle end; an ordinary end of the job, which all have, is none."""
    found = [(gpu, gpu.ended) for gpu in used if gpu.ended]
    is_long = any(
        end.length_ns > VERY_LONG_NS or (end.length_ns > LONG_NS and end.pct >= 100 * LONG_RATIO)
        for _, end in found
    )
    if is_long or len(found) < len(used):
        return found
    last_ns = max((gpu.last_work_ns for gpu in used), default=0)
    return [(gpu, end) for gpu, end in found if end.is_long(until_ns=last_ns)]


def _stopped(
    found: Sequence[tuple[GpuUtilization, IdleEnd]], used: Sequence[GpuUtilization], n_gpus: int
) -> results.Finding:
    """Return the finding on an idle end: what it costs of the time in which GPUs work.

    Where all of them have an idle end, it counts as well.
    """
    worst, end = max(found, key=lambda pair: (pair[1].length_ns, pair[0].gpu))
    first_ns = min(gpu.first_work_ns for gpu in used)
    last_ns = max(gpu.last_work_ns for gpu in used)
    if len(found) == len(used):
        last_ns = max([last_ns, *(each.end_ns for _, each in found)])
    idle_ns = sum(max(min(each.end_ns, last_ns) - each.start_ns, 0) for _, each in found)
    share = idle_ns / (n_gpus * max(last_ns - first_ns, 1))
    return STOPPED.finding(
        measured=end.pct,
        threshold=100 * LONG_END_RATIO,
        where=kit.stretch(worst.node, worst.gpu, end.start_ns, end.end_ns),
        severity=kit.cost_severity(share),
        share=share,
        gpu=worst,
        end=end,
        concerned=_concerned(worst, [gpu for gpu, _ in found], n_gpus),
    )


def _concerned(worst: GpuUtilization, gpus: Sequence[GpuUtilization], n_gpus: int) -> str:
    others = [(gpu.node, gpu.gpu) for gpu in gpus if gpu is not worst]
    beside = f" (also {format_places(others)})" if others else ""
    return kit.concerning(len(gpus), n_gpus, "GPU", more=beside)


def _under_used(
    gpus: Sequence[GpuUtilization],
    used: Sequence[GpuUtilization],
    params: Params,
    *,
    is_shared: bool,
) -> results.Finding:
    """Return the finding on under-used GPUs; each could work more all the time.

    Others may wait for one of them in collectives, in which they look busy: at most, the one that
    works least costs all that it leaves unused, unless one process shares its work out to them. How
    severe it is follows from all of them.
    """
    worst = min(gpus, key=lambda gpu: (gpu.work_p95_pct, gpu.work_mean_pct))
    is_low = worst.work_p95_pct < params.threshold_p95
    wasted = sum(1 - gpu.work_mean_pct / 100 for gpu in gpus) / len(used)
    return (UNDER_USED if is_low else LOW_ON_AVERAGE).finding(
        measured=worst.work_p95_pct if is_low else worst.work_mean_pct,
        threshold=params.threshold_p95,
        where=kit.stretch(worst.node, worst.gpu, worst.start_ns, worst.end_ns),
        severity=kit.fault_severity(wasted),
        share=wasted if is_shared else 1 - min(gpu.work_mean_pct for gpu in gpus) / 100,
        advice=_advice(worst),
        gpu=worst,
        params=params,
        concerned=_concerned(worst, gpus, len(used)),
    )


def _swinging(
    gpus: Sequence[GpuUtilization],
    used: Sequence[GpuUtilization],
    params: Params,
    meanwhile: Sequence[Contrast],
) -> results.Finding:
    """Return the finding on GPUs that swing; each works between its rests.

    One that the others wait for in collectives, in which they look busy, costs as much as all.
    """
    worst = max(gpus, key=lambda gpu: gpu.rested_ratio)
    then = (found for found in meanwhile if found.node == worst.node)
    hints = [hint for found in then for hint in contrast.hints_of(found) if hint.advice]
    short = max(worst.rested_ratio, worst.short_ratio)
    return FLUCTUATING.finding(
        measured=worst.work_p5_pct,
        threshold=params.threshold_p5,
        where=kit.stretch(worst.node, worst.gpu, worst.start_ns, worst.end_ns),
        severity=results.Severity.INFO if short < SHORT_FROM_RATIO else kit.fault_severity(short),
        share=short,
        advice=hints[0].advice if hints else _advice(worst),
        gpu=worst,
        params=params,
        concerned=_concerned(worst, gpus, len(used)),
        meanwhile="".join(f" While the GPU is idle: {hint.text}" for hint in hints[:1]),
        when="while the GPU is idle",
    )


def _short_of_work(used: Sequence[GpuUtilization], *, has_steps: bool) -> results.Finding | None:
    """Return the finding on GPUs that wait for something which nothing recorded names.

    Others may wait for the one that misses most, and look busy meanwhile.
    """
    worst = max(used, key=lambda gpu: gpu.short_ratio, default=None)
    if worst is None:
        return None
    share = sum(gpu.short_ratio for gpu in used) / len(used)
    if share < SHORT_FROM_RATIO:
        return None
    return SHORT.fault(
        100 * share,
        threshold=100 * SHORT_FROM_RATIO,
        share=worst.short_ratio,
        where=kit.stretch(worst.node, worst.gpu, worst.start_ns, worst.end_ns),
        advice=TRACE_STEPS if has_steps else None,
        gpu=worst,
        usual_from=USUAL_FROM_PCT,
        known=IN_EVENTS if has_steps else IN_SAMPLES,
    )


def _advice(gpu: GpuUtilization) -> str | None:
    """Return the advice to relieve the host first, ``None`` where it is not seen to be busy."""
    waits = gpu.hot_when_idle_pct >= HOST_BOUND_PCT and gpu.idle_ratio >= SHORT_FROM_RATIO
    return RELIEVE_HOST if waits else None


RULE = Rule(
    id=results.RuleId("LowGPUUtilization"),
    title="GPU utilization",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
)
