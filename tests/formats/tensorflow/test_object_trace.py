"""Traces that are one object with a list of events: whole, packed, cut off, damaged."""

from __future__ import annotations

import gzip
import json
from itertools import chain, repeat

import pytest

from reportgen.formats import Diagnostics
from reportgen.formats.kineto.text import CHUNK_BYTES
from reportgen.formats.tensorflow import read_object_events
from reportgen.profile import Quality

EVENTS = [
    {"ph": "X", "name": f"op {n} }}, {{", "pid": 1, "ts": n, "dur": 0.5, "args": {"id": str(n)}}
    for n in range(20)
]


def trace(*, indent: int | None = None) -> bytes:
    tree = {"displayTimeUnit": "ns", "metadata": {}, "traceEvents": [*EVENTS, {}]}
    return json.dumps(tree, indent=indent).encode()


def names(content: bytes, problems: Diagnostics, *, block_bytes: int = 7) -> list[str | None]:
    blocks = [content[at : at + block_bytes] for at in range(0, len(content), block_bytes)]
    batches = read_object_events(blocks, "t.json", problems)
    return [event.name for events in batches for event in events]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
def test_all_events_are_read_and_the_empty_object_at_the_end(indent, pack) -> None:
    problems = Diagnostics()
    assert names(pack(trace(indent=indent)), problems) == [event["name"] for event in EVENTS] + [""]
    assert problems.notes() == ()


def test_keys_after_the_list_of_events_do_not_matter() -> None:
    problems = Diagnostics()
    content = trace()[:-1] + b', "stackFrames": {"a": [1, 2]}}'
    assert len(names(content, problems)) == 21
    assert problems.notes() == ()


def test_a_trace_that_is_cut_off_keeps_what_came_before() -> None:
    problems = Diagnostics()
    content = trace()
    assert len(names(content[: content.index(b'"op 12')], problems)) == 12
    assert problems.count(Quality.BYTES_LOST) > 0


def test_a_packed_trace_that_is_cut_off_says_so() -> None:
    problems = Diagnostics()
    assert len(names(gzip.compress(b" " * 10 + trace())[:-40], problems)) < 21
    assert any("packed bytes" in note.text for note in problems.notes())


def test_a_damaged_event_costs_itself_alone() -> None:
    problems = Diagnostics()
    assert len(names(trace().replace(b'"ts": 7,', b'"ts": 7;', 1), problems)) == 20
    assert problems.count(Quality.EVENTS_DROPPED) == 1


def test_endless_white_space_is_given_up_with_a_note() -> None:
    problems = Diagnostics()
    blank = b" " * (8 << 20)
    blocks = chain([trace()[:-2] + b","], repeat(blank, 1_000_000))
    found = [event for events in read_object_events(blocks, "t", problems) for event in events]
    assert len(found) == 21
    assert any("white space" in note.text for note in problems.notes())


def test_a_file_without_events_is_skipped() -> None:
    problems = Diagnostics()
    assert names(b'{"a": 1}', problems) == []
    assert problems.count(Quality.FILES_SKIPPED) == 1


def test_large_traces_come_in_pieces_and_lose_nothing() -> None:
    event = json.dumps(EVENTS[0]).encode()
    n_events = 3 * CHUNK_BYTES // len(event)
    content = b'{"traceEvents": [' + b",".join([event] * n_events) + b"]}"
    batches = list(read_object_events([content[: 1 << 19], content[1 << 19 :]], "t", Diagnostics()))
    assert sum(map(len, batches)) == n_events
