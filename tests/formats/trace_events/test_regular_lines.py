"""Regular lines of timelines: taken from the bytes, they are what the decoder reads."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.formats import Diagnostics
from reportgen.formats.json_text import to_text
from reportgen.formats.trace_events.events import decode_lines
from reportgen.formats.trace_events.file_events import read_batches, read_event_file
from reportgen.formats.trace_events.regular_lines import read_regular
from reportgen.formats.trace_events.rows import Vocabulary
from reportgen.profile import NO_STEP
from tests.formats.trace_events.in_words import in_words


def read(content: bytes) -> dict[str, Any]:
    vocabulary, problems = Vocabulary(), Diagnostics()
    events = read_event_file(content, "t.json", problems, vocabulary=vocabulary)
    return in_words(events, vocabulary, vocabulary.arguments.table()) | {"notes": problems.notes()}


def read_line_by_line(content: bytes) -> dict[str, Any]:
    """Read with the decoder alone."""
    vocabulary, problems = Vocabulary(), Diagnostics()
    text = to_text(content)[0].encode("utf-8", "surrogateescape")
    batches = [decode_lines(text, 1, "t.json", problems, is_last=True)]
    events = read_batches(batches, "t.json", problems, vocabulary=vocabulary)
    return in_words(events, vocabulary, vocabulary.arguments.table()) | {"notes": problems.notes()}


def is_regular(content: bytes) -> bool:
    return read_regular(content) is not None


BASE = (
    '{"name": "process_name", "ph": "M", "pid": 0, '
    '"args": {"start_time_since_epoch_in_micros": 1783071000000000}}'
)
NAMED = '{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "Forward"}}'
RENAMED = '{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "Backward"}}'
SORTED = '{"name": "process_sort_index", "ph": "M", "pid": 1, "args": {"sort_index": 1}}'


def event(ts: object = 5, dur: object = 7, name: str = '"conv1"', args: str = "{}") -> str:
    return f'{{"name": {name}, "pid": 1, "ph": "X", "ts": {ts}, "dur": {dur}, "args": {args}}}'


STEP_0, STEP_1 = '{"pid": 27, "step_num": "0"}', '{"pid": 27, "step_num": "1"}'
PLAIN = [BASE, SORTED, NAMED, event(args=STEP_0), NAMED, SORTED, event(2**50, args=STEP_1)]


def lines(*of: str, between: str = ",\n", before: str = "[\n", after: str = "\n]\n") -> bytes:
    return (before + between.join(of) + after).encode()


REGULAR = {
    "closed": lines(*PLAIN),
    "open": lines(*PLAIN, after=",\n"),
    "no-brackets": lines(*PLAIN, before="", after=""),
    "metadata-last": lines(*PLAIN, event(), BASE, RENAMED),
    "renamed": lines(NAMED, event(), RENAMED, event(), NAMED, event(), RENAMED, event()),
    "based-again": lines(*PLAIN, BASE.replace("1783", "1784"), event(9), *PLAIN),
    "keys-in-other-order": lines(
        '{"pid": 2, "name": "a", "ph": "X", "ts": 1, "dur": 0, "args": {}}', event()
    ),
    "spaces": lines(BASE.replace(": ", " :  "), event().replace('{"name"', '  { "name"')),
    "escapes": lines(event(name='"\\u0066c \\"X\\", \\ud83d\\ude00 \\\\"')),
    "letters-in-a-name": lines(event(name='"é },{ X"'), event(name='"ph\\": \\"X"')),
    "not-utf-8": lines(event(args='{"layer": "?"}')).replace(b"?", b"\xff"),
    "seventeen-digits": lines(event(10**16), event(5, 10**17)),
    "same-key-twice": lines(event(args='{"step_num": 1, "step_num": 2}')),
    "quotes-in-a-text": lines(event(args='{"note": "\\": 5, \\"pid\\": 6},", "pid": 3}')),
    "truth": lines(event(args='{"pin_memory": true, "num_workers": 4}')),
    "labels": lines(*(event(args=f'{{"layer_name": "conv{n % 2}"}}') for n in range(9))),
    "compact-arguments": lines(event(args='{"step_num":3}'), event(args='{"step_num":-3.5}')),
    "largest-numbers": lines(event(9_199_999_999_999_999, 9_999_999_999_999_999), event(0, 0)),
}  # fmt: skip
OTHER = {
    "odd-arguments": lines(event(args="null"), event(args='"text"'), event(args='{"pid": []}')),
    "nested": lines(event(args='{"step_num": "3", "a": {"b": [1, {"c": "}},"}]}, "d": null}')),
    "none": b"",
    "nothing": b"[\n]\n",
    "metadata": lines(BASE, NAMED),
    "no-commas": lines(*PLAIN, between="\n"),
    "crlf": lines(*PLAIN, between=",\r\n"),
    "bom": b"\xef\xbb\xbf" + lines(*PLAIN),
    "utf-16": lines(*PLAIN).decode().encode("utf-16"),
    "two-on-a-line": lines(*PLAIN, between=", "),
    "an-array-inside": lines(*PLAIN, after="\n]\n[\n" + event() + "\n]\n"),
    "empty-object-last": lines(*PLAIN, "{}"),
    "fractions": lines(event("5.25"), event(5, "7.5")),
    "exponents": lines(event("5e3"), event(5, "7E2")),
    "negative": lines(event(-5), event(5, -7)),
    "spare-zeros": lines(event("05"), event(5, "07"), event("00")),
    "null": lines(event("null"), event(5, "null")),
    "text": lines(event('"5"'), event(5, '"7"')),
    "no-arguments": lines('{"name": "a", "pid": 1, "ph": "X", "ts": 5, "dur": 7}'),
    "after-arguments": lines(event()[:-1] + ', "name": "last wins", "ts": 70}'),
    "thread-before": lines('{"tid": 3, "ph": "X", "ts": 5, "dur": 7, "args": {}}'),
    "arguments-before": lines('{"args": {"pid": 5}, "ph": "X", "ts": 5, "dur": 7, "args": {}}'),
    "inside-of-arguments": lines('{"args": {"ph": "X", "ts": 5, "dur": 7, "args": {}}}'),
    "inside-of-a-name": lines('{"name": "X", "ts": 5, "dur": 7, "args": {}, "ph": "X"}'),
    "compact": lines(event().replace(": ", ":").replace(", ", ",")),
    "marks": lines(event(), event().replace('"X"', '"B"'), event(9).replace('"X"', '"E"')),
    "instant": lines(event(), event().replace('"X"', '"i"')),
    "cut-off": lines(*PLAIN)[:-30],
    "cut-in-a-number": lines(*PLAIN).rpartition(b"99906")[0],
    "broken-line": lines(event(), event(args="{"), event(args="{}}"), event(9)),
    "balanced-together": lines(
        *(event(args=args) for args in ('{"a": [{}', '{"b": 1}]}', "{}, {}"))
    ),
    "a-name-not-utf-8": lines(event(), event(name='"?"'), event()).replace(b"?", b"\xff"),
    "a-zero-byte": lines(event(), event(name='"?"'), event()).replace(b"?", b"\0"),
    "a-zero-byte-between": lines(event(), event()).replace(b",\n", b",\0\n"),
}  # fmt: skip


@pytest.mark.parametrize("content", REGULAR.values(), ids=REGULAR)
def test_regular_lines_are_read_as_the_decoder_reads_them(content: bytes) -> None:
    assert is_regular(content)
    assert read(content) == read_line_by_line(content)


@pytest.mark.parametrize("content", OTHER.values(), ids=OTHER)
def test_what_is_not_regular_is_left_to_the_decoder(content: bytes) -> None:
    assert not is_regular(content)
    assert read(content) == read_line_by_line(content)


def test_events_are_where_their_numbers_say() -> None:
    found = read(REGULAR["closed"])
    assert found["start_ns"] == [1783071000000005000, (1783071000000000 + 2**50) * 1000]
    assert found["phase"] == ["Forward", "Forward"]
    assert found["step"] == [0, 1]


def test_what_many_lines_have_in_common_is_decoded_once() -> None:
    found = read_regular(lines(NAMED, event(), *[NAMED, event(args=STEP_0)] * 50))
    assert found is not None
    assert len(found.heads) == 2
    assert [args.step_num for args in found.args] == [NO_STEP, "0"]


ARGUMENTS = (
    '{"pid": 27, "step_num": "?"}', '{"worker_id": ?, "pid": ?}', '{"name": "?", "step_num": 3}',
    '{"note": "at ? of many"}', '{"inner": {"step_num": ?, "pid": 3}, "pid": ?}', '{"pid": ?.5}',
)  # fmt: skip
NUMBERS = ["0", "41", "007", "-7", "7.0", "7e1", "12345678901234567", '"7"', "true", "", "}{"]


@given(
    st.lists(
        st.builds(str.replace, st.sampled_from(ARGUMENTS), st.just("?"), st.sampled_from(NUMBERS)),
        max_size=12,
    ),
    st.sampled_from([",\n", "\n", ",\r\n", ", "]),
)
def test_any_arguments_are_read_as_the_decoder_reads_them(args: list[str], between: str) -> None:
    content = lines(*(event(args=one) for one in args), between=between)
    assert read(content) == read_line_by_line(content)


TEXTS = st.text(st.sampled_from('X"\\,{}[]: \nMts09é\u2028😀'), max_size=8).map(json.dumps)
WHOLE = st.one_of(st.integers(0, 99), st.integers(0, 2**53), st.sampled_from(["00", "1.5", -1]))
LINES = st.one_of(
    st.builds(event, WHOLE, WHOLE, TEXTS, st.sampled_from([STEP_0, STEP_1, "{}"])),
    st.builds(event, WHOLE, WHOLE, TEXTS, TEXTS.map('{{"step_num": 4, "layer": {}}}'.format)),
    st.sampled_from([NAMED, RENAMED, SORTED, BASE, BASE.replace("1783", "1784")]),
    st.sampled_from(["", "{}", "]", "["]),
)


@given(
    st.lists(LINES, max_size=12),
    st.sampled_from([",\n", ",\n", ",\n", "\n", ", ", ",\r\n", " ,\n"]),
    st.sampled_from(["\n]\n", "\n]", "\n", ",\n", ""]),
)
def test_any_lines_are_read_as_the_decoder_reads_them(
    of: list[str], between: str, after: str
) -> None:
    content = lines(*of, between=between, after=after)
    assert read(content) == read_line_by_line(content)
