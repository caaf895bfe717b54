"""One kernel trace of a job: its file to its tables, and what was lost on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from reportgen.formats import Diagnostics
from reportgen.formats.decompression import SAY_GIVEN_UP
from reportgen.formats.kernel_trace.columns import MOST_NAMES, MOST_THREADS
from reportgen.formats.kernel_trace.header import TraceHeader
from reportgen.formats.kernel_trace.tables import TraceTables
from reportgen.formats.kernel_trace.validate import MOST_DEVICES
from reportgen.formats.kineto.cut import Copied, copy_events
from reportgen.formats.kineto.detection import KERNEL_TRACES
from reportgen.formats.kineto.trace_file import TraceFile, read_trace
from reportgen.formats.nsight.detection import NSIGHT_REPORTS
from reportgen.intake.open_part import open_part, read_file_blocks, remark_changes
from reportgen.intake.system import Progress
from reportgen.intake.trace_oddities import tell_oddities
from reportgen.intake.trace_range import cut_trace
from reportgen.profile import Clock, PartRef, Quality, RankTrace, SourceNote, TimeRange
from reportgen.profile.trace_tables import NONE, n_rows
from reportgen.text import format_count
from reportgen.units import NS_PER_S

_UNIX_NS = range(1_262_304_000 * NS_PER_S, 4_102_444_800 * NS_PER_S)
"""2010 to 2100: what lies outside is no wall clock; PyTorch is younger."""

_LATEST_NS = 2**62
"""In the year 2116: int64 must hold the sum of an origin and a week of events."""

_SAY_NO_CLOCK = "Its times are none that a clock can show; they count from its first event."
_SAY_NO_TRACE = "{n} [file holds|files hold] no event of a kernel trace"


_APART = frozenset({"origin_ns", "bad_durations", "bad_times", "beyond_devices"})
"""Fields of a file's tables that a trace has not, or has in another form."""


def read_rank(
    ref: PartRef, *, is_whole: bool = False, on_progress: Progress | None = None
) -> RankTrace:
    """Read one kernel trace: of one file, or one process of a report of Nsight Systems.

    With ``is_whole`` a file is read for a timeline; see ``read_trace``.

    Edge cases: a file that cannot be read or holds nothing gives empty tables and a note.
    """
    assert ref.rank is not None
    problems = Diagnostics()
    if ref.files[0].format_id == NSIGHT_REPORTS.id:
        from reportgen.intake.nsight_reports import name_of, read_report

        key = name_of(ref)
        header, tables = read_report(ref, problems, on_progress=on_progress)
        _tell_empty(tables, key, problems, is_empty=not ref.files[0].size_bytes)
        _tell_left_out(tables, key, problems)
    else:
        key = ref.files[0].key
        header, tables = _read_file(ref, problems, is_whole=is_whole, on_progress=on_progress)
    tell_oddities(tables, key, problems)
    base_ns = header.base_ns or 0
    origin_ns = base_ns + tables.origin_ns
    if abs(origin_ns) > _LATEST_NS:
        problems.remark(_SAY_NO_CLOCK, path=key)
        base_ns = origin_ns = 0
    extent_ns = _extent_ns(tables)
    # The note is silent: the report says once which traces were read.
    counted = [SourceNote(text="", counts={Quality.FILES_READ: 1})] if extent_ns else []
    held: dict[str, Any] = {
        item.name: getattr(tables, item.name) for item in fields(tables) if item.name not in _APART
    }
    whole = RankTrace(
        node=ref.node,
        job=ref.job,
        rank=ref.rank,
        is_rank_known=ref.is_rank_known,
        world_size=header.world_size,
        path=key,
        clock=Clock.UNIX if origin_ns in _UNIX_NS else Clock.RELATIVE,
        origin_ns=origin_ns,
        base_ns=base_ns,
        **held,
        devices=header.devices,
        versions=header.versions,
        recorded=header.recorded,
        first_ns=extent_ns[0] if extent_ns else None,
        last_ns=extent_ns[1] if extent_ns else None,
        notes=(*problems.notes(), *counted),
    )
    return whole if ref.kept is None else cut_trace(whole, ref.kept)


def is_event_file(ref: PartRef) -> bool:
    """Return whether a rank is a file of the PyTorch profiler's events."""
    return ref.files[0].format_id == KERNEL_TRACES.id


def copied_events(ref: PartRef, copied: Copied, problems: Diagnostics) -> Iterator[bytes]:
    """Yield the events of a file in the range of its part; see ``copy_events``."""
    file, location = ref.files[0], open_part(ref)
    kept = ref.kept or TimeRange()
    base_ns = 0 if ref.kept is None else read_rank(ref).base_ns
    yield from copy_events(
        lambda: read_file_blocks(location, file.key, file.size_bytes, problems),
        copied,
        low_ns=None if kept.from_ns is None else kept.from_ns - base_ns,
        high_ns=None if kept.to_ns is None else kept.to_ns - base_ns,
    )


def _read_file(
    ref: PartRef, problems: Diagnostics, *, is_whole: bool, on_progress: Progress | None
) -> tuple[TraceHeader, TraceTables]:
    file, location = ref.files[0], open_part(ref)
    blocks = read_file_blocks(location, file.key, file.size_bytes, problems)
    trace = read_trace(blocks, is_whole=is_whole, on_progress=on_progress)
    remark_changes(location, problems)
    _tell_losses(trace, file.key, problems)
    return trace.header, trace.tables


def _tell_empty(tables: TraceTables, key: str, problems: Diagnostics, *, is_empty: bool) -> None:
    if _extent_ns(tables) is None:
        what = "{n} [file was|files were] empty" if is_empty else _SAY_NO_TRACE
        problems.add(Quality.FILES_SKIPPED, key, what=what)


def _tell_left_out(tables: TraceTables, key: str, problems: Diagnostics) -> None:
    problems.add(Quality.EVENTS_DROPPED, key, tables.bad_durations, what=_SAY_DURATION)
    problems.add(Quality.EVENTS_DROPPED, key, tables.bad_times, what=_SAY_TIME)
    problems.add(Quality.EVENTS_DROPPED, key, tables.beyond_devices, what=_SAY_DEVICES)


def _extent_ns(tables: TraceTables) -> tuple[int, int] | None:
    timed = [table for table in (tables.gpu_ops, tables.calls, tables.slices) if n_rows(table)]
    if not timed:
        return None
    first_ns = min(int(table.start_ns.min()) for table in timed)
    return first_ns, max(int(table.end_ns.max()) for table in timed)


def _tell_losses(trace: TraceFile, key: str, problems: Diagnostics) -> None:
    losses, tables = trace.losses, trace.tables
    _tell_empty(tables, key, problems, is_empty=not trace.n_bytes)
    problems.add(Quality.BYTES_LOST, key, losses.bytes_cut_off, what=_SAY_CUT_OFF)
    problems.add(Quality.EVENTS_DROPPED, key, losses.events_lost, what=_SAY_LOST)
    problems.add(Quality.BYTES_LOST, key, losses.bytes_lost, what=_SAY_BYTES)
    problems.add(Quality.PLACES_REPAIRED, key, losses.places_repaired)
    _tell_left_out(tables, key, problems)
    problems.add(Quality.EVENTS_DROPPED, key, trace.n_left_out, what=_SAY_DOCUMENT)
    problems.add(Quality.EVENTS_DROPPED, key, trace.n_apart, what=_SAY_APART)
    problems.add(Quality.VALUES_BROKEN, key, trace.n_numbers_dropped, what=_SAY_NUMBER)
    if trace.n_beyond:
        problems.remark(_SAY_BEYOND.format(n=format_count(trace.n_beyond)), path=key)
    if trace.n_uncategorized:
        said = format_count(trace.n_uncategorized)
        problems.remark(_SAY_UNCATEGORIZED.format(n=said), path=key)
    if trace.packing.is_damaged:
        problems.remark(
            "Its packed bytes are damaged; the data after the damage are lost.", path=key
        )
    if trace.packing.is_cut_off:
        problems.remark("Its packed bytes end too early; the rest is lost.", path=key)
    if trace.packing.is_given_up:
        problems.remark(SAY_GIVEN_UP, path=key)
    if losses.is_unclosed:
        problems.remark(_SAY_UNCLOSED, path=key)
    threads = np.unique(tables.calls.thread).tolist()
    pids = {tables.threads[thread].pid for thread in threads if thread != NONE}
    if len(pids) > 1:
        problems.remark(_SAY_PROCESSES.format(n=format_count(len(pids))), path=key)
    if trace.n_documents > 1:
        said = format_count(trace.n_documents)
        problems.remark(f"The file holds {said} lists of events, one after the other.", path=key)


_SAY_CUT_OFF = "the file ends in the middle of an event: {bytes} lost"
_SAY_LOST = "{n} damaged [event|events] could not be read and [was|were] left out"
_SAY_BYTES = "{bytes} of damaged events are lost"
_SAY_DURATION = (
    "{n} [event has|events have] no duration, one below 0 or one of more than 7 days, and "
    "[was|were] left out"
)
_SAY_TIME = "{n} [event lies|events lie] more than 7 days from the others and [was|were] left out"
_SAY_DEVICES = (
    f"{{n}} [event is|events are] of a GPU beyond the first {MOST_DEVICES} and [was|were] left out"
)
_SAY_DOCUMENT = (
    "{n} [event|events] of further lists in the same file overlap the first in time and [was|were] "
    "left out"
)
_SAY_APART = (
    "{n} [event has|events have] only a begin or only an end (phases B and E) and [was|were] left "
    "out: operations need one event with both (phase X)"
)
_SAY_NUMBER = (
    "{n} [number is|numbers are] too large for an id or a size and [counts|count] as absent"
)
_SAY_BEYOND = (
    f"It has more than {MOST_NAMES:,} names or {MOST_THREADS:,} threads; what lies beyond, {{n}} "
    "times, counts as one name and one thread."
)
_SAY_UNCATEGORIZED = (
    "Spans without a category: {n}. Neither operators nor GPU operations can be recognised among "
    "them; "
    "profilers before PyTorch 1.8 write such traces, newer ones do not."
)
_SAY_PROCESSES = (
    "{n} processes are in one file. Each counts its launches by itself, so that an operation may "
    "be joined with the launch of another process: pass the traces of the processes."
)
_SAY_UNCLOSED = (
    "The list of events does not end: the writer was stopped. Events that it had not written "
    "are not counted; where GPU operations are missing, their time counts as idle."
)
