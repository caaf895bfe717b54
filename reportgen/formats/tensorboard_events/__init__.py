"""Event files of TensorBoard: when a program reached which step, and what it said of its speed.

They are TFRecords of Protocol Buffers messages. Read are wall time, step and tag of each scalar,
and the values of those that mean throughput or MFU.
Source: docs/formats.md, TensorBoard event files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from struct import Struct

from reportgen.formats.diagnostics import Diagnostics, printable
from reportgen.formats.format import Claim, EventFile, FileRole, Format
from reportgen.formats.monitoring import MOST_STEP, LoggedNumbers, Monitored, is_speed
from reportgen.formats.wandb.records import fields_of
from reportgen.profile import Quality
from reportgen.profile.monitoring import Progress

_HEAD = Struct("<QI")
_SUM, _DOUBLE, _FLOAT = Struct("<I"), Struct("<d"), Struct("<f")
_MOST_CHECKED_BYTES = 4_096
"""Events of scalars are shorter; images and graphs are passed over unchecked."""
_MOST_BYTES = 1 << 31
_MASK = 0xA282EAD8


def _remainder(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_CRC = tuple(map(_remainder, range(256)))


def checksum(data: bytes) -> int:
    """Return the masked CRC-32C of some bytes, as TFRecords have it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF


@dataclass(slots=True)
class _Damage:
    n_broken: int = 0
    bytes_lost: int = 0


def _records(blocks: Iterable[bytes], damage: _Damage) -> Iterator[bytes]:
    """Yield the short records of a file. After a length that cannot be, nothing can be found."""
    left, skipped, is_lost = b"", 0, False
    for block in blocks:
        if is_lost or len(block) <= skipped:
            damage.bytes_lost += len(block) if is_lost else 0
            skipped -= 0 if is_lost else len(block)
            continue
        data, at = left + block[skipped:], 0
        skipped = 0
        while at + _HEAD.size <= len(data):
            n_bytes, head_sum = _HEAD.unpack_from(data, at)
            if n_bytes > _MOST_BYTES or checksum(data[at : at + 8]) != head_sum:
                is_lost = True
                break
            end = at + _HEAD.size + n_bytes
            if n_bytes > _MOST_CHECKED_BYTES:
                at = end + _SUM.size
                continue
            if end + _SUM.size > len(data):
                break
            record = data[at + _HEAD.size : end]
            if checksum(record) == _SUM.unpack_from(data, end)[0]:
                yield record
            else:
                damage.n_broken += 1
            at = end + _SUM.size
        skipped = max(at - len(data), 0)
        left = b"" if is_lost else data[at:]
        damage.bytes_lost += len(data) - at if is_lost else 0
    damage.bytes_lost += len(left)


@dataclass(slots=True, kw_only=True)
class _Scalars:
    steps: LoggedNumbers = field(default_factory=LoggedNumbers)
    speeds: LoggedNumbers = field(default_factory=LoggedNumbers)

    def take(self, record: bytes) -> None:
        time_s, step, summaries = math.nan, 0, []
        for number, start, end in fields_of(record):
            if number == 1 and end - start == _DOUBLE.size:
                time_s = _DOUBLE.unpack_from(record, start)[0]
            elif number == 2 and end < 0:
                step = start
            elif number == 5 and end >= 0:
                summaries.append((start, end))
        for start, end in summaries:
            for number, first, last in fields_of(record, start, end):
                if number == 1 and last >= 0:
                    self._value(record, first, last, time_s, step)

    def _value(self, record: bytes, start: int, end: int, time_s: float, step: int) -> None:
        tag, value = "", math.nan
        for number, first, last in fields_of(record, start, end):
            if number == 1 and last >= 0:
                tag = record[first:last].decode("utf-8", "replace")
            elif number == 2 and last - first == _FLOAT.size:
                value = _FLOAT.unpack_from(record, first)[0]
            elif number == 8 and last >= 0:
                value = _of_tensor(record, first, last)
        if tag and not math.isnan(value):
            self.steps.add(tag, time_s, float(step))
            if is_speed(tag):
                self.speeds.add(tag, time_s, value)


def _of_tensor(record: bytes, start: int, end: int) -> float:
    """Return the number of a tensor that holds one, NaN of any other."""
    for number, first, last in fields_of(record, start, end):
        if number in {4, 5} and last - first == _FLOAT.size:
            return float(_FLOAT.unpack_from(record, first)[0])
        if number in {4, 6} and last - first == _DOUBLE.size:
            return float(_DOUBLE.unpack_from(record, first)[0])
    return math.nan


def _read(file: EventFile, blocks: Iterable[bytes], *, problems: Diagnostics) -> Monitored:
    """Return the progress by the tag that was logged most often."""
    damage, scalars = _Damage(), _Scalars()
    for record in _records(blocks, damage):
        try:
            scalars.take(record)
        except (ValueError, IndexError):
            damage.n_broken += 1
    path = without_host(file.key)
    problems.add(Quality.LINES_BROKEN, path, damage.n_broken, what=_SAY_BROKEN)
    problems.add(Quality.BYTES_LOST, path, damage.bytes_lost, what=_SAY_CUT)
    found = Monitored(source="TensorBoard")
    steps, speeds = scalars.steps, scalars.speeds
    if rising := [tag for tag in steps.series if steps.counts(tag)]:
        tag = max(rising, key=lambda name: (len(steps.series[name][0]), name))
        time_ns, step = steps.of(tag, most=MOST_STEP)
        logged = {printable(name): speeds.of(name) for name in speeds.series}
        found.progress = [Progress(counter="step", time_ns=time_ns, step=step, logged=logged)]
    return found


_SAY_BROKEN = "{n} [event|events] cannot be read and [was|were] skipped"
_SAY_CUT = "the file breaks off or is damaged there, as of a run that is still going: {bytes} lost"
_FILE = re.compile(r"(?P<folder>(?:.*/)?)events\.out\.tfevents\.[^/]+")
_WRITERS = re.compile(r"train(?:ing)?|val(?:idation)?|eval(?:uation)?|test|\d{9,11}(?:\.\d+)?")
_HOST = re.compile(r"(tfevents\.\d+)\.[^/]*")


def without_host(key: str) -> str:
    """Return the key of an event file without the machine that its name tells."""
    return _HOST.sub(r"\1", key)


def _claim(key: str) -> Claim | None:
    match = _FILE.fullmatch(key)
    if match is None:
        return None
    folder, _, writer = match["folder"].rstrip("/").rpartition("/")
    run = folder if _WRITERS.fullmatch(writer) else match["folder"].rstrip("/")
    return Claim(format_id=TENSORBOARD_EVENTS.id, job_prefix=run, node="tensorboard")


def _looks_like(head: bytes) -> bool:
    return len(head) >= _HEAD.size and checksum(head[:8]) == _HEAD.unpack_from(head)[1]


TENSORBOARD_EVENTS = Format(
    id="tensorboard_events",
    role=FileRole.MONITORING,
    claims=_claim,
    looks_like=_looks_like,
    read=_read,
)
