"""Timelines that other programs write: read block by block, as nobody limits their size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reportgen.errors import LocationError, PlaceError
from reportgen.formats import Claim, FileEvents, FormatId, Tally, Vocabulary, read_batches
from reportgen.formats.blank import noted_until_blank
from reportgen.formats.horovod import with_instants
from reportgen.formats.tensorflow import with_phases
from reportgen.formats.trace_events.runs import read_event_blocks
from reportgen.profile import Quality
from reportgen.storage import Location, read_blocks

_STREAMED = frozenset({FormatId.HOROVOD, FormatId.TENSORFLOW})
TIMELINES = _STREAMED | {FormatId.EVENTS}
"""The formats whose events become a node's spans."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFile:
    """One timeline of a node: where it lies and what its name says."""

    location: Location
    key: str
    size_bytes: int
    claim: Claim


def is_streamed(file: EventFile) -> bool:
    """Return whether a timeline is read block by block."""
    return file.claim.format_id in _STREAMED and file.size_bytes > 0


def read_streamed(file: EventFile, tally: Tally, *, vocabulary: Vocabulary) -> FileEvents:
    """Read a timeline of Horovod, or a trace of TensorFlow's profiler.

    Edge cases: a file that cannot be read any further ends there, with a note.
    """
    from reportgen.formats.kineto.packing import Packing, unpacked
    from reportgen.formats.object_trace import read_object_events

    blocks = _blocks(file, tally)
    if file.claim.format_id is FormatId.HOROVOD:
        packing = Packing()
        text = noted_until_blank(unpacked(blocks, packing), file.key, tally)
        batches = read_event_blocks(text, file.key, tally)
        events = read_batches(batches, file.key, tally, vocabulary=vocabulary)
        if packing.is_damaged or packing.is_cut_off:
            tally.remark("Its packed bytes are damaged; what follows is lost.", path=file.key)
        return with_instants(events, vocabulary)
    batches = read_object_events(blocks, file.key, tally)
    origin_us = file.claim.start_us or None
    events = read_batches(batches, file.key, tally, vocabulary=vocabulary, origin_us=origin_us)
    return with_phases(events, vocabulary)


def _blocks(file: EventFile, tally: Tally) -> Iterator[bytes]:
    try:
        yield from read_blocks(file.location, file.key, file.size_bytes)
    except PlaceError:
        raise
    except LocationError as err:
        what = "{n} [file|files] cannot be read to the end"
        tally.add(Quality.FILES_SKIPPED, file.key, what=what)
        tally.remark(err.message, path=file.key)
