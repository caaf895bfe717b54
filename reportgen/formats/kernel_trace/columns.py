"""The columns of a kernel trace while it is read, and the texts behind their codes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from reportgen.formats.columns import BoundedCodes, Growing
from reportgen.formats.kernel_trace.numbers import NumberReader

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
