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
            the last event for event files, 0 for files that were never closed.
    """

    format_id: FormatId
    job_prefix: str
    node: str = ""
    worker: str = ""
    source: SpanSource = SpanSource.OTHER
    stamp: int = 0


_END_MARKER = re.compile(r"(?P<job>(?:.*/)?)(?:system|framework)/training_job_end\.ts")
_SYSTEM = re.compile(r"(?P<job>(?:.*/)?)system/(?:.*/)?(?P<stamp>\d{10})\.(?P<node>[^/]+)\.json")
_EVENTS = re.compile(
    r"(?P<job>(?:.*/)?)framework/(?:.*/)?pevents/(?:.*/)?"
    r"(?P<stamp>\d{1,18})_(?P<id>[^/]+)_(?P<suffix>[^/_.]+)\.json"
)
_UNFINISHED = re.compile(
    r"(?P<job>(?:.*/)?)framework/(?:.*/)?(?P<id>[^/]+)_(?P<suffix>[^/_.]+)(?:\.json)?\.tmp"
)
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
    if match := _EVENTS.fullmatch(key):
        return _event_claim(match, stamp=int(match["stamp"]))
    if match := _UNFINISHED.fullmatch(key):
        return _event_claim(match, stamp=0)
    return None


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
