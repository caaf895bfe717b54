"""Runs of Weights & Biases on disk: ``wandb/run-*/run-<id>.wandb``.

Read are samples of the machine, the numbers that say how fast the program was, its exit code and
the names of its GPUs. All else stays unread: names of people and machines, arguments, paths,
configuration, texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from struct import Struct

import msgspec

from reportgen.errors import LocationError
from reportgen.formats.diagnostics import Diagnostics, printable
from reportgen.formats.format import Claim, EventFile, FileRole, Format
from reportgen.formats.monitoring import UNREAD, LoggedNumbers, Monitored, add_totals
from reportgen.formats.series_codes import MAX_GPUS
from reportgen.formats.wandb.metrics import SOURCE, Metrics, is_progress, progress_by
from reportgen.formats.wandb.records import HEADER, Damage, fields_of, records_of
from reportgen.profile import Quality
from reportgen.recorded_job import RecordedGpu
from reportgen.text import join_names

_HISTORY, _STATS, _EXIT, _ENVIRONMENT = 2, 7, 18, 26


_MOST_KEYS = 16_384
"""Different names in one file: a machine of 256 cores and 16 GPUs has some 700."""
_LONGEST_NUMBER = 64
_METADATA = "files/wandb-metadata.json"
_METADATA_BYTES = 1 << 20


class _Reading:
    def __init__(self) -> None:
        self.found = Monitored(source=SOURCE, is_ended=False)
        self.numbers = LoggedNumbers()
        self.n_broken = 0
        self._metrics: dict[bytes, tuple[int, float]] = {}
        self._names: dict[bytes, str] = {}
        self.metrics = Metrics(self.found)
        self._takers = {
            _STATS: self._samples,
            _HISTORY: self._history,
            _EXIT: self._ended,
            _ENVIRONMENT: self._environment,
        }

    def take(self, record: bytes) -> None:
        """Take what is wanted of a record; one that is damaged is counted."""
        try:
            for number, start, end in fields_of(record):
                take = self._takers.get(number)
                if take is not None and end >= 0:
                    take(record, start, end)
        except (ValueError, IndexError):
            self.n_broken += 1

    def _samples(self, record: bytes, start: int, end: int) -> None:
        time_s, items = math.nan, []
        for number, first, last in fields_of(record, start, end):
            if number == _ITEM:
                items.append(_item(record, first, last))
            elif number == _TIMESTAMP and last >= 0:
                time_s = _instant_s(record, first, last)
        for key, value in items:
            if value[:1] == b"{":  # versions of 2021: network {"sent": 1, "recv": 2}
                for name, number_of_it in _object_of(value).items():
                    self._sample(time_s, key + b"." + name.encode(), number_of_it)
            else:
                self._sample(time_s, key, _number(value))

    def _sample(self, time_s: float, key: bytes, value: float) -> None:
        known = self._metrics.get(key)
        if known is None:
            known = self.metrics.code_of(key.decode("utf-8", "replace"))
            if len(self._metrics) < _MOST_KEYS:
                self._metrics[key] = known
        code, factor = known
        if code != UNREAD:
            self.found.add(time_s, code, value * factor)

    def _history(self, record: bytes, start: int, end: int) -> None:
        time_s, numbers = math.nan, []
        for number, first, last in fields_of(record, start, end):
            if number != 1 or last < 0:
                continue
            key, value = _item(record, first, last)
            name = self._names.get(key)
            if name is None:
                name = _wanted(key.decode("utf-8", "replace"))
                if len(self._names) < _MOST_KEYS:
                    self._names[key] = name
            if name == "_timestamp":
                time_s = _number(value)
            elif name:
                numbers.append((name, _number(value)))
        for name, value_of_it in numbers:
            self.numbers.add(name, time_s, value_of_it)

    def _ended(self, record: bytes, start: int, end: int) -> None:
        code = next((value for number, value, _ in fields_of(record, start, end) if number == 1), 0)
        self.found.exit_code = code - (1 << 64) if code >> 63 else code
        self.found.is_ended = True

    def _environment(self, record: bytes, start: int, end: int) -> None:
        kind, n_gpus = "", 0
        gpus: list[RecordedGpu] = []
        for number, first, last in fields_of(record, start, end):
            if number == _GPU_TYPE and last >= 0:
                kind = _text(record, first, last)
            elif number == _GPU_COUNT:
                n_gpus = min(first, MAX_GPUS)
            elif number == _GPU_NVIDIA and last >= 0:
                gpus.append(_gpu_of(record, first, last, index=len(gpus)))
        if not gpus and kind:
            gpus = [RecordedGpu(index=index, name=kind) for index in range(n_gpus)]
        if gpus:
            self.found.gpus = gpus[:MAX_GPUS]


_ITEM, _TIMESTAMP = 3, 2
_GPU_TYPE, _GPU_COUNT, _GPU_NVIDIA = 18, 19, 24


def _wanted(key: str) -> str:
    return key if key == "_timestamp" or is_progress(key) else ""


def _item(record: bytes, start: int, end: int) -> tuple[bytes, bytes]:
    """Return key and JSON of an item; of a nested key the parts, joined as people see them."""
    middle = start + 2 + record[start + 1]
    first = middle + 3
    is_usual = record[start] == _KEY_TAG and record[middle : middle + 2] == _VALUE_TAG
    if is_usual and first <= end and first + record[middle + 2] == end and first - start < 0x80:
        return record[start + 2 : middle], record[first:end]
    keys, value = [], b""
    for number, first, last in fields_of(record, start, end):
        if number in (1, 2) and last >= 0:
            keys.append(record[first:last])
        elif number == _VALUE_JSON and last >= 0:
            value = record[first:last]
        elif number == _INTEGER and last < 0:
            value = b"%d" % (first - (1 << 64) if first >> 63 else first)
        elif number == _NUMBER and last - first == _DOUBLE.size:
            value = repr(_DOUBLE.unpack_from(record, first)[0]).encode()
    return b".".join(keys), value


_KEY_TAG, _VALUE_TAG = 0x0A, b"\x82\x01"
_INTEGER, _NUMBER, _VALUE_JSON = 5, 6, 16
_DOUBLE = Struct("<d")


def _number(text: bytes) -> float:
    try:
        return float(text) if len(text) <= _LONGEST_NUMBER else math.nan
    except ValueError:
        return math.nan


def _object_of(text: bytes) -> dict[str, float]:
    try:
        return msgspec.json.decode(text, type=dict[str, float])
    except (ValueError, RecursionError):
        return {}


def _instant_s(record: bytes, start: int, end: int) -> float:
    parts = {number: value for number, value, last in fields_of(record, start, end) if last < 0}
    return parts.get(1, 0) + parts.get(2, 0) / 1e9


def _text(record: bytes, start: int, end: int) -> str:
    return printable(record[start:end].decode("utf-8", "replace"))


def _gpu_of(record: bytes, start: int, end: int, *, index: int) -> RecordedGpu:
    name, memory_bytes = "", None
    for number, first, last in fields_of(record, start, end):
        if number == 1 and last >= 0:
            name = _text(record, first, last)
        elif number == 2 and last < 0 and first < 1 << 62:
            memory_bytes = first
    return RecordedGpu(index=index, name=name, memory_bytes=memory_bytes)


class _Device(msgspec.Struct):
    name: str = ""


class _Metadata(msgspec.Struct):
    gpu: str = ""
    gpu_count: int = 0
    gpu_nvidia: list[_Device] = []


def _from_metadata(file: EventFile) -> list[RecordedGpu]:
    """Return the GPUs that older versions name in a file beside the run; nothing else of it."""
    key = f"{file.key.rpartition('/')[0]}/{_METADATA}".lstrip("/")
    try:
        head = file.location.read_range(key, 0, _METADATA_BYTES)
        said = msgspec.json.decode(head, type=_Metadata)
    except (LocationError, ValueError, RecursionError):
        return []
    names = [device.name for device in said.gpu_nvidia] or [said.gpu] * said.gpu_count
    return [
        RecordedGpu(index=index, name=printable(name))
        for index, name in enumerate(names[:MAX_GPUS])
    ]


def _read(file: EventFile, blocks: Iterable[bytes], *, problems: Diagnostics) -> Monitored:
    """Return the samples of a run, its progress, its exit code and its GPUs."""
    reading, damage = _Reading(), Damage()
    for record in records_of(blocks, damage):
        reading.take(record)
    problems.add(Quality.PLACES_REPAIRED, file.key, damage.n_blocks, what=_SAY_DAMAGED)
    problems.add(Quality.BYTES_LOST, file.key, damage.bytes_lost, what=_SAY_CUT)
    problems.add(Quality.LINES_BROKEN, file.key, reading.n_broken, what=_SAY_BROKEN)
    found = reading.found
    if not found.gpus:
        found.gpus = _from_metadata(file)
    add_totals(found)
    of_program, every = reading.metrics.program_gpus, reading.metrics.gpus
    if of_program and of_program < every:
        named = join_names([f"gpu{gpu}" for gpu in sorted(of_program)])
        problems.remark(_SAY_OTHERS.format(named=named), path=file.key)
    found.progress = progress_by(reading.numbers)
    return found


_SAY_OTHERS = (
    "All GPUs of the machine were sampled, but the program that wrote this ran on {named} alone: "
    "the others may belong to other processes of the job, or to other jobs."
)
_SAY_DAMAGED = (
    "{n} [block|blocks] of 32 KiB [is|are] damaged (the checksum is wrong) and the rest of "
    "[it|each] was left out"
)
_SAY_CUT = "the file breaks off, as of a run that is still going or was killed: {bytes} lost"
_SAY_BROKEN = "{n} [record|records] cannot be read and [was|were] skipped"
_FILE = re.compile(r"(?:.*/)?(?P<name>[^/]+)\.wandb")


def _claim(key: str) -> Claim | None:
    match = _FILE.fullmatch(key)
    return match and Claim(format_id=WANDB_RUNS.id, job_prefix=key, node=match["name"])


WANDB_RUNS = Format(
    id="wandb_run",
    role=FileRole.MONITORING,
    claims=_claim,
    looks_like=lambda head: head.startswith(HEADER),
    read=_read,
)
