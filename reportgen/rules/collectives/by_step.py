"""Ranks by steps: step time, waiting and exposed communication, and steps without stragglers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen import results
from reportgen.arrays import Floats, Integers
from reportgen.facts.exchanges import Exchanges
from reportgen.facts.meetings import Meetings
from reportgen.facts.waiting import Waiting
from reportgen.merging import rows_by_code
from reportgen.profile.trace_tables import NONE
from reportgen.results import Choice, Exhibit, Finding, Place, Role, many_ranks
from reportgen.rules import kit
from reportgen.rules.collectives.faults import RankCollectives
from reportgen.text import write
from reportgen.units import pct_of

WHAT_IF = """ If instead all ranks were equally fast (as the median one), the mean step would take
    {even:ns} instead of {step:ns} (median of the ranks)."""
BY_TURNS = kit.Message(
    id="COMM-1",
    cause=results.Cause.SLOW_RANK,
    title="Ranks are late by turns and the others wait: {measured:pct} of the time",
    text="""No rank is late all the time, but in most steps some rank is. If instead all ranks were
        equally fast (as the median one), the mean step would take {what_if.even_ns:ns} instead of
        {what_if.step_ns:ns} (median of the ranks): {measured:pct} less.""",
    advice="""Give all ranks equal work in each step: batches of equal length (sort, bucket or pack
        the samples by length); let garbage collection run on all ranks in the same step.""",
    exhibit="stragglers",
)
BY_TURNS_PCT = 5.0
"""Steps of ranks with equal work differ by one percent; a twentieth is worth a change."""
PIPELINE_RATIO = 0.01
"""Sends and receives with nothing computed beside them belong to a pipeline if they take more of
the time of the steps."""
COLUMNS = """ One row for each rank, and one column for each step that at least half of the ranks
    recorded, placed at its earliest start."""
STRETCHES = " One row for each rank, and one column for each interval of {width:ns}."
WAITING_MAP = "waiting_over_time"
MAPS = {
    "steps_by_rank": ("step time", "Step times of all ranks", "period_us", Role.STEP),
    WAITING_MAP: ("waiting", "Waiting in collectives, all ranks", "wait_us", Role.IO),
}
CAPTIONS = {
    "steps_by_rank": "A step lasts from its start on the host to the start of the next.",
    WAITING_MAP: "In all collectives, from the start on the rank to that on the last one.",
}
SEEN_IN_WAITING = {"COMM-1", "COMM-3"}
"""Late ranks and slow transfers: those that others wait for stand out in the map of the waiting."""
PLACES = {
    name: Place(choice=Choice(group="by_step", question="Ranks over time", label=label))
    for name, (label, *_) in MAPS.items()
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Ranks by steps, or by stretches of equal length where there are no common steps.

    Attributes:
        starts_ns: (n_columns,) when each begins, UTC.
        of_rank: beginnings, ends and columns of the steps or stretches of each rank.
        period_ns, pace_ns: (n_ranks, n_columns) of steps, NaN where a rank did not record it.
    """

    ranks: tuple[int, ...]
    has_steps: bool
    starts_ns: Integers
    of_rank: Mapping[int, tuple[Integers, Integers, Integers]]
    period_ns: Floats
    pace_ns: Floats

    def sums(self, items: Exchanges, values_ns: Integers) -> Floats:
        """Return (n_ranks, n_columns) sums: of the step that launched, else of the time it ended.

        Exchanges outside of all columns are left out.
        """
        found = np.zeros(self.period_ns.shape)
        row = {rank: at for at, rank in enumerate(self.ranks)}
        for rank, own in rows_by_code(items.rank):
            starts, ends, columns = self.of_rank[rank]
            at_ns = (items.launch_ns if self.has_steps else items.end_ns)[own]
            place = np.searchsorted(starts, at_ns, side="right") - 1
            # Before the first one, ``place`` is that of what was appended.
            is_within = at_ns < np.append(ends, 0)[place]
            column = np.append(columns, NONE)[np.where(is_within, place, NONE)]
            is_in = column != NONE
            np.add.at(found[row[rank]], column[is_in], values_ns[own][is_in])
        return found


def grid_of(ranks: Sequence[RankCollectives], every: Exchanges) -> Grid:
    """Return the steps that at least half of the ranks recorded, else stretches of time."""
    steps = {at: rank.steps for at, rank in enumerate(ranks) if rank.steps}
    recorded = np.concatenate([[], *(of.number for of in steps.values())]).astype(np.int64)
    numbers, counts = np.unique(recorded, return_counts=True)
    numbers = numbers[counts >= len(ranks) / 2]
    if numbers.size < 2:
        return _stretches(ranks, every)
    starts_ns, period_ns, pace_ns = np.full((3, len(ranks), numbers.size), np.nan)
    nothing = np.empty(0, dtype=np.int64)
    of_rank = {rank.rank: (nothing, nothing, nothing) for rank in ranks}
    for row, of in steps.items():
        place = np.searchsorted(numbers, of.number).clip(max=numbers.size - 1)
        place = np.where(numbers[place] == of.number, place, NONE)
        for cells, values in (
            (starts_ns, of.start_ns), (period_ns, of.period_ns), (pace_ns, of.pace_ns)
        ):  # fmt: skip
            cells[row, place[place >= 0]] = values[place >= 0]
        of_rank[ranks[row].rank] = (of.start_ns, of.start_ns + of.period_ns, place)
    return Grid(
        ranks=tuple(rank.rank for rank in ranks),
        has_steps=True,
        starts_ns=np.maximum.accumulate(np.nanmin(starts_ns, axis=0)).astype(np.int64),
        of_rank=of_rank,
        period_ns=period_ns,
        pace_ns=pace_ns,
    )


def _stretches(ranks: Sequence[RankCollectives], every: Exchanges) -> Grid:
    most = max(rank.exchanges.n for rank in ranks)
    n_columns = min(many_ranks.n_columns_for(len(ranks)), most)
    first_ns, last_ns = int(every.end_ns.min()), int(every.end_ns.max())
    edges_ns = np.linspace(first_ns, last_ns + 1, n_columns + 1).astype(np.int64)
    stretches = (edges_ns[:-1], edges_ns[1:], np.arange(n_columns))
    unknown = np.full((len(ranks), n_columns), np.nan)
    return Grid(
        ranks=tuple(rank.rank for rank in ranks),
        has_steps=False,
        starts_ns=edges_ns[:-1],
        of_rank={rank.rank: stretches for rank in ranks},
        period_ns=unknown,
        pace_ns=unknown,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """Steps as they were, and if every rank took the median: (n_steps,) each, and their means."""

    each_ns: Floats
    each_even_ns: Floats
    step_ns: float
    even_ns: float


def without_stragglers(grid: Grid, meetings: Meetings, waiting: Waiting) -> WhatIf | None:
    """Return the steps if every rank took the median, ``None`` where steps are not known.

    Nor can it be said of a pipeline, whose stages wait by turns although they are equally fast.
    """
    if not grid.has_steps or not meetings.n:
        return None
    if waiting.unmatched_ns.sum() > PIPELINE_RATIO * np.nansum(grid.pace_ns):
        return None
    # Rows of the waiting are in the order of meetings and of their members.
    lost_ns = grid.sums(meetings.members, waiting.lost_ns)
    each_ns = np.nanmedian(grid.pace_ns, axis=0)
    even_ns = np.nanmedian(np.maximum(grid.pace_ns - lost_ns, 0), axis=0)
    return WhatIf(
        each_ns=each_ns,
        each_even_ns=even_ns,
        step_ns=float(each_ns.mean()),
        even_ns=float(even_ns.mean()),
    )


def late_by_turns(what_if: WhatIf | None) -> Finding | None:
    """Return the finding on waiting for ranks that are late by turns, in most steps."""
    if what_if is None:
        return None
    saved_ns = what_if.each_ns - what_if.each_even_ns
    share_pct = pct_of(what_if.step_ns - what_if.even_ns, what_if.step_ns)
    usual_pct = 100 * float(np.median(saved_ns / np.maximum(what_if.each_ns, 1)))
    if min(share_pct, usual_pct) < BY_TURNS_PCT:
        return None
    return BY_TURNS.fault(share_pct, threshold=BY_TURNS_PCT, what_if=what_if)


def exhibits_of(
    meetings: Meetings,
    grid: Grid,
    findings: Sequence[Finding | None],
) -> Iterator[Exhibit]:
    """Yield heat maps of many ranks to choose from."""
    if len(grid.ranks) <= many_ranks.HEATMAP_ABOVE:
        return
    width_ns = int(grid.starts_ns[-1] - grid.starts_ns[0]) // max(grid.starts_ns.size - 1, 1)
    columns = write(COLUMNS) if grid.has_steps else write(STRETCHES, width=width_ns)
    values_ns = {
        "steps_by_rank": grid.period_ns if grid.has_steps else None,
        WAITING_MAP: grid.sums(meetings.members, meetings.wait_ns) if meetings.n else None,
    }
    is_seen = any(item and item.id in SEEN_IN_WAITING for item in findings)
    for name in sorted(MAPS, key=lambda name: is_seen and name != WAITING_MAP):
        (_, title, column, role), value_ns = MAPS[name], values_ns[name]
        if value_ns is not None:
            yield many_ranks.heatmap(
                name,
                grid.ranks,
                grid.starts_ns,
                value_ns,
                title=title,
                caption=CAPTIONS[name] + columns,
                column=column,
                role=role,
            )
