"""The evidence for rhythms: steps with the slow ones marked, what ran in them, the GPUs' use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from reportgen.arrays import Floats
from reportgen.facts.inside import Work
from reportgen.results import Exhibit, ExhibitKind, Role, exhibit
from reportgen.rules import kit
from reportgen.rules.step_periodicity.measure import Period
from reportgen.units import NS_PER_S

MOST_FUNCTIONS = 12
LISTED_FROM_RATIO = 0.01
"""So many functions of a rhythm are listed, those that differ by 1 % of the extra time or more,
by the size of the difference; the others hardly matter."""
ALWAYS_THERE_RATIO = 0.98
"""A function that also fills normal steps says nothing about slow ones."""
DIGITS = 6


@kit.row
class SharedPeriod:
    """The same rhythm in one worker or in several; the costliest stands for all."""

    members: tuple[Period, ...]

    @property
    def main(self) -> Period:
        """Return the rhythm of the worker in which it costs most."""
        return max(self.members, key=lambda item: (item.cost_ratio, item.worker))

    @property
    def one_per_node(self) -> list[Period]:
        """Return the costliest rhythm of each node."""
        of_nodes = kit.sum_by_key({member.node: (member,)} for member in self.members)
        return [max(members, key=lambda item: item.cost_ratio) for members in of_nodes.values()]


@kit.row
class Compared:
    """One function per slow and per normal step.

    Attributes:
        excess_ratio: how much of the extra time of a slow step it took; negative when it took less.
        evidence_ratio: the same beyond what something that always runs at its usual rate would have
            taken: 0 for a background thread, 1 for what filled all of the extra time.
    """

    label: str = kit.col(name="period")
    function: str = kit.col()
    slow_ns: float = kit.col("s", name="slow_s", per=NS_PER_S)
    normal_ns: float = kit.col("s", name="normal_s", per=NS_PER_S)
    difference_s: float = kit.derived(lambda item: (item.slow_ns - item.normal_ns) / NS_PER_S, "s")
    of_extra_time_pct: float = kit.derived(lambda item: 100 * item.excess_ratio, "%")
    evidence_pct: float = kit.derived(lambda item: 100 * max(item.evidence_ratio, 0.0), "%")
    work: Work
    excess_ratio: float
    evidence_ratio: float


def compare(group: SharedPeriod) -> list[Compared]:
    """Return the functions by how much more time they took in slow steps, most first.

    Edge cases: without a normal step, or when slow ones are no longer, there is nothing to say.
    """
    contents = kit.merge([member.contents for member in group.members])
    if not contents.n_slow or not contents.n_normal:
        return []
    normal_ns = contents.normal_ns / contents.n_normal
    extra_ns = contents.slow_ns / contents.n_slow - normal_ns
    if extra_ns <= 0:
        return []
    found = []
    for key, in_slow_ns in contents.in_slow_ns.items():
        its_slow_ns = in_slow_ns / contents.n_slow
        its_normal_ns = contents.in_normal_ns[key] / contents.n_normal
        rate = its_normal_ns / normal_ns if normal_ns else 0.0
        excess = (its_slow_ns - its_normal_ns) / extra_ns
        found.append(
            Compared(
                label=group.main.label,
                function=key[0],
                work=key[1],
                slow_ns=its_slow_ns,
                normal_ns=its_normal_ns,
                excess_ratio=excess,
                evidence_ratio=0.0 if rate > ALWAYS_THERE_RATIO else (excess - rate) / (1 - rate),
            )
        )
    return sorted(found, key=lambda item: (-item.excess_ratio, item.function))


@kit.row
class _NodeLoad:
    """Columns of a rhythm, a gauge, and its load."""

    period: str = kit.derived(lambda its: its[0].label)
    node: str = kit.derived(lambda its: its[0].node)
    gauge: str = kit.derived(lambda its: its[1])
    inside_pct: float | None = kit.derived(lambda its: its[2].inside_pct, "%")
    outside_pct: float | None = kit.derived(lambda its: its[2].outside_pct, "%")
    samples_inside: int = kit.derived(lambda its: its[2].n_inside)
    samples_outside: int = kit.derived(lambda its: its[2].n_outside)


def exhibits_of(groups: Sequence[SharedPeriod], told: Sequence[SharedPeriod]) -> Iterator[Exhibit]:
    """Yield the table of all rhythms, and the evidence for the first, which cost enough."""
    if told:
        yield _cycles(told)
    if groups:
        yield kit.table(
            "periods",
            [member for group in groups for member in group.members],
            Period,
            title="Regular slow steps by training process",
            caption="""Costs are the time above the usual cycle at that time. Shares are of the time
                from the first to the last step of the training process. Regular slow steps that
                cost little are only in this table.""",
        )
    if told:
        yield _functions(told)
        yield from _loads(told)
        yield kit.intervals(
            [item for group in told for member in group.members for item in _intervals(member)],
            title="When steps were regularly slow",
            n_all=sum(member.n_found for group in told for member in group.members),
        )


def _cycles(groups: Sequence[SharedPeriod]) -> Exhibit:
    main = groups[0].main
    every = kit.concat(group.members for group in groups)
    own = [its for its in every if (its.worker, its.phase) == (main.worker, main.phase)]
    parts = [main.drawn, *(member.slowest for member in own)]
    starts_ns, cycle_ns = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("start_ns", "cycle_ns")
    )
    start_ns, first = np.unique(starts_ns, return_index=True)
    length_s = np.round(cycle_ns[first] / NS_PER_S, DIGITS)

    def slow_s(member: Period) -> Floats:
        return np.where(np.isin(start_ns, member.slowest.start_ns), length_s, np.nan)

    caption = "From the start of a step to the start of the next one; slow steps are marked."
    if start_ns.size < main.n_steps:
        drawn = f"{start_ns.size:,} of {main.n_steps:,} steps are drawn"
        caption += f" {drawn}: the longest one of each interval."
    return exhibit(
        "cycles",
        ExhibitKind.SERIES,
        title=f"Steps of {main.worker} ({main.word}) with the pause after each",
        caption=caption,
        columns=[
            *kit.floats(("time_s", "s", start_ns / NS_PER_S)),
            *kit.floats(("step_and_pause_s", "s", length_s), role=Role.STEP),
            *kit.floats(
                *((f"slow {member.label}", "s", slow_s(member)) for member in own),
                role=Role.WARNING,
            ),
        ],
    )


def _functions(groups: Sequence[SharedPeriod]) -> Exhibit:
    rows: list[Compared] = []
    for group in groups:
        differing = [item for item in compare(group) if abs(item.excess_ratio) >= LISTED_FROM_RATIO]
        largest = sorted(differing, key=lambda item: -abs(item.excess_ratio))[:MOST_FUNCTIONS]
        rows += [item for item in differing if item in largest]
    return kit.table(
        "slow_functions",
        rows,
        Compared,
        title="Functions in slow steps and in normal ones",
        caption="""Means per step (or per pause, if the pause is slow) over all affected training
            processes. A function inside another one counts in both. The evidence is 0 for a
            function that ran as usual in the background, and 100 % for one that took all of the
            extra time.""",
    )


def _loads(groups: Sequence[SharedPeriod]) -> Iterator[Exhibit]:
    rows = [
        (member, gauge, load)
        for group in groups
        for member in group.one_per_node
        for gauge, load in member.loads.items()
    ]
    if rows:
        yield kit.table(
            "inside_outside",
            rows,
            _NodeLoad,
            title="How busy the node was inside and outside slow steps",
            caption="""Means over the samples of the training loop; for each node, of the training
                process with the highest cost. Empty if there are no samples.""",
        )


def _intervals(member: Period) -> Iterator[kit.Interval]:
    windows, numbers = member.windows, member.slowest.number.tolist()
    for number, start_ns, end_ns in zip(numbers, windows.start_ns, windows.end_ns, strict=True):
        where = kit.stretch(member.node, member.worker, start_ns, end_ns)
        yield kit.interval(f"step {number}, slow {member.label}", where)
