"""Which part of a job a caller wants: a range of time, names, nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reportgen.errors import ConfigError
from reportgen.profile import SpanTable, TimeRange
from reportgen.profile.spans import where_word
from reportgen.units import NS_PER_S, NS_PER_US, instant_of, parse_instant

Instant = str | int | float | datetime | np.datetime64 | np.integer | np.floating
"""Text (ISO 8601 or as the frames write it; UTC where it names no zone), a date and time, whole
microseconds as in the ``_us`` columns of the frames (from ``Job.origin_us``, or from 1970), or Unix
seconds as a float."""

Names = str | Iterable[str] | None
"""One name, several, or all; a name may be a pattern as for ``re.fullmatch``."""

_Accepts = Callable[[str], bool]
_FRAME_TEXT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d):(\d{1,6})")
_SINCE_1970_US = 10**14
"""Microseconds from here on (March 1973) count from 1970: no job lasts three years."""
_CLOCK_US, _CLOCK_S = 10**15, (1e9, 1e11)
"""Jobs that begin later (2001) have a wall clock; Unix seconds of theirs lie in this range."""
_NEAR_S = 30 * 86_400
"""A whole number this close to the job's start, as Unix seconds, may be meant so: it is refused."""


def name_filter(names: Names, *, option: str) -> _Accepts:
    """Return whether a name equals or fully matches one of some; ``None`` accepts all.

    Raises:
        ConfigError: a pattern that is none; the message names the option.
    """
    if names is None:
        return lambda _: True
    listed = (names,) if isinstance(names, str) else tuple(names)
    patterns = []
    for name in listed:
        try:
            patterns.append(re.compile(name))
        except (re.error, OverflowError, RecursionError) as err:
            raise ConfigError(
                f"{option}: {name!r} is not a pattern ({err}).",
                hint="Escape what is meant literally: re.escape(name).",
            ) from err
    return lambda name: name in listed or any(pattern.fullmatch(name) for pattern in patterns)


def spans_wanted(
    spans: SpanTable, *, names: _Accepts, phases: _Accepts, steps: tuple[int, int] | None
) -> NDArray[np.bool_]:
    """Return an (n,) mask of the events that are wanted by name, phase and step number."""
    words, code = spans.called()
    wanted = where_word(code, words, names) & where_word(spans.phase, spans.phases, phases)
    if steps is not None:
        wanted &= (spans.step >= steps[0]) & (spans.step <= steps[1])
    return wanted


def rows_named(
    frame: pd.DataFrame, columns: Sequence[str], patterns: Sequence[str]
) -> NDArray[np.bool_]:
    """Return an (n,) mask of the rows with a column that fully matches a pattern.

    Raises:
        ConfigError: a pattern that is none.
    """
    accepts = name_filter(patterns, option="patterns")
    wanted = np.zeros(len(frame), dtype=np.bool_)
    for column in columns:
        fits = {word: accepts(word) for word in frame[column].unique()}
        wanted |= frame[column].map(fits).to_numpy(dtype=np.bool_)
    return wanted


def time_range(since: Instant | None, until: Instant | None, *, origin_us: int) -> TimeRange | None:
    """Return a range of time with both ends; ``None`` where neither is given.

    Raises:
        ConfigError: an end that is no time, or an end before its start.
    """
    if since is None and until is None:
        return None
    from_ns, to_ns = (
        None if end is None else instant_ns(end, origin_us=origin_us) for end in (since, until)
    )
    if from_ns is not None and to_ns is not None and from_ns > to_ns:
        raise ConfigError(f"since={since} lies after until={until}.", hint="Exchange the two.")
    return TimeRange(from_ns=from_ns, to_ns=to_ns)


def instant_ns(instant: Instant, *, origin_us: int) -> int:
    """Return an instant in ns UTC; ``origin_us`` is that of the job's frames.

    Raises:
        ConfigError: it is no time, or a number that may be meant in two ways.
    """
    try:
        return _ns_of(instant, origin_us)
    except (ValueError, OverflowError, TypeError) as err:
        raise ConfigError(
            f"{instant!r} is not a time{f' ({err})' if isinstance(err, _UnclearError) else ''}.",
            hint="Pass ISO 8601 (2026-07-01T10:00:00Z), a datetime, whole microseconds as in the "
            "columns of the frames, or Unix seconds as a float.",
        ) from err


class _UnclearError(ValueError):
    """A number that cannot be meant as it stands."""


def _ns_of(instant: Instant, origin_us: int) -> int:
    if isinstance(instant, str):
        return parse_instant(_FRAME_TEXT.sub(r"\1.\2", instant.strip()))
    if isinstance(instant, np.datetime64):
        if np.isnat(instant):
            raise ValueError
        if np.datetime_data(instant.dtype)[0] == "ns":
            return int(instant.astype(np.int64))
        return int(instant.astype("M8[us]").astype(np.int64)) * NS_PER_US
    if isinstance(instant, datetime):
        return instant_of(instant)
    has_clock = origin_us >= _CLOCK_US
    if isinstance(instant, int | np.integer) and not isinstance(instant, bool):
        time_us = int(instant)
        if has_clock and abs(time_us - origin_us / 1e6) < _NEAR_S:
            raise _UnclearError(
                f"Unix seconds are {time_us}.0, microseconds of the frames "
                f"np.datetime64(job.origin_us + {time_us}, 'us')"
            )
        return (time_us + (0 if abs(time_us) >= _SINCE_1970_US else origin_us)) * NS_PER_US
    time_s = float(instant)
    if has_clock and time_s and not _CLOCK_S[0] <= abs(time_s) < _CLOCK_S[1]:
        raise _UnclearError("Unix seconds of this job have ten digits; microseconds are an int")
    return round(time_s * NS_PER_S)
