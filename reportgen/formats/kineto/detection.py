"""Whether a file is a kernel trace, by its name or its first bytes, and of which rank."""

from __future__ import annotations

import re
import zlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from reportgen.formats.decompression import GZIP
from reportgen.formats.format import Claim, FileRole, Format, TraceHeader

if TYPE_CHECKING:
    from reportgen.formats.kernel_trace.tables import TraceTables

HEAD_BYTES = 256 << 10
"""Looked at of each end of a file: measured headers have up to 0.1 MB."""

_CANDIDATE = re.compile(
    r"(?!(?:.*/)?(?:system|framework)/|(?:.*/)?python_stats\.json$|.*_merged_timeline\.json$)"
    r".*\.(?i:json|trace|gz|tmp)"
)
_RANK = re.compile(
    r"(?<![A-Za-z])(?:rank|worker(?![-_.=]?\d+_\d+\.\d{10}))[-_.=]?(\d{1,6})(?!\d)", re.IGNORECASE
)
"""A worker before a process's number is a host: TensorBoard's ``<host>_<process>.<time>``."""
_STAMP = re.compile(r"\.(\d{10,19})\.")
_NAMED = re.compile(r".*\.pt\.trace\.json(?:\.gz)?(?:\.tmp)?")

_SIGNS = re.compile(
    rb'"(?:traceEvents|schemaVersion|deviceProperties|distributedInfo|baseTimeNanoseconds)"\s*:'
)
_LIST = re.compile(rb"\A[\s\xef\xbb\xbf]*\[\s*\{")
_LIST_SIGNS = re.compile(
    rb'"cat"\s*:\s*"(?:cpu_op|Operator|kernel|Kernel|cuda_runtime|Runtime|user_annotation|'
    rb'python_function)"|"pid"\s*:\s*"(?:CPU|CUDA) functions"'
)
_OBJECT = re.compile(rb"\A[\s\xef\xbb\xbf]*\{")


def head_text(head: bytes) -> bytes:
    """Return the first bytes of a file, unpacked if they are packed; empty if that fails."""
    if not head.startswith(GZIP):
        return head
    try:
        return zlib.decompressobj(31).decompress(head, HEAD_BYTES)
    except zlib.error:
        return b""


def looks_like_trace(head: bytes) -> bool:
    """Return whether a file that begins so is a kernel trace.

    Edge cases: bare lists count when their events have the profiler's categories: timelines of
    other programs are bare lists too.
    """
    if _LIST.match(head):
        return bool(_LIST_SIGNS.search(head))
    return bool(_OBJECT.match(head) and _SIGNS.search(head))


def _claim_named(name: str) -> Claim:  # noqa: ARG001  # only the content says which rank it is
    return Claim(format_id=KERNEL_TRACES.id)


def _named_trace(key: str) -> Claim | None:
    """Claim a file by its name, so that the report can say what is wrong with a damaged one."""
    is_one = _NAMED.fullmatch(key) and _CANDIDATE.fullmatch(key)
    return _claim_named(key) if is_one else None


def rank_in_key(key: str) -> int | None:
    """Return the rank that a file's name says, else the folder's: ``rank-3.pt.trace.json``."""
    for part in reversed(PurePosixPath(key).parts):
        match = _RANK.search(part)
        if match:
            return int(match[1])
    return None


def stamp_in_key(key: str) -> int:
    """Return the time in a file's name, whatever its unit, or 0."""
    match = _STAMP.search(PurePosixPath(key).name)
    return int(match[1]) if match else 0


def worker_in_key(key: str) -> str:
    """Return the constant part of the names of one process's traces.

    Example:
        >>> worker_in_key("tb/host_2113.1795274438178583583.pt.trace.json")
        'tb/host_2113.pt.trace.json'
    """
    return _STAMP.sub(".", key)


def _read(*part: Any, **options: Any) -> tuple[TraceHeader, TraceTables]:
    """Read a part; the reader is imported where there is a trace."""
    from reportgen.formats.kineto.trace_file import read_part

    return read_part(*part, **options)


KERNEL_TRACES = Format(
    id="kineto",
    role=FileRole.KERNELS,
    claims=_named_trace,
    may_be=_CANDIDATE,
    looks_like=looks_like_trace,
    claim_named=_claim_named,
    read=_read,
)
