"""One kernel trace of a job: its file to its tables, and what was lost on the way."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from reportgen.formats import Diagnostics, format_of
from reportgen.formats.format import Progress, TraceReader
from reportgen.formats.kernel_trace.remarks import extent_of, tell_oddities
from reportgen.formats.nsight.detection import name_of
from reportgen.intake.open_part import open_part, remark_changes
from reportgen.intake.time_range import cut_trace
from reportgen.profile import Clock, PartRef, Quality, RankTrace, SourceNote
from reportgen.units import NS_PER_S

_UNIX_NS = range(1_262_304_000 * NS_PER_S, 4_102_444_800 * NS_PER_S)
"""2010 to 2100: what lies outside is no wall clock; PyTorch is younger."""

_LATEST_NS = 2**62
"""In the year 2116: int64 must hold the sum of an origin and a week of events."""

_SAY_NO_CLOCK = "Its times are none that a clock can show; they count from its first event."


_APART = frozenset(
    {"origin_ns", "bad_durations", "bad_times", "beyond_devices", "bad_numbers", "beyond_names"}
)
"""Fields of a file's tables that a trace has not, or has in another form."""


def read_rank(
    ref: PartRef, *, is_whole: bool = False, on_progress: Progress | None = None
) -> RankTrace:
    """Read one kernel trace: of one file, or one process of a report of Nsight Systems.

    With ``is_whole`` a file is read for a timeline; see ``read_trace``.

    Edge cases: a file that cannot be read or holds nothing gives empty tables and a note.
    """
    assert ref.rank is not None
    problems, location, key = Diagnostics(), open_part(ref), name_of(ref)
    read: TraceReader | None = format_of(ref.files[0].format_id).read
    assert read is not None
    header, tables = read(ref, location, problems, is_whole=is_whole, on_progress=on_progress)
    remark_changes(location, problems)
    tell_oddities(tables, key if ref.process is None else f"{key}, {ref.node}", problems)
    base_ns = header.base_ns or 0
    origin_ns = base_ns + tables.origin_ns
    if abs(origin_ns) > _LATEST_NS:
        problems.remark(_SAY_NO_CLOCK, path=key)
        base_ns = origin_ns = 0
    extent_ns = extent_of(tables)
    # The note is silent: the report says once which traces were read.
    counted = [SourceNote(text="", path=key, counts={Quality.FILES_READ: 1})] if extent_ns else []
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
        first_ns=extent_ns[0] if extent_ns else None,
        last_ns=extent_ns[1] if extent_ns else None,
        notes=(*problems.notes(), *counted),
    )
    return whole if ref.kept is None else cut_trace(whole, ref.kept)
