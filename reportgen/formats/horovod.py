"""Timelines that Horovod writes (docs/formats.md).

A phase is a tensor. ``NEGOTIATE_*`` lasts from the first rank that is ready to reduce it to the
last; an event named by a number says when that rank was ready. Only the coordinator writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from reportgen.formats.decompression import Packing, tell_packing, unpacked_text
from reportgen.formats.diagnostics import Diagnostics
from reportgen.formats.format import Claim, EventFile, FileRole, Format
from reportgen.formats.trace_events.file_events import FileEvents, read_batches, with_instants
from reportgen.formats.trace_events.rows import Vocabulary
from reportgen.formats.trace_events.runs import read_event_blocks
from reportgen.profile import SpanSource

_CANDIDATE = re.compile(
    r"(?!(?:.*/)?(?:system|profiler-report|profiler-reports|rule-output)/)"
    r".*\.(?i:json|timeline|tmp|gz)"
)
_LIST = re.compile(rb"\A[\s\xef\xbb\xbf]*\[")
_SIGN = re.compile(rb'"(?:NEGOTIATE_[A-Z]+|CYCLE_START)"')
_CLOCK_NOTE = (
    "Horovod wrote this timeline itself. Its clock counts from the start of one machine, so its "
    "times cannot be compared with other data: they are counted from its first event."
)


def _claim_named(name: str) -> Claim:
    return Claim(format_id=HOROVOD.id, node=name, worker=name, source=SpanSource.HOROVOD)


def _read(
    file: EventFile, blocks: Iterable[bytes], *, problems: Diagnostics, vocabulary: Vocabulary
) -> FileEvents:
    packing = Packing()
    batches = read_event_blocks(unpacked_text(blocks, packing), file.key, problems)
    events = read_batches(batches, file.key, problems, vocabulary=vocabulary)
    tell_packing(packing, file.key, problems)
    return with_instants(events, vocabulary)


HOROVOD = Format(
    id="horovod",
    role=FileRole.EVENTS,
    may_be=_CANDIDATE,
    looks_like=lambda head: bool(_LIST.match(head) and _SIGN.search(head)),
    claim_named=_claim_named,
    read=_read,
    clock_note=_CLOCK_NOTE,
    counts_from_first=True,
)
