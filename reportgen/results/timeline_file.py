"""The file of the timeline (docs/timeline-format.md): columns as packed numbers, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from reportgen.compression import gzipped, unpacked
from reportgen.errors import FormatError
from reportgen.masking import json_without_secrets

FILE = "Timeline.bin"
ANY_VERSION = b"RGTL"
MAGIC = ANY_VERSION + b"0002"
FLOWS = ("flow", "from_lane", "from_start", "to_lane", "to_start")
EVENTS = ("start", "duration", "row", "name", "detail", "flow")
RUNS = ("start", "duration", "row", "name", "count", "busy")
VALUES = ("time", "value")
PER_UNIT = 1_000
"""Values of counters are whole numbers of thousandths."""
_BITS, _MORE = 7, 0x80
_GZIP_WBITS = 31
_LONGEST_NUMBER_BYTES = 10
_DEEPEST_LANE = 16
_MOST_TEXTS_BYTES = 64_000_000
_MOST_ROWS_OF_BLOCK, _MOST_ROWS = 1 << 20, 1 << 20
"""Rows of a block, and of the file apart from one for each of its bytes. A writer packs 65,536 rows
in a block, and an event takes two bytes."""
_AT_ONCE = 1 << 14
"""Values that are packed at once, in tables of ten columns: 3 MB."""

Numbers = NDArray[np.int64]


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


def leb128(values: Numbers) -> bytes:
    """Return whole numbers as unsigned LEB128, seven bits a byte, lowest first.

    Example:
        >>> leb128(np.array([1, 127, 128, 300])).hex()
        '017f8001ac02'
    """
    left = np.ascontiguousarray(values, dtype=np.int64).view(np.uint64)
    return b"".join(
        _leb128(left[first : first + _AT_ONCE]) for first in range(0, left.size, _AT_ONCE)
    )


def _leb128(values: NDArray[np.uint64]) -> bytes:
    n_places = max(-(-int(values.max()).bit_length() // _BITS), 1)
    rest = values[:, None] >> np.arange(0, n_places * _BITS, _BITS, dtype=np.uint64)
    is_used = rest > 0
    is_used[:, 0] = True
    octets = (rest & np.uint64(_MORE - 1)).astype(np.uint8)
    octets[:, :-1] |= is_used[:, 1:].view(np.uint8) << np.uint8(_BITS)
    return octets[is_used].tobytes()


def from_leb128(packed: bytes) -> Numbers:
    """Return the whole numbers that ``leb128`` wrote.

    Example:
        >>> from_leb128(bytes.fromhex("017f8001ac02")).tolist()
        [1, 127, 128, 300]
    """
    octets = np.frombuffer(packed, dtype=np.uint8)
    is_last = octets < _MORE
    first = np.flatnonzero(np.concatenate(([True], is_last[:-1])))[: int(is_last.sum())]
    if not first.size:
        return np.empty(0, dtype=np.int64)
    place = np.arange(octets.size) - np.repeat(first, np.diff(np.append(first, octets.size)))
    parts = (octets & (_MORE - 1)).astype(np.uint64) << (place * _BITS).astype(np.uint64)
    return np.bitwise_or.reduceat(parts, first).view(np.int64)


def zigzag(values: Numbers) -> Numbers:
    """Return signed numbers as unsigned ones: 0, -1, 1, -2 become 0, 1, 2, 3."""
    return (values << 1) ^ (values >> 63)


def unzigzag(values: Numbers) -> Numbers:
    """Return the signed numbers again."""
    return (values >> 1) ^ -(values & 1)


def differences(values: Numbers, first: int) -> Numbers:
    """Return how far each value is from the one before, the first from ``first``, zigzag."""
    steps = values.astype(np.int64)
    steps[1:] -= values[:-1]
    steps[:1] -= first
    return zigzag(steps)


def summed(values: Numbers, first: int) -> Numbers:
    """Return the values of which ``differences`` were made."""
    return np.cumsum(unzigzag(values)) + first


def pack_columns(columns: Sequence[Numbers]) -> bytes:
    """Return columns of unsigned numbers as a block."""
    return gzipped(leb128(np.concatenate(columns, dtype=np.int64)) if columns else b"")


def pack_texts(texts: Sequence[str]) -> bytes:
    """Return texts as a block."""
    return gzipped(msgspec.json.encode(list(texts)))


def assemble(header: Mapping[str, Any], blocks: Sequence[bytes]) -> list[bytes]:
    """Return the pieces of a file, one after the other."""
    said = msgspec.json.encode(header)
    return [MAGIC, len(said).to_bytes(4, "little"), said, *blocks]


@dataclass(frozen=True, slots=True)
class TimelineFile:
    """A file as it was read; blocks are unpacked when they are asked for."""

    header: Mapping[str, Any]
    content: memoryview

    def texts(self, name: str) -> list[str]:
        """Return ``names``, ``families`` or ``details``."""
        with _readable(f"its {name} are damaged"):
            packed = self._block(self.header[name], most_bytes=_MOST_TEXTS_BYTES)
            return msgspec.json.decode(packed, type=list[str])

    def columns(self, block: Mapping[str, Any], names: Sequence[str]) -> dict[str, Numbers]:
        """Return the columns of a block of strips, values or arrows, times summed up."""
        with _readable("a block is damaged"):
            most_bytes = block["n"] * len(names) * _LONGEST_NUMBER_BYTES
            packed = self._block(block["at"], most_bytes=most_bytes)
            values = from_leb128(packed).reshape(len(names), block["n"])
        columns = dict(zip(names, values, strict=True))
        for name in ("start", "time", "from_start"):
            if name in columns:
                columns[name] = summed(columns[name], block["from"])
        if "value" in columns:
            columns["value"] = unzigzag(columns["value"])
        if "to_start" in columns:
            columns["to_start"] = unzigzag(columns["to_start"]) + columns["from_start"]
        return columns

    def named(self, names: Sequence[str], codes: Numbers) -> list[str]:
        """Return the names of strips, of which ``texts`` returned all."""
        if codes.size and not 0 <= codes.min() <= codes.max() < len(names):
            raise _unreadable("a block is damaged (it has a name that is not among its names)")
        return [names[code] for code in codes.tolist()]

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
