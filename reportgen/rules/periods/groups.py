"""Rhythms that several workers share are one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.rules.periods.measured import Period, SeriesPeriods
from reportgen.units import NS_PER_S

SAME_RATIO = 0.02
"""Periods that differ by at most 2 % are the same. Source: ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One rhythm of one worker."""

    series: SeriesPeriods
    period: Period

    @property
    def cost_ratio(self) -> float:
        """Return its cost as a share of the worker's loop, in 0-1."""
        if not self.series.loop_ns:
            return 0.0
        return min(self.period.cost_ns / self.series.loop_ns, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The same rhythm in one worker or in several.

    Workers wait for each other, so costs are not added up: the costliest stands for all.
    """

    members: tuple[Member, ...]

    @property
    def main(self) -> Member:
        """Return the worker in which it costs most."""
        return max(self.members, key=lambda item: (item.cost_ratio, item.series.worker))

    @property
    def cost_ratio(self) -> float:
        """Return its cost as a share of the loop, in 0-1."""
        return self.main.cost_ratio

    @property
    def cost_s(self) -> float:
        """Return what one occurrence costs on average."""
        return self.main.period.cost_ns / self.main.period.n_found / NS_PER_S


def group_periods(series: Sequence[SeriesPeriods]) -> tuple[Group, ...]:
    """Return the rhythms of all workers, shared ones as one, the costliest first."""
    groups: list[list[Member]] = []
    for item in series:
        for period in item.periods:
            member = Member(series=item, period=period)
            same = next((group for group in groups if _is_same(group[0], member)), None)
            if same is None:
                groups.append([member])
            else:
                same.append(member)
    made = [Group(members=tuple(members)) for members in groups]
    return tuple(
        sorted(made, key=lambda group: (-group.cost_ratio, group.main.period.period_steps))
    )


def _is_same(one: Member, other: Member) -> bool:
    if one.series.phase != other.series.phase or one.series.worker == other.series.worker:
        return False
    return _is_near(one.period.period_steps, other.period.period_steps) or _is_near(
        one.period.period_s, other.period.period_s
    )


def _is_near(one: float, other: float) -> bool:
    return abs(one - other) <= SAME_RATIO * max(one, other)
