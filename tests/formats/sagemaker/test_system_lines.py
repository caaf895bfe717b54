"""Minute files of every variant, read line by line."""

from __future__ import annotations

import math

import pytest

from reportgen.formats.sagemaker.system_lines import read_lines
from reportgen.profile import Series
from tests.builders import START_S, series, system_line

LINES = [system_line("cpu0", value, START_S + value) for value in (1.0, 2.0, 3.0)]


def values(content: bytes) -> list[float]:
    return [sample.value for sample in read_lines(content).samples]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(LINES) + "\n",
        "\n".join(LINES),
        "\r\n".join(LINES),
        "\n\n".join(LINES),
        "[\n" + ",\n".join(LINES) + "\n]\n",
        "[" + ",".join(LINES) + "]",
        "[\n" + ",\n".join(LINES) + ",\n",
        LINES[0] + LINES[1] + "\n" + LINES[2],
        LINES[0] + " " + LINES[1] + ",\n" + LINES[2],
        "\n".join(LINES).replace(",", ",\n "),
    ],
    ids=[
        "plain", "no-end", "crlf", "blank", "array", "one-line", "open-array", "two", "comma",
        "object-over-lines",
    ],
)  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_every_layout_in_every_encoding_gives_the_same_samples(text: str, encoding: str) -> None:
    reading = read_lines(text.encode(encoding))
    assert [sample.value for sample in reading.samples] == [1.0, 2.0, 3.0]
    assert [sample.time_s for sample in reading.samples] == [START_S + n for n in (1, 2, 3)]
    assert {sample.series for sample in reading.samples} == {series("cpu0")}
    assert (reading.broken_lines, reading.bytes_lost) == ([], 0)


def test_an_old_line_with_spaces_and_seven_digits_is_read() -> None:
    line = (
        b'{"Type": "cpu", "Name":"cpu1", "Dimension": "CPUUtilization", "Value":5.3,'
        b'"NodeId":"algo-1","Timestamp":1591160799.5570894}'
    )
    (sample,) = read_lines(line).samples
    assert (sample.value, sample.time_s, sample.node) == (5.3, 1591160799.5570894, "algo-1")


def test_a_missing_name_is_the_type_and_a_missing_dimension_is_empty() -> None:
    (sample,) = read_lines(b'{"Type":"cpu","Value":5,"Timestamp":1}').samples
    assert sample.series == Series("cpu", "cpu", "")


def test_a_truncated_last_line_is_counted_with_its_bytes() -> None:
    reading = read_lines(("\n".join(LINES[:2]) + "\n" + LINES[2][:40]).encode())
    assert len(reading.samples) == 2
    assert (reading.broken_lines, reading.bytes_lost) == ([3], 40)


@pytest.mark.parametrize(
    "garbage",
    [
        b"garbage } { ",
        b"\x00" * 30,
        b'{"Type":"cpu","Name":"c\xff\xfe"}',
        b"[" * 5000,
        b"12",
        b'"text"',
        b"null",
        b"[1, 2]",
        b'{"Name":"cpu0","Value":1,"Timestamp":1}',
        b'{"Type":"cpu","Value":1}',
        b'{"Type":"cpu","Value":1,"Timestamp":"noon"}',
        b'{"Type":"cpu","Value":1,"Timestamp":NaN}',
        b'{"Type":"cpu","Value":1,"Timestamp":' + b"9" * 5000 + b"}",
    ],
)
def test_garbage_in_the_middle_costs_one_line(garbage: bytes) -> None:
    reading = read_lines(LINES[0].encode() + b"\n" + garbage + b"\n" + LINES[2].encode() + b"\n")
    assert [sample.value for sample in reading.samples] == [1.0, 3.0]
    assert (reading.broken_lines, reading.bytes_lost) == ([2], 0)


def test_what_stands_before_garbage_on_a_line_is_kept() -> None:
    reading = read_lines((LINES[0] + LINES[1] + "{oops").encode())
    assert [sample.value for sample in reading.samples] == [1.0, 2.0]
    assert reading.broken_lines == [1]


@pytest.mark.parametrize("value", ["NaN", "null", '"many"', "{}", "1" * 400])
def test_a_value_that_is_no_number_is_nan(value: str) -> None:
    (sample,) = read_lines(system_line("cpu0", value, START_S).encode()).samples
    assert math.isnan(sample.value)


def test_infinity_and_numbers_in_quotes_are_numbers() -> None:
    text = "\n".join(system_line("cpu0", value, START_S) for value in ("Infinity", '"7.5"'))
    assert values(text.encode()) == [math.inf, 7.5]


def test_lone_surrogates_in_names_become_writable() -> None:
    (sample,) = read_lines(b'{"Type":"cpu","Name":"c\\ud800","Value":1,"Timestamp":1}').samples
    assert sample.series.name == "c\\ud800"


def test_an_empty_file_holds_nothing() -> None:
    reading = read_lines(b"")
    assert (reading.samples, reading.broken_lines) == ([], [])
