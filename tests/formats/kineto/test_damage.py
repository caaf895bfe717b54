"""Each kind of broken trace that is met in the wild is read as far as it goes, and counted."""

from __future__ import annotations

import gzip
import json
import random
from typing import Any

import pytest

from reportgen.formats.kineto.trace_file import TraceFile
from reportgen.profile.trace_tables import n_rows
from tests.traces import (
    START_US,
    header,
    kernel,
    launch,
    ranked,
    read_text,
    small_events,
    span,
    trace_text,
)

ALL_NAMES = ["gemm", "relu", "gemm", "relu"]


def kernels_of(trace: TraceFile) -> list[str]:
    return [trace.tables.names[code] for code in trace.tables.gpu_ops.name]


def many_events(count: int) -> list[dict[str, Any]]:
    return [kernel(10.0 * number, 5.0, number, name=f"k{number}") for number in range(count)]


@pytest.mark.parametrize("share", [0.35, 0.5, 0.75, 0.99])
def test_a_truncated_trace_keeps_every_whole_event_and_counts_the_rest(share: float) -> None:
    text = trace_text(many_events(200))
    cut = text[: int(text.index('"traceEvents"') + share * len(text) * 0.9)]

    trace = read_text(cut)

    names = kernels_of(trace)
    assert names == [f"k{number}" for number in range(len(names))]
    assert cut.count('"args"') - 1 <= len(names) <= cut.count('"args"')
    assert trace.text.losses.is_unclosed
    if f'"k{len(names)}"' in cut:
        assert trace.text.losses.bytes_cut_off >= len(cut) - cut.index(f'"k{len(names)}"')


def test_a_truncated_packed_trace_is_read_up_to_the_break() -> None:
    packed = gzip.compress(trace_text(many_events(3000)).encode())

    trace = read_text(packed[: len(packed) // 2])

    assert 500 < n_rows(trace.tables.gpu_ops) < 3000
    assert trace.text.packing.is_cut_off


def test_damaged_packed_bytes_are_told() -> None:
    packed = bytearray(gzip.compress(trace_text(many_events(3000)).encode()))
    packed[len(packed) // 2 : len(packed) // 2 + 40] = bytes(40)

    trace = read_text(bytes(packed))

    assert n_rows(trace.tables.gpu_ops) < 3000
    assert trace.text.packing.is_damaged


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (b"ge\x01\xffm", "ge��m"),
        (b'say "hello", and "bye"', 'say "hello", and "bye"'),
        (rb"torch\cuda\nn.py(3): f", r"torch\cuda\nn.py(3): f"),
    ],
    ids=["control characters and wrong bytes", "quotes", "backslashes of Windows"],
)
def test_a_name_that_is_no_json_costs_no_event(written: bytes, name: str) -> None:
    trace = read_text(trace_text().encode().replace(b'"gemm"', b'"' + written + b'"', 2))

    assert kernels_of(trace) == [name, "relu", name, "relu"]
    assert trace.text.losses.places_repaired == 2
    assert trace.text.losses.events_lost == 0


@pytest.mark.parametrize(
    "damaged",
    [
        '"correlation": 0,\n "queued": ',
        '"correlation": 0,\n "queued": , "x": 1',
        '"correlation": 0,,\n "x": 1',
        '"correlation": 0, ',
        '"correlation": 0, "x": N/A, "y": NaN, "z": [-nan, Infinity]',
    ],
)
def test_missing_values_and_commas_too_many_are_repaired(damaged: str) -> None:
    before, after = trace_text().rsplit('"correlation": 0', 1)

    trace = read_text(before + damaged + after)

    assert kernels_of(trace) == ALL_NAMES
    assert trace.text.losses.events_lost == 0
    assert trace.text.losses.places_repaired >= 1


def test_a_list_without_its_bracket_is_read_with_what_follows() -> None:
    text = trace_text(head=header(distributedInfo={"rank": 5, "world_size": 8}))
    text = text.replace('\n  ],\n  "traceName"', ',\n  "traceName"')

    trace = read_text(text)

    assert kernels_of(trace) == ALL_NAMES
    assert trace.header.rank == 5
    assert trace.text.losses.places_repaired == 1


def test_two_ranks_that_wrote_one_file_at_once_give_what_is_whole() -> None:
    first, second = trace_text(many_events(40)), trace_text(many_events(40)[20:])
    middle, tear = len(first) // 2, len(second) // 3
    text = first[:middle] + second[tear : 2 * tear] + first[middle:]

    trace = read_text(text)

    lost = (
        trace.text.losses.events_lost
        + trace.text.losses.places_repaired
        + trace.tables.bad_durations
    )
    assert 40 <= n_rows(trace.tables.gpu_ops) < 60
    assert lost >= 1
    assert {f"k{number}" for number in range(17)} <= set(kernels_of(trace))
    assert "k39" in kernels_of(trace)


def test_the_same_document_twice_counts_once() -> None:
    trace = read_text(trace_text() + trace_text())

    assert kernels_of(trace) == ALL_NAMES
    assert trace.text.n_documents == 2
    assert trace.n_left_out == len(small_events())


def test_another_rank_in_the_same_file_is_left_out_and_the_first_rank_counts() -> None:
    trace = read_text(ranked(0) + ranked(1))

    assert kernels_of(trace) == ALL_NAMES
    assert trace.header.rank == 0


def test_of_a_key_that_stands_twice_the_last_counts() -> None:
    text = trace_text().replace(
        "{", '{"distributedInfo": {"rank": 1}, "distributedInfo": {"rank": 3},', 1
    )

    assert read_text(text).header.rank == 3


@pytest.mark.parametrize("duration_us", [2.0**64, 18446744073709551615, -3.0, 8 * 86_400e6])
def test_durations_that_overflow_are_dropped_and_counted(duration_us: float) -> None:
    trace = read_text(trace_text([*small_events(), kernel(60.0, duration_us, 99)]))

    assert kernels_of(trace) == ALL_NAMES
    assert trace.tables.bad_durations == 1
    assert trace.tables.gpu_ops.end_ns.max() == 180_000


def test_an_event_far_from_all_others_does_not_stretch_the_time() -> None:
    odd = kernel(0.0, 5.0, 99) | {"ts": 12.0}
    trace = read_text(trace_text([odd | {"ts": START_US - 8 * 86_400e6}, *small_events()]))

    assert kernels_of(trace) == ALL_NAMES
    assert trace.tables.bad_times == 1
    assert trace.tables.origin_ns == 1000 * int(START_US)


def test_of_more_gpus_than_any_machine_has_the_first_are_kept_and_the_rest_counted() -> None:
    events = [kernel(10.0, 5.0, 100 + number, device=number) for number in range(1_030)]

    trace = read_text(trace_text([*small_events(), *events]))

    assert trace.tables.beyond_devices == 6
    assert set(trace.tables.gpu_ops.device) == set(range(1_024))


def test_an_absurd_end_of_recording_is_no_event() -> None:
    end = {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 9e18}

    trace = read_text(trace_text([*small_events(), end]))

    assert trace.tables.gpu_ops.end_ns.max() == 180_000
    assert trace.tables.bad_times == 0


def test_hundreds_of_thousands_of_metadata_events_cost_only_their_bytes() -> None:
    name = json.dumps({"ph": "M", "name": "thread_name", "pid": 1, "args": {"name": "t" * 30}})
    noise = ",\n".join([name] * 300_000)
    trace = read_text(trace_text().replace('"traceEvents": [', f'"traceEvents": [\n{noise},', 1))

    assert trace.categories.total() == 300_000 + len(small_events())
    assert kernels_of(trace) == ALL_NAMES


@pytest.mark.parametrize("block_bytes", [1, 7, 100, 1 << 20])
def test_where_blocks_end_does_not_matter(block_bytes: int) -> None:
    assert kernels_of(read_text(trace_text(), block_bytes=block_bytes)) == ALL_NAMES


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"traceEvents": []}', '{"traceEvents": [', '{"traceEvents": [}', "\0" * 99,
     '{"traceEvents": [{"ph": "X"}]}', '{"traceEvents": [{}, 3, null, "x", [1]]}'],
)  # fmt: skip
def test_a_trace_without_events_is_empty_and_no_failure(text: str) -> None:
    trace = read_text(text)

    assert n_rows(trace.tables.gpu_ops) == 0
    assert n_rows(trace.tables.slices) == 0


def test_one_damaged_event_in_a_long_trace_costs_one_event() -> None:
    text = trace_text(many_events(30_000)).replace('"k15000"', '"k15000', 1)

    trace = read_text(text)

    assert n_rows(trace.tables.gpu_ops) >= 29_999
    assert trace.text.losses.events_lost + trace.text.losses.places_repaired == 1


def test_overlapping_spans_are_all_kept() -> None:
    events = [kernel(0.0, 10.0, 1), kernel(8.0, 10.0, 2), launch(0, 1), launch(1, 2)]

    ops = read_text(trace_text(events)).tables.gpu_ops

    assert ops.end_ns.tolist() == [10_000, 18_000]
    assert not ops.is_overrun.any()


def test_an_end_far_behind_the_next_start_is_cut_to_it() -> None:
    events = [kernel(0.0, 500.0, 1), kernel(80.0, 10.0, 2), span("cpu_op", "x", 0, 1)]

    ops = read_text(trace_text(events)).tables.gpu_ops

    assert ops.is_overrun.tolist() == [True, False]
    assert ops.end_ns.tolist() == [80_000, 90_000]
    assert ops.duration_ns.tolist() == [500_000, 10_000]


@pytest.mark.parametrize(
    ("whole", "damaged"),
    [
        ('"dur": 30.0', '"dur": 0030'),
        ('"device": 0', '"doc": "he said "no, never" to me",\n "device": 0'),
    ],
    ids=["a number that is none", "quotes in an argument"],
)
def test_what_cannot_be_read_costs_its_event_and_no_more(whole: str, damaged: str) -> None:
    trace = read_text(trace_text().replace(whole, damaged, 1))

    assert kernels_of(trace) == ALL_NAMES[1:]
    assert trace.text.losses.events_lost == 1


def test_random_damage_is_never_a_failure_and_times_stay_possible() -> None:
    noise = random.Random(7)
    whole = trace_text(many_events(300)).encode()
    for _ in range(60):
        text = bytearray(whole)
        for _ in range(noise.randint(1, 6)):
            at, size = noise.randrange(len(text)), noise.randint(1, 80)
            text[at : at + size] = noise.choice(
                [b"", bytes(size), text[:size], b'"', b"}", b"]", b"\xff\\", b"1e999", b"{"]
            )
        ops = read_text(bytes(text)).tables.gpu_ops
        assert (ops.end_ns >= ops.start_ns).all()
        assert (ops.duration_ns >= 0).all()
