"""How amounts are written for people, and how they add up."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen import text, units


@pytest.mark.parametrize(
    ("duration_s", "said"),
    [
        (0.0000005, "0 µs"),
        (0.00025, "250 µs"),
        (0.85, "850 ms"),
        (0.9996, "1 s"),
        (12.43, "12.4 s"),
        (59.99, "60 s"),
        (698, "11 min 38 s"),
        (3599.7, "1 h 00 min"),
        (7500, "2 h 05 min"),
        (-3, "-3 s"),
        (0.0009996, "1 ms"),
        (-0.0000004, "0 µs"),
    ],
)
def test_durations_are_said_in_fitting_units(duration_s: float, said: str) -> None:
    assert text.format_duration(duration_s) == said


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (999_700, "1 MB"),
        (1_560_000, "1.56 MB"),
        (4.55e9, "4.55 GB"),
        (1e18, "1 EB"),
    ],
)
def test_sizes_are_said_with_decimal_prefixes(size: float, said: str) -> None:
    assert text.format_bytes(size) == said


def test_keys_of_instants_are_written_as_aws_writes_them() -> None:
    assert units.seconds_key(1_700_276_781_301_360_000) == "1700276781.30136"


def test_instants_are_written_with_microseconds_and_zone() -> None:
    assert units.iso_utc(1_783_071_021_501_238_000) == "2026-07-03T09:30:21.501238Z"
    assert units.iso_utc(units.parse_instant("0042-01-02")) == "0042-01-02T00:00:00.000000Z"


@pytest.mark.parametrize("text", ["1783071060000", "1783071060000000", "202607030931"])
def test_a_number_that_is_no_unix_seconds_is_no_instant(text: str) -> None:
    with pytest.raises(ValueError, match="Unix seconds"):
        units.parse_instant(text)


def test_the_minute_of_an_instant_is_in_microseconds() -> None:
    assert units.minute_start_us(1_783_071_021_501_238_000) == 1_783_071_000_000_000


def test_all_of_the_time_has_no_finite_speed_up() -> None:
    assert units.speedup_at_most(1.0) is None
    assert units.speedup_at_most(0.5) == 2.0


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=12))
def test_percentages_add_up_to_a_hundred(parts: list[float]) -> None:
    shares = units.percentages(parts)

    if sum(parts) > 0:
        assert round(sum(shares), 6) == 100
        for part, share in zip(parts, shares, strict=True):
            assert abs(share - 100 * part / sum(parts)) <= 0.1
    else:
        assert set(shares) == {0.0}


def test_a_share_reads_the_same_in_a_list_and_alone() -> None:
    parts = (10.155, 65.7, 23.7, 0.445)

    shares = units.percentages(parts)

    assert [text.format_pct(share) for share in shares] == [
        text.format_pct(100 * part / sum(parts)) for part in parts
    ]


def test_the_examples_in_docstrings_hold() -> None:
    assert doctest.testmod(units).failed == 0


def test_percentages_of_amounts_whose_sum_is_beyond_any_number_add_up() -> None:
    assert units.percentages((1e308, 1e308, 2e307), decimals=1) == (45.5, 45.4, 9.1)
