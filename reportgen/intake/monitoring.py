"""Jobs that another program monitored: their files found, and read as the samples of a node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import Floats, Integers
from reportgen.errors import FormatError
from reportgen.formats import Claim, Diagnostics, EventFile, FileRole, format_of, printable
from reportgen.formats.blocks import read_file_blocks
from reportgen.formats.columns import Codes
from reportgen.formats.format import MonitoringReader
from reportgen.formats.format import Progress as OnProgress
from reportgen.formats.monitoring import LEAST_S, MOST_S, Monitored
from reportgen.formats.tensorboard_events import without_host
from reportgen.intake.found import Found, claim_of, node_parts
from reportgen.intake.open_part import open_part, remark_changes
from reportgen.intake.ticks import Rows, drop_duplicates, join_rows
from reportgen.intake.time_range import cut_rows
from reportgen.intake.validate import limits_of
from reportgen.profile import (
    Clock,
    JobInfo,
    JobProfile,
    NodeProfile,
    PartRef,
    Quality,
    Series,
    SystemTable,
    TimeRange,
)
from reportgen.profile.column_file import count_present, stored
from reportgen.profile.job import FileRef
from reportgen.profile.monitoring import Monitoring, Progress
from reportgen.profile.spans import empty_spans
from reportgen.profile.system import device_order, empty_system
from reportgen.recorded_job import RecordedNode
from reportgen.storage import Location
from reportgen.text import format_ns
from reportgen.units import NS_PER_US, US_PER_S

_HEAD_BYTES = 4_096
_SAME_TICK_RATIO = 0.5
"""Stamps closer than half of the interval are one tick: a machine's values are asked for one after
another."""
_SAY_READ = "{n} [file|files] of NAME of NODE [was|were] read"
_SAY_LOCAL = (
    "Its times name no zone and are shown as if they were UTC: say how far they are ahead of it "
    "with --utc-offset +02:00."
)
_COARSE_NS = 2_000_000_000


def monitored_job(
    found: Found, info: JobInfo, problems: Diagnostics, *, utc_offset_s: int | None
) -> JobProfile:
    """Return the job of monitoring files: those of one kind in a folder are its nodes.

    Raises:
        FormatError: a file is empty, or its content is of no known form.
    """
    location = found.listing.location
    by_node: Mapping[str, list[FileRef]] = defaultdict(list)
    is_relative = False
    for file, claim in found.monitored:
        is_relative |= _is_relative(found.listing.path, location, file, claim)
        by_node[claim.node].append(file)
    info = replace(info, clock=Clock.RELATIVE if is_relative else Clock.UNIX)
    parts = node_parts(by_node, location, info, utc_offset_s=utc_offset_s)
    return JobProfile(info=info, parts=parts, notes=problems.notes())


def _is_relative(path: str, location: Location, file: FileRef, claim: Claim) -> bool:
    """Return whether times of a file count from its start; refuse one that is none of its form."""
    name = printable(without_host(PurePosixPath(file.key).name))
    if file.size_bytes == 0:
        raise FormatError(
            f"{name} is empty: its program wrote nothing, or has only begun.", path=path
        )
    head = location.read_range(file.key, 0, _HEAD_BYTES)
    if not format_of(claim.format_id).looks_like(head):
        raise FormatError(
            f"{name} does not begin as files of this kind do.",
            hint="It may be damaged, or of another program.",
            path=path,
        )
    return not format_of(claim.format_id).has_base(head)


def is_monitored(ref: PartRef) -> bool:
    """Return whether the files of a part are those of another monitoring program."""
    return any(format_of(file.format_id).role is FileRole.MONITORING for file in ref.files)


def read_monitored(ref: PartRef, *, on_progress: OnProgress | None = None) -> NodeProfile:
    """Read one node that another program monitored; a damaged file is read as far as it goes."""
    problems = Diagnostics()
    rows, series, read = monitored_rows(ref, problems, on_progress=on_progress)
    system = table_of(rows, series)
    monitoring = _monitoring(read, ref.kept)
    _remark(system, monitoring, problems)
    return NodeProfile(
        node=ref.node,
        job=ref.job,
        system=system,
        spans=empty_spans(),
        recorded=RecordedNode(node=ref.node, gpus=monitoring.gpus) if monitoring.gpus else None,
        monitoring=monitoring,
        notes=problems.notes(),
    )


def monitored_rows(
    ref: PartRef, problems: Diagnostics, *, on_progress: OnProgress | None = None
) -> tuple[Rows, Sequence[Series], Sequence[Monitored]]:
    """Return the samples of a node in its range by time, their series, and what its files say else.

    Each series has one sample at an instant.
    """
    location = open_part(ref)
    read = [_read_file(ref, location, place, problems) for place in range(len(ref.files))]
    if any(found.is_local for found in read) and ref.utc_offset_s is None:
        problems.remark(_SAY_LOCAL)
    codes, parts = Codes(), list[Rows]()
    for file, found in zip(ref.files, read, strict=True):
        ahead_s = ref.utc_offset_s or 0 if found.is_local else 0
        parts.append(_rows_of(found, codes, file.key, problems, ahead_s=ahead_s))
        if on_progress is not None:
            on_progress(parts[-1].n_rows, file.size_bytes)
        parts[-1] = cut_rows(parts[-1], ref.kept)
    rows = join_rows(parts)
    parts.clear()  # a long job takes much memory
    rows, n_twice = drop_duplicates(rows)
    problems.add(Quality.LINES_DUPLICATE, "", n_twice)
    what = _SAY_READ.replace("NODE", ref.node).replace("NAME", read[0].source)
    problems.add(Quality.FILES_READ, "", len(read), what=what)
    remark_changes(location, problems)
    return rows, tuple(codes), read


def _read_file(ref: PartRef, location: Location, place: int, problems: Diagnostics) -> Monitored:
    file = ref.files[place]
    read: MonitoringReader | None = format_of(file.format_id).read
    assert read is not None
    claim = claim_of(file, ref.node) or Claim(format_id=file.format_id, node=ref.node)
    event_file = EventFile(location=location, key=file.key, size_bytes=file.size_bytes, claim=claim)
    blocks = read_file_blocks(location, file.key, file.size_bytes, problems)
    return read(event_file, blocks, problems=problems)


def _monitoring(read: Sequence[Monitored], kept: TimeRange | None) -> Monitoring:
    last = read[-1]
    progress = [_cut(one, kept) for found in read for one in found.progress]
    return Monitoring(
        source=last.source,
        gpus=tuple(last.gpus),
        exit_code=last.exit_code,
        is_ended=last.is_ended,
        progress=tuple(progress),
    )


def _cut(progress: Progress, kept: TimeRange | None) -> Progress:
    if kept is None:
        return progress
    time_ns, step = _inside(progress.time_ns, progress.step, kept)
    logged = {name: _inside(*series, kept) for name, series in progress.logged.items()}
    return replace(progress, time_ns=time_ns, step=step, logged=logged)


def _inside(time_ns: Integers, values: Floats, kept: TimeRange) -> tuple[Integers, Floats]:
    is_inside = kept.meets(time_ns, time_ns)
    return time_ns[is_inside], values[is_inside]


def _remark(system: SystemTable, monitoring: Monitoring, problems: Diagnostics) -> None:
    if system.interval_ns is not None and system.interval_ns >= _COARSE_NS:
        every = format_ns(system.interval_ns)
        problems.remark(
            f"{monitoring.source} kept one value of each metric every {every}: a pause or a dip "
            "that is shorter cannot be seen here."
        )


def _rows_of(
    found: Monitored, codes: Codes, key: str, problems: Diagnostics, *, ahead_s: int
) -> Rows:
    """Return the samples of a file that can be: finite, in range, at a time of this age."""
    time_s, code, value = found.taken()
    time_s = time_s - ahead_s if ahead_s else time_s
    series = found.codes.series
    is_known = np.array([one.kind is not None for one in series], dtype=np.bool_)
    is_kept = is_known[code] if code.size else np.zeros(0, dtype=np.bool_)
    is_real = (
        np.isfinite(value) & (time_s >= (0.0 if found.is_relative else LEAST_S)) & (time_s < MOST_S)
    )
    problems.add(Quality.VALUES_BROKEN, key, int(np.count_nonzero(is_kept & ~is_real)))
    is_kept &= is_real
    time_us = np.rint(time_s[is_kept] * 1e6).astype(np.int64)
    rows = Rows(time_us=time_us, code=code[is_kept], value=value[is_kept])
    del time_s, code, value, time_us
    rows = _with_rates(rows, found.counters)
    limits = limits_of(series)
    is_possible = (rows.value >= limits.least[rows.code]) & (rows.value <= limits.most[rows.code])
    n_impossible = int(np.count_nonzero(~is_possible & ~np.isnan(rows.value)))
    problems.add(Quality.SAMPLES_OUT_OF_RANGE, key, n_impossible)
    rows = rows.where(is_possible)
    return replace(rows, code=codes.of(series)[rows.code]) if series else rows


def _with_rates(rows: Rows, counters: set[int]) -> Rows:
    """Return the samples with counters as rates by the second, NaN at the start of one.

    A fall of a counter is a start from anew.
    """
    order = np.flatnonzero(np.isin(rows.code, sorted(counters)))
    order = order[np.lexsort((rows.time_us[order], rows.code[order]))]
    counted = rows.where(order)
    passed_us, rise = np.diff(counted.time_us), np.diff(counted.value)
    is_rate = (np.diff(counted.code) == 0) & (passed_us > 0) & (rise >= 0)
    value = rows.value.copy()
    value[order] = np.nan
    value[order[1:][is_rate]] = rise[is_rate] / (passed_us[is_rate] / 1e6)
    return replace(rows, value=value)


def table_of(rows: Rows, series: Sequence[Series]) -> SystemTable:
    """Return samples, sorted by time, on a grid of ticks.

    The interval is the usual one of the densest series.
    """
    if not rows.n_rows:
        return empty_system()
    starts, interval_us = _ticks(rows)
    starts_us = rows.time_us[starts]
    tick = np.searchsorted(starts, np.arange(rows.n_rows), side="right") - 1
    present = np.unique(rows.code).tolist()
    keys = [(item.type, device_order(item.name), item.dimension) for item in series]
    present.sort(key=keys.__getitem__)
    by_code = {code: np.flatnonzero(rows.code == code) for code in present}

    def column(place: int) -> Floats:
        values = np.full(starts_us.size, np.nan)
        places = by_code[present[place]]
        values[tick[places]] = rows.value[places]
        return values

    columns = stored(column, n_columns=len(present), n_rows=starts_us.size)
    return SystemTable(
        tick_ns=starts_us * NS_PER_US,
        series=tuple(series[code] for code in present),
        columns=columns,
        first_ns=int(rows.time_us[0]) * NS_PER_US,
        last_ns=int(rows.time_us[-1]) * NS_PER_US,
        interval_ns=None if interval_us is None else interval_us * NS_PER_US,
        n_samples=sum(count_present(columns)),
    )


def _ticks(rows: Rows) -> tuple[NDArray[np.intp], int | None]:
    """Return (n_rows,) which samples, sorted by time, begin a tick, and the usual time between two.

    Stamps within half an interval are one tick, unless a series is there twice.
    """
    own_us = rows.time_us[rows.code == np.argmax(np.bincount(rows.code))]
    interval_us = int(np.median(np.diff(own_us))) if own_us.size > 1 else None
    if interval_us is not None and interval_us >= US_PER_S:
        interval_us = round(interval_us, -5)
    within_us = (interval_us or 0) * _SAME_TICK_RATIO
    stamps = np.flatnonzero(np.diff(rows.time_us, prepend=rows.time_us[0] - 1))
    seen_at = np.full(int(rows.code.max()) + 1, -1, dtype=np.int64)
    starts: list[int] = []
    for first, stop in pairwise([*stamps.tolist(), rows.n_rows]):
        codes = rows.code[first:stop]
        is_late = not starts or rows.time_us[first] - rows.time_us[starts[-1]] > within_us
        if is_late or (seen_at[codes] == starts[-1]).any():
            starts.append(first)
        seen_at[codes] = starts[-1]
    return np.array(starts, dtype=np.intp), interval_us
