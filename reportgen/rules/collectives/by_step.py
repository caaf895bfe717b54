"""Ranks by steps: step time, waiting and exposed communication, and steps without stragglers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen import results
from reportgen.facts.exchanges import Exchange, Meeting, Waiting
from reportgen.profile.trace_tables import NONE
from reportgen.results import Choice, Exhibit, Place, Role, many_ranks
from reportgen.rules import kit
from reportgen.rules.collectives.faults import RankCollectives, Steps
from reportgen.text import write
from reportgen.units import NS_PER_S, NS_PER_US

WHAT_IF = """ If every rank took the median, a step would take {even:ns} instead of {step:ns}
    (means)."""
TITLE = "Steps without stragglers: {even:ns} instead of {step:ns}"
CAPTION = """step_us is the median over the ranks of the time that their GPUs take for a step.
    if_median_us is the same without each rank's own waiting for others with nothing computed
    beside it: the step's time if every rank took the median. An estimate: what
    faster ranks would change elsewhere is not in it."""
COLUMNS = """ One row for each rank, one column for each step that at least half of the ranks
    recorded, where the first of them begins it."""
STRETCHES = " One row for each rank, one column for each {width:ns}."
PLACES = {
    name: Place(choice=Choice(group="by_step", question="Ranks over time", label=label))
    for name, label in {
        "steps_by_rank": "step time",
        "waiting_over_time": "waiting",
        "exposed_over_time": "exposed communication",
    }.items()
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Launching:
    """From when to when the steps of a rank launched work, and their numbers."""

    starts_ns: list[int]
    ends_ns: list[int]
    numbers: list[int]

    def at(self, launch_ns: int) -> int:
        """Return the number of the step at a moment, ``NONE`` outside of all."""
        place = bisect_right(self.starts_ns, launch_ns) - 1
        return self.numbers[place] if place >= 0 and launch_ns < self.ends_ns[place] else NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Ranks by steps, or by stretches of equal length where there are no common steps.

    Attributes:
        steps: (n_columns,) numbers of the steps, ``None`` of stretches.
        starts_ns: (n_columns,) when each begins, UTC; ``width_ns`` the length of stretches.
        by_rank: the steps of each rank.
        period_ns, pace_ns: (n_ranks, n_columns) of steps, NaN where a rank did not record it.
    """

    ranks: tuple[int, ...]
    steps: NDArray[np.int64] | None
    starts_ns: NDArray[np.int64]
    width_ns: int
    by_rank: Mapping[int, Launching]
    period_ns: NDArray[np.float64]
    pace_ns: NDArray[np.float64]

    def places(self, items: Sequence[Exchange], times_ns: Sequence[int]) -> NDArray[np.int64]:
        """Return the column of each exchange: of its step, else of its time; ``NONE`` outside."""
        if self.steps is None:
            return np.searchsorted(self.starts_ns, times_ns, side="right") - 1
        column = {number: at for at, number in enumerate(self.steps.tolist())}
        found = [column.get(self.by_rank[item.rank].at(item.launch_ns), NONE) for item in items]
        return np.array(found, dtype=np.int64)

    def sums(
        self, items: Sequence[Exchange], place: NDArray[np.int64], value_ns: Sequence[int]
    ) -> NDArray[np.float64]:
        """Return (n_ranks, n_columns) the sums of values of exchanges by rank and column."""
        found = np.zeros((len(self.ranks), self.starts_ns.size))
        row, inside = np.searchsorted(self.ranks, [item.rank for item in items]), place >= 0
        np.add.at(found, (row[inside], place[inside]), np.asarray(value_ns)[inside])
        return found


def grid_of(ranks: Sequence[RankCollectives], meetings: Sequence[Meeting]) -> Grid | None:
    """Return the steps that at least half of the ranks recorded, else stretches of time."""
    traced = [rank.steps for rank in ranks if rank.steps]
    every = np.concatenate([steps.number for steps in traced]) if traced else np.empty(0)
    numbers, counts = np.unique(every, return_counts=True)
    numbers = numbers[counts >= len(ranks) / 2].astype(np.int64)
    if numbers.size < 2:
        return _stretches(ranks, meetings) if meetings else None
    shape = (len(ranks), numbers.size)
    starts_ns = np.full(shape, np.iinfo(np.int64).max)
    period_ns, pace_ns = np.full(shape, np.nan), np.full(shape, np.nan)
    for row, rank in enumerate(ranks):
        if rank.steps is None:
            continue
        _, places, own = np.intersect1d(numbers, rank.steps.number, return_indices=True)
        starts_ns[row, places] = rank.steps.start_ns[own]
        period_ns[row, places] = rank.steps.period_ns[own]
        pace_ns[row, places] = rank.steps.pace_ns[own]
    return Grid(
        ranks=tuple(rank.rank for rank in ranks),
        steps=numbers,
        starts_ns=np.maximum.accumulate(starts_ns.min(axis=0)),
        width_ns=0,
        by_rank={rank.rank: _launching(rank.steps) for rank in ranks},
        period_ns=period_ns,
        pace_ns=pace_ns,
    )


def _launching(steps: Steps | None) -> Launching:
    if steps is None:
        return Launching(starts_ns=[], ends_ns=[], numbers=[])
    return Launching(
        starts_ns=steps.start_ns.tolist(),
        ends_ns=(steps.start_ns + steps.period_ns).tolist(),
        numbers=steps.number.tolist(),
    )


def _stretches(ranks: Sequence[RankCollectives], meetings: Sequence[Meeting]) -> Grid:
    begin_ns = min(meeting.start_ns for meeting in meetings)
    length_ns = max(meeting.last_ns for meeting in meetings) - begin_ns + 1
    most = max(len(rank.exchanges) for rank in ranks)
    n_columns = min(many_ranks.n_columns_for(len(ranks)), most)
    unknown = np.full((len(ranks), n_columns), np.nan)
    return Grid(
        ranks=tuple(rank.rank for rank in ranks),
        steps=None,
        starts_ns=begin_ns + length_ns * np.arange(n_columns) // n_columns,
        width_ns=length_ns // n_columns,
        by_rank={},
        period_ns=unknown,
        pace_ns=unknown,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """Steps as they were, and if every rank took the median: (n_steps,) each, and their means."""

    starts_ns: NDArray[np.int64]
    each_ns: NDArray[np.float64]
    each_even_ns: NDArray[np.float64]

    @property
    def step_ns(self) -> float:
        """Return the mean of the steps."""
        return float(self.each_ns.mean())

    @property
    def even_ns(self) -> float:
        """Return the mean of the steps if every rank took the median."""
        return float(self.each_even_ns.mean())


def without_stragglers(
    grid: Grid | None, meetings: Sequence[Meeting], waiting: Waiting
) -> WhatIf | None:
    """Return the steps if every rank took the median, ``None`` where steps are not known."""
    if grid is None or grid.steps is None:
        return None
    # Rows of the waiting are in the order of meetings and of their members.
    items = [item for meeting in meetings for item in meeting.members]
    lost_ns = grid.sums(items, grid.places(items, ()), waiting.lost_ns.tolist())
    return WhatIf(
        starts_ns=grid.starts_ns,
        each_ns=np.nanmedian(grid.pace_ns, axis=0),
        each_even_ns=np.nanmedian(np.maximum(grid.pace_ns - lost_ns, 0), axis=0),
    )


def exhibits_of(
    ranks: Sequence[RankCollectives],
    meetings: Sequence[Meeting],
    grid: Grid | None,
    what_if: WhatIf | None,
) -> Iterator[Exhibit]:
    """Yield the steps without stragglers, and of many ranks heat maps to choose from."""
    if what_if is not None:
        yield _steps_of(what_if)
    if grid is None or len(ranks) <= many_ranks.HEATMAP_ABOVE:
        return
    columns = write(STRETCHES, width=grid.width_ns) if grid.steps is None else write(COLUMNS)
    maps = [
        ("steps_by_rank", "Step times of all ranks", "period_us", Role.STEP, grid.period_ns),
        (
            "waiting_over_time",
            "Waiting in collectives, all ranks over time",
            "wait_us",
            Role.IO,
            _waits(grid, meetings),
        ),
        (
            "exposed_over_time",
            "Communication with nothing computed beside it, all ranks over time",
            "exposed_us",
            Role.NETWORK,
            _exposed(grid, ranks),
        ),
    ]
    for exhibit_id, title, column, role, value_ns in maps:
        if np.isfinite(value_ns).any():
            yield many_ranks.heatmap(
                exhibit_id,
                grid.ranks,
                grid.starts_ns,
                value_ns,
                title=title,
                caption=write(CAPTIONS[exhibit_id]) + columns,
                column=column,
                role=role,
            )


CAPTIONS = {
    "steps_by_rank": "A step lasts from its start on the host to the start of the next.",
    "waiting_over_time": "From the rank's start to the start of the last rank, in all collectives.",
    "exposed_over_time": "Waiting and transfer, as far as nothing is computed beside them.",
}


def _waits(grid: Grid, meetings: Sequence[Meeting]) -> NDArray[np.float64]:
    rows = [(item, meeting.last_ns) for meeting in meetings for item in meeting.members]
    if not rows:
        return np.full(grid.period_ns.shape, np.nan)
    items, lasts_ns = zip(*rows, strict=True)
    waits_ns = [last_ns - item.start_ns for item, last_ns in rows]
    return grid.sums(items, grid.places(items, lasts_ns), waits_ns)


def _exposed(grid: Grid, ranks: Sequence[RankCollectives]) -> NDArray[np.float64]:
    items = [item for rank in ranks for item in rank.exchanges]
    alone_ns = [sum(end - begin for begin, end in item.alone_ns) for item in items]
    return grid.sums(items, grid.places(items, [item.end_ns for item in items]), alone_ns)


def _steps_of(what_if: WhatIf) -> Exhibit:
    return results.exhibit(
        "without_stragglers",
        results.ExhibitKind.SERIES,
        title=write(TITLE, even=what_if.even_ns, step=what_if.step_ns),
        caption=write(CAPTION),
        columns=kit.floats(
            ("time_s", "s", what_if.starts_ns / NS_PER_S),
            ("step_us", "us", what_if.each_ns / NS_PER_US),
            ("if_median_us", "us", what_if.each_even_ns / NS_PER_US),
        ),
        role=Role.STEP,
    )
