"""What the parts of GPU time are called in the first picture: from samples, and from kernels."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

BUDGET = "budget"
BUDGET_TABLES = frozenset({"gpu_time_budget", "idle_stretches"})
"""Exhibits of GPUTimeBudget that name parts: the bar, and the tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The parts of one kind of budget.

    Attributes:
        names: what each part is called.
        work: parts that are the GPU's work, and ``did`` what it did in them.
        causes: parts that are idling, and to what the time was lost.
        gaps: causes in which the GPU waited for nothing: it idled.
        aside: parts before and after the work, and ``aside_says`` what went by in them.
        groups: neighbouring parts with a common heading, from left to right.
    """

    names: Mapping[str, str]
    did: str
    work: tuple[str, ...]
    causes: Mapping[str, str]
    gaps: tuple[str, ...]
    aside: tuple[str, ...]
    aside_says: str
    groups: tuple[tuple[str, tuple[str, ...]], ...]


_SAMPLED_CAUSES: Mapping[str, str] = {
    "straggler": "for a slower GPU",
    "io_wait": "for I/O",
    "network": "for the network",
    "cpu_input": "for the CPU or for input",
    "between_steps": "between steps",
    "never_used": "on GPUs that the job never uses",
    "unexplained": "for no recorded reason",
}
_WORK, _ASIDE = ("busy_high", "busy_partial"), ("initialization", "finalization")
SAMPLED = Words(
    names={
        "busy_high": "busy",
        "busy_partial": "partly busy",
        "straggler": "waits for a slower GPU",
        "io_wait": "waits for I/O",
        "network": "waits for the network",
        "cpu_input": "waits for CPU or input",
        "between_steps": "between steps",
        "never_used": "GPU never used",
        "unexplained": "idle, cause unknown",
        "initialization": "before training",
        "finalization": "after training",
        "not_measured": "not measured",
    },
    did="worked in",
    work=_WORK,
    causes=_SAMPLED_CAUSES,
    gaps=("between_steps", "never_used"),
    aside=_ASIDE,
    aside_says="went by before or after training",
    groups=(
        ("Working", _WORK),
        ("Idle while training", tuple(_SAMPLED_CAUSES)),
        ("Start and end", _ASIDE),
        ("Not measured", ("not_measured",)),
    ),
)

_TRACED_CAUSES: Mapping[str, str] = {
    "cpu_input": "for the data loader",
    "host_blocked": "for a blocked host",
    "host_late": "for a slow host",
    "launch": "inside launch calls",
    "kernel_gap": "in short gaps between kernels",
    "waiting": "for other streams or events",
    "unexplained": "for no recorded reason",
}
_COMMUNICATION = "exposed_communication"
TRACED = Words(
    names={
        "compute": "compute",
        _COMMUNICATION: "communication alone",
        "memory_operations": "copies and memsets",
        "cpu_input": "waits for the data loader",
        "host_blocked": "waits for a blocked host",
        "host_late": "waits for a slow host",
        "launch": "inside launch calls",
        "kernel_gap": "short gaps between kernels",
        "waiting": "waits for streams or events",
        "unexplained": "idle, cause unknown",
    },
    did="computed in",
    work=("compute",),
    causes=_TRACED_CAUSES,
    gaps=("launch", "kernel_gap"),
    aside=(_COMMUNICATION,),
    aside_says="went into communication with nothing computed beside it",
    groups=(
        ("Computing", ("compute",)),
        ("Moving data", (_COMMUNICATION, "memory_operations")),
        ("Idle", tuple(_TRACED_CAUSES)),
    ),
)


def words_for(parts: Collection[str]) -> Words:
    """Return the words for a budget with these parts; parts of both kinds are of samples."""
    return TRACED if (TRACED.names.keys() - SAMPLED.names.keys()) & set(parts) else SAMPLED


def said_parts(names: Sequence[str]) -> tuple[str, ...]:
    """Return what the parts of a budget are called in its own tables, where captions explain them.

    Work and causes are called as in the first picture; start and end keep their names, since what
    they are depends on the job.
    """
    words = words_for(names)
    known = {name: text for name, text in words.names.items() if name not in _ASIDE}
    return tuple(known.get(name, name) for name in names)
