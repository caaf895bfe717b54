"""Whether a file is a kernel trace: by its name, or by its first bytes."""

from __future__ import annotations

import re
import zlib

from reportgen.formats.format import Claim, FileRole, Format
from reportgen.formats.kineto.packing import GZIP

HEAD_BYTES = 256 << 10
"""Looked at of each end of a file: measured headers have up to 0.1 MB."""

_CANDIDATE = re.compile(
    r"(?!(?:.*/)?(?:system|framework)/|(?:.*/)?python_stats\.json$|.*_merged_timeline\.json$)"
    r".*\.(?i:json|trace|gz|tmp)"
)
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


KERNEL_TRACES = Format(
    id="kineto",
    role=FileRole.KERNELS,
    claims=_named_trace,
    may_be=_CANDIDATE,
    looks_like=looks_like_trace,
    claim_named=_claim_named,
)
