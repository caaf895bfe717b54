"""Perfetto's traces as the generated classes of the package ``perfetto`` read them."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import pytest

from reportgen.timeline.lanes import Lane, LaneKind, PartLanes, Track, strips_of
from reportgen.timeline.perfetto import PerfettoWriter

protos = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")

ORIGIN_NS = 1_782_967_788_000_000_000


def lanes(n_strips: int = 3, n_names: int = 300) -> PartLanes:
    starts = np.arange(n_strips, dtype=np.int64) * 10
    code = np.arange(n_strips) % n_names
    strips = strips_of(starts, np.full(n_strips, 7), code, detail=code % 2)
    values = np.array([1.5, -2.0])
    return PartLanes(
        node="rank 0",
        origin_ns=ORIGIN_NS,
        is_unix=True,
        lanes=(
            Lane(kind=LaneKind.RANK, label="rank 0"),
            Lane(kind=LaneKind.THREAD, label="thread 1", parent=0, strips=strips),
            Lane(
                kind=LaneKind.COUNTER,
                label="memory",
                parent=0,
                track=Track(time_ns=np.array([0, 5]), value=values, unit="bytes"),
            ),
        ),
        names=tuple(f"name {number}" for number in range(n_names)),
        details=("", "grid 8"),
    )


def packets_of(part: PartLanes) -> list[Any]:
    stream = BytesIO()
    writer = PerfettoWriter(stream)
    writer.add(part, zero_ns=part.origin_ns)
    writer.close()
    trace = protos.Trace()
    trace.ParseFromString(stream.getvalue())
    return list(trace.packet)


@pytest.mark.parametrize("n_strips", [1, 3, 70_000])
def test_begins_and_ends_are_read_back(n_strips: int) -> None:
    packets = packets_of(lanes(n_strips))
    names = {
        entry.iid: entry.name for packet in packets for entry in packet.interned_data.event_names
    }
    events = [packet for packet in packets if packet.HasField("track_event")]
    begins = [packet for packet in events if packet.track_event.type == 1]
    ends = [packet for packet in events if packet.track_event.type == 2]
    assert [packet.timestamp - ORIGIN_NS for packet in begins] == list(range(0, 10 * n_strips, 10))
    assert [packet.timestamp - ORIGIN_NS for packet in ends] == list(range(7, 10 * n_strips, 10))
    said = [names[packet.track_event.name_iid] for packet in begins]
    assert said == [f"name {place % 300}" for place in range(n_strips)]
    assert not any(packet.track_event.name_iid for packet in ends)


def test_details_are_arguments_and_samples_are_counters() -> None:
    packets = packets_of(lanes())
    texts = {
        entry.iid: entry.str
        for packet in packets
        for entry in packet.interned_data.debug_annotation_string_values
    }
    events = [packet.track_event for packet in packets if packet.HasField("track_event")]
    details = [texts[note.string_value_iid] for event in events for note in event.debug_annotations]
    assert details == [b"grid 8"]
    assert [event.double_counter_value for event in events if event.type == 4] == [1.5, -2.0]


def test_tracks_form_a_tree_below_a_process() -> None:
    tracks = [packet.track_descriptor for packet in packets_of(lanes()) if packet.HasField(
        "track_descriptor"
    )]  # fmt: skip
    group, thread, memory = tracks
    assert group.process.process_name == "rank 0"
    assert (thread.name, thread.parent_uuid) == ("thread 1", group.uuid)
    assert memory.counter.unit == protos.CounterDescriptor.UNIT_SIZE_BYTES
