"""The columns of a kernel trace while it is read, and the texts behind their codes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.formats.columns import ABSENT, BoundedCodes, Codes, Growing
from reportgen.formats.diagnostics import printable
from reportgen.formats.kernel_trace.numbers import NumberReader
from reportgen.formats.private_names import masked

MOST_NAMES, MOST_THREADS, MOST_TRACKS = 65_536, 4_096, 256
"""One file has no more. Each costs rules 0.1 ms; real traces have some thousand and some dozen."""

TABLES = (
    "gpu_ops", "calls", "slices", "shadows", "syncs", "memory", "collectives", "flow_ends",
    "launch_ends", "counters",
)  # fmt: skip

_ALL_NAMES = 2**31 - 1
FURTHER = "(further)"


@dataclass(slots=True, kw_only=True)
class TraceVocabularies:
    """Texts of a file and their codes; ``threads`` has pairs of process and thread.

    ``tracks`` has the name of a counter, that of one of its series, and its process.
    """

    names: BoundedCodes = field(default_factory=partial(BoundedCodes, MOST_NAMES, FURTHER))
    labels: BoundedCodes = field(default_factory=partial(BoundedCodes, MOST_NAMES, FURTHER))
    shapes: BoundedCodes = field(default_factory=partial(BoundedCodes, MOST_NAMES, b""))
    threads: BoundedCodes = field(
        default_factory=partial(BoundedCodes, MOST_THREADS, (FURTHER,) * 2)
    )
    input_lists: BoundedCodes = field(default_factory=partial(BoundedCodes, MOST_NAMES, b""))
    input_dims: BoundedCodes = field(default_factory=partial(BoundedCodes, MOST_NAMES, b""))
    input_values: BoundedCodes = field(default_factory=partial(BoundedCodes, MOST_NAMES, b""))
    tracks: BoundedCodes = field(default_factory=partial(BoundedCodes, MOST_TRACKS, (FURTHER,) * 3))


class TraceColumns:
    """Everything that is kept of a file's events, and what the codes mean.

    ``zero_us``: subtracted from all times. ``written_in``: the file of generated code that has a
    kernel, by the kernel's name. With ``is_whole`` the zero is that of the first span, so that
    differences keep the decimals of the file, shadows are kept, and all names.
    """

    def __init__(self, *, is_whole: bool = False) -> None:
        self.is_whole = is_whole
        self.zero_us: int | None = None if is_whole else 0
        self.tables: dict[str, Growing] = {name: Growing() for name in TABLES}
        self.vocabularies = TraceVocabularies()
        if is_whole:
            self.vocabularies.names = BoundedCodes(_ALL_NAMES, FURTHER)
        self.numbers = NumberReader()
        self.written_in: dict[str, str] = {}


_FLOATS = re.compile(r"double|float|half", re.IGNORECASE)
_TEXTS = re.compile(r'"([^"\\]+)"')

LONGEST_KERNEL_NAME = 65_536
"""Characters; kernels differ by their full names, whose templates have some thousand."""
LONGEST_DIMS = 160
"""Characters: ten tensors; lists of tensors can have hundreds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recoding:
    """Values, and the code of each code that was given while reading; ``ABSENT`` stays."""

    values: tuple[Any, ...]
    codes: NDArray[np.int32]

    def of(self, column: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return a column in the new codes."""
        return np.append(self.codes, np.int32(ABSENT))[column]


def tracks_of(found: TraceVocabularies) -> tuple[str, ...]:
    """Return the names of counters: their series, and their process where there are several."""
    processes: dict[tuple[Any, Any], set[Any]] = {}
    for name, series, pid in found.tracks:
        processes.setdefault((name, series), set()).add(id_text(pid))
    texts = []
    for name, series, pid in found.tracks:
        words = (
            [name] if str(series).casefold() in {"", "value", name.casefold()} else [name, series]
        )
        if len(processes[name, series]) > 1:
            words.append(f"of process {id_text(pid)}")
        texts.append(masked(printable(" ".join(map(str, words)))))
    return tuple(texts)


def recode(values: Iterable[Any]) -> Recoding:
    """Return values, each once, and the code of each; ``None`` is none."""
    codes = Codes()
    recoded = [ABSENT if value is None else codes[value] for value in values]
    return Recoding(values=tuple(codes), codes=np.array(recoded, dtype=np.int32))


def id_text(value: Any) -> str:
    """Return the id of a process or thread, which one event writes as a number and one as text."""
    return printable(str(value))[:40]


def first_floating(input_list: bytes) -> str | None:
    """Return the first floating type of an ``Input type`` list.

    Example:
        >>> first_floating(b'["long int", ["c10::Half"], ""]')
        'c10::Half'
    """
    found = _TEXTS.findall(input_list.decode("utf-8", "replace"))
    return next((text for text in found if _FLOATS.search(text)), None)


def values_text(values: bytes) -> str:
    """Return the options of an operator, ``["", "1", "[1, 1]", "True"]``; cut at ``LONGEST_DIMS``.

    Example:
        >>> values_text(b'["", "[1, 1]"]')
        '["", "[1, 1]"]'
    """
    return printable(" ".join(values.decode("utf-8", "replace").split()))[: 2 * LONGEST_DIMS]


def dims_text(dims: bytes) -> str | None:
    """Return the sizes of an operator's inputs, ``None`` where it has no tensor.

    Example:
        >>> dims_text(b"[[32, 3, 224], [], [[2], [4]]]"), dims_text(b"[[], []]")
        ('[32,3,224],[],[[2],[4]]', None)
    """
    text = printable("".join(dims.decode("utf-8", "replace").split())[1:-1])
    return text[:LONGEST_DIMS] if any(map(str.isdigit, text)) else None
