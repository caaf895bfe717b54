"""Timelines of Horovod: what their events mean (formats.md §5.1).

A phase is a tensor. ``NEGOTIATE_*`` lasts from the first rank that is ready to reduce it to the
last; an event named by a number says when that rank was ready. Only the coordinator writes.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from reportgen.formats.trace_events.file_events import FileEvents
from reportgen.formats.trace_events.rows import Vocabulary

HEAD_BYTES = 65_536
"""What is looked at of a file to see whether it is such a timeline. Source: ours."""

_LIST = re.compile(rb"\A[\s\xef\xbb\xbf]*\[")
_SIGN = re.compile(rb'"(?:NEGOTIATE_[A-Z]+|CYCLE_START)"')
_RANK = re.compile(r"\d{1,7}", re.ASCII)


def looks_like_horovod(text: bytes) -> bool:
    """Return whether a file that begins so is a timeline that Horovod wrote."""
    return bool(_LIST.match(text) and _SIGN.search(text))


def with_instants(events: FileEvents, vocabulary: Vocabulary) -> FileEvents:
    """Return the events with ranks' ready marks as instants.

    They are written as spans, and some copies hold a clock's value as their duration.
    """
    ranks = [
        code
        for name, code in vocabulary.names.items()
        if isinstance(name, str) and _RANK.fullmatch(name)
    ]
    if not ranks:
        return events
    is_mark = np.isin(events.name, ranks)
    end_ns = np.where(is_mark, events.start_ns, events.end_ns)
    times_ns = [end_ns] if events.loose is None else [end_ns, events.loose.time_ns]
    last_ns = max((int(times.max()) for times in times_ns if times.size), default=None)
    return replace(events, end_ns=end_ns, last_ns=last_ns)
