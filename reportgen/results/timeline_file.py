"""The file of the timeline (docs/timeline-format.md): columns as packed numbers, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

import msgspec

from reportgen.arrays import Integers
from reportgen.byte_planes import in_planes
from reportgen.compression import gzipped, unpacked
from reportgen.errors import FormatError
from reportgen.masking import json_without_secrets

FILE = "Timeline.bin"
ANY_VERSION = b"RGTL"
MAGIC = ANY_VERSION + b"0003"
PER_UNIT = 1_000
"""Values of counters are whole numbers of thousandths."""
_GZIP_WBITS = 31
_DEEPEST_LANE = 16
_MOST_TEXTS_BYTES = 64_000_000
_MOST_ROWS_OF_BLOCK, _MOST_ROWS = 1 << 20, 1 << 20
"""Rows of a block, and of the file apart from one for each of its bytes. A writer packs 65,536 rows
in a block, and an event takes two bytes."""


class Family(StrEnum):
    """Subject of a strip or counter, which its colour shows. The last three are findings."""

    COMPUTE = "compute"
    COMMUNICATION = "communication"
    COPIES = "copies"
    OPERATORS = "operators"
    RUNTIME = "runtime"
    ANNOTATIONS = "annotations"
    PHASES = "phases"
    FUNCTIONS = "functions"
    LOADING = "loading"
    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


def pack_columns(columns: Sequence[Integers]) -> bytes:
    """Return columns of whole numbers as a block."""
    return gzipped(b"".join(in_planes(column.astype("<i8", copy=False)) for column in columns))


def pack_texts(texts: Sequence[str]) -> bytes:
    """Return texts as a block."""
    return gzipped(msgspec.json.encode(list(texts)))


def assemble(header: Mapping[str, Any], blocks: Sequence[bytes]) -> list[bytes]:
    """Return the pieces of a file, one after the other."""
    said = msgspec.json.encode(header)
    return [MAGIC, len(said).to_bytes(4, "little"), said, *blocks]


@dataclass(frozen=True, slots=True)
class TimelineFile:
    """A file as it was read; texts are unpacked when asked for, other blocks by the page."""

    header: Mapping[str, Any]
    content: memoryview

    def texts(self, name: str) -> list[str]:
        """Return ``names``, ``families`` or ``details``."""
        with _readable(f"its {name} are damaged"):
            packed = self._block(self.header[name], most_bytes=_MOST_TEXTS_BYTES)
            return msgspec.json.decode(packed, type=list[str])

    def _block(self, at: Sequence[int], *, most_bytes: int) -> bytes:
        first, length = at
        packed = bytes(self.content[first : first + length])
        return unpacked(packed, most_bytes=most_bytes, wbits=_GZIP_WBITS)


def holds_secrets(content: bytes) -> bool:
    """Return whether a file of somebody else shows a password, key or token in one of its texts.

    Edge cases: ``False`` for a file that cannot be read, of which nothing is shown.
    """
    try:
        file = read_timeline(content)
        texts = [file.texts(name) for name in ("names", "families", "details")]
    except FormatError:
        return False
    shown = msgspec.json.encode([file.header, *texts])
    return json_without_secrets(shown) != shown


def read_timeline(content: bytes) -> TimelineFile:
    """Return a file that ``assemble`` wrote.

    Raises:
        FormatError: it is none, of another version, cut off, or its header says what cannot be.
    """
    if content[:8] != MAGIC:
        what = f"it begins with {content[:8]!r}, not {MAGIC!r}"
        if content.startswith(ANY_VERSION) and content[4:8].isdigit():
            what = f"it is of version {int(content[4:8])}, not {int(MAGIC[4:])}"
        raise _unreadable(what)
    size = int.from_bytes(content[8:12], "little")
    with _readable("its header is damaged"):
        header = msgspec.json.decode(content[12 : 12 + size])
        _check(msgspec.convert(header, _Header), n_bytes=len(content))
    return TimelineFile(header, memoryview(content)[12 + size :])


_Whole = Annotated[int, msgspec.Meta(ge=-(1 << 62), le=1 << 62)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]
_Rows = Annotated[int, msgspec.Meta(ge=0, le=_MOST_ROWS_OF_BLOCK)]


class _Block(msgspec.Struct, frozen=True):
    at: tuple[_Count, _Count]
    n: _Rows
    from_: _Whole = msgspec.field(name="from")
    to: _Whole
    level: Annotated[int, msgspec.Meta(ge=0, le=1)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lane:
    id: _Count
    parent: _Count | None
    kind: str
    label: str
    node: str
    n_events: _Count
    rows: _Count
    blocks: tuple[_Block, ...]
    family: str = ""
    least: float = 0
    most: float = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    start: _Whole
    end: _Whole
    why: str
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Header:
    start_ns: Annotated[str, msgspec.Meta(pattern="^-?[0-9]{1,20}$")]
    is_unix: bool
    length_ns: _Count
    names: tuple[_Count, _Count]
    families: tuple[_Count, _Count]
    details: tuple[_Count, _Count]
    lanes: tuple[_Lane, ...]
    windows: tuple[_Window, ...]
    arrows: tuple[_Block, ...] = field(default=())


def _check(header: _Header, *, n_bytes: int) -> None:
    """Refuse a tree of lanes that is none, and more rows than any file has."""
    depths: list[int] = []
    for number, lane in enumerate(header.lanes):
        if lane.id != number or not (lane.parent is None or lane.parent < number):
            raise ValueError(f"lane {number} has the number {lane.id} and the parent {lane.parent}")
        depths.append(0 if lane.parent is None else depths[lane.parent] + 1)
    if max(depths, default=0) > _DEEPEST_LANE:
        raise ValueError(f"its lanes lie {max(depths)} deep in one another")
    blocks = [*header.arrows, *(block for lane in header.lanes for block in lane.blocks)]
    if sum(block.n for block in blocks) > _MOST_ROWS + n_bytes:
        raise ValueError("its blocks declare more rows than a file of its size has")


@contextmanager
def _readable(what: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, RecursionError) as err:
        raise _unreadable(f"{what} ({err})") from err


def _unreadable(what: str) -> FormatError:
    return FormatError(
        f"The timeline of this report cannot be read: {what}.",
        hint="make-profiler-report JOB, with the folder of the raw data, makes it again.",
    )
