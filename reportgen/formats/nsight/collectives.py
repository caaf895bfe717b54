"""Sizes of collectives: what NCCL writes into its NVTX ranges (``--include-blobs=true``).

A payload begins with a head of 32 bytes, in which the number of its schema is at byte 8; the fields
follow at the places that the schema says.
"""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.formats.columns import ABSENT
from reportgen.formats.nsight.host import NVTX_COLUMNS, texts_of
from reportgen.formats.nsight.reading import ProcessReading

_HEAD = struct.Struct("<I4xI4xQQ")
_LONG, _INT = struct.Struct("<Q"), struct.Struct("<i")
_COMMUNICATOR = "NCCL communicator ID"
_FIELDS = {_COMMUNICATOR: _LONG, "Message size [bytes]": _LONG, "No. of ranks": _INT}
_COMMUNICATION = re.compile(r"nccl(?:(?!nccl)\w)*?[Kk]ernel")
_MOST_BYTES = 2**50

Schemas = Mapping[int, Mapping[str, int]]


@dataclass(slots=True)
class _Ranges:
    """Collectives by thread: when they were called, and what they say."""

    start_us: list[float] = field(default_factory=list)
    told: list[tuple[str, int, int]] = field(default_factory=list)


def read_collectives(reading: ProcessReading) -> None:
    """Give kernels of NCCL the name, communicator and size of the call before their launch.

    Where several calls precede one launch, as in a group, the kernel gets none of these.
    """
    schemas = _schemas(reading)
    if not schemas:
        return
    by_thread, n_ranks = _read_ranges(reading, schemas)
    launched = _launches(reading)
    found: list[tuple[int, tuple[str, int, int]]] = []
    for thread, ranges in by_thread.items():
        order = np.argsort(ranges.start_us, kind="stable")
        starts_us = np.array(ranges.start_us)[order]
        rows, at_us = launched.get(thread, (np.empty(0, np.int64), np.empty(0)))
        place = np.searchsorted(starts_us, at_us, side="right") - 1
        is_one = np.diff(place, prepend=-1) == 1
        pairs = zip(rows[is_one].tolist(), order[place[is_one]].tolist(), strict=True)
        found += [(row, ranges.told[at]) for row, at in pairs]
    if found:
        _add(reading, sorted(found), n_ranks)


def _schemas(reading: ProcessReading) -> Schemas:
    found: dict[int, dict[str, int]] = defaultdict(dict)
    names = ("schemaId", "name", "offset")
    for schema, name, offset in reading.report.all_rows("NVTX_PAYLOAD_SCHEMA_ENTRIES", names):
        if name in _FIELDS and isinstance(schema, int):
            found[schema][name] = offset if isinstance(offset, int) else 0
    return found


def _read_ranges(
    reading: ProcessReading, schemas: Schemas
) -> tuple[dict[int, _Ranges], dict[int, int]]:
    by_thread: dict[int, _Ranges] = defaultdict(_Ranges)
    n_ranks: dict[int, int] = {}
    if "binaryData" not in reading.report.tables.get("NVTX_EVENTS", ()):
        return by_thread, n_ranks
    names = (*NVTX_COLUMNS, "binaryData")
    for batch in reading.batches("NVTX_EVENTS", names, "binaryData IS NOT NULL"):
        threads = reading.threads(batch["globalTid"]).tolist()
        starts_us = reading.after_base_us(reading.times_ns(batch["start"])).tolist()
        told = zip(texts_of(reading, batch), batch["binaryData"], strict=True)
        for thread, start_us, (text, raw) in zip(threads, starts_us, told, strict=True):
            values = _values(raw, schemas)
            group = values.get(_COMMUNICATOR, ABSENT)
            if "No. of ranks" in values:
                n_ranks[group] = values["No. of ranks"]
            size = values.get("Message size [bytes]", ABSENT)
            if 0 <= size < _MOST_BYTES:
                by_thread[thread].start_us.append(start_us)
                name = text.removeprefix("nccl").lower()
                by_thread[thread].told.append((name, group, size))
    return by_thread, n_ranks


def _values(raw: Any, schemas: Schemas) -> dict[str, int]:
    """Return the fields of a payload; bytes, or text of hexadecimal digits."""
    try:
        payload = raw if isinstance(raw, bytes) else bytes.fromhex(str(raw).removeprefix("0x"))
        _, schema, *_ = _HEAD.unpack_from(payload)
        places = schemas.get(schema, {})
        return {
            name: _FIELDS[name].unpack_from(payload, _HEAD.size + at)[0]
            for name, at in places.items()
        }
    except (ValueError, OverflowError, struct.error):
        return {}


def _launches(reading: ProcessReading) -> dict[int, tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Return the rows of NCCL's kernels and when each was launched, by thread, in that order."""
    ops, calls = (reading.columns.tables[name] for name in ("gpu_ops", "calls"))
    if not ops.n_rows or not calls.n_rows:
        return {}
    names = list(reading.columns.vocabularies.names)
    is_nccl = np.array([bool(_COMMUNICATION.search(name)) for name in names])
    rows = np.flatnonzero(is_nccl[ops.tail("name", 0)])
    wanted = ops.tail("correlation", 0)[rows]
    known = calls.tail("correlation", 0)
    order = np.argsort(known, kind="stable")
    place = np.minimum(np.searchsorted(known[order], wanted), known.size - 1)
    call = order[place]
    is_there = (known[call] == wanted) & (wanted != ABSENT)
    rows, call = rows[is_there], call[is_there]
    at_us, thread = calls.tail("start_us", 0)[call], calls.tail("thread", 0)[call]
    found = {}
    for one in np.unique(thread).tolist():
        own = np.flatnonzero(thread == one)
        own = own[np.argsort(at_us[own], kind="stable")]
        found[one] = (rows[own].astype(np.int64), at_us[own])
    return found


def _add(
    reading: ProcessReading,
    found: list[tuple[int, tuple[str, int, int]]],
    n_ranks: Mapping[int, int],
) -> None:
    rows = [row for row, _ in found]
    labels = reading.columns.vocabularies.labels
    nobody = np.full(len(rows), ABSENT, dtype=np.int64)
    size = np.array([size for _, (_, _, size) in found], dtype=np.int64)
    groups = [group for _, (_, group, _) in found]
    reading.columns.tables["collectives"].add(
        name=labels.of([name for _, (name, _, _) in found]),
        dtype=labels.of(["Byte"] * len(rows)),
        group=labels.of([f"{group & (2**64 - 1):016x}" for group in groups]),
        group_ranks=nobody.astype(np.int32),
        group_size=np.array([n_ranks.get(group, ABSENT) for group in groups], dtype=np.int64),
        seq=nobody,
        in_elements=size,
        out_elements=size,
        gpu_op=np.array(rows, dtype=np.int64),
        host_slice=nobody,
    )
