"""What Dataloader says: change the number of workers only where numbers speak for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from reportgen.results import Counters, Details, Finding, Severity, Where
from reportgen.rules.base import Presentation
from reportgen.rules.loading.batches import WorkerBatches, batch_exhibits
from reportgen.rules.loading.events import Waiting
from reportgen.rules.loading.exhibits import (
    LOOP_SHARE,
    histogram_of_details,
    loop_share,
    wait_histogram,
)
from reportgen.rules.loading.facts import Facts, Limits, facts_of
from reportgen.rules.loading.uses import LifeTimes, Loader, loader_exhibits
from reportgen.rules.maths.nice_bins import Tally
from reportgen.rules.saying.verdict import estimate_of, fault_severity
from reportgen.rules.saying.wording import say_times
from reportgen.units import NS_PER_S, say_duration, say_pct, seconds

DOMINANT_RATIO = 0.25
"""Waiting for a quarter of the loop is a fault however many loaders there are. Source: ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What only raw data give; ``is_judged`` is false when there is too little of it.

    ``are_cores_used_up`` is about the time in which loops waited, ``is_host_full`` about all of it.
    ``is_pipeline_known``: whether the steps of TensorFlow's pipeline have names;
    ``has_processes`` is false where all loading is TensorFlow's.
    """

    is_judged: bool
    has_gpu: bool
    is_pipeline_known: bool
    has_prefetch: bool
    has_processes: bool
    processes_per_node: int
    are_cores_used_up: bool
    is_host_full: bool
    waits: Tally
    waiting: tuple[Waiting, ...]
    loaders: tuple[Loader, ...]
    life_times: tuple[LifeTimes, ...]
    batches: tuple[WorkerBatches, ...]


def present(
    counters: Counters, details: Details, context: Context | None, limits: Limits
) -> Presentation:
    """Return findings and exhibits, as far as AWS's details or raw data allow."""
    facts = facts_of(
        details,
        context.waiting if context else (),
        limits,
        processes=context.processes_per_node if context else 1,
        has_processes=context is None or context.has_processes,
    )
    if context is None:
        found = _imported(counters, facts) if facts else None
        return Presentation(
            findings=(found,) if found else (), exhibits=histogram_of_details(details)
        )
    findings: list[Finding] = []
    if facts is not None and context.is_judged:
        findings += _about_number(facts, context)
        findings += _about_memory(facts, context)
        findings += _about_prefetch(facts, context)
    return Presentation(
        findings=tuple(findings),
        exhibits=(
            *loop_share(context.waiting),
            *wait_histogram(context.waits),
            *batch_exhibits(context.batches),
            *loader_exhibits(context.loaders, context.life_times),
        ),
    )


def _about_number(facts: Facts, context: Context) -> list[Finding]:
    if not facts.has_processes:
        return [_threads_too_slow(facts) if facts.matters else _threads_keep_up(facts)]
    if facts.is_few:
        if not facts.matters:
            return [_few_but_enough(facts)]
        return [_too_few(facts, are_cores_used_up=context.are_cores_used_up)]
    found = [_too_many(facts, context)] if facts.is_many else []
    if facts.ratio >= DOMINANT_RATIO:
        found.append(_input_bound(facts))
    return found


def _too_few(facts: Facts, *, are_cores_used_up: bool) -> Finding:
    assert facts.worst is not None
    used_up = (
        " While it waited most cores were above 90 %, so more loader processes would hardly help."
        if are_cores_used_up
        else ""
    )
    return Finding(
        id="DL-1",
        severity=fault_severity(facts.ratio),
        title=(
            f"Training waits {say_pct(100 * facts.ratio)} of the loop for data; "
            f"{_loaders(facts)} on {_cores(facts)}"
        ),
        text=(
            f"{_waited(facts.worst)} {_loaders(facts).capitalize()} at work (median) on "
            f"{_cores(facts)}: fewer than {facts.limits.min_pct:g} % of the cores."
            f"{used_up}{_early(facts)}"
        ),
        advice=_advice(CHEAPER_BATCHES if are_cores_used_up else _more_workers(facts), facts),
        where=_where(facts.worst),
        measured=float(facts.n_loaders),
        threshold=round(facts.limits.min_pct / 100 * facts.n_cores, 3),
        unit="loaders",
        estimate=estimate_of(facts.ratio),
        exhibit=LOOP_SHARE,
    )


CHEAPER_BATCHES = (
    "Make each batch cheaper to load: preprocess ahead of the training, use fewer and larger "
    "files, a local copy or a cache, or decode on the GPU."
)


def _early(facts: Facts) -> str:
    """Say that the waiting wears off, where it does."""
    if not facts.is_early:
        return ""
    assert facts.worst is not None
    share = say_pct(100 * facts.worst.early_ns / facts.worst.waited_ns)
    return f" {share} of the waiting lies in the first quarter of the loop."


def _advice(otherwise: str, facts: Facts) -> str:
    if not facts.is_early:
        return otherwise
    return (
        "Copy or cache the data before the training: the first reads are slow, later ones hardly "
        "make the loop wait."
    )


def _more_workers(facts: Facts) -> str:
    wanted = math.ceil(facts.limits.min_pct / 100 * facts.n_cores / facts.processes)
    wanted = max(wanted, (facts.num_workers or 0) + 1)
    now = "" if facts.num_workers is None else f" from {facts.num_workers}"
    each = "" if facts.processes == 1 else " in each training process"
    return f"Raise num_workers{now} to {wanted}{each}; then see whether the loop still waits."


def _few_but_enough(facts: Facts) -> Finding:
    """Return DL-6, a reading of ours: few loaders are no fault where nothing waits for them."""
    share = (
        f"the loop waits for data only {say_pct(100 * facts.ratio)} of its time"
        if facts.worst
        else "no waits were recorded"
    )
    return Finding(
        id="DL-6",
        severity=Severity.INFO,
        title=f"{_loaders(facts).capitalize()} on {_cores(facts)}, and loading is no bottleneck",
        text=(
            f"{_loaders(facts).capitalize()} at work (median), fewer than "
            f"{facts.limits.min_pct:g} % of {_cores(facts)}, but {share}; it matters from "
            f"{facts.limits.wait_pct:g} % on."
        ),
        advice="Leave the number of loader workers as it is.",
        where=_where(facts.worst),
        measured=float(facts.n_loaders),
        threshold=round(facts.limits.min_pct / 100 * facts.n_cores, 3),
        unit="loaders",
        exhibit=LOOP_SHARE if facts.worst else "loaders",
    )


def _too_many(facts: Facts, context: Context) -> Finding:
    """Return DL-2: a reading where nothing waits and the cores have room nevertheless."""
    is_felt = facts.matters or facts.worst is None or context.is_host_full
    fitting = max(facts.n_cores // facts.processes, 1)
    now = "" if facts.num_workers is None else f" from {facts.num_workers}"
    each = "" if facts.processes == 1 else " in each training process"
    return Finding(
        id="DL-2",
        severity=Severity.WARNING if is_felt else Severity.INFO,
        title=(
            f"{_loaders(facts).capitalize()} compete for {_cores(facts)}"
            if is_felt
            else f"{_loaders(facts).capitalize()} on {_cores(facts)}, which have room"
        ),
        text=(
            f"{_loaders(facts).capitalize()} at work (median) on {_cores(facts)}: more than "
            f"{facts.limits.max_pct:g} % of the cores. "
            f"{_COMPETING if is_felt else _HARMLESS}"
            f"{f' {_waited(facts.worst)}' if facts.worst else ''}"
        ),
        advice=(
            f"Lower num_workers{now} to {fitting}{each} and compare the step times."
            if is_felt
            else f"Try num_workers of {fitting}{each} when memory is short; else leave it."
        ),
        where=_where(facts.worst),
        measured=float(facts.n_loaders),
        threshold=round(facts.limits.max_pct / 100 * facts.n_cores, 3),
        unit="loaders",
        exhibit="loaders",
    )


_COMPETING = "They take time from each other and from the training process."
_HARMLESS = "The loop hardly waits and most cores are below 90 %, so they do no harm."


def _input_bound(facts: Facts) -> Finding:
    assert facts.worst is not None
    return Finding(
        id="DL-5",
        severity=fault_severity(facts.ratio),
        title=f"Training waits {say_pct(100 * facts.ratio)} of the loop for data",
        text=(
            f"{_waited(facts.worst)} {_loaders(facts).capitalize()} on {_cores(facts)} are not "
            f"too few, so more of them will not help.{_early(facts)}"
        ),
        advice=_advice(CHEAPER_BATCHES, facts),
        where=_where(facts.worst),
        measured=round(100 * facts.ratio, 4),
        threshold=100 * DOMINANT_RATIO,
        unit="%",
        estimate=estimate_of(facts.ratio),
        exhibit=LOOP_SHARE,
    )


def _threads_too_slow(facts: Facts) -> Finding:
    assert facts.worst is not None
    return Finding(
        id="DL-5",
        severity=fault_severity(facts.ratio),
        title=f"Training waits {say_pct(100 * facts.ratio)} of the loop for data",
        text=f"{_waited(facts.worst)} {_THREADS}",
        advice=(
            "Let the input pipeline work in parallel: num_parallel_calls=tf.data.AUTOTUNE in map "
            "and interleave, cache() what fits, prefetch() at the end."
        ),
        where=_where(facts.worst),
        measured=round(100 * facts.ratio, 4),
        threshold=float(facts.limits.wait_pct),
        unit="%",
        estimate=estimate_of(facts.ratio),
        exhibit=LOOP_SHARE,
    )


def _threads_keep_up(facts: Facts) -> Finding:
    return Finding(
        id="DL-6",
        severity=Severity.INFO,
        title=f"Loading is no bottleneck: it takes {say_pct(100 * facts.ratio)} of the loop",
        text=(
            f"The loop waits for data {say_pct(100 * facts.ratio)} of its time; it matters from "
            f"{facts.limits.wait_pct:g} % on. {_THREADS}"
        ),
        advice="Leave the input pipeline as it is.",
        where=_where(facts.worst),
        measured=round(100 * facts.ratio, 4),
        threshold=float(facts.limits.wait_pct),
        unit="%",
        exhibit=LOOP_SHARE if facts.worst else "loaders",
    )


_THREADS = (
    "TensorFlow loads in threads of the training process, so no loader processes can be counted."
)


def _about_memory(facts: Facts, context: Context) -> list[Finding]:
    if facts.pin_memory is not False or not context.has_gpu:
        return []
    return [
        Finding(
            id="DL-3",
            severity=Severity.WARNING if facts.matters else Severity.INFO,
            title="Batches are not in pinned memory",
            text=(
                "The loader that was active longest has pin_memory off although the job has a "
                "GPU; copies to the GPU then cannot overlap with work. The loop waits for data "
                f"{say_pct(100 * facts.ratio)} of its time."
            ),
            advice="Set pin_memory=True and copy with non_blocking=True.",
            where=_where(facts.worst),
            exhibit="loaders",
        )
    ]


def _about_prefetch(facts: Facts, context: Context) -> list[Finding]:
    if not context.is_pipeline_known or context.has_prefetch:
        return []
    return [
        Finding(
            id="DL-4",
            severity=Severity.WARNING if facts.matters else Severity.INFO,
            title="The input pipeline does not prefetch",
            text=(
                "None of TensorFlow's loader events prefetches, so batches are made while the "
                f"loop waits: {say_pct(100 * facts.ratio)} of its time."
            ),
            advice="End the pipeline with dataset.prefetch(tf.data.AUTOTUNE).",
            where=_where(facts.worst),
            exhibit="loaders",
        )
    ]


def _imported(counters: Counters, facts: Facts) -> Finding | None:
    if not counters.rule_triggered or not (facts.is_few or facts.is_many):
        return None
    limit_pct = facts.limits.min_pct if facts.is_few else facts.limits.max_pct
    word = "fewer" if facts.is_few else "more"
    return Finding(
        id="DL-1" if facts.is_few else "DL-2",
        severity=Severity.WARNING,
        title=f"{_loaders(facts).capitalize()} on {_cores(facts)}",
        text=(
            f"{_loaders(facts).capitalize()} at work (median) on {_cores(facts)}, {word} than "
            f"{limit_pct:g} % of the cores. This result does not tell whether training waits."
        ),
        advice=(
            "Time the wait for the next batch; change num_workers only if it is a notable part "
            "of a step."
        ),
        measured=float(facts.n_loaders),
        threshold=round(limit_pct / 100 * facts.n_cores, 3),
        unit="loaders",
    )


def _where(worst: Waiting | None) -> Where:
    if worst is None:
        return Where()
    return Where(
        node=worst.worker.rpartition("-")[0] or None,
        device=worst.worker,
        start_s=seconds(worst.first_ns),
        end_s=seconds(worst.last_ns),
    )


def _waited(worst: Waiting) -> str:
    seen = (
        f"the loop of {worst.worker} waited {say_duration(worst.waited_ns / NS_PER_S)} of "
        f"{say_duration(worst.loop_ns / NS_PER_S)} in {say_times(worst.n_waits, 'recorded wait')}"
    )
    if worst.expected_ns > worst.waited_ns:
        seen += (
            f"; over all {worst.n_steps:,} steps that makes about "
            f"{say_duration(worst.expected_ns / NS_PER_S)}"
        )
    return f"{seen[0].upper()}{seen[1:]} ({say_pct(100 * worst.ratio)})."


def _loaders(facts: Facts) -> str:
    return "one loader process" if facts.n_loaders == 1 else f"{facts.n_loaders} loader processes"


def _cores(facts: Facts) -> str:
    return say_times(facts.n_cores, "core")
