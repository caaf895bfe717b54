"""A range of a kernel trace as a kernel trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reportgen.formats.kineto.cut import Copied, copy_events
from reportgen.units import NS_PER_US
from tests.traces import (
    START_US,
    Event,
    header,
    kernel,
    launch,
    read_text,
    small_events,
    span,
    trace_text,
)


def cut(text: str, start_us: float | None = None, end_us: float | None = None) -> bytes:
    def at(time_us: float | None) -> int | None:
        return None if time_us is None else round((START_US + time_us) * NS_PER_US)

    return b"".join(
        copy_events(lambda: [text.encode()], Copied(), low_ns=at(start_us), high_ns=at(end_us))
    )


def events_in(content: bytes) -> list[Any]:
    found: list[Any] = json.loads(content)["traceEvents"]
    return found


def test_without_a_range_every_event_is_there_as_it_was_written() -> None:
    text = trace_text()
    content = cut(text)
    assert events_in(content) == small_events()
    for event in text.split('"traceEvents": [\n')[1].split("\n  ],\n")[0].split(",\n  {"):
        assert event.strip(" {}\n").encode() in content


def test_a_range_keeps_what_overlaps_it_and_what_its_calls_started() -> None:
    late = [launch(10, 50), kernel(500, 10, 50), kernel(600, 10, 51), launch(590, 51)]
    flows: list[Event] = [
        {"ph": phase, "id": 50, "cat": "ac2g", "name": "ac2g", "ts": START_US + at, "pid": 1}
        for phase, at in (("s", 10), ("f", 500))
    ]
    named: list[Event] = [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "thread 1"}},
        {"ph": "M", "name": "unheard_of", "pid": 1, "tid": 1, "args": {"host": "node7"}},
    ]
    kept = events_in(cut(trace_text([*named, *late, *flows]), 5, 20))
    assert kept == [named[0], late[0], late[1], *flows]


def test_a_cut_is_a_kernel_trace() -> None:
    whole, part = read_text(trace_text()), read_text(cut(trace_text(), 100, 200))
    assert part.header == whole.header
    assert part.tables.steps.number.tolist() == [0, 1]
    assert part.tables.gpu_ops.name.size == 2


ROOT_HOME = Path("/", "root").as_posix()
"""Written apart: this is no path of the machine on which the test was written."""


@pytest.mark.parametrize(
    ("written", "copied"),
    [
        ("/home/ada/job/train.py(12): step", "~/job/train.py(12): step"),
        ("/Users/ada/x.py(1): f", "~/x.py(1): f"),
        ("C:\\Users\\ada\\x.py(1): f", "~\\x.py(1): f"),
        (f"{ROOT_HOME}/x.py(1): f", "~/x.py(1): f"),
        ("send to ada@node7.example.org", "send to …@…"),
        ("call api_key=abc", "call api_key=…"),
        ("/usr/lib/python3.11/threading.py(1): run", "/usr/lib/python3.11/threading.py(1): run"),
        ("void gemm<a::b, 3>(T*)", "void gemm<a::b, 3>(T*)"),
    ],
)
def test_texts_name_no_people(written: str, copied: str) -> None:
    [event] = events_in(cut(trace_text([span("python_function", written, 0, 1)])))
    assert event["name"] == copied


def test_the_header_names_neither_people_nor_machines() -> None:
    head = header(
        hostname="node7",
        env={"HOME": "/home/ada"},
        cmdline="python /home/ada/train.py",
        traceName="/home/ada/trace.json",
        distributedInfo={"backend": "nccl", "rank": 3, "world_size": 8, "master": "node7"},
        record_shapes=1,
    )
    content = cut(trace_text(head=head))
    assert b"ada" not in content
    assert b"node7" not in content
    told = json.loads(content)
    assert told["distributedInfo"] == {"backend": "nccl", "rank": 3, "world_size": 8}
    assert told["record_shapes"] == 1


def test_damaged_events_are_counted_and_left_out() -> None:
    copied = Copied()
    text = trace_text().replace('"name": "relu"', '"name": "re"lu"', 1)
    content = b"".join(copy_events(lambda: [text.encode()], copied))
    assert len(events_in(content)) == copied.n_events == len(small_events()) - 1
    assert copied.n_left_out == 1
