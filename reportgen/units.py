"""Time and ratios: constants and conversions. ``reportgen.text`` writes them for people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from math import isinf

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
NS_PER_MINUTE = 60 * NS_PER_S
US_PER_S = 1_000_000
S_PER_HOUR = 3_600
LATEST_US = 9_200_000_000_000_000
"""About the year 2261: int64 nanoseconds end there."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS = re.compile(r"[+-]?\d{1,10}(\.\d{1,9})?")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?")


def seconds(time_ns: int) -> float:
    """Convert nanoseconds to seconds with the rounding of Python integers.

    Source: AWS's keys are ``str(ns / 10**9)``; numpy's division differs in the last digit.
    """
    return int(time_ns) / NS_PER_S


def round_factors() -> Iterator[int]:
    """Yield 1, 2, 5, 10, 20, 50 and so on without end."""
    return (10**power * step for power in count() for step in (1, 2, 5))


def seconds_key(time_ns: int) -> str:
    """Write an instant as AWS's rules key their bottlenecks: ``"1700276781.30136"``."""
    return str(seconds(time_ns))


def minute_start_us(time_ns: int) -> int:
    """Return the start of the UTC minute that holds ``time_ns``, in microseconds."""
    return int(time_ns) // NS_PER_MINUTE * NS_PER_MINUTE // NS_PER_US


def iso_utc(time_ns: int) -> str:
    """Write an instant as ISO 8601 in UTC with microseconds and ``Z``."""
    moment = _EPOCH + timedelta(microseconds=int(time_ns) // NS_PER_US)
    return moment.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def parse_instant(text: str) -> int:
    """Return an instant in ns: ISO 8601 (UTC where it names no zone) or Unix seconds.

    Raises:
        ValueError: neither of them, or in UTC before the year 1 or after 9999.
    """
    bare = text.strip()
    if _SECONDS.fullmatch(bare):
        return int(Decimal(bare) * NS_PER_S)
    if _NUMBER.fullmatch(bare):  # Python reads 1783071060000 as a day of the year 1783
        raise ValueError(f"{bare} is too long for Unix seconds")
    try:
        return instant_of(datetime.fromisoformat(bare))
    except OverflowError as err:
        raise ValueError(str(err)) from err


def instant_of(moment: datetime) -> int:
    """Return a moment in ns; one that names no zone is in UTC."""
    in_utc = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (in_utc - _EPOCH) // timedelta(microseconds=1) * NS_PER_US


def speedup_at_most(share_ratio: float) -> float | None:
    """Return the largest possible speed-up if ``share_ratio`` of the time vanished.

    Args:
        share_ratio: recoverable share of the time, in 0-1.

    Returns:
        1 / (1 - share), rounded to 2 decimals, or ``None`` when the share is all of it.

    Source: Amdahl's law with the recoverable part taken to zero.
    """
    return round(1 / (1 - share_ratio), 2) if share_ratio < 1 else None


def pct_of(part: float, whole: float) -> float:
    """Return a part in percent of the whole, 0 of nothing."""
    return 100 * part / whole if whole > 0 else 0.0


def ratio_of(part: float, whole: float) -> float | None:
    """Return a part as a ratio for the metrics, ``None`` of nothing."""
    return round(part / whole, 6) if whole > 0 else None


def percentages(parts: Sequence[float], *, decimals: int = 4) -> tuple[float, ...]:
    """Return parts as percentages of their sum that add up to exactly 100.

    Args:
        parts: amounts >= 0.
        decimals: digits after the point. With 1 they also add up to 100 when written, but a part
            may then read 0.1 % more or less than where it is written alone; 4 read the same.

    Returns:
        One percentage per part, rounded by the method of the largest remainder; zeros when
        the sum is 0.

    Example:
        >>> percentages((1, 1, 1), decimals=1)
        (33.4, 33.3, 33.3)
    """
    total = sum(parts)
    if total <= 0:
        return tuple(0.0 for _ in parts)
    scale = 10**decimals
    if isinf(100 * scale * total):
        return percentages([part / max(parts) for part in parts], decimals=decimals)
    exact = [100 * scale * part / total for part in parts]
    floors = [int(value) for value in exact]
    missing = 100 * scale - sum(floors)
    by_remainder = sorted(range(len(parts)), key=lambda index: floors[index] - exact[index])
    for index in by_remainder[:missing]:
        floors[index] += 1
    return tuple(value / scale for value in floors)
