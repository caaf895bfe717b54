"""Which lines of system metrics are samples, and what is said about the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import join, select
from reportgen.formats import Diagnostics
from reportgen.formats.sagemaker.minute_files import SystemFile
from reportgen.formats.sagemaker.system_lines import RawRows
from reportgen.intake.ticks import Rows, join_rows
from reportgen.profile import Quality, Series
from reportgen.units import LATEST_US, US_PER_S

OUT_OF_MINUTE_S = 5.0
"""Beyond this a sample counts as outside its file's minute; real ones are a few seconds off."""

STRAY_S = 86_400.0
"""Beyond this a sample's clock is wrong and it would stretch the job; one minute
file of AWS's own tests spreads over 2.8 hours."""

MOST_RATE = 1e15
"""Bytes or operations a second that no machine reaches: sums of damaged values would overflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueLimits:
    """Limits of series: (n_series,) float64 smallest and largest possible values."""

    least: NDArray[np.float64]
    most: NDArray[np.float64]


def limits_of(series: Sequence[Series]) -> ValueLimits:
    """Return 0-100 for percentages, 0-``MOST_RATE`` for rates, anything for unknown metrics."""
    kinds = [item.kind for item in series]
    most_known = [100.0 if kind is not None and kind.is_percent else MOST_RATE for kind in kinds]
    return ValueLimits(
        least=np.array([-np.inf if kind is None else 0.0 for kind in kinds]),
        most=np.where([kind is None for kind in kinds], np.inf, most_known),
    )


def valid_rows(
    raw: Sequence[RawRows], files: Sequence[SystemFile], limits: ValueLimits, problems: Diagnostics
) -> Rows:
    """Return the samples of some files; see ``valid_lines``.

    Many small files are looked at together first: one by one they would cost more than parsing.
    """
    if sum(len(lines.code) for lines in raw) < _FEW_LINES * len(raw):
        together = join(raw)
        starts_s = np.repeat(
            [float(file.minute_s) for file in files], [len(lines.code) for lines in raw]
        )
        if _is_flawless(together, starts_s, limits, length_s=min(file.length_s for file in files)):
            return _rows(together)
    return join_rows(
        [valid_lines(lines, file, limits, problems) for lines, file in zip(raw, files, strict=True)]
    )


_FEW_LINES = 1_000
"""Fewer lines per file than this count as small: numpy calls cost more than their work."""


def _is_flawless(
    raw: RawRows, starts_s: NDArray[np.float64], limits: ValueLimits, *, length_s: float
) -> bool:
    after_s = raw.time_s - starts_s
    return bool(
        np.isfinite(raw.value).all()
        and (after_s >= -OUT_OF_MINUTE_S).all()
        and (after_s <= length_s + OUT_OF_MINUTE_S).all()
        and (raw.value >= limits.least[raw.code]).all()
        and (raw.value <= limits.most[raw.code]).all()
    )


def valid_lines(raw: RawRows, file: SystemFile, limits: ValueLimits, problems: Diagnostics) -> Rows:
    """Return the lines of a file that are samples; count broken and impossible ones, and odd times.

    A sample far from the minute in the file's name is left out.
    """
    is_real = np.isfinite(raw.value)
    problems.add(Quality.VALUES_BROKEN, file.key, int(np.count_nonzero(~is_real)))
    is_real &= _is_on_time(raw, file, problems)
    is_odd = (raw.value < 0) | (raw.value > 100)
    if is_odd.any():
        is_odd = (raw.value < limits.least[raw.code]) | (raw.value > limits.most[raw.code])
        is_odd &= is_real
        problems.add(Quality.SAMPLES_OUT_OF_RANGE, file.key, int(np.count_nonzero(is_odd)))
        is_real &= ~is_odd
    rows = slice(None) if is_real.all() else is_real
    return _rows(select(raw, rows))


def _is_on_time(raw: RawRows, file: SystemFile, problems: Diagnostics) -> NDArray[np.bool_]:
    """Return which samples lie within a day of their file; count what is off its minute."""
    after_s = raw.time_s - file.minute_s
    is_off = (after_s < -OUT_OF_MINUTE_S) | (after_s > file.length_s + OUT_OF_MINUTE_S)
    if not is_off.any():
        return ~is_off
    is_stray = ~((np.abs(after_s) <= STRAY_S) & (np.abs(raw.time_s) < LATEST_US / US_PER_S))
    for rows, what in ((is_off & ~is_stray, ""), (is_stray, _STRAY)):
        n_off = int(np.count_nonzero(rows))
        problems.add(Quality.SAMPLES_OUT_OF_MINUTE, file.key, n_off, what=what)
    return ~is_stray


_STRAY = (
    "{n} [sample lies|samples lie] more than a day from the time of the file and [was|were] "
    "left out"
)


def _rows(raw: RawRows) -> Rows:
    """Round times to whole microseconds: the files' unit, and exact in a float."""
    return Rows(time_us=np.rint(raw.time_s * 1e6).astype(np.int64), code=raw.code, value=raw.value)
