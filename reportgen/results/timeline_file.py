"""The file of the timeline (docs/timeline-format.md): columns as packed numbers, and back."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from reportgen.compression import gzipped
from reportgen.errors import FormatError

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
        texts: list[str] = msgspec.json.decode(self._block(self.header[name]))
        return texts

    def columns(self, block: Mapping[str, Any], names: Sequence[str]) -> dict[str, Numbers]:
        """Return the columns of a block of strips, values or arrows, times summed up."""
        values = from_leb128(self._block(block["at"])).reshape(len(names), block["n"])
        columns = dict(zip(names, values, strict=True))
        for name in ("start", "time", "from_start"):
            if name in columns:
                columns[name] = summed(columns[name], block["from"])
        if "value" in columns:
            columns["value"] = unzigzag(columns["value"])
        if "to_start" in columns:
            columns["to_start"] = unzigzag(columns["to_start"]) + columns["from_start"]
        return columns

    def _block(self, at: Sequence[int]) -> bytes:
        first, length = at
        return zlib.decompress(self.content[first : first + length], wbits=31)


def read_timeline(content: bytes) -> TimelineFile:
    """Return a file that ``assemble`` wrote.

    Raises:
        FormatError: it is none, of another version, or cut off.
    """
    hint = "make-profiler-report JOB, with the folder of the raw data, makes it again."
    if content[:8] != MAGIC:
        what = f"it begins with {content[:8]!r}, not {MAGIC!r}"
        if content.startswith(ANY_VERSION) and content[4:8].isdigit():
            what = f"it is of version {int(content[4:8])}, not {int(MAGIC[4:])}"
        raise FormatError(f"The timeline of this report cannot be read: {what}.", hint=hint)
    size = int.from_bytes(content[8:12], "little")
    try:
        header = msgspec.json.decode(content[12 : 12 + size])
    except msgspec.DecodeError as err:
        what = "The timeline of this report cannot be read: its header is damaged."
        raise FormatError(what, hint=hint) from err
    return TimelineFile(header, memoryview(content)[12 + size :])
