"""How the findings of Dataloader name the place, the waiting, the loaders and the cores."""

from __future__ import annotations

from reportgen.facts.loader import Waiting
from reportgen.results import Where
from reportgen.rules.loading.facts import Facts
from reportgen.rules.saying.wording import say_times
from reportgen.units import NS_PER_S, say_duration, say_pct, seconds


def where_of(worst: Waiting | None) -> Where:
    """Return the loop that waited most and when it waited; empty without one."""
    if worst is None:
        return Where()
    return Where(
        node=worst.worker.rpartition("-")[0] or None,
        device=worst.worker,
        start_s=seconds(worst.first_ns),
        end_s=seconds(worst.last_ns),
    )


def say_waited(worst: Waiting) -> str:
    """Say how long a loop waited, in one sentence."""
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


def say_loaders(facts: Facts) -> str:
    """Say how many loader processes there are."""
    return "one loader process" if facts.n_loaders == 1 else f"{facts.n_loaders} loader processes"


def say_cores(facts: Facts) -> str:
    """Say how many cores there are."""
    return say_times(facts.n_cores, "core")
