"""Files of other monitoring programs, written byte by byte, and read back without our readers."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.builders import START_S

BLOCK_BYTES = 32_768
CANARY = "canary-4711"
"""A private text; it stands in every field that must not be read."""


def number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def message(field: int, content: bytes | str) -> bytes:
    data = content.encode() if isinstance(content, str) else content
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    value %= 1 << 64
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def item(key: str, value: object) -> bytes:
    return message(1, key) + message(16, json.dumps(value))


def samples(time_s: float, values: Mapping[str, object]) -> bytes:
    stamp = number(1, int(time_s)) + number(2, round(time_s % 1 * 1e9))
    items = b"".join(message(3, item(key, value)) for key, value in values.items())
    return message(7, number(1, 0) + message(2, stamp) + items)


def history(values: Mapping[str, object]) -> bytes:
    return message(2, b"".join(message(1, item(key, value)) for key, value in values.items()))


def run_exit(code: int) -> bytes:
    return message(18, (number(1, code) if code else b"") + number(2, 60))


def environment(gpus: Mapping[str, int]) -> bytes:
    """Return what a program says of its machine: private texts, and the GPUs by name and bytes."""
    private = b"".join(message(field, CANARY) for field in (1, 5, 6, 7, 8, 10, 11, 12, 13, 14))
    named = [message(24, message(1, name) + number(2, size)) for name, size in gpus.items()]
    return message(26, private + message(9, message(1, CANARY)) + b"".join(named))


def private_records() -> list[bytes]:
    """Return a run, a configuration, a summary, and outputs that hold nothing but canaries."""
    texts = b"".join(message(field, CANARY) for field in (1, 3, 6, 8, 9, 10, 13, 15))
    config = message(4, message(1, message(1, CANARY) + message(16, json.dumps(CANARY))))
    return [
        message(17, texts + config),
        message(5, message(1, item(CANARY, CANARY))),
        message(3, message(1, item(CANARY, CANARY))),
        message(4, message(2, CANARY)),
        message(13, message(2, CANARY)),
        history({CANARY: CANARY, "_timestamp": START_S, "note": CANARY}),
        samples(START_S, {f"disk./home/{CANARY}.usageGB": 1.0, CANARY: 2.0}),
    ]


def wandb_log(records: list[bytes], *, magic: bytes = b":W&B\xe1\xbe\x00") -> bytes:
    """Return the file of some records: chunks with checksums in blocks of 32 KiB."""
    out = bytearray(magic)
    for record in records:
        at, first = 0, True
        while first or at < len(record):
            left = BLOCK_BYTES - len(out) % BLOCK_BYTES
            if left < 7:
                out += bytes(left)
                left = BLOCK_BYTES
            piece = record[at : at + left - 7]
            at += left - 7
            kind = (2 if first else 3) if at < len(record) else (1 if first else 4)
            checksum = zlib.crc32(bytes([kind]) + piece)
            out += struct.pack("<IHB", checksum, len(piece), kind) + piece
            first = False
    return bytes(out)


def gpu_values(use: float, *, gpu: int = 0) -> dict[str, object]:
    """Return the samples of a GPU as they are in a file."""
    return {
        f"gpu.{gpu}.gpu": use,
        f"gpu.{gpu}.memoryAllocated": 25.0,
        f"gpu.{gpu}.memoryAllocatedBytes": 20 * (1 << 30),
        f"gpu.{gpu}.powerWatts": 100 + 2 * use,
        f"gpu.{gpu}.temp": 60,
    }


def wandb_run(n: int = 100, *, every_s: float = 15.0, exit_code: int | None = 0) -> list[bytes]:
    """Return a run of ``n`` samples of one GPU, which rests in its second half, and its steps."""
    records = [environment({"NVIDIA A100-SXM4-80GB": 80 * (1 << 30)}), *private_records()]
    for at in range(n):
        time_s = START_S + 0.25 + at * every_s
        use = 95.0 if at < n // 2 else 30.0
        host = {"memory_percent": 12.5, "network.recv": 1000.0 * at, "disk.sda.in": 2.0 * at}
        records.append(samples(time_s, gpu_values(use) | host))
        step = 10 * at if at < n // 2 else 5 * n + 5 * (at - n // 2)
        speed = {"train/global_step": step, "train/tokens_per_second": 50.0 * use}
        records.append(history({"_timestamp": time_s, "_step": at, "train/loss": 1.5} | speed))
    return records if exit_code is None else [*records, run_exit(exit_code)]


def write_wandb(folder: Path, records: list[bytes], *, name: str = "abc123") -> Path:
    """Write a run's folder as W&B does; return it."""
    run = folder / f"run-20260703_093100-{name}"
    (run / "files").mkdir(parents=True)
    (run / f"run-{name}.wandb").write_bytes(wandb_log(records))
    for private in ("config.yaml", "wandb-summary.json", "output.log", "requirements.txt"):
        (run / "files" / private).write_text(CANARY)
    return run


def told_samples(content: bytes) -> Iterator[tuple[float, str, object]]:
    """Yield seconds, key and value of each sample of a whole file; written apart from ours."""
    place, parts = 7, b""
    while place + 7 <= len(content):
        room = -place % BLOCK_BYTES or BLOCK_BYTES
        if room < 7:
            place += room
            continue
        _, size, kind = struct.unpack_from("<IHB", content, place)
        if not size and not kind:
            return
        parts = (b"" if kind in (1, 2) else parts) + content[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4):
            yield from _samples_of(parts)


def _samples_of(record: bytes) -> Iterator[tuple[float, str, object]]:
    for field, stats in _message(record):
        if field != 7 or not isinstance(stats, bytes):
            continue
        fields = list(_message(stats))
        stamp = dict(_message(next(value for name, value in fields if name == 2)))
        for name, value in fields:
            if name == 3:
                item = dict(_message(value))
                time_s = int(stamp.get(1, 0)) + int(stamp.get(2, 0)) / 1e9
                yield time_s, item[1].decode(), json.loads(item[16])


def _message(data: bytes) -> Iterator[tuple[int, Any]]:
    stream = iter(data)
    for first in stream:
        tag = _read_varint(first, stream)
        value = _read_varint(next(stream), stream)
        if tag & 7 == 2:
            yield tag >> 3, bytes(next(stream) for _ in range(value))
        else:
            yield tag >> 3, value


def _read_varint(first: int, stream: Iterator[int]) -> int:
    value, shift, byte = first & 0x7F, 7, first
    while byte & 0x80:
        byte = next(stream)
        value |= (byte & 0x7F) << shift
        shift += 7
    return value


def scalar(time_s: float, step: int, tag: str, value: float) -> bytes:
    """Return an event of TensorBoard with one number."""
    scalar_value = message(1, tag) + b"\x15" + struct.pack("<f", value)
    return (
        b"\x09" + struct.pack("<d", time_s) + number(2, step) + message(5, message(1, scalar_value))
    )


def event_file(events: list[bytes]) -> bytes:
    """Return the records of an event file; sums bit by bit, apart from ours."""
    version = b"\x09" + struct.pack("<d", START_S) + message(3, "brain.Event:2")
    out = bytearray()
    for event in [version, *events]:
        length = struct.pack("<Q", len(event))
        out += length + _masked_sum(length) + event + _masked_sum(event)
    return bytes(out)


def _masked_sum(data: bytes) -> bytes:
    crc = 0xFFFFFFFF
    for byte in data[:5_000]:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 * (crc & 1))
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32)
