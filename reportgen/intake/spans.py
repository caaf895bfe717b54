"""One node's timelines to its table of events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.formats import (
    Claim,
    Codes,
    FileEvents,
    Tally,
    join_numbers,
    printable,
    read_event_file,
)
from reportgen.intake.span_limits import Extent, extent_of, within
from reportgen.intake.system import Progress
from reportgen.profile import JobInfo, Quality, SpanTable, SystemTable
from reportgen.profile.spans import ARRAY_COLUMNS, empty_spans
from reportgen.storage import Location

_Columns = dict[str, Any]
_TEXTS = ("name", "phase", "worker", "source")
_SORTED_BY = ("start_ns", "end_ns", "phase", "name", "worker", "step")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFile:
    """One timeline of a node: where it lies and what its name says."""

    location: Location
    key: str
    size_bytes: int
    claim: Claim


def read_spans(
    files: Sequence[EventFile],
    tally: Tally,
    *,
    system: SystemTable,
    job: JobInfo,
    on_progress: Progress | None = None,
) -> SpanTable:
    """Read one node's timelines.

    Args:
        files: in any order.
        tally: counts what was read and what could not be.
        system: the node's samples: they say when the job ran.
        job: whether it is finished, and what its times are.
        on_progress: told about each file.
    """
    codes = {text: Codes() for text in _TEXTS}
    claims: list[Claim] = []
    found: list[tuple[EventFile, FileEvents]] = []
    for file, content in _contents(sorted(files, key=_order), tally):
        events = read_event_file(
            content,
            file.key,
            tally,
            names=codes["name"],
            phases=codes["phase"],
            is_finished=job.is_finished,
        )
        claims.append(file.claim)
        found.append((file, events))
        if on_progress is not None:
            on_progress(len(events.start_ns), file.size_bytes)
    if not found:
        return empty_spans()
    node = found[0][0].claim.node
    tally.add(Quality.FILES_READ, "", len(found), what=_SAY_READ.replace("NODE", node))
    extent = extent_of(system, claims, [events for _, events in found])
    return _table([_placed(extent, job, *found.pop(0), codes, tally) for _ in claims], codes, tally)


def _placed(
    extent: Extent,
    job: JobInfo,
    file: EventFile,
    events: FileEvents,
    codes: dict[str, Codes],
    tally: Tally,
) -> _Columns:
    """Return the columns of the events of a file that can belong to the job."""
    kept = within(extent, job.clock, events, file.key, tally)
    shape = kept.start_ns.shape
    return {
        "start_ns": kept.start_ns,
        "end_ns": kept.end_ns,
        "name": kept.name,
        "phase": kept.phase,
        "worker": np.broadcast_to(np.int64(codes["worker"][file.claim.worker]), shape),
        "source": np.broadcast_to(np.int64(codes["source"][file.claim.source]), shape),
        **kept.numbers,
    }


def _order(file: EventFile) -> tuple[str, str, int, str]:
    return file.claim.worker, file.claim.source, file.claim.stamp, file.key


def _contents(files: Sequence[EventFile], tally: Tally) -> Iterator[tuple[EventFile, bytes]]:
    """Yield the files that hold something and can be opened, with their bytes."""
    kept = []
    for file in files:
        if file.size_bytes == 0:
            tally.add(Quality.FILES_SKIPPED, file.key, what="{n} [file was|files were] empty")
        else:
            kept.append(file)
    if not kept:
        return
    contents = kept[0].location.read_many([file.key for file in kept])
    for file, content in zip(kept, contents, strict=True):
        if isinstance(content, bytes):
            yield file, content
            continue
        reason = str(content.details.get("reason", ""))
        tally.add(
            Quality.FILES_SKIPPED, file.key, what="{n} [file|files] cannot be opened", detail=reason
        )


def _table(parts: list[_Columns], codes: dict[str, Codes], tally: Tally) -> SpanTable:
    """Join the files' columns one by one, so that no more than one is held twice."""
    columns: _Columns = {}
    words: dict[str, tuple[str, ...]] = {}
    for column in ARRAY_COLUMNS:
        columns[column] = join_numbers([part.pop(column) for part in parts])
    for text in _TEXTS:
        words[f"{text}s"], columns[text] = _sorted_words(codes[text], columns[text])
    _rearrange(columns, _row_order(columns))
    is_new = _is_new(columns)
    n_duplicates = int(is_new.size - np.count_nonzero(is_new))
    if n_duplicates:
        tally.add(Quality.EVENTS_DROPPED, "", n_duplicates, what=_SAY_DUPLICATE)
        _rearrange(columns, np.flatnonzero(is_new))
    columns["pin_memory"] = columns["pin_memory"].astype(np.int8)
    return SpanTable(
        names=words["names"],
        phases=words["phases"],
        workers=words["workers"],
        sources=words["sources"],
        **columns,
    )


_SAY_READ = "{n} [file|files] of framework events of NODE [was|were] read"
_SAY_DUPLICATE = "{n} [event was|events were] there twice and [was|were] kept once"


def _sorted_words(
    codes: Codes, column: NDArray[np.integer]
) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Return the words in use in alphabetical order, and the column coded by them."""
    known = [printable(str(word)) for word in codes]
    in_use = np.flatnonzero(np.bincount(column, minlength=len(known))).tolist()
    words = sorted({known[code] for code in in_use})
    place = {word: index for index, word in enumerate(words)}
    new_codes = np.array([place.get(word, 0) for word in known], dtype=np.int32)
    if column.strides == (0,) and column.size:
        return tuple(words), np.broadcast_to(new_codes[column[0]], column.shape)
    return tuple(words), new_codes[column]


def _row_order(columns: _Columns) -> NDArray[np.intp]:
    """Return the order of rows: by start; ties by end, phase, name, worker, step, all else.

    Timelines are almost in order, so only ties pay for the sort by all columns.
    """
    order = np.argsort(columns["start_ns"], kind="stable")
    start_ns = columns["start_ns"][order]
    is_tie = np.zeros(order.size, dtype=np.bool_)
    is_tie[1:] = start_ns[1:] == start_ns[:-1]
    is_tie[:-1] |= is_tie[1:]
    places = np.flatnonzero(is_tie)
    if places.size:
        tied = order[places]
        others = [column for column in ARRAY_COLUMNS if column not in _SORTED_BY]
        keys = [columns[column][tied] for column in (*_SORTED_BY, *others)]
        order[places] = tied[np.lexsort(keys[::-1])]
    return order


def _is_new(columns: _Columns) -> NDArray[np.bool_]:
    """Return which rows differ from the row before."""
    n_rows = columns["start_ns"].size
    is_new = np.ones(n_rows, dtype=np.bool_)
    is_new[1:] = columns["start_ns"][1:] != columns["start_ns"][:-1]
    candidates = np.flatnonzero(~is_new)
    differs = np.zeros(candidates.size, dtype=np.bool_)
    for column in ARRAY_COLUMNS:
        values = columns[column]
        differs |= values[candidates] != values[candidates - 1]
    is_new[candidates] = differs
    return is_new


def _rearrange(columns: _Columns, rows: NDArray[np.intp]) -> None:
    """Take rows of every column; a column that says nothing keeps taking no memory."""
    for column, values in columns.items():
        if values.strides == (0,) and values.size:
            columns[column] = np.broadcast_to(values[0], rows.shape)
        else:
            columns[column] = values[rows]
