"""What a line, bar or part is about, by its name: decides its colour (``theme.HUES``)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

PLAIN = "other"
"""The colour of what speaks of nothing that has a colour of its own."""

_WORDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("critical", frozenset({"critical", "failed"})),
    (
        "warning",
        frozenset(
            {
                "outlier",
                "outliers",
                "bottleneck",
                "bottlenecks",
                "violation",
                "spike",
                "straggler",
                "slow",
                "stall",
            }
        ),
    ),
    (
        "idle",
        frozenset({"idle", "others", "unexplained", "gap", "waiting"}),
    ),
    ("start", frozenset({"initialization", "init", "startup"})),
    ("other", frozenset({"finalization", "threshold", "limit", "normal"})),
    (
        "io",
        frozenset(
            {
                "io",
                "iops",
                "iowait",
                "disk",
                "read",
                "write",
                "loader",
                "dataloader",
                "getnext",
                "fetch",
                "wait",
            }
        ),
    ),
    (
        "network",
        frozenset(
            {
                "network",
                "receive",
                "transmit",
                "nccl",
                "allreduce",
                "horovod",
                "comm",
                "communication",
                "negotiate",
                "broadcast",
            }
        ),
    ),
    ("gpu", frozenset({"gpu", "gpus", "cuda", "train", "training", "forward", "kernel"})),
    ("cpu", frozenset({"cpu", "cpus", "core", "cores", "host", "backward"})),
    ("step", frozenset({"step", "steps", "duration", "durations", "worker", "workers"})),
    ("memory", frozenset({"memory", "mem", "ram"})),
)
_GPU_MEMORY = re.compile(r"gpu.*mem|mem.*gpu")
_SPLIT = re.compile(r"[^A-Za-z]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ink:
    """The colour of one of several things: its meaning, and which of that meaning it is."""

    hue: str
    index: int


def hue_of(name: str) -> str | None:
    """Return the meaning that a name speaks of, or ``None``.

    Example:
        >>> hue_of("algo-1 gpu0"), hue_of("GPUMemoryUtilization"), hue_of("duration")
        ('gpu', 'gpu-memory', None)
    """
    folded = name.replace("I/O", "io").replace("i/o", "io")
    if _GPU_MEMORY.search(folded.lower()):
        return "gpu-memory"
    words = {word.lower() for word in _SPLIT.split(folded)}
    return next((hue for hue, known in _WORDS if words & known), None)


def inks(names: Sequence[str], *context: str) -> tuple[Ink, ...]:
    """Return the colour of each name; those that say nothing follow the context.

    Args:
        names: of the lines or groups of one chart.
        context: texts about the whole chart, such as its id and title, most telling first.
    """
    fallback = next((hue for hue in map(hue_of, context) if hue), PLAIN)
    used: dict[str, int] = {}
    found = []
    for name in names:
        hue = hue_of(name) or fallback
        found.append(Ink(hue=hue, index=used.get(hue, 0)))
        used[hue] = used.get(hue, 0) + 1
    return tuple(found)
