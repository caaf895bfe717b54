"""Blocks of samples to one table, so that a day of a large host fits in little memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reportgen.intake import ticks
from reportgen.profile import Series, SystemTable
from reportgen.profile.column_file import (
    LARGE_BYTES,
    ColumnFile,
    Columns,
    ColumnStretch,
    count_present,
)
from reportgen.profile.system import device_order, empty_system
from reportgen.units import NS_PER_US

CARRY_US = 5_000_000
"""Samples this close to the next block wait for it: an instant may end in the next file."""


PIECE_BYTES = LARGE_BYTES
"""Grids of so many bytes make a stretch."""
_ROWS_AT_ONCE = 250_000
"""Samples that are laid out at once: eight minutes of a large node."""


class TableBuilder:
    """Takes samples block by block and gives one table."""

    def __init__(self) -> None:
        self.n_rows = 0
        self.n_duplicates = 0
        self._fresh: list[ticks.Grid] = []
        self._tick_us: list[NDArray[np.int64]] = []
        self._stretches: list[ColumnStretch] = []
        self._file = ColumnFile()
        self._carry = ticks.no_rows()
        self._late: list[ticks.Rows] = []
        self._done_until_us: int | None = None
        self._first_us: list[int] = []
        self._last_us: list[int] = []

    def add(self, rows: ticks.Rows, series: Sequence[Series], *, next_start_us: int | None) -> None:
        """Take a block: samples in any order, mostly later than those before.

        ``next_start_us`` is the minute at which the next block's files start, ``None`` at the end.
        """
        self.n_rows += rows.n_rows
        if rows.n_rows:
            self._first_us.append(int(rows.time_us.min()))
            self._last_us.append(int(rows.time_us.max()))
        while rows.n_rows > _ROWS_AT_ONCE:  # an hour that was packed
            end_us = int(rows.time_us[_ROWS_AT_ONCE])
            is_first = rows.time_us < end_us
            if not is_first.any():
                break
            self._add(rows.where(is_first), series, next_start_us=end_us)
            rows = rows.where(~is_first)
        self._add(rows, series, next_start_us=next_start_us)

    def _add(
        self, rows: ticks.Rows, series: Sequence[Series], *, next_start_us: int | None
    ) -> None:
        rows = self._without_late(
            ticks.join_rows([self._carry, rows]) if self._carry.n_rows else rows
        )
        self._carry = ticks.no_rows()
        if next_start_us is not None:
            cut_us = _cut(rows, series, next_start_us)
            is_complete = rows.time_us < cut_us
            self._carry = rows.where(~is_complete)
            rows, self._done_until_us = rows.where(is_complete), cut_us
        if rows.n_rows:
            self._keep(ticks.lay_out(rows, series))

    def _without_late(self, rows: ticks.Rows) -> ticks.Rows:
        if self._done_until_us is None:
            return rows
        is_late = rows.time_us < self._done_until_us
        if not is_late.any():
            return rows
        self._late.append(rows.where(is_late))
        return rows.where(~is_late)

    def _keep(self, grid: ticks.Grid) -> None:
        self.n_duplicates += grid.n_duplicates
        self._fresh.append(grid)
        if sum(fresh.values.nbytes for fresh in self._fresh) >= PIECE_BYTES:
            self._join_fresh()

    def _join_fresh(self) -> None:
        if self._fresh:
            self._tick_us.append(np.concatenate([grid.tick_us for grid in self._fresh]))
            self._stretches.append(self._kept(self._fresh))
        self._fresh = []

    def _kept(self, grids: Sequence[ticks.Grid]) -> ColumnStretch:
        return self._file.keep(
            lambda place: np.concatenate([grid.column(place) for grid in grids]),
            n_columns=max(grid.values.shape[1] for grid in grids),
            n_rows=sum(grid.tick_us.size for grid in grids),
        )

    def table(self, series: Sequence[Series]) -> SystemTable:
        """Return all samples as one table; the builder takes no more afterwards."""
        if not self._first_us:
            return empty_system()
        self._join_fresh()
        self._merge_late(series)
        keys = [(item.type, device_order(item.name), item.dimension) for item in series]
        order = sorted(range(len(series)), key=keys.__getitem__)
        tick_us = np.concatenate(self._tick_us)
        columns = Columns(stretches=tuple(self._stretches), places=tuple(order))
        counts = count_present(columns)
        densest = ~np.isnan(columns[int(np.argmax(counts))])
        interval_us = ticks.snapped_interval_us(tick_us[densest]) or ticks.snapped_interval_us(
            tick_us
        )
        return SystemTable(
            tick_ns=tick_us * NS_PER_US,
            series=tuple(series[code] for code in order),
            columns=columns,
            first_ns=min(self._first_us) * NS_PER_US,
            last_ns=max(self._last_us) * NS_PER_US,
            interval_ns=None if interval_us is None else interval_us * NS_PER_US,
            n_samples=sum(counts),
        )

    def _merge_late(self, series: Sequence[Series]) -> None:
        """Add the samples put aside: spread the grid of their time out and lay it out again."""
        if not self._late:
            return
        late, self._late = ticks.join_rows(self._late), []
        ends_us = [int(tick_us[-1]) for tick_us in self._tick_us]
        target = np.minimum(np.searchsorted(ends_us, late.time_us), len(ends_us) - 1)
        for index in np.unique(target).tolist():
            rows = late.where(target == index)
            stretch = self._stretches[index]
            known = ticks.Grid(
                tick_us=self._tick_us[index],
                values=np.array([stretch.column(at) for at in range(stretch.n_columns)]).T,
            )
            new = rows.where(~_is_there(rows, known))
            self.n_duplicates += rows.n_rows - new.n_rows
            grid = ticks.lay_out(ticks.join_rows([_spread(known), new]), series)
            self._tick_us[index], self._stretches[index] = grid.tick_us, self._kept([grid])
            self.n_duplicates += grid.n_duplicates


def _cut(rows: ticks.Rows, series: Sequence[Series], next_start_us: int) -> int:
    """Return a time between two instants, a few seconds before the next block starts."""
    earliest_us = next_start_us - CARRY_US
    is_candidate = rows.time_us >= earliest_us
    for anchor_type in ("gpu", "memory"):
        is_anchor = np.array([item.type == anchor_type for item in series], dtype=np.bool_)
        stamps = rows.time_us[is_candidate & is_anchor[rows.code]]
        if stamps.size:
            anchors = np.unique(stamps)
            interval_us = ticks.snapped_interval_us(anchors)
            if interval_us is None:
                return int(anchors[0]) - ticks.early_us(None)
            begin_us = anchors[0] - interval_us // 2
            near_us = rows.time_us[rows.time_us >= begin_us]
            return int(anchors[0]) - ticks.reach_us(near_us, anchors, interval_us)
    return earliest_us


def _spread(grid: ticks.Grid) -> ticks.Rows:
    code, tick = np.nonzero(~np.isnan(grid.values.T))
    return ticks.Rows(
        time_us=grid.tick_us[tick], code=code.astype(np.int32), value=grid.values[tick, code]
    )


def _is_there(rows: ticks.Rows, grid: ticks.Grid) -> NDArray[np.bool_]:
    early_us = ticks.early_us(ticks.snapped_interval_us(grid.tick_us))
    tick = np.searchsorted(grid.tick_us, rows.time_us + early_us, side="right") - 1
    is_known: NDArray[np.bool_] = (tick >= 0) & (rows.code < grid.values.shape[1])
    is_known[is_known] = grid.values[tick[is_known], rows.code[is_known]] == rows.value[is_known]
    return is_known
