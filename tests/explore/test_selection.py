"""Instants as people pass them: one number for each, or an error that says what to pass."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from reportgen.errors import ConfigError
from reportgen.explore.selection import instant_ns

NS = 1_783_071_021_500_000_000
ORIGIN_US = 1_783_071_000_000_000
MOMENT = datetime(2026, 7, 3, 9, 30, 21, 500_000, tzinfo=UTC)


@pytest.mark.parametrize(
    "instant",
    [
        "2026-07-03T09:30:21.5Z",
        "2026-07-03T11:30:21.5+02:00",
        "1783071021.5",
        "2026-07-03T09:30:21:500000",
        21_500_000,
        np.int64(21_500_000),
        ORIGIN_US + 21_500_000,
        1_783_071_021.5,
        np.float64(1_783_071_021.5),
        MOMENT,
        MOMENT.replace(tzinfo=None),
        MOMENT.astimezone(timezone(timedelta(hours=-7))),
        np.datetime64(NS, "ns"),
        np.datetime64(NS // 1000, "us"),
        np.datetime64(NS // 1_000_000, "ms"),
    ],
)
def test_an_instant_is_the_same_however_it_is_passed(instant: Any) -> None:
    assert instant_ns(instant, origin_us=ORIGIN_US) == NS


def test_nanoseconds_are_kept() -> None:
    assert instant_ns(np.datetime64(NS + 7, "ns"), origin_us=0) == NS + 7


@pytest.mark.parametrize(
    "instant",
    [
        "soon",
        "0001-01-01T00:00+14:00",
        "9999-12-31T23:00-14:00",
        math.nan,
        1_783_071_021,
        21_500_000.0,
        1_783_071_021_500_000.0,
        math.inf,
        np.datetime64("NaT"),
        date(2026, 7, 3),
        None,
    ],
)
def test_what_is_no_time_is_refused_in_words(instant: Any) -> None:
    with pytest.raises(ConfigError, match="is not a time"):
        instant_ns(instant, origin_us=ORIGIN_US)
