"""Dataloader: how many loader processes feed the training, and whether it waits for them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reportgen import results
from reportgen.facts import usage
from reportgen.facts.input_load import STEADY_RATIO, InputLoad
from reportgen.facts.loader import LEAST_SECONDS
from reportgen.facts.loading_work import LEAST_WAITS
from reportgen.profiler_config import ProfilingKind
from reportgen.results import Cause, Finding, JsonValue, Reason, Severity
from reportgen.rules import kit
from reportgen.rules.aws.aws_dataloader import counted_loaders
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.rules.dataloader import tables, texts
from reportgen.rules.dataloader.measure import (
    HAND_OVER_NS,
    NodeLoaders,
    Params,
    measure,
    others_pct_of,
)
from reportgen.text import write
from reportgen.units import NS_PER_S

CROWDED_RATIO = 1.25
"""With a quarter more loader processes than cores, they must take turns on used-up cores."""
TURNS_RATIO = 2.0
"""Up to two processes per core make about as many batches as one would; more lose time to turns."""
LEAST_PAUSED_RATIO = 0.01
"""Single pauses that take less of the loop are not named among the waits."""
LEAST_READING_CORES = 0.5
"""A thread that makes batches all the time computes for half of it or more."""
IDLE_RATIO = 0.5
"""Loaders that compute less than half of their time wait for something else."""
LEAST_NAMED_CORES = 0.1
"""What other programs keep busy is named from a tenth of a core on."""

ABOUT = About(
    checks="Whether training waits for batches, and whether too few processes load them.",
    reading="""A wait is the time in which a training process asks for its next batch. Loader
        processes are counted in each second in which they are active, and the median is compared
        with the cores of a node; a wrong number matters only if training waits for batches. Shares
        are of the time from the first to the last step of any phase, so evaluation is included.""",
    advice="""If training waits, load in parallel: PyTorch by processes (num_workers, up to the
        number of cores), tf.data by threads (num_parallel_calls and prefetch). Make preprocessing
        cheaper or storage faster. If there are more loader processes than cores, use fewer.""",
    section=results.Section(id="data-loading", title="Data loading", order=180),
    has_counters=True,
    recorded_by=ProfilingKind.LOADER,
)


def judge(nodes: Sequence[NodeLoaders], params: Params) -> Outcome:
    """Count minutes in which the number of loaders did not fit, and say whether it matters."""
    if not nodes:
        return Outcome(missing=kit.WITHOUT_EVENTS)
    job = kit.merge(nodes)
    missing = _missing(job, params)
    return Outcome(
        missing=missing,
        **counted_loaders(
            job.seconds,
            job.wait_ns,
            _setup(job),
            n_events=job.n_events,
            limits=params.limits(len(job.cores)) if job.cores else None,
        ),
        findings=() if missing else (*_about_number(job, params), *_about_setup(job, params)),
        exhibits=(
            *tables.loop_share(job.waiting),
            *tables.wait_histogram(job.wait_ns),
            *tables.loader_table(job.loaders),
        ),
        metrics=_metrics(job) if job.seconds or job.waiting else {},
    )


def _missing(job: NodeLoaders, params: Params) -> Reason | str | None:
    n_seconds = len(job.seconds)
    if not job.n_spans:
        return kit.WITHOUT_EVENTS
    if not job.n_events:
        return "No framework event is about loading data."
    is_few = n_seconds <= LEAST_SECONDS and job.wait_ns.size < LEAST_WAITS
    shows_waits = 100 * job.ratio >= params.wait_pct and job.gpus_wait_as_well
    if is_few and not shows_waits:
        limits = {"least": LEAST_SECONDS, "least_waits": LEAST_WAITS}
        return kit.too_few(texts.TOO_SHORT, n_seconds=n_seconds, **limits)
    without_cores = kit.not_sampled("Without system metrics the number of cores is unknown.")
    return None if job.cores else without_cores


def _setup(job: NodeLoaders) -> Mapping[str, JsonValue]:
    """Return the settings and numbers of loaders; ``prefetch`` only where TensorFlow loads."""
    return {
        "pin_memory": job.setup.pin_memory if job.setup else None,
        "num_workers": job.setup.num_workers if job.setup else None,
        "cores": len(job.cores),
        "dataloaders": job.n_counted,
        **({"prefetch": job.has_prefetch} if job.is_tensorflow else {}),
    }


def _metrics(job: NodeLoaders) -> dict[str, float | int | None]:
    wait_s = job.wait_ns / NS_PER_S
    p50, p95 = np.percentile(wait_s, (50, 95)).tolist() if wait_s.size else (None, None)
    return {
        "waits": int(wait_s.size),
        "wait_p50_s": p50,
        "wait_p95_s": p95,
        "waited_ratio": job.worst.ratio if job.worst else None,
        **_copies_at_most(job),
    }


def _copies_at_most(job: NodeLoaders) -> dict[str, float]:
    """Return how much of the loop GPUs may wait for copies from unpinned memory, where known."""
    if not job.has_gpu or job.is_tensorflow:
        return {}
    pinned = job.setup.pin_memory if job.setup else None
    if pinned is None:
        return {}
    most_ratio = 0.0 if pinned else job.ratio_of(job.hand_over_most_ns)
    return {"copies_at_most_ratio": round(most_ratio, 6)}


def _too_many(job: NodeLoaders, params: Params) -> dict[str, Any]:
    """Return the limit that the number of loaders is above: AWS's, or else that of the cores."""
    _, most = params.limits(len(job.cores))
    if job.n_loaders <= most:
        return {"threshold": len(job.cores), "limit": "there are cores"}
    limit = f"{params.max_threshold:g} % of the cores"
    return {"threshold": math.floor(round(most, 3)), "limit": limit}


def _about_number(job: NodeLoaders, params: Params) -> Iterator[Finding]:
    fewest, most = params.limits(len(job.cores))
    few = {"threshold": math.ceil(round(fewest, 3)), "limit_pct": params.min_threshold}
    many = _too_many(job, params)
    share = {"measured": 100 * job.ratio, "threshold": params.wait_pct}
    seen_in = "loop_share" if job.worst else "loaders"
    lost, _ = _most_saved(max(job.ratio, job.crowded_ratio), job.most_unused_ratio)
    crowded = _is_crowded(job) and 100 * min(job.crowded_ratio, lost) >= params.wait_pct
    cause = _cause_of(job, params)
    is_waiting = job.worst is not None and 100 * job.ratio >= params.wait_pct
    if crowded and not (_matters(job, params) and cause is not Cause.TOO_MANY_LOADERS):
        weight = {"severity": kit.fault_severity(lost), "share": lost}
        yield _tell(texts.TOO_MANY, job, params, **many, **weight)
    elif _matters(job, params):
        message, limits = texts.INPUT_BOUND, share
        if not job.has_processes:
            message = texts.THREADS_TOO_SLOW
        elif cause is Cause.TOO_MANY_LOADERS:
            message, limits = texts.TOO_MANY, many
        elif job.n_loaders < fewest and not job.stalls:
            message, limits = texts.TOO_FEW, few
        yield _waits(message, job, params, cause, **limits)
    elif is_waiting and 100 * job.slow_ratio < params.wait_pct:
        median = {"median_ns": job.wait_p50_ns}
        message = texts.QUICK if job.n_loaders else texts.QUICK_IN_LOOP
        yield _tell(message, job, params, **share, exhibit=seen_in, **median)
    elif is_waiting and (cause is Cause.TOO_MANY_LOADERS or _is_crowded(job, TURNS_RATIO)):
        # The more processes an epoch starts, the longer its first batch takes.
        yield _waits(texts.TOO_MANY, job, params, Cause.TOO_MANY_LOADERS, **many)
    elif is_waiting:
        # Loaders start for all GPUs at once, so that these wait together.
        together = None if job.most_unused_ratio is None else job.unused_ratio
        lost, bound = _most_saved(job.ratio, together)
        weight = {"severity": kit.cost_severity(lost), "share": lost}
        yield _tell(texts.FIRST_BATCHES, job, params, **share, **weight, bound=bound)
    elif job.shows_loading and not (job.has_processes and fewest <= job.n_loaders <= most):
        yield _tell(texts.ENOUGH, job, params, **share, exhibit=seen_in)


def _cause_of(job: NodeLoaders, params: Params) -> Cause:
    """Return why the loop waits, by what its readers and its nodes did meanwhile.

    The disk and the network come first, as loaders that wait for them leave cores free; more
    loaders help only where cores are free for them. Other programs are the cause where the loop
    would hardly wait without them.
    """
    work, n_readers = job.longest_work, job.n_loaders / max(job.n_processes, 1)
    if work and work.is_crowded_out and 100 * work.alone_ratio(n_readers) < params.wait_pct:
        return Cause.OTHER_PROGRAMS
    if not job.load:
        return _cause_by_number(job)
    load, n_loaders = slowest_load(job.load), job.n_loaders if job.has_processes else 0
    computing_ratio = work.computing_ratio if work else _computing_ratio(job, load)
    is_idle = work.rests if work else computing_ratio < IDLE_RATIO
    is_full = load.is_full and not (work and work.rests)
    has_room = n_loaders + job.n_processes <= load.n_cores
    if load.waits_for_disk(n_loaders) and (work is None or is_idle):
        return Cause.IO_WAIT
    if is_idle and load.flat_ratio >= STEADY_RATIO:
        return Cause.NETWORK_INPUT
    if _is_crowded(job, TURNS_RATIO) and (is_full or not is_idle):
        return Cause.TOO_MANY_LOADERS
    if is_full or not (has_room or is_idle):
        return Cause.CPU_PREPROCESSING
    # Threads are not counted: where cores are free, too few of those that compute run at once.
    are_loaders = job.has_processes or (job.has_gpu and load.busy_cores >= LEAST_READING_CORES)
    is_few = are_loaders and has_room and not job.stalls
    return Cause.TOO_FEW_LOADERS if is_few else Cause.SLOW_INPUT


def _cause_by_number(job: NodeLoaders) -> Cause:
    """Return why the loop waits where the work of the node is unknown: the number of loaders."""
    work = job.longest_work
    if _is_crowded(job) and not (work and work.rests):
        return Cause.TOO_MANY_LOADERS
    has_room = job.has_processes and job.n_loaders + job.n_processes <= len(job.cores)
    return Cause.TOO_FEW_LOADERS if has_room and not job.stalls else Cause.SLOW_INPUT


def _computing_ratio(job: NodeLoaders, load: InputLoad) -> float:
    """Return which part of their time those who load compute, at most.

    Without loader processes the training processes load while they wait. Else these are subtracted
    with all the time in which they do not wait; TensorFlow's threads may use all cores.
    """
    if job.has_processes and not job.n_loaders:
        return load.busy_cores / max(job.n_processes, 1)
    training = job.n_processes * (1 - job.ratio)
    n_readers = job.n_loaders if job.has_processes else load.n_cores
    return (load.busy_cores - training) / max(min(n_readers, load.n_cores), 1)


def _is_crowded(job: NodeLoaders, ratio: float = CROWDED_RATIO) -> bool:
    """Return whether there are more loader processes than cores, so that they take turns."""
    return job.has_processes and job.n_loaders > ratio * len(job.cores)


def slowest_load(loads: Sequence[InputLoad]) -> InputLoad:
    """Return the work of the node that waits for data longest: the others wait for it."""
    return max(loads, key=lambda load: (load.waited_ns, load.busy_cores))


def _waits(
    message: kit.Message, job: NodeLoaders, params: Params, cause: Cause, **limits: Any
) -> Finding:
    why, values = texts.WHY[cause], dict[str, Any]()
    others = (job.longest_work and job.longest_work.other_cores) or 0.0
    if job.load:
        load = slowest_load(job.load)
        of_them = min(others, load.busy_cores)
        by_others = write(texts.BY_OTHERS, others=of_them) if of_them >= LEAST_NAMED_CORES else ""
        values = {
            "load": load,
            "meanwhile": texts.IN_ITS_LOOP if load.is_of_loop else texts.WHILE_WAITING,
            "flat_pct": 100 * load.flat_ratio,
            "by_others": by_others,
        }
    each = math.ceil(params.min_threshold / 100 * len(job.cores) / max(job.n_processes, 1))
    is_number = cause in (Cause.TOO_FEW_LOADERS, Cause.SLOW_INPUT)
    if message is texts.TOO_FEW:
        number = texts.RECOMMENDED if is_number else texts.NOT_THE_CAUSE
        values["wanted_number"] = write(number, **limits)
    values["wanted"] = max(each, (job.num_workers or 0) + 1)
    advice, share, bound = why.advice, job.ratio, ""
    is_early = job.worst is not None and job.worst.is_early
    if cause is Cause.OTHER_PROGRAMS and job.longest_work is not None:
        share *= job.longest_work.queued_ratio
    rests = job.longest_work is not None and job.longest_work.rests
    if cause is Cause.TOO_FEW_LOADERS and job.loop_load and not (job.has_gpu or rests):
        used = (max(load.busy_cores - others, 0.0) / load.n_cores for load in job.loop_load)
        busy_ratio = max(used)
        share = min(share, 1 - busy_ratio)
        bound = write(texts.CORES_TRAIN, busy_pct=100 * busy_ratio)
    if cause is Cause.SLOW_INPUT and job.stalls:
        advice, bound = texts.FIND_STALLS, write(texts.STALLS, stalls=job.stalls)
    share, hidden = _most_saved(share, job.most_unused_ratio)
    bound += hidden
    # Steps of a window may not be like all others.
    is_projected = job.is_window and share >= kit.CHEAP_RATIO
    if not job.has_processes and is_number and not job.stalls:
        advice = message.advice
    return _tell(
        replace(message, cause=cause, advice=texts.CACHE if is_early else advice),
        job,
        params,
        severity=Severity.WARNING if is_projected else kit.cost_severity(share),
        share=share,
        why=f"{_why(job, why, values)}{bound}",
        **values,
        **limits,
    )


def _most_saved(share: float, most: float | None) -> tuple[float, str]:
    """Return how much of a share that the loop waits can be saved, and a sentence if it is less."""
    if most is None or most >= share:
        return share, ""
    return most, write(texts.HIDDEN, unused_pct=100 * most)


def _why(job: NodeLoaders, why: texts.Why, values: Mapping[str, Any]) -> str:
    """Return what was measured while the loop waited, as sentences."""
    work = job.longest_work
    if work is None:
        return write(why.text, **values) if job.load else ""
    readers = write(
        texts.READERS,
        who=texts.PROCESSES if work.has_processes else texts.ITSELF,
        computing_pct=100 * work.computing_ratio,
        queued_pct=100 * work.queued_ratio,
        resting_pct=100 * work.resting_ratio,
    )
    is_known = job.load or why is texts.WHY[Cause.OTHER_PROGRAMS]
    return readers + (write(why.text, work=work, **values) if is_known else "")


def _about_setup(job: NodeLoaders, params: Params) -> Iterator[Finding]:
    severity = Severity.WARNING if _matters(job, params) else Severity.INFO
    if job.setup and job.setup.pin_memory is False and job.has_gpu:
        share, most = (job.ratio_of(ns) for ns in (job.hand_over_ns, job.hand_over_most_ns))
        is_shown = 100 * share >= params.wait_pct
        is_open = not is_shown and 100 * most >= params.wait_pct
        # What GPUs lose to waits for batches is no effect of copies.
        open_ratio = min(most, job.unused_ratio - job.ratio)
        is_costly = is_shown or open_ratio >= usage.SHORT_FROM_RATIO
        yield _tell(
            texts.NOT_PINNED,
            job,
            params,
            measured=100 * most,
            threshold=params.wait_pct,
            is_crossed=is_costly,
            severity=kit.fault_severity(share) if is_costly else Severity.INFO,
            share=most if is_costly else None,
            so="" if is_shown else texts.NOT_SHOWN if is_open else texts.SAVES_NOTHING,
            advice=None if is_shown or is_open else texts.PIN_LATER,
        )
    if job.is_pipeline_known and not job.has_prefetch:
        cost = job.ratio if severity is Severity.WARNING else None
        yield _tell(texts.NO_PREFETCH, job, params, measured=None, severity=severity, share=cost)


def _matters(job: NodeLoaders, params: Params) -> bool:
    """Return whether the loop that waited most waited for a notable share.

    Waits at the start of epochs count where the disk, the network or the cores set their pace and
    that of the whole loop: little can be made ahead for them.
    """
    if job.worst is None or 100 * job.slow_ratio < params.wait_pct:
        return False
    cause, load = _cause_of(job, params), slowest_load(job.loop_load) if job.loop_load else None
    is_at_limit = load is not None and (
        (cause is Cause.IO_WAIT and load.waits_for_disk(job.n_loaders))
        or (cause is Cause.CPU_PREPROCESSING and load.is_full)
        or _reads_on(job, cause)
    )
    return job.is_habit or is_at_limit


def _reads_on(job: NodeLoaders, cause: Cause) -> bool:
    """Return whether what the loop waits for delivers half as much or more in the whole loop."""
    load = slowest_load(job.load)
    paces = {Cause.IO_WAIT: load.disk_ratio, Cause.NETWORK_INPUT: load.network_ratio}
    return paces.get(cause, 0.0) >= STEADY_RATIO


def _tell(message: kit.Message, job: NodeLoaders, params: Params, **values: Any) -> Finding:
    """Return a finding about the loop that waited most; by default about the number of loaders."""
    worst, n_cores, n_processes = job.worst, len(job.cores), job.n_processes
    words: dict[str, Any] = {
        "measured": float(job.n_loaders),
        "share_pct": 100 * job.ratio,
        "wait_pct": params.wait_pct,
        "which_time": "the recorded time" if job.is_window else "its time",
        "cores": n_cores,
        "fitting": max(n_cores // max(n_processes, 1), 1),
        "now": "" if job.num_workers is None else write(texts.NOW, num_workers=job.num_workers),
        "each": texts.EACH if n_processes > 1 else "",
        "hardly": texts.NO_WAITS,
        "readers": texts.THREADS,
        "waited": "",
        "and_waited": "",
        "early": "",
        "why": "",
        "beside": texts.BESIDE_OTHERS if job.wait_p50_ns > HAND_OVER_NS else "",
        **_loaders(job.n_loaders),
    }
    if job.has_processes:
        words["readers"] = write(texts.READ_BY_PROCESSES, **words)
    if worst:
        text = texts.WAITED_ESTIMATED if worst.is_estimated else texts.WAITED
        words["waited"] = write(text, worst=worst, own_pct=100 * worst.ratio, **words)
        if job.ratio > worst.ratio:
            words["waited"] += write(texts.TOGETHER, **words)
        if job.paused_ratio >= LEAST_PAUSED_RATIO:
            words["waited"] += write(texts.PAUSED, paused_pct=100 * job.paused_ratio)
        if (others_pct := others_pct_of(job.waiting)) is not None:
            words["waited"] += write(texts.ALONE, others_pct=others_pct)
            words["each"] = write(texts.IN_IT, worst=worst)
        words["and_waited"] = f" {words['waited']}"
        words["hardly"] = write(texts.HARDLY_WAITS, **words)
        words["early"] = write(texts.WEARS_OFF, worst=worst) if worst.is_early else ""
        words["where"] = kit.at_worker(worst.worker, worst.first_ns, worst.last_ns)
    return message.finding(**(words | values))


def _loaders(n_loaders: int) -> dict[str, Any]:
    """Return how many loader processes there are, within a sentence and at its begin."""
    said = {0: "no loader process", 1: "one loader process"}.get(n_loaders)
    said = said or f"{n_loaders} loader processes"
    return {"loaders": said, "Loaders": said.capitalize()}


RULE = Rule(
    id=results.RuleId("Dataloader"),
    title="Data loading",
    about=ABOUT,
    needs=(Need.FRAMEWORK, Need.SYSTEM),
    params=Params,
    measure=measure,
    judge=judge,
)
