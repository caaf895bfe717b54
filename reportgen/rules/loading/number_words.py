"""What Dataloader says of how many loaders there are, and of what training waits for them."""

from __future__ import annotations

import math

from reportgen.results import Finding, Severity
from reportgen.rules.loading.exhibits import LOOP_SHARE
from reportgen.rules.loading.facts import Facts
from reportgen.rules.loading.phrases import say_cores, say_loaders, say_waited, where_of
from reportgen.rules.saying.verdict import estimate_of, fault_severity
from reportgen.units import say_pct

DOMINANT_RATIO = 0.25
"""Waiting for a quarter of the loop is a fault however many loaders there are. Source: ours."""


def about_number(facts: Facts, *, are_cores_used_up: bool, is_host_full: bool) -> list[Finding]:
    """Return what there is to say of the number of loaders, or of their speed.

    Args:
        facts: of the job.
        are_cores_used_up: while loops waited.
        is_host_full: all the time.
    """
    if not facts.has_processes:
        return [_threads_too_slow(facts) if facts.matters else _threads_keep_up(facts)]
    if facts.is_few:
        if not facts.matters:
            return [_few_but_enough(facts)]
        return [_too_few(facts, are_cores_used_up=are_cores_used_up)]
    found = [_too_many(facts, is_host_full=is_host_full)] if facts.is_many else []
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
            f"{say_loaders(facts)} on {say_cores(facts)}"
        ),
        text=(
            f"{say_waited(facts.worst)} {say_loaders(facts).capitalize()} at work (median) on "
            f"{say_cores(facts)}: fewer than {facts.limits.min_pct:g} % of the cores."
            f"{used_up}{_early(facts)}"
        ),
        advice=_advice(CHEAPER_BATCHES if are_cores_used_up else _more_workers(facts), facts),
        where=where_of(facts.worst),
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
        title=(
            f"{say_loaders(facts).capitalize()} on {say_cores(facts)}, and loading is no bottleneck"
        ),
        text=(
            f"{say_loaders(facts).capitalize()} at work (median), fewer than "
            f"{facts.limits.min_pct:g} % of {say_cores(facts)}, but {share}; it matters from "
            f"{facts.limits.wait_pct:g} % on."
        ),
        advice="Leave the number of loader workers as it is.",
        where=where_of(facts.worst),
        measured=float(facts.n_loaders),
        threshold=round(facts.limits.min_pct / 100 * facts.n_cores, 3),
        unit="loaders",
        exhibit=LOOP_SHARE if facts.worst else "loaders",
    )


def _too_many(facts: Facts, *, is_host_full: bool) -> Finding:
    """Return DL-2: a reading where nothing waits and the cores have room nevertheless."""
    is_felt = facts.matters or facts.worst is None or is_host_full
    fitting = max(facts.n_cores // facts.processes, 1)
    now = "" if facts.num_workers is None else f" from {facts.num_workers}"
    each = "" if facts.processes == 1 else " in each training process"
    return Finding(
        id="DL-2",
        severity=Severity.WARNING if is_felt else Severity.INFO,
        title=(
            f"{say_loaders(facts).capitalize()} compete for {say_cores(facts)}"
            if is_felt
            else f"{say_loaders(facts).capitalize()} on {say_cores(facts)}, which have room"
        ),
        text=(
            f"{say_loaders(facts).capitalize()} at work (median) on {say_cores(facts)}: more than "
            f"{facts.limits.max_pct:g} % of the cores. "
            f"{_COMPETING if is_felt else _HARMLESS}"
            f"{f' {say_waited(facts.worst)}' if facts.worst else ''}"
        ),
        advice=(
            f"Lower num_workers{now} to {fitting}{each} and compare the step times."
            if is_felt
            else f"Try num_workers of {fitting}{each} when memory is short; else leave it."
        ),
        where=where_of(facts.worst),
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
            f"{say_waited(facts.worst)} {say_loaders(facts).capitalize()} on {say_cores(facts)} "
            f"are not too few, so more of them will not help.{_early(facts)}"
        ),
        advice=_advice(CHEAPER_BATCHES, facts),
        where=where_of(facts.worst),
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
        text=f"{say_waited(facts.worst)} {_THREADS}",
        advice=(
            "Let the input pipeline work in parallel: num_parallel_calls=tf.data.AUTOTUNE in map "
            "and interleave, cache() what fits, prefetch() at the end."
        ),
        where=where_of(facts.worst),
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
        where=where_of(facts.worst),
        measured=round(100 * facts.ratio, 4),
        threshold=float(facts.limits.wait_pct),
        unit="%",
        exhibit=LOOP_SHARE if facts.worst else "loaders",
    )


_THREADS = (
    "TensorFlow loads in threads of the training process, so no loader processes can be counted."
)
