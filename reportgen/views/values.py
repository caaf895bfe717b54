"""Numbers and names as people read them: units, thousands, times, long and hostile names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial

from reportgen.results import Column, ColumnType, Scalar
from reportgen.text import format_bytes, format_count, format_duration, format_pct, list_names
from reportgen.text_safety import clean, cut_middle

ABSENT = "–"
_LONGEST_NAME = 96
_LONGEST_LABEL = 28
_LONGEST_LISTED = 48
_UNIT_UP_TO = 80
"""Longer ones are hostile: ours have 40 characters."""
LONGEST_TEXT = 1_500
_LONGEST_HOVER = 2_000
_UNIX_FROM_S = 1e8
_MOMENTS = 1 << 13
"""Instants that are kept written: the charts of a time axis share theirs."""

_EARLIEST_S, _LATEST_S = -62_135_596_800.0, 253_402_300_799.0
"""The first second of the year 1 and the last of 9999, between which Python has dates."""
_FEW_DECIMALS_FROM = 1_000.0
_WHOLE_SECONDS_FROM_S, _WHOLE_SECONDS_ALWAYS_FROM_S = 10.0, 3600.0
"""Between these lengths, whole seconds only where they are as far apart as the length says."""
_FINE_WITHIN_S = 10.0
_MOST_DECIMALS = 9
"""Seconds have at most nine: times are counted in nanoseconds."""
_PCT = re.compile(r"\bpct\b")
_TIME_NAMES = re.compile(r"(^|_)(time|start|end|first|last|began|ended|timestamp)_u?s$")
_HEADINGS = {
    "algorithm_gb_per_s": "algorithm bandwidth",
    "aws_pct": "SageMaker's share",
    "bus_gb_per_s": "bus bandwidth",
    "gb_per_s": "bandwidth",
    "gpu_s": "GPU time",
    "loader_worker": "loader process",
    "n_ticks": "samples",
    "steps_per_s": "steps per second",
    "ticks": "samples",
    "worker": "training process",
}
"""Columns whose names say nothing once their unit is taken off."""
_SHORT_WORDS = re.compile(r"\b(cpu|gpu|gpus|io)\b")
_LONG_WORDS = {"cpu": "CPU", "gpu": "GPU", "gpus": "GPUs", "io": "I/O"}
_MOMENT_NAMES = re.compile(r"(^|_)(start|end)_u?s$")
_UNIT_SUFFIX = re.compile(r"_(ns|us|ms|s|pct|ratio|bytes|hz|per_s|bytes_per_s)$")
_NUMBER_AND_UNIT = re.compile(r"(?<=\d) (?=%|(?:[µm]?s|min|h|[kMGTP]?B)\b)")
_WITHIN_DURATION = re.compile(r"(?:(?<=\bmin) (?=\d\d\ss\b)|(?<=\bh) (?=\d\d\smin\b))")
_COUNTED = re.compile(r"[A-Za-z]{3}(?<![siu])(?<!bp)s$")
SECONDS_PER = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
BYTES = frozenset({"bytes", "B", "byte"})
BYTE_RATES = frozenset({"bytes/s", "B/s"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A text that fits its place.

    ``full`` is the whole of a name that was shortened, ``exact`` the value as the JSON has it where
    the text says less, ``unit`` that of ``exact`` where the column does not say it; else empty.
    """

    text: str
    full: str = ""
    exact: str = ""
    unit: str = ""


def shorten(text: str, *, most: int = _LONGEST_NAME) -> Shown:
    """Shorten a long name in its middle: both ends of such names say most."""
    whole = clean(text)
    if len(whole) <= most:
        return Shown(text=whole)
    return Shown(text=cut_middle(whole, most), full=whole[:_LONGEST_HOVER])


def named(name: Scalar, full_name: Scalar) -> Shown:
    """Return a short name with the full one behind it, where there is one."""
    shown = shorten(str(name))
    full = clean(full_name) if isinstance(full_name, str) else ""
    return replace(shown, full=full) if full and full != shown.text else shown


def prose(text: str) -> str:
    """Return a sentence whose numbers stay on one line with their units, ``7 min 34 s`` as one."""
    return _WITHIN_DURATION.sub("\u00a0", _NUMBER_AND_UNIT.sub("\u00a0", text))


def format_names(names: Sequence[str], *, most: int = 3) -> str:
    """List the first few names: ``algo-1, algo-2 and 62 more``."""
    return list_names([shorten(name, most=_LONGEST_LISTED).text for name in names], most=most)


def plot_label(text: str, *, most: int = _LONGEST_LABEL) -> str:
    """Return a name for a chart: short, and with plotly's subset of HTML made harmless."""
    short = shorten(text, most=most).text
    return short.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unique_labels(names: Sequence[str]) -> list[str]:
    """Return a chart label for each name; names that shorten to the same text get a number."""
    labels: list[str] = []
    seen: dict[str, int] = {}
    for name in names:
        label = plot_label(name)
        seen[label] = seen.get(label, 0) + 1
        labels.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return labels


def heading_of(name: str) -> str:
    """Return a column's name for people: without its unit, words apart: ``busy_us`` -> ``busy``."""
    if name in _HEADINGS:
        return _HEADINGS[name]
    bare = _UNIT_SUFFIX.sub("", name) if name.islower() or "_" in name else name
    words = _PCT.sub("share", bare.replace("_", " ")).strip()
    words = _SHORT_WORDS.sub(lambda found: _LONG_WORDS[found[0]], words)
    return shorten(words or name, most=_LONGEST_LISTED).text


def is_moment(column: Column) -> bool:
    """Return whether a column holds moments, by its name, whatever their clock."""
    return column.type is not ColumnType.TEXT and bool(_MOMENT_NAMES.search(column.name))


def is_instant(column: Column) -> bool:
    """Return whether a column holds Unix time: by its name and by the size of its values."""
    if column.type is ColumnType.TEXT or not _TIME_NAMES.search(column.name):
        return False
    from_here = _UNIX_FROM_S / instant_scale(column)
    return any(isinstance(value, int | float) and value >= from_here for value in column.values)


def instant_scale(column: Column) -> float:
    """Return how many seconds the unit of a column of instants has."""
    return 1e-6 if column.name.endswith("_us") else 1.0


def format_value(value: Scalar, unit: str) -> str:
    """Write a value with its unit; ``None`` is a dash, never a zero."""
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return clean(value)
    if unit in SECONDS_PER:
        return format_duration(value * SECONDS_PER[unit])
    if unit in BYTES:
        return format_bytes(_three_digits(value))
    if unit in BYTE_RATES:
        return f"{format_bytes(_three_digits(value))}/s"
    if unit.startswith("%"):
        return f"{format_pct(value)}{clean(unit[1:_UNIT_UP_TO])}"
    number, counted = format_number(value), clean(unit[:_UNIT_UP_TO])
    if number == "1" and _COUNTED.search(counted):
        counted = counted[:-1]  # 1 step
    return f"{number} {counted}".rstrip() if unit else number


def format_edges(values: Sequence[float | None], unit: str) -> list[str]:
    """Write values that lie close together, as edges of bins, so that different ones look it.

    Example:
        >>> format_edges((117_900.0, 118_100.0, 118_300.0), "us")
        ['117.9 ms', '118.1 ms', '118.3 ms']
    """
    texts, n_distinct = [format_value(value, unit) for value in values], len(set(values))
    if unit not in SECONDS_PER:
        return texts
    top_s = max((abs(value) for value in values if value), default=0.0) * SECONDS_PER[unit]
    name = next((name for name in ("s", "ms", "us") if top_s >= SECONDS_PER[name]), "ns")
    scale, decimals = SECONDS_PER[unit] / SECONDS_PER[name], 0
    while len(set(texts)) < n_distinct and decimals < _MOST_DECIMALS:
        decimals += 1
        texts = [
            ABSENT
            if value is None
            else f"{value * scale:,.{decimals}f} {'µs' if name == 'us' else name}"
            for value in values
        ]
    return texts


def _three_digits(value: float) -> float:
    """Round before the prefix is chosen, so that 999.6 kB becomes 1 MB and not 1e+03 kB."""
    return float(f"{value:.3g}")


def shown_value(value: Scalar, unit: str, *, row_unit: str = "", name: str = "") -> Shown:
    """Write a value for a cell of the column ``name``, its exact number beside it."""
    if isinstance(value, str):
        return shorten(value)
    plus = "+" if name.startswith("difference") and value and value > 0 else ""
    return Shown(text=f"{plus}{format_value(value, unit)}", exact=exactly(value), unit=row_unit)


def exactly(value: Scalar) -> str:
    """Return a number with all its digits, a whole one without a point; empty for all else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return repr(value).removesuffix(".0")


def exact_name(column: Column) -> str:
    """Return a column's name as data: with its unit, where the name does not end in it."""
    name = clean(column.name)
    if not column.unit or _UNIT_SUFFIX.search(name):
        return name
    return f"{name} ({clean(column.unit)})"


def format_number(value: float) -> str:
    """Write a number without a unit: thousands apart, four significant digits of a fraction."""
    if isinstance(value, int) or (abs(value) < 1e15 and value.is_integer()):
        return format_count(int(value))
    if abs(value) >= 1000:
        return f"{value:,.1f}"
    text = f"{value:.4g}"
    return f"{round(value, 6) + 0.0:.6f}".rstrip("0").rstrip(".") if "e" in text else text


def format_column(values: Sequence[float | None]) -> list[str]:
    """Write the numbers of one column with the same number of decimals, so that they compare."""
    top = max([abs(value) for value in values if value], default=0.0)
    if all(value is None or value == int(value) for value in values):
        decimals = 0
    elif top >= _FEW_DECIMALS_FROM:
        decimals = 1
    else:
        decimals = 2 if top >= 1 else 4
    return [ABSENT if value is None else f"{value:,.{decimals}f}" for value in values]


def format_instant(time_s: float, *, is_unix: bool = True) -> str:
    """Write an instant: UTC to the tenth of a second, or seconds since the recording began."""
    if not is_unix or not 0 <= time_s < _LATEST_S:
        return f"{time_s:,.3f} s"
    moment = datetime.fromtimestamp(round(time_s, 1), tz=UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 100_000}"


def format_moment(time_s: float) -> str:
    """Write an instant to the microsecond, for what lies closer than a tenth of a second.

    Example:
        >>> format_moment(1_783_071_021.250001)
        '2026-07-03 09:30:21.250001'
    """
    if not _EARLIEST_S <= time_s < _LATEST_S:
        return format_instant(time_s, is_unix=False)
    return f"{datetime.fromtimestamp(time_s, tz=UTC):%Y-%m-%d %H:%M:%S.%f}"


def format_instants(
    times_s: Sequence[float | None], *, is_unix: bool = True, is_fine: bool = False
) -> list[str]:
    """Write the instants of one column of a table.

    Args:
        times_s: the instants, in seconds; ``None`` where there is none.
        is_unix: whether they count from 1970, not from the start of the recording.
        is_fine: whether microseconds are wanted; they are written, too, where all instants lie
            within a few seconds, in which a tenth of a second would make rows look the same.
    """
    known = [time_s for time_s in times_s if time_s is not None]
    is_fine = is_fine or 0 < max(known, default=0.0) - min(known, default=0.0) < _FINE_WITHIN_S
    write = format_moment if is_fine and is_unix else partial(format_instant, is_unix=is_unix)
    return [ABSENT if time_s is None else write(time_s) for time_s in times_s]


@lru_cache(maxsize=_MOMENTS)
def plotly_date(time_ms: float) -> str | None:
    """Write an instant as plotly's date axes take it: UTC, to the microsecond, short where whole.

    A time in no year from 1 to 9999 is ``None``: nothing can be drawn there.

    Example:
        >>> plotly_date(1_783_071_021_500.0), plotly_date(1_783_071_000_000.0)
        ('2026-07-03 09:30:21.5', '2026-07-03 09:30')
    """
    if not _EARLIEST_S <= time_ms / 1000 < _LATEST_S:
        return None
    time_us = round(time_ms * 1000)
    moment = datetime.fromtimestamp(time_us // 1_000_000, tz=UTC)
    if moment.second == 0 and time_us % 1_000_000 == 0:
        return f"{moment:%Y-%m-%d %H:%M}"
    fraction = f"{time_us % 1_000_000:06d}".rstrip("0")
    return f"{moment:%Y-%m-%d %H:%M:%S}{'.' if fraction else ''}{fraction}"


def format_iso(text: str | None) -> str:
    """Write an ISO 8601 instant of ``report.json`` for people, with its zone."""
    if text is None:
        return ABSENT
    return f"{text[:10]} {text[11:19]} UTC" if text.endswith("Z") else clean(text)


def format_interval(
    start_s: float | None, end_s: float | None, *, is_unix: bool, is_fine: bool = False
) -> str:
    """Write when something happened and for how long; empty when it is not known.

    ``is_fine`` writes milliseconds; so is what lasts less than a second.
    """
    if start_s is None:
        return ""
    zone = " UTC" if is_unix else ""
    length_s = 0.0 if end_s is None else max(end_s - start_s, 0.0)
    is_known = is_unix and _EARLIEST_S <= start_s <= start_s + length_s < _LATEST_S
    is_fine = is_known and (is_fine or 0 < length_s < 1)
    if end_s is None or not length_s:
        at = format_moment(start_s)[:-3] if is_fine else _bare(start_s, is_unix=is_unix)
        return f"{at}{zone}"
    write = partial(format_instant, is_unix=is_unix)
    start, end = (
        format_moment(time_s)[:-3] if is_fine else write(time_s) for time_s in (start_s, end_s)
    )
    if is_unix and length_s >= _WHOLE_SECONDS_FROM_S:
        whole_s = int(round(end_s, 1)) - int(round(start_s, 1))
        if whole_s == int(length_s + 0.5) or length_s >= _WHOLE_SECONDS_ALWAYS_FROM_S:
            start, end = start[:-2], end[:-2]
    length = format_duration(length_s)
    if end == start:
        return f"{start}{zone} ({length})"
    if is_unix and end[:10] == start[:10]:
        end = end[11:]
    return f"{start} – {end}{zone} ({length})"


def _bare(time_s: float, *, is_unix: bool) -> str:
    """Write an instant, a whole second without a tenth: AWS's rules know the minute alone."""
    text = format_instant(time_s, is_unix=is_unix)
    return text.removesuffix(".0") if is_unix else text


def format_bytes_exact(size_bytes: int) -> str:
    """Write a number of bytes both ways: ``1.56 MB (1,555,200 B)``."""
    if abs(size_bytes) < 1000:
        return f"{format_count(size_bytes)} B"
    return f"{format_bytes(size_bytes)} ({format_count(size_bytes)} B)"
