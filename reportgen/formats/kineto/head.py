"""The first bytes of a file: whether it is a kernel trace, and of which rank."""

from __future__ import annotations

import re
import zlib

from reportgen.formats.kineto.packing import GZIP

HEAD_BYTES = 256 << 10
"""What is looked at of each end. Source: measured, headers have up to 0.1 MB."""

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


def looks_like_trace(text: bytes) -> bool:
    """Return whether a file that begins so is a kernel trace.

    Edge cases: bare lists count when their events have the profiler's categories: timelines of
    other programs are bare lists too.
    """
    if _LIST.match(text):
        return bool(_LIST_SIGNS.search(text))
    return bool(_OBJECT.match(text) and _SIGNS.search(text))
