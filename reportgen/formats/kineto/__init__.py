"""Kernel traces of the PyTorch profiler (Kineto): bytes to the tables of one rank.

``packing`` unpacks, ``text`` cuts the stream into events, ``pieces`` and ``repair`` save what is
damaged, ``columns`` collects, ``screen``, ``joins`` and ``words`` put in order, ``tables`` gives
the result; ``header``, ``head`` and ``names`` read what stands around the events.
"""

from reportgen.formats.kineto.head import HEAD_BYTES, head_text, looks_like_trace
from reportgen.formats.kineto.header import TraceHeader, read_header
from reportgen.formats.kineto.names import rank_in_key, stamp_in_key, worker_in_key
from reportgen.formats.kineto.tables import TraceTables
from reportgen.formats.kineto.trace_file import TraceFile, read_trace

__all__ = [
    "HEAD_BYTES",
    "TraceFile",
    "TraceHeader",
    "TraceTables",
    "head_text",
    "looks_like_trace",
    "rank_in_key",
    "read_header",
    "read_trace",
    "stamp_in_key",
    "worker_in_key",
]
