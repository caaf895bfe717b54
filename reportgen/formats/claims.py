"""Which format a file belongs to, told from its key alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from reportgen.profile import SpanSource


class FormatId(StrEnum):
    """The formats this version reads."""

    SYSTEM = "sagemaker_system"
    EVENTS = "sagemaker_events"
    KERNELS = "kineto"
    HOROVOD = "horovod"
    TENSORFLOW = "tensorflow_profiler"
    TENSORFLOW_TIMES = "tensorflow_metadata"
    TENSORFLOW_SUMMARY = "tensorflow_summary"
    PYTHON_PROFILE = "python_profile"
    PYTHON_PAGE = "python_page"
    PROFILER_CONFIG = "profiler_config"
    END_MARKER = "end_marker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a file's key says about it.

    Attributes:
        format_id: the one format that reads it.
        job_prefix: what comes before ``system/`` or ``framework/``; empty or ends in ``/``.
        node: the node whose data it holds; empty for end markers.
        worker: ``algo-1-27`` for event files, else empty.
        source: the writer of an event file.
        stamp: the number in the name: seconds of the minute for system files, microseconds of
            the last event for event files, or of a profile's end; 0 for files that were never
            closed.
        start_us: when what a ``.metadata`` file stands for, or a Python profile, began; else 0.
    """

    format_id: FormatId
    job_prefix: str
    node: str = ""
    worker: str = ""
    source: SpanSource = SpanSource.OTHER
    stamp: int = 0
    start_us: int = 0


_END_MARKER = re.compile(r"(?P<job>(?:.*/)?)(?:system|framework)/training_job_end\.ts")
_SYSTEM = re.compile(r"(?P<job>(?:.*/)?)system/(?:.*/)?(?P<stamp>\d{10})\.(?P<node>[^/]+)\.json")
_EVENTS = re.compile(
    r"(?P<job>(?:.*/)?)framework/(?:.*/)?pevents/(?:.*/)?"
    r"(?P<stamp>\d{1,18})_(?P<id>[^/]+)_(?P<suffix>[^/_.]+)\.json"
)
_UNFINISHED = re.compile(
    r"(?P<job>(?:.*/)?)framework/(?:.*/)?(?P<id>[^/]+)_(?P<suffix>[^/_.]+)(?:\.json)?\.tmp"
)
_TENSORFLOW = re.compile(
    r"(?P<job>(?:.*/)?)framework/(?:.*/)?detailed_profiling/(?:.*/)?"
    r"(?P<host>[^/]+)\.trace\.json(?:\.gz)?"
)
_LOG_FOLDER = re.compile(
    r"(?P<job>(?:.*/)?)plugins/profile/[^/]+/(?P<host>[^/]+?)(?<!\.pt)\.trace\.json(?:\.gz)?"
)
_TENSORFLOW_TIMES = re.compile(
    r"(?P<job>(?:.*/)?)framework/(?:.*/)?detailed_profiling/(?:.*/)?"
    r"(?P<id>[^/]+)_(?P<start>\d{10,18})_(?P<end>\d{10,18})\.metadata"
)
_TENSORFLOW_SUMMARY = re.compile(
    r"(?P<job>(?:.*/)?)framework/(?:.*/)?detailed_profiling/(?:.*/)?"
    r"(?:[^/]+\.pb|events\.out\.tfevents\.[^/]+)"
)
_PROFILER_CONFIG = re.compile(r"(?P<job>(?:.*/)?)profilerconfig\.json")
_PYTHON = "/python_stats"
_WORKER = re.compile(r"(?P<pid>\d+)[-_](?P<node>.+)")


def claim(key: str) -> Claim | None:
    """Return what a key says about its file, or ``None`` when no format reads it.

    Example:
        >>> claim("system/incremental/2026070309/1783071000.algo-1.json").node
        'algo-1'
        >>> claim("framework/pevents/1783071061000000_27-algo-1_model_timeline.json").worker
        'algo-1-27'
    """
    if match := _END_MARKER.fullmatch(key):
        return Claim(format_id=FormatId.END_MARKER, job_prefix=match["job"])
    if match := _SYSTEM.fullmatch(key):
        return Claim(
            format_id=FormatId.SYSTEM,
            job_prefix=match["job"],
            node=match["node"],
            stamp=int(match["stamp"]),
        )
    return _claim_tensorflow(key) or _claim_timeline(key) or _claim_python(key)


def _claim_timeline(key: str) -> Claim | None:
    if match := _EVENTS.fullmatch(key):
        return _event_claim(match, stamp=int(match["stamp"]))
    if match := _UNFINISHED.fullmatch(key):
        return _event_claim(match, stamp=0)
    if match := _PROFILER_CONFIG.fullmatch(key):
        return Claim(format_id=FormatId.PROFILER_CONFIG, job_prefix=match["job"])
    return None


def _claim_tensorflow(key: str) -> Claim | None:
    """Return what the key of a file of TensorFlow's profiler says."""
    if match := _TENSORFLOW.fullmatch(key) or _LOG_FOLDER.fullmatch(key):
        return tensorflow_claim(match["host"], job_prefix=match["job"])
    if match := _TENSORFLOW_TIMES.fullmatch(key):
        node, worker = worker_of(match["id"])
        return Claim(
            format_id=FormatId.TENSORFLOW_TIMES,
            job_prefix=match["job"],
            node=node,
            worker=worker,
            stamp=int(match["end"]),
            start_us=int(match["start"]),
        )
    if match := _TENSORFLOW_SUMMARY.fullmatch(key):
        return Claim(format_id=FormatId.TENSORFLOW_SUMMARY, job_prefix=match["job"])
    return None


def _claim_python(key: str) -> Claim | None:
    """Return what the key of a Python profile says; other keys do not import its reader."""
    if _PYTHON not in key:
        return None
    from reportgen.formats.python_profile.names import profile_key

    told = profile_key(key)
    if told is None:
        return None
    if told.is_page:
        return Claim(format_id=FormatId.PYTHON_PAGE, job_prefix=told.job_prefix)
    node, worker = worker_of(told.node)
    return Claim(
        format_id=FormatId.PYTHON_PROFILE,
        job_prefix=told.job_prefix,
        node=node,
        worker=worker,
        stamp=told.interval.end.time_us,
        start_us=told.interval.start.time_us,
    )


def tensorflow_claim(host: str, *, job_prefix: str = "") -> Claim:
    """Return the claim of a trace of TensorFlow's profiler that a host wrote."""
    return Claim(
        format_id=FormatId.TENSORFLOW,
        job_prefix=job_prefix,
        node=host,
        worker=host,
        source=SpanSource.TENSORFLOW,
    )


def horovod_claim(node: str) -> Claim:
    """Return the claim of a timeline that Horovod itself wrote; its name says nothing."""
    return Claim(
        format_id=FormatId.HOROVOD,
        job_prefix="",
        node=node,
        worker=node,
        source=SpanSource.HOROVOD,
    )


def _event_claim(match: re.Match[str], *, stamp: int) -> Claim | None:
    node_id, source = _writer(match["id"], match["suffix"])
    if not node_id or source is None:
        return None
    node, worker = worker_of(node_id)
    return Claim(
        format_id=FormatId.EVENTS,
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


_SOURCES = {source.value: source for source in SpanSource}


def worker_of(node_id: str) -> tuple[str, str]:
    """Return (node, worker) of the id in a file's name: ``27-algo-1`` → ``algo-1, algo-1-27``.

    Edge cases: very old names without a process id (``0001``) are node and worker at once;
    ``4487_0000`` is process 4487 of node ``0000``. A local host name is the node.
    """
    match = _WORKER.fullmatch(node_id)
    if match is None:
        return node_id, node_id
    return match["node"], f"{match['node']}-{match['pid']}"
