"""The subject of a thing decides its colour (``theme.HUES``): its role, else its name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.results import OTHERS, Column, Exhibit, Role
from reportgen.views.theme import N_SHADES, dash, role, shade

PLAIN = "other"
"""The colour of things without a subject that has a colour."""
_REST = "idle"
"""The colour of what adds up the rest of a list, in all charts."""

_STRONG: tuple[tuple[str, str], ...] = (
    ("critical", "critical failed"),
    ("warning", "outlier outliers bottleneck bottlenecks violation spike straggler slow stall"),
    ("idle", "idle never others rest unexplained unsampled measured between gap below"),
    ("start", "initialization init startup"),
    ("other", "finalization threshold limit"),
    ("io", "io iops iowait disk read write loader dataloader getnext fetch wait waits waiting"),
    ("network", "network receive transmit nccl allreduce horovod comm communication transfer"),
    ("network", "negotiate broadcast"),
    ("memory", "memory mem ram"),
    ("gpu", "gpu gpus cuda kernel kernels tensor"),
    ("cpu", "cpu cpus core cores host"),
)
"""Words that name a resource or a fault; the first meaning with a word in the name is its."""

RESOURCES = frozenset({"gpu", "gpu-memory", "cpu", "memory", "io", "network"})
"""Meanings that a whole chart may have; a fault in its title does not colour its parts."""

_WEAK: tuple[tuple[str, str], ...] = (
    ("step", "step steps eval predict backward duration durations worker workers"),
    ("gpu", "train training forward"),
)
"""Words that name a part of training: they count where nothing stronger is said."""

_HOST_LATE = (
    "operators and other", "autograd", "synchronizing call", "copying call", "allocating call",
    "optimizer", "Python",
)  # fmt: skip
_PLACES = {f"host late: {what}": at for at, what in enumerate(_HOST_LATE)}
"""Which of their meaning these are in every chart: each shows those that it has."""

_NEGATED = re.compile(r"\b(no|not|without) \w+", re.IGNORECASE)
_SPLIT = re.compile(r"[^A-Za-z]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s\b)[a-z])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ink:
    """The colour of one of several things: its meaning, and which of that meaning it is."""

    hue: str
    index: int

    @property
    def role(self) -> str:
        """Return its name, as the traces of figures say it."""
        return role(self.hue, self.index)

    @property
    def colour(self) -> str:
        """Return its token."""
        return shade(self.hue, self.index)

    @property
    def dash(self) -> str:
        """Return how a line of it is dashed."""
        return dash(self.index)

    @property
    def css_class(self) -> str:
        """Return the classes that paint a part: its meaning, and a pattern for repeated ones."""
        name = f"rg-ink-{self.role}"
        return f"{name} rg-hatched" if self.index >= N_SHADES else name


def hue_of(name: str) -> str | None:
    """Return the meaning that a name speaks of, or ``None``.

    Example:
        >>> hue_of("algo-1 gpu0"), hue_of("GPUMemoryUtilization"), hue_of("algo-1")
        ('gpu', 'gpu-memory', None)
    """
    return _strong(name) or _by_words(name, _WEAK)


def inks_of(
    exhibit: Exhibit, names: Sequence[str], roles: Sequence[Role | None] = ()
) -> tuple[Ink, ...]:
    """Return the colour of each line, group or row of an exhibit, by its declared role.

    The exhibit's own role is that of all that declare none; those without any role are coloured by
    the subject of their names and of the exhibit's title, as all were in format 1.
    """
    declared = roles or (None,) * len(names)
    guessed = inks(names, exhibit.id, exhibit.title)
    hues = [
        _REST if name.startswith(OTHERS) else declared_role or exhibit.role or ink.hue
        for name, declared_role, ink in zip(names, declared, guessed, strict=True)
    ]
    return _numbered(names, hues)


def inks_of_columns(exhibit: Exhibit, columns: Sequence[Column]) -> tuple[Ink, ...]:
    """Return the colour of the curve or group in each of an exhibit's columns."""
    return inks_of(exhibit, [item.name for item in columns], [item.role for item in columns])


def inks(names: Sequence[str], *context: str) -> tuple[Ink, ...]:
    """Return the colour of each name; those that say little follow the context.

    That are texts about the whole chart, such as its id and title, the clearest first; only a
    resource or a part of training that they name counts.
    """
    # Where kernels distinguish it from CPU work, the input is the data loader's.
    loads = {"cpu_input": "data loader"} if "compute" in names else {}
    hues_of = [loads.get(name, name) for name in names]
    strong = next((hue for hue in map(_strong, context) if hue in RESOURCES), None)
    weak = next((hue for said in context if (hue := _by_words(said, _WEAK))), PLAIN)
    is_of_memory = strong == "gpu-memory" and strong not in map(_strong, hues_of)
    hues = [_strong(name) or strong or hue_of(name) or weak for name in hues_of]
    if is_of_memory:
        hues = ["gpu-memory" if hue == "gpu" else hue for hue in hues]
    return _numbered(names, hues)


def _numbered(names: Sequence[str], hues: Sequence[str]) -> tuple[Ink, ...]:
    used: dict[str, int] = {}
    found = []
    for name, hue in zip(names, hues, strict=True):
        found.append(Ink(hue=str(hue), index=_PLACES.get(name, used.get(hue, 0))))
        used[hue] = used.get(hue, 0) + 1
    return tuple(found)


def _strong(name: str) -> str | None:
    said = _NEGATED.sub("", name.replace("I/O", "io").replace("i/o", "io"))
    if "gpu" in said.lower() and "mem" in said.lower():
        return "gpu-memory"
    return _by_words(said, _STRONG)


def _by_words(name: str, meanings: Sequence[tuple[str, str]]) -> str | None:
    words = {word.lower() for word in _SPLIT.split(name)}
    return next((hue for hue, known in meanings if not words.isdisjoint(known.split())), None)
