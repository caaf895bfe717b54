"""Traces of TensorFlow's profiler, and the files beside them (docs/formats.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from reportgen.formats.diagnostics import Diagnostics
from reportgen.formats.format import Claim, EventFile, FileRole, Format, of_job, worker_of
from reportgen.formats.kineto.salvage import Decoding
from reportgen.formats.kineto.text import TraceText
from reportgen.formats.trace_events.events import JsonEvent, decode_event, decode_events
from reportgen.formats.trace_events.file_events import FileEvents, read_batches
from reportgen.formats.trace_events.rows import Vocabulary
from reportgen.profile import Quality, SpanSource

_FOLDER = r"(?P<job>(?:.*/)?)framework/(?:.*/)?detailed_profiling/(?:.*/)?"
_TRACE = re.compile(_FOLDER + r"(?P<host>[^/]+)\.trace\.json(?:\.gz)?")
_LOG_FOLDER = re.compile(
    r"(?P<job>(?:.*/)?)plugins/profile/[^/]+/(?P<host>[^/]+?)(?<!\.pt)\.trace\.json(?:\.gz)?"
)
_TIMES = re.compile(_FOLDER + r"(?P<id>[^/]+)_(?P<start>\d{10,18})_(?P<end>\d{10,18})\.metadata")
_SUMMARY = re.compile(_FOLDER + r"(?:[^/]+\.pb|events\.out\.tfevents\.[^/]+)")
_MARKER = re.compile(r"aws_marker-(?P<phase>[^/]+)/(?P<name>.+)", re.DOTALL)
_SIGN = re.compile(rb'"/(?:host:CPU|device:[A-Z_]+:\d+)')
_CLOCK_NOTE = (
    "This trace of TensorFlow's profiler does not say when it began (no .metadata file that "
    "belongs to it). Its durations and operators count; its times are from its own start. These "
    "are lost: its time in the job, its steps among the job's steps, and the values of samples and "
    "of other timelines at that time."
)


def _trace(key: str) -> Claim | None:
    match = _TRACE.fullmatch(key) or _LOG_FOLDER.fullmatch(key)
    return match and replace(_claim_named(match["host"]), job_prefix=match["job"])


def _claim_named(host: str) -> Claim:
    return Claim(
        format_id=TENSORFLOW_TRACES.id, node=host, worker=host, source=SpanSource.TENSORFLOW
    )


def _times(key: str) -> Claim | None:
    match = _TIMES.fullmatch(key)
    if match is None:
        return None
    node, worker = worker_of(match["id"])
    return Claim(
        format_id=TENSORFLOW_TIMES.id,
        job_prefix=match["job"],
        node=node,
        worker=worker,
        stamp=int(match["end"]),
        start_us=int(match["start"]),
    )


def _read(
    file: EventFile, blocks: Iterable[bytes], *, problems: Diagnostics, vocabulary: Vocabulary
) -> FileEvents:
    batches = read_object_events(blocks, file.key, problems)
    origin_us = file.claim.start_us or None
    events = read_batches(batches, file.key, problems, vocabulary=vocabulary, origin_us=origin_us)
    return with_phases(events, vocabulary)


def with_phases(events: FileEvents, vocabulary: Vocabulary) -> FileEvents:
    """Return the events with the phases that SageMaker's hooks wrote into their names.

    ``aws_marker-ForwardPass/conv2d`` is ``conv2d`` in the phase ``ForwardPass``.
    """
    marked = [
        (code, match)
        for name, code in list(vocabulary.names.items())
        if isinstance(name, str) and (match := _MARKER.fullmatch(name))
    ]
    name, phase = events.name.copy(), events.phase.copy()
    for code, match in marked:
        rows = np.flatnonzero(events.name == code)
        name[rows] = vocabulary.names[match["name"]]
        phase[rows] = vocabulary.phases[match["phase"]]
    return replace(events, name=name, phase=phase) if marked else events


TENSORFLOW_TRACES = Format(
    id="tensorflow_profiler",
    role=FileRole.EVENTS,
    claims=_trace,
    looks_like=lambda head: b'"traceEvents"' in head and bool(_SIGN.search(head)),
    claim_named=_claim_named,
    read=_read,
    clock_note=_CLOCK_NOTE,
)
TENSORFLOW_TIMES = Format(id="tensorflow_metadata", role=FileRole.TIMES, claims=_times)
TENSORFLOW_SUMMARIES = of_job("tensorflow_summary", FileRole.NOTHING, _SUMMARY)


_DECODING = Decoding(decode=decode_events, repair=decode_event)
_SAY_NO_LIST = "{n} [file holds|files hold] no list of events"


def read_object_events(
    blocks: Iterable[bytes], key: str, problems: Diagnostics
) -> Iterator[list[JsonEvent]]:
    """Yield a file's events in their order, some thousands at a time, from bytes packed or not."""
    text = TraceText(blocks=blocks, decoding=_DECODING)
    for batch in text.batches():
        if not batch.document:
            yield batch.events
    problems.add(Quality.FILES_SKIPPED, key, int(not text.n_documents), what=_SAY_NO_LIST)
    text.tell_losses(key, problems)
