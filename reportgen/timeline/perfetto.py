"""Timelines as Perfetto's traces: https://perfetto.dev/docs/reference/synthetic-track-event.

The few fields are encoded here: the builder of the package ``perfetto`` writes 46,000 slices a
second, these columns 20 times as many. Times are nanoseconds and never rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import IO

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.trace_tables import NONE
from reportgen.timeline import wire
from reportgen.timeline.drawn import Ends, Written, arguments_of
from reportgen.timeline.lanes import Counter, Lane, LaneKind, PartLanes, Strips
from reportgen.timeline.nesting import CHUNK_ROWS, by_start, moments, nests_of

_PACKET = 1
_DETAIL = "detail"
_REALTIME, _BOOTTIME = 1, 6
_CLEARED, _NEEDS_STATE = 1, 2
_BEGIN, _END, _COUNTER = 1, 2, 4
_IN, _OUT = 1, 2
_EXPLICIT_ORDER = 3
_UNIT_BYTES = 3
_CATEGORIES = {kind: number for number, kind in enumerate(LaneKind, 1)}


class _In(IntEnum):
    """Fields of ``TracePacket``."""

    CLOCK_SNAPSHOT = 6
    TIMESTAMP = 8
    SEQUENCE = 10
    TRACK_EVENT = 11
    INTERNED = 12
    SEQUENCE_FLAGS = 13
    CLOCK = 58
    DEFAULTS = 59
    DESCRIPTOR = 60


class _Event(IntEnum):
    """Fields of ``TrackEvent``; the arrows are those of ``LegacyEvent``, one call to many ends."""

    CATEGORY = 3
    ANNOTATION = 4
    LEGACY = 6
    TYPE = 9
    NAME = 10
    TRACK = 11
    DOUBLE_VALUE = 44


class PerfettoWriter:
    """Writes parts, one after the other; of each only some thousand strips are held as bytes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.written = Written()
        self._stream = stream
        self._n_tracks = 0
        self._first_flow = 0

    def add(self, part: PartLanes, *, zero_ns: int) -> None:
        """Write a part whose origin is ``zero_ns``."""
        self.written.n_parts += 1
        self._begin(part, zero_ns)
        ends = Ends(part.arrows)
        self.written.n_arrows += part.arrows.n - ends.n_left_out
        self.written.n_arrows_left_out += ends.n_left_out
        tracks: list[int] = []
        for place, lane in enumerate(part.lanes):
            tracks.append(self._new_track())
            self._describe(part, lane, tracks, place)
            if lane.strips is not None:
                strips = by_start(lane.strips)
                given = [values for _, values in arguments_of(part, strips)]
                self._add_strips(lane, strips, given, ends, tracks, place, zero_ns)
            elif lane.track is not None:
                self._add_values(lane.track, tracks[-1], zero_ns)
        self._first_flow += int(part.arrows.flow.max(initial=0)) + 1

    def close(self) -> None:
        """End the file; nothing is left to write."""

    def _begin(self, part: PartLanes, zero_ns: int) -> None:
        """Write the state of a part's sequence: its clock, and all texts by number."""
        if self.written.n_parts == 1:
            now = [
                wire.message(1, wire.number(1, clock), wire.number(2, max(zero_ns, 0)))
                for clock in (_REALTIME, _BOOTTIME)
            ]
            snapshot = wire.message(_In.CLOCK_SNAPSHOT, *now, wire.number(2, _REALTIME))
            self._stream.write(wire.message(_PACKET, snapshot))
        defaults = wire.message(_In.DEFAULTS, wire.number(_In.CLOCK, _REALTIME))
        self._packet(defaults, wire.number(_In.SEQUENCE_FLAGS, _CLEARED))
        self._intern(1, {number: kind.value for kind, number in _CATEGORIES.items()})
        self._intern(2, dict(enumerate(part.names, 1)))
        self._intern(3, dict(enumerate((_DETAIL, *(item.name for item in part.arguments)), 1)))
        self._intern(29, dict(enumerate(part.details, 1)))

    def _intern(self, field: int, texts: dict[int, str]) -> None:
        for number, said in texts.items():
            entry = wire.message(field, wire.number(1, number), wire.text(2, said))
            self._packet(
                wire.message(_In.INTERNED, entry), wire.number(_In.SEQUENCE_FLAGS, _NEEDS_STATE)
            )

    def _packet(self, *fields: bytes) -> None:
        sequence = wire.number(_In.SEQUENCE, self.written.n_parts)
        self._stream.write(wire.message(_PACKET, *fields, sequence))

    def _new_track(self) -> int:
        self._n_tracks += 1
        return self._n_tracks

    def _describe(self, part: PartLanes, lane: Lane, tracks: list[int], place: int) -> None:
        """Write what a track is; a part's first lane, its group, is shown as a process."""
        fields = [wire.number(1, self._n_tracks), wire.number(11, _EXPLICIT_ORDER)]
        if lane.parent is None:
            process = wire.number(1, self.written.n_parts), wire.text(6, part.node)
            fields.append(wire.message(3, *process))
        else:
            fields += [wire.number(5, tracks[lane.parent]), wire.text(2, lane.label)]
            fields.append(wire.number(12, place))
        if lane.track is not None:
            is_bytes = lane.track.unit == "bytes"
            unit = wire.number(3, _UNIT_BYTES) if is_bytes else wire.text(6, lane.track.unit)
            fields.append(wire.message(8, unit))
        self._packet(wire.message(_In.DESCRIPTOR, *fields))

    def _add_strips(
        self,
        lane: Lane,
        strips: Strips,
        given: Sequence[NDArray[np.integer]],
        ends: Ends,
        tracks: list[int],
        place: int,
        zero_ns: int,
    ) -> None:
        nest = nests_of(strips)
        track_of_nest = [tracks[place]]
        for _ in range(int(nest.max(initial=0))):  # equal names are shown as one track
            track_of_nest.append(self._new_track())
            fields = wire.number(1, self._n_tracks), wire.text(2, lane.label)
            above = [] if lane.parent is None else [wire.number(5, tracks[lane.parent])]
            self._packet(wire.message(_In.DESCRIPTOR, *fields, *above, wire.number(12, place)))
        flow, is_out = ends.of(lane, strips)
        flow_of_file = np.where(flow > 0, flow.astype(np.int64) + self._first_flow, 0)
        track = np.array(track_of_nest)[nest]
        end_ns = strips.start_ns + strips.duration_ns
        category = _CATEGORIES[lane.kind]
        for row, begins in moments(strips.start_ns, end_ns):
            for piece in range(0, row.size, CHUNK_ROWS):
                at, here = row[piece : piece + CHUNK_ROWS], begins[piece : piece + CHUNK_ROWS]
                event = [
                    wire.numbers(_Event.TYPE, np.where(here, _BEGIN, _END)),
                    wire.numbers(_Event.TRACK, track[at]),
                    wire.numbers(_Event.NAME, strips.name[at] + 1, has=here),
                    wire.numbers(_Event.CATEGORY, np.full(at.size, category), has=here),
                    *_argument(1, 17, strips.detail[at] + 1, here & (strips.detail[at] > 0)),
                    *(
                        cells
                        for number, values in enumerate(given, 2)
                        for cells in _argument(number, 3, values[at], here & (values[at] != NONE))
                    ),
                    *_arrow(flow_of_file[at], is_out[at], here),
                ]
                time_ns = np.where(here, strips.start_ns[at], end_ns[at]) + zero_ns
                self._write_events(time_ns, event)
        self.written.n_slices += strips.n

    def _add_values(self, values: Counter, track: int, zero_ns: int) -> None:
        for first in range(0, values.time_ns.size, CHUNK_ROWS):
            rows = slice(first, first + CHUNK_ROWS)
            time_ns = values.time_ns[rows] + zero_ns
            event = [
                wire.numbers(_Event.TYPE, np.full(time_ns.size, _COUNTER)),
                wire.numbers(_Event.TRACK, np.full(time_ns.size, track)),
                wire.floats(_Event.DOUBLE_VALUE, values.value[rows]),
            ]
            self._write_events(time_ns, event)
        self.written.n_values += int(values.time_ns.size)

    def _write_events(self, time_ns: NDArray[np.int64], event: list[wire.Cells]) -> None:
        n_rows = time_ns.size
        packet = [
            wire.numbers(_In.TIMESTAMP, time_ns),
            wire.numbers(_In.SEQUENCE, np.full(n_rows, self.written.n_parts)),
            wire.numbers(_In.SEQUENCE_FLAGS, np.full(n_rows, _NEEDS_STATE)),
            *wire.messages(_In.TRACK_EVENT, event),
        ]
        self._stream.write(wire.rows_as_bytes(wire.messages(_PACKET, packet)))


def _argument(
    name: int, field: int, values: NDArray[np.integer], has: wire.Mask
) -> list[wire.Cells]:
    """Return an argument: its name by number, and in a field a number or that of a text."""
    if not has.any():
        return []
    parts = [
        wire.numbers(1, np.full(values.size, name), has=has),
        wire.numbers(field, np.where(has, values, 0), has=has),
    ]
    return wire.messages(_Event.ANNOTATION, parts, has=has)


def _arrow(flow: NDArray[np.int64], is_out: wire.Mask, begins: wire.Mask) -> list[wire.Cells]:
    has = begins & (flow > 0)
    if not has.any():
        return []
    direction = np.where(is_out, _OUT, _IN)
    parts = [wire.numbers(8, flow, has=has), wire.numbers(13, direction, has=has)]
    return wire.messages(_Event.LEGACY, parts, has=has)
