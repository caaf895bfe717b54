"""One node's samples as they were recorded: a row each, with its own time, not a grid of ticks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reportgen.formats import Diagnostics
from reportgen.formats.sagemaker.minute_files import SystemFile, readable
from reportgen.formats.series_codes import SeriesCodes
from reportgen.intake.monitoring import is_monitored, monitored_rows
from reportgen.intake.node_clocks import ahead_of, on_own_clock
from reportgen.intake.read import system_files
from reportgen.intake.system import valid_blocks
from reportgen.intake.ticks import Rows, drop_duplicates, join_rows, no_rows
from reportgen.intake.time_range import cut_rows
from reportgen.profile import PartRef, Series, SourceNote
from reportgen.units import NS_PER_S, NS_PER_US

Wants = Callable[[Series], bool]
"""Whether the samples of a series are kept."""

_MARGIN_LENGTHS = 2
"""Samples lie at most this many lengths of their file from its beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleTable:
    """Samples of one node, by time, then series; each series has one sample at an instant.

    ``time_us`` counts UTC, ``code`` is an index into ``series``; values are finite.
    """

    time_us: NDArray[np.int64]
    code: NDArray[np.int32]
    value: NDArray[np.float64]
    series: tuple[Series, ...]
    notes: tuple[SourceNote, ...] = ()


def read_samples(ref: PartRef, *, wants: Wants | None = None) -> SampleTable:
    """Read the samples of one node; its range is applied, and files of other minutes stay closed.

    Series that ``wants`` leaves out are dropped block by block, so that one series of a long job
    takes little memory.
    """
    problems = Diagnostics()
    if is_monitored(ref):
        rows, series, _ = monitored_rows(ref, problems)
        return _table(_wanted(rows, series, wants, ref), series, problems)
    ref = on_own_clock(ref)
    files = [file for file in readable(system_files(ref), problems) if _may_hold(ref, file)]
    files.sort(key=lambda file: (file.minute_s, file.key))
    codes, kept = SeriesCodes(), [no_rows()]
    for _, rows in valid_blocks(files, codes, problems):
        kept.append(_wanted(rows, codes.series, wants, ref))
    rows, _ = drop_duplicates(join_rows(kept))
    rows = replace(rows, time_us=rows.time_us - ahead_of(ref) // NS_PER_US)
    return _table(rows, codes.series, problems)


def _table(rows: Rows, series: Sequence[Series], problems: Diagnostics) -> SampleTable:
    return SampleTable(
        time_us=rows.time_us,
        code=rows.code,
        value=rows.value,
        series=tuple(series),
        notes=problems.notes(),
    )


def _may_hold(ref: PartRef, file: SystemFile) -> bool:
    margin_s = _MARGIN_LENGTHS * file.length_s
    first_ns, last_ns = (NS_PER_S * (file.minute_s + at_s) for at_s in (-margin_s, margin_s))
    return ref.kept is None or bool(ref.kept.meets(first_ns, last_ns))


def _wanted(rows: Rows, series: Sequence[Series], wants: Wants | None, ref: PartRef) -> Rows:
    if wants is not None:
        is_wanted = np.array([wants(item) for item in series], dtype=np.bool_)
        rows = rows.where(is_wanted[rows.code]) if rows.n_rows else rows
    return cut_rows(rows, ref.kept)
