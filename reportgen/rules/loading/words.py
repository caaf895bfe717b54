"""What Dataloader says: change the number of workers only where numbers speak for it."""

from __future__ import annotations

from dataclasses import dataclass

from reportgen.facts.distributions import Tally
from reportgen.facts.loader import Waiting
from reportgen.results import Counters, Details, Finding, Severity
from reportgen.rules.base import Presentation
from reportgen.rules.loading.batches import WorkerBatches, batch_exhibits
from reportgen.rules.loading.exhibits import (
    histogram_of_details,
    loop_share,
    wait_histogram,
)
from reportgen.rules.loading.facts import Facts, Limits, facts_of
from reportgen.rules.loading.number_words import about_number
from reportgen.rules.loading.phrases import say_cores, say_loaders, where_of
from reportgen.rules.loading.uses import LifeTimes, Loader, loader_exhibits
from reportgen.units import say_pct


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
        findings += about_number(
            facts,
            are_cores_used_up=context.are_cores_used_up,
            is_host_full=context.is_host_full,
        )
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
            where=where_of(facts.worst),
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
            where=where_of(facts.worst),
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
        title=f"{say_loaders(facts).capitalize()} on {say_cores(facts)}",
        text=(
            f"{say_loaders(facts).capitalize()} at work (median) on {say_cores(facts)}, {word} "
            f"than {limit_pct:g} % of the cores. This result does not tell whether training waits."
        ),
        advice=(
            "Time the wait for the next batch; change num_workers only if it is a notable part "
            "of a step."
        ),
        measured=float(facts.n_loaders),
        threshold=round(limit_pct / 100 * facts.n_cores, 3),
        unit="loaders",
    )
