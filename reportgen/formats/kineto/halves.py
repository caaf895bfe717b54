"""A large trace read by two processes, each of them one half of its events.

The second half begins where reading in one process would begin a chunk, so codes are given in the
same order and both ways have the same result. Only what is whole and plain is read so: with any
damage, more than one list of events, or an operation without the correlation that joins it to its
call (the arrows that do it instead are left out), the file is read in one process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from reportgen.engine import HelperError, may_copy, run_in_copy, run_in_helper, spare_cores
from reportgen.formats.columns import ABSENT, BoundedCodes
from reportgen.formats.decompression import last_border
from reportgen.formats.kineto.column_buffer import Columns
from reportgen.formats.kineto.columns import TraceVocabularies
from reportgen.formats.kineto.salvage import Losses
from reportgen.formats.kineto.text import BORDER, CHUNK_BYTES
from reportgen.formats.kineto.trace_file import (
    Progress,
    Reading,
    TraceFile,
    file_of,
    read_events,
)

LEAST_BYTES = 64 << 20
_HEAD_START_BYTES = 24 << 20
"""The part that is read here before another interpreter is ready: it needs 0.2 s to start."""

_MOST_TRIES = 64
_CLOSE = b"]}"
_N_AROUND = 2
"""Texts around one list of events: before and after it."""

_EVENT = re.compile(rb'\{\s*"ph"\s*:')
_CODED = {
    "name": "names", "thread": "threads", "shape": "shapes", "input_list": "input_lists",
    "input_dims": "input_dims", "track": "tracks",
    "annotation": "labels",
}  # fmt: skip
_LABELLED = frozenset({"name", "dtype", "group", "group_ranks"})
_OWNERS = {"gpu_op": "gpu_ops", "host_slice": "slices"}
"""Columns of collectives, which hold rows of these tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rest:
    """Contents of the second half, beside its tables."""

    is_plain: bool
    outside: bytes
    n_bytes: int
    categories: dict[tuple[str, str], int]
    texts: list[list[Any]]
    written_in: dict[str, str]
    n_dropped: int


def read_halves(
    path: Path, size_bytes: int, blocks: Iterable[bytes], on_progress: Progress | None = None
) -> TraceFile | None:
    """Read a file of which ``blocks`` are the bytes; ``None`` where that is not for two processes.

    Edge cases: files below 64 MB, packed or damaged ones, machines without a second core, helpers
    that cannot be started or fail.
    """
    if size_bytes < LEAST_BYTES or not spare_cores():
        return None
    is_copy = may_copy()
    start = _second_half(path, size_bytes, 0 if is_copy else _HEAD_START_BYTES)
    if start is None:
        return None
    run_beside = run_in_copy if is_copy else run_in_helper
    try:
        with run_beside(read_rest, str(path), start, size_bytes) as results:
            first = read_events(_until(start, blocks), has_arrows=False, on_progress=on_progress)
            rest: _Rest = next(results)
            if not (_is_plain(first) and rest.is_plain):
                return None
            _add(first, rest, results)
    except HelperError:
        return None
    known = first.documents.columns.vocabularies
    first.text.n_bytes = size_bytes  # the halves have a bracket each that the file does not have
    if on_progress is not None:
        on_progress(sum(rest.categories.values()), rest.n_bytes)
    return None if any(codes.n_beyond for codes in _vocabularies(known)) else file_of(first)


def _second_half(path: Path, size_bytes: int, head_start_bytes: int) -> int | None:
    """Return where the second half begins: a chunk of events, after one that is not too long."""
    chunk = (size_bytes + head_start_bytes) // 2 // CHUNK_BYTES
    try:
        with path.open("rb") as file:
            before = _chunk_start(file, chunk)
            for number in range(chunk + 1, chunk + _MOST_TRIES):
                start = _chunk_start(file, number)
                if before and start and start - before <= CHUNK_BYTES - len(_CLOSE):
                    return start if start < size_bytes else None
                before = start
    except OSError:
        pass
    return None


def _chunk_start(file: BinaryIO, number: int) -> int | None:
    """Return where reading in one process begins the chunk with this number, if at an event."""
    file.seek((number - 1) * CHUNK_BYTES)
    text = file.read(CHUNK_BYTES)
    border = last_border(text, BORDER)
    if border is None or not _EVENT.match(text, border[1]):
        return None
    return (number - 1) * CHUNK_BYTES + border[1]


def _until(start: int, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the bytes before the second half, and the end of the list of events."""
    left = start
    for block in blocks:
        if len(block) >= left:
            yield block[:left].rstrip(b", \t\r\n") + _CLOSE
            return
        left -= len(block)
        yield block


def read_rest(path: str, start: int, size_bytes: int) -> Iterator[object]:
    """Yield a ``_Rest``, then each table's columns. Runs in the helper."""
    reading = read_events(_from(Path(path), start, size_bytes), has_arrows=False)
    columns = reading.documents.columns
    yield _Rest(
        is_plain=_is_plain(reading),
        outside=reading.text.outside[-1],
        n_bytes=reading.text.n_bytes,
        categories=dict(columns.categories),
        texts=[list(codes) for codes in _vocabularies(columns.vocabularies)],
        written_in=columns.written_in,
        n_dropped=columns.numbers.n_dropped,
    )
    for name, table in columns.tables.items():
        yield name, table.n_rows
        if table.n_rows:
            yield table.take()


def _from(path: Path, start: int, size_bytes: int) -> Iterator[bytes]:
    """Yield the second half as a list of events, in the slices of reading in one process."""
    with path.open("rb") as file:
        file.seek(start)
        border = -(-start // CHUNK_BYTES) * CHUNK_BYTES
        yield b"[" + file.read(border - start)
        while block := file.read(min(CHUNK_BYTES, size_bytes - file.tell())):
            yield block


def _is_plain(reading: Reading) -> bool:
    columns = reading.documents.columns
    known = _vocabularies(columns.vocabularies)
    return (
        reading.documents.n_documents == 1
        and len(reading.text.outside) == _N_AROUND
        and reading.text.losses == Losses()
        and not reading.packing.is_given_up
        and not any(codes.n_beyond for codes in known)
        and not (columns.tables["gpu_ops"].tail("correlation", 0) == ABSENT).any()
    )


def _vocabularies(known: TraceVocabularies) -> list[BoundedCodes]:
    return [getattr(known, field.name) for field in fields(known)]


def _add(first: Reading, rest: _Rest, results: Iterator[Any]) -> None:
    """Append what the helper read, its codes changed into those of the first half."""
    first.text.outside[-1] = rest.outside
    columns = first.documents.columns
    for key, n_events in rest.categories.items():
        columns.categories[key] += n_events
    columns.numbers.n_dropped += rest.n_dropped
    columns.written_in.update(rest.written_in)
    known = columns.vocabularies
    codes = {
        field.name: np.append(getattr(known, field.name).of(texts), np.int32(ABSENT))
        for field, texts in zip(fields(known), rest.texts, strict=True)
    }
    n_before = {name: table.n_rows for name, table in columns.tables.items()}
    for name, n_rows in results:
        if n_rows:
            found: Columns = next(results)
            for column, values in found.items():
                if name == "collectives" and column in _OWNERS:
                    found[column] = np.where(
                        values == ABSENT, ABSENT, values + n_before[_OWNERS[column]]
                    )
                elif (code := _code_of(name, column)) is not None:
                    found[column] = codes[code][values]
            columns.tables[name].add(**found)


def _code_of(table: str, column: str) -> str | None:
    """Return the vocabulary of a column's codes; ``None`` where it has numbers."""
    if table == "collectives":
        return "labels" if column in _LABELLED else None
    return _CODED.get(column)
