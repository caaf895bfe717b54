"""LowGPUUtilization: a GPU that is under-used, or that swings between busy and idle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reportgen import results
from reportgen.arrays import Instants
from reportgen.facts.usage import enough_samples, used_gpus
from reportgen.rules import kit
from reportgen.rules.aws.details import counted
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.low_gpu_utilization import texts
from reportgen.rules.low_gpu_utilization.measure import (
    LONG_EDGE_RATIO,
    GpuUse,
    IdleEdge,
    NodeGpus,
    Params,
    Verdict,
    measure,
)
from reportgen.text import device_label, format_places, part_of
from reportgen.units import NS_PER_MINUTE, NS_PER_S

COMMON_NS = NS_PER_MINUTE
LONG_NS, LONG_RATIO, VERY_LONG_NS = 150 * NS_PER_S, 0.15, 20 * NS_PER_MINUTE
"""Before and after the training all GPUs idle. Up to a minute is the start of an ordinary job. Its
end, in which the model is saved and uploaded, is told from the same cost on as its start (rule
MaxInitializationTime). A GPU that idles while others work has no such reason."""
LITTLE_REST_RATIO = 0.05
"""GPUs that rest for less of all their time at work swing in some minutes only: the 5th percentile
over all of it is no rest."""
PHASES_RATIO = 0.1
"""Rests inside each step are phases of it, such as the exchange of gradients. Short steps hide them
from the samples, long ones do not: they are a fault if they take at least a tenth of the time."""
MOST_RATIO = 0.5
"""A fault in half of the judged minutes is one of the whole working time."""
MOST_IN_STEPS_PCT = 105.0
"""A GPU that worked for longer than the steps took, beyond rounding, works outside of them as well:
kernels run behind the host, and steps say nothing about the GPU."""
RARE_FAULT_RATIO = 0.1
"""A fault in less than a tenth of the judged minutes is mentioned, but no warning."""
HOST_BUSY_PCT = 70.0
"""From this mean of all cores on the host has no room: BatchSize's threshold."""
HOST_BOUND_PCT = 30.0
"""From this share of idle samples with a busy or waiting core on the host is named first: idle
samples meet such a core by chance as well, but hardly in every third."""

ABOUT = About(
    checks="Whether a GPU is under-used, or swings between busy and idle.",
    reading="""Once a minute the latest samples of each GPU are checked: it is under-used if even
        the 95th percentile is low, and it swings if the 95th percentile is high but the 5th is
        close to zero. The working time of a GPU is the training loop; without recorded steps it is
        the job without an idle start and end. Utilization is the share of the time in which at
        least one kernel ran. The counters are SageMaker's and begin only after “patience” samples;
        findings need 60.""",
    advice="""Remove what the GPU waits for (data loading, CPU, I/O, synchronization) first; when it
        waits for nothing, give it more work with a larger batch, or use a smaller GPU.""",
    section=results.Section(id="gpu-utilization", title="GPU utilization", order=160),
    has_counters=True,
)


def judge(nodes: Sequence[NodeGpus], params: Params) -> Outcome:
    """Count the violations of all nodes and say what they mean."""
    gpus = [gpu for node in nodes for gpu in node.gpus]
    n_samples = max((gpu.n_samples for gpu in gpus), default=0)
    return Outcome(
        missing=kit.reason_to_skip(
            n_ticks=sum(node.n_ticks for node in nodes),
            n_gpus=len(gpus),
            n_samples=n_samples,
            patience=enough_samples(params.patience),
        ),
        **counted([node.aws for node in nodes]),
        findings=_findings(gpus, params),
        exhibits=_exhibits(gpus) if gpus else (),
        metrics=_metrics(gpus) if gpus else {},
    )


def _metrics(gpus: Sequence[GpuUse]) -> dict[str, float | int | None]:
    return {
        "gpu_count": len(gpus),
        "gpu_mean_pct": round(float(np.mean([gpu.mean_pct for gpu in gpus])), 4),
        "gpu_work_mean_pct": round(float(np.mean([gpu.work_mean_pct for gpu in gpus])), 4),
        "gpu_work_p95_min_pct": round(min(gpu.work_p95_pct for gpu in gpus), 4),
        "gpu_idle_ratio": round(float(np.mean([gpu.idle_ratio for gpu in gpus])), 6),
    }


def _exhibits(gpus: Sequence[GpuUse]) -> Iterator[results.Exhibit]:
    caption = """Mean and percentiles over the whole job; the columns “work …” are of the working
        time of the GPU alone."""
    yield kit.table("utilization", gpus, GpuUse, title="Use of each GPU", caption=caption)
    n_nodes = len({gpu.node for gpu in gpus})
    labels = [device_label(gpu.node, gpu.gpu, n_nodes=n_nodes) for gpu in gpus]
    named = [(label, gpu.box, gpu.max_pct) for label, gpu in zip(labels, gpus, strict=True)]
    title = "GPU utilization over the whole job"
    yield kit.boxes("boxes", named, title=title, unit="%", role=results.Role.GPU)


def _findings(gpus: Sequence[GpuUse], params: Params) -> Iterator[results.Finding]:
    judged = [gpu for gpu in gpus if gpu.judged_minutes]
    known = [(gpu.node, gpu.gpu, gpu.max_pct) for gpu in judged]
    is_used = dict(zip(known, _are_used(known, params), strict=True))
    unused = [gpu for gpu, its in zip(judged, known, strict=True) if not is_used[its]]
    used = [gpu for gpu in judged if gpu not in unused]
    late = _later_than_others(used)
    ended = _if_long([(gpu, gpu.ended) for gpu in used if gpu.ended], used)
    low, swings = (
        [gpu for gpu in used if gpu.verdict is verdict]
        for verdict in (Verdict.UNDER_USED, Verdict.FLUCTUATING)
    )
    if unused:
        yield _unused(unused, known, params)
    for message, found in ((texts.STOPPED, ended), (texts.BEGAN_LATE, late)):
        if found:
            yield _idle_edge(message, found, used, len(gpus))
    if low:
        yield _under_used(low, used, params)
    if swings:
        worst = max(swings, key=lambda gpu: (gpu.rested_ratio, gpu.fluctuating.work_ns.size))
        advice = texts.RELIEVE_HOST if _waits_for_host(worst) else None
        yield _finding(texts.FLUCTUATING, worst, swings, used, params, advice=advice)


def _unused(
    gpus: Sequence[GpuUse], known: Sequence[tuple[str, str, float]], params: Params
) -> results.Finding:
    message, values = _unless_used(texts.UNDER_USED, known, params)
    first = gpus[0]
    return replace(message, text=texts.EVER_USED, unit=texts.EVER_USED_UNIT).finding(
        measured=first.work_p95_pct,
        threshold=params.threshold_p95,
        severity=kit.fault_severity(len(gpus) / len(known)),
        gpu=first,
        **{"where": kit.stretch(first.node, first.gpu, first.start_ns, first.end_ns)} | values,
    )


def _if_long(
    found: Sequence[tuple[GpuUse, IdleEdge]], used: Sequence[GpuUse]
) -> Sequence[tuple[GpuUse, IdleEdge]]:
    """Return the GPUs with an idle start or end; none in an ordinary start or end of the job."""
    is_long = any(
        edge.length_ns > VERY_LONG_NS or (edge.length_ns > LONG_NS and edge.pct >= 100 * LONG_RATIO)
        for _, edge in found
    )
    return found if is_long or len(found) < len(used) else ()


def _later_than_others(used: Sequence[GpuUse]) -> list[tuple[GpuUse, IdleEdge]]:
    """Return the GPUs that begin late, each from when another one works already.

    The time in which no GPU works yet is the start of the job, which is told once.
    """
    begins_ns = min((gpu.start_ns for gpu in used), default=0)
    found = []
    for gpu in used:
        if gpu.late and gpu.late.end_ns - begins_ns > COMMON_NS:
            start_ns = max(gpu.late.start_ns, begins_ns)
            length = (gpu.late.end_ns - start_ns) / max(gpu.late.length_ns, 1)
            found.append((gpu, replace(gpu.late, start_ns=start_ns, pct=gpu.late.pct * length)))
    return found


def _idle_edge(
    message: kit.Message,
    found: Sequence[tuple[GpuUse, IdleEdge]],
    used: Sequence[GpuUse],
    n_gpus: int,
) -> results.Finding:
    """Return the finding on an idle start or end: what it costs of the time in which GPUs work.

    Where all of them have an idle end, it counts as well.
    """
    worst, edge = max(found, key=lambda pair: (pair[1].length_ns, pair[0].gpu))
    edges = [each for _, each in found]
    first_ns = min(gpu.start_ns for gpu in used)
    last_ns = max(gpu.end_ns for gpu in used)
    if len(found) == len(used):
        last_ns = max([last_ns, *(each.end_ns for each in edges)])
    idle_ns = sum(min(each.end_ns, last_ns) - max(each.start_ns, first_ns) for each in edges)
    share = idle_ns / (n_gpus * max(last_ns - first_ns, 1))
    return message.finding(
        measured=edge.pct,
        threshold=100 * LONG_EDGE_RATIO,
        where=kit.stretch(worst.node, worst.gpu, edge.start_ns, edge.end_ns),
        severity=kit.cost_severity(share),
        share=share,
        gpu=worst,
        edge=edge,
        concerned=_concerned(worst, [gpu for gpu, _ in found], n_gpus),
    )


def _concerned(worst: GpuUse, gpus: Sequence[GpuUse], n_gpus: int) -> str:
    others = [(gpu.node, gpu.gpu) for gpu in gpus if gpu is not worst]
    also = f" (also {format_places(others)})" if others else ""
    return part_of(len(gpus), n_gpus, "GPU") + also


def _under_used(gpus: Sequence[GpuUse], every: Sequence[GpuUse], params: Params) -> results.Finding:
    worst = min(gpus, key=lambda gpu: (gpu.low.lowest_pct, gpu.work_mean_pct))
    is_brief = worst.low.lowest_pct >= params.threshold_p95
    message = texts.STEADILY_LOW if is_brief else texts.UNDER_USED
    busy = [(gpu.node, gpu.gpu) for gpu in every if gpu.verdict is Verdict.FINE]
    values: dict[str, Any] = {}
    if _is_held_up(worst, params):
        values = {"advice": texts.FILL_LOOP, "severity": results.Severity.INFO}
    elif _waits_for_host(worst):
        values["advice"] = texts.RELIEVE_HOST
    elif busy:
        values = {"advice": texts.SHARE_WORK, "busy": format_places(busy), "n_busy": len(busy)}
    elif worst.host_mean_pct >= HOST_BUSY_PCT:
        values["advice"] = texts.RELIEVE_CPU
    if is_brief:
        values["measured"] = worst.steady_p95_pct
    return _finding(message, worst, gpus, every, params, **values)


def _finding(
    message: kit.Message,
    worst: GpuUse,
    gpus: Sequence[GpuUse],
    every: Sequence[GpuUse],
    params: Params,
    **values: Any,
) -> results.Finding:
    """Return the values of a message about the GPUs with one fault, and the worst of them.

    They alone waste time: one that is under-used could work more all the time, one that swings
    works between its rests. ``every`` are the GPUs that the job uses.
    """
    is_low = message.id == texts.UNDER_USED.id
    fault, *faults = (gpu.low if is_low else gpu.fluctuating for gpu in (worst, *gpus))
    shares = (its.work_ns.size / gpu.judged_minutes for its, gpu in zip(faults, gpus, strict=True))
    lost = [1 - gpu.work_mean_pct / 100 if is_low else gpu.rested_ratio for gpu in gpus]
    wasted = sum(lost) / len(every)
    cheap_ratio = PHASES_RATIO if all(gpu.rests_in_steps for gpu in gpus) else LITTLE_REST_RATIO
    is_rare = max(shares) < RARE_FAULT_RATIO or (not is_low and wasted < cheap_ratio)
    words: dict[str, Any] = {
        "measured": fault.lowest_pct,
        "threshold": params.threshold_p95 if is_low else params.threshold_p5,
        "where": _where(worst, fault.work_ns, 0.0 if is_low else worst.rest_spread_ratio),
        "severity": results.Severity.INFO if is_rare else kit.fault_severity(wasted),
        "share": wasted,
        "gpu": worst,
        "fault": fault,
        "params": params,
        "concerned": _concerned(worst, gpus, len(every)),
    }
    return message.finding(**(words | values))


def _where(gpu: GpuUse, minutes_ns: Instants, spread_ratio: float) -> results.Where:
    """Return when a GPU had a fault: its working range, or from its first minute to its last.

    Where it rests just often enough to be judged, it is chance in which minutes.
    """
    share = max(minutes_ns.size / max(gpu.judged_minutes, 1), spread_ratio)
    if not minutes_ns.size or share >= MOST_RATIO:
        return kit.stretch(gpu.node, gpu.gpu, gpu.start_ns, gpu.end_ns)
    end_ns = min(int(minutes_ns[-1]) + NS_PER_MINUTE, gpu.last_ns)
    return kit.stretch(gpu.node, gpu.gpu, max(int(minutes_ns[0]), gpu.start_ns), end_ns)


def _is_held_up(gpu: GpuUse, params: Params) -> bool:
    """Return whether a GPU is well used in steps, and half of its loss lies outside of them."""
    inside_pct = gpu.in_steps_pct
    if inside_pct is None or not params.threshold_p95 <= inside_pct <= MOST_IN_STEPS_PCT:
        return False
    return 1 - gpu.work_mean_pct / inside_pct >= MOST_RATIO * (1 - gpu.work_mean_pct / 100)


def _waits_for_host(gpu: GpuUse) -> bool:
    return gpu.hot_when_idle_pct >= HOST_BOUND_PCT and gpu.idle_ratio >= RARE_FAULT_RATIO


def _are_used(gpus: Sequence[tuple[str, str, float]], params: Params) -> list[bool]:
    most_pct = [np.array([most]) for *_, most in gpus]
    are_used: list[bool] = used_gpus(most_pct, above=params.threshold_p5).tolist()
    return are_used


def _unless_used(
    message: kit.Message, gpus: Sequence[tuple[str, str, float]], params: Params
) -> tuple[kit.Message, dict[str, Any]]:
    """Return a message as it is, or what to say where the job never uses some GPUs, with values.

    ``gpus`` are node, GPU, and its largest use, which must reach ``threshold_p5`` once.
    """
    is_used = np.array(_are_used(gpus, params), dtype=bool)
    used, unused = (
        [gpus[at][:2] for at in np.flatnonzero(its).tolist()] for its in (is_used, ~is_used)
    )
    if not unused:
        return message, {}
    is_all, which = not used, part_of(len(unused), len(gpus), "GPU")
    used_nodes = {node for node, _ in used}
    nodes = list(dict.fromkeys(node for node, _ in unused if node not in used_nodes))
    title = texts.NONE_USED if is_all and len(gpus) > 1 else texts.NEVER_USED
    advice = texts.USE_ANY if is_all else texts.USE_NODES if nodes else texts.USE_ALL
    return replace(message, title=title, advice=advice, cause=results.Cause.GPU_IDLE), {
        "which": which[0].upper() + which[1:],
        "n_unused": len(unused),
        "n_gpus": len(gpus),
        "unused": format_places(unused),
        "nodes": nodes,
        **({"share": None} if is_all else {"share": len(unused) / len(gpus)}),
    }


RULE = Rule(
    id=results.RuleId("LowGPUUtilization"),
    title="GPU utilization",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
)
