"""The files of a job of SageMaker's profiler, recognized by their keys (docs/formats.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from reportgen.formats.decompression import Packing, tell_packing, unpacked_whole
from reportgen.formats.diagnostics import Diagnostics
from reportgen.formats.format import Claim, EventFile, FileRole, Format, of_job, worker_of
from reportgen.formats.trace_events.file_events import FileEvents, read_event_file, with_instants
from reportgen.formats.trace_events.rows import Vocabulary
from reportgen.profile import SpanSource

_END_MARKER = re.compile(r"(?P<job>(?:.*/)?)(?:system|framework)/training_job_end\.ts")
_SYSTEM = re.compile(
    r"(?P<job>(?:.*/)?)system/(?:.*/)?(?P<stamp>\d{10})\.(?P<node>[^/]+)\.json(?:\.gz)?"
)
_EVENTS = re.compile(
    r"(?P<job>(?:.*/)?)framework/(?:.*/)?pevents/(?:.*/)?"
    r"(?P<stamp>\d{1,18})_(?P<id>[^/]+)_(?P<suffix>[^/_.]+)\.json(?:\.gz)?"
)
_UNFINISHED = re.compile(
    r"(?P<job>(?:.*/)?)framework/(?:.*/)?(?P<id>[^/]+)_(?P<suffix>[^/_.]+)(?:\.json)?\.tmp"
)
_CONFIG = re.compile(r"(?P<job>(?:.*/)?)profilerconfig\.json")
_BASE = b"start_time_since_epoch_in_micros"
_SOURCES = {source.value: source for source in SpanSource}

_SAY_UNTESTED = (
    "The job has timelines of SageMaker's data-parallel library. No real one was at hand when this "
    "version was written: they are read as timelines in general are, untested on real data."
)


def _timeline(key: str) -> Claim | None:
    match = _EVENTS.fullmatch(key)
    stamp = int(match["stamp"]) if match else 0
    match = match or _UNFINISHED.fullmatch(key)
    node_id, source = _writer(match["id"], match["suffix"]) if match else ("", None)
    if match is None or not node_id or source is None:
        return None
    node, worker = worker_of(node_id)
    return Claim(
        format_id=TIMELINES.id,
        job_prefix=match["job"],
        node=node,
        worker=worker,
        source=source,
        stamp=stamp,
    )


def _writer(node_id: str, suffix: str) -> tuple[str, SpanSource | None]:
    """Split ``27-algo-1_model`` + ``timeline`` into the node id and the writer."""
    if suffix != "timeline":
        return node_id, _SOURCES.get(suffix, SpanSource.OTHER)
    head, _, kind = node_id.rpartition("_")
    if kind == "merged":
        return head, None
    return head, _SOURCES.get(f"{kind}_timeline", SpanSource.OTHER)


def _read_timeline(
    file: EventFile, blocks: Iterable[bytes], *, problems: Diagnostics, vocabulary: Vocabulary
) -> FileEvents:
    packing = Packing()
    content = unpacked_whole(blocks, packing)
    tell_packing(packing, file.key, problems)
    events = read_event_file(content, file.key, problems, vocabulary=vocabulary)
    if file.claim.source is SpanSource.SMDATAPARALLEL:
        problems.remark(_SAY_UNTESTED)
    is_horovod = file.claim.source is SpanSource.HOROVOD
    return with_instants(events, vocabulary) if is_horovod else events


END_MARKERS = of_job("end_marker", FileRole.END, _END_MARKER)
SYSTEM_METRICS = of_job("sagemaker_system", FileRole.SAMPLES, _SYSTEM)
TIMELINES = Format(
    id="sagemaker_events",
    role=FileRole.EVENTS,
    claims=_timeline,
    read=_read_timeline,
    is_small=True,
    has_base=lambda head: _BASE in unpacked_whole((head,), Packing()),
)
PROFILER_CONFIGS = of_job("profiler_config", FileRole.SETTINGS, _CONFIG)
