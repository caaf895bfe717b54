"""Traces of TensorFlow's profiler: what their events mean (formats.md §4.3, §6)."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from reportgen.formats.trace_events.file_events import FileEvents
from reportgen.formats.trace_events.rows import Vocabulary

_MARKER = re.compile(r"aws_marker-(?P<phase>[^/]+)/(?P<name>.+)", re.DOTALL)
_SIGN = re.compile(rb'"/(?:host:CPU|device:[A-Z_]+:\d+)')


def looks_like_tensorflow(text: bytes) -> bool:
    """Return whether a trace that begins so is one of TensorFlow's profiler."""
    return b'"traceEvents"' in text and bool(_SIGN.search(text))


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
