"""The evidence for rhythms: steps with the slow ones marked, what ran in them, the GPUs' use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from reportgen.facts.steps import phase_word
from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.results.exhibits import ColumnSpec
from reportgen.rules.periods.causes import compare
from reportgen.rules.periods.contents import merge_contents
from reportgen.rules.periods.groups import Group, Member
from reportgen.rules.periods.measured import Points
from reportgen.rules.periods.slow import Unit
from reportgen.rules.saying.intervals import Interval, intervals_exhibit
from reportgen.units import NS_PER_S, say_count, say_duration, seconds

Label = Callable[[Group, Member], str]
"""What a rhythm is called in one of its workers."""

CYCLES = "cycles"
MOST_FUNCTIONS = 12
LISTED_FROM_RATIO = 0.01
"""So many functions of a rhythm are listed, those that differ by 1 % of the extra time or more,
by the size of the difference. Source: ours."""
DIGITS = 6


def exhibits_of(groups: Sequence[Group], told: Sequence[Group]) -> tuple[Exhibit, ...]:
    """Return the table of all rhythms, and the evidence for those that are told.

    Args:
        groups: all rhythms, the costliest first.
        told: the first of them, which cost enough to be told.
    """
    if not groups:
        return ()
    label = _labels(groups)
    if not told:
        return (_periods(groups, label),)
    return (
        _cycles(told, label),
        _periods(groups, label),
        _functions(told, label),
        *_loads(told, label),
        intervals_exhibit(
            _intervals(told, label),
            title="When steps were slow in a rhythm",
            n_all=sum(member.period.n_found for group in told for member in group.members),
        ),
    )


def _labels(groups: Sequence[Group]) -> Label:
    """Return what names rhythms: ``every 50 steps``, ``every 30 s``.

    Two rhythms of one worker can have the same period; their first steps then tell them apart:
    ``every 50 steps from step 9``.
    """
    n_alike = Counter(_place(group, member) for group in groups for member in group.members)

    def label(group: Group, member: Member) -> str:
        if n_alike[_place(group, member)] < 2:
            return _every(group)
        return f"{_every(group)} from step {int(member.period.slowest.step[0])}"

    return label


def _place(group: Group, member: Member) -> tuple[str, str, str]:
    return member.series.worker, member.series.phase, _every(group)


def _every(group: Group) -> str:
    period = group.main.period
    if period.unit is Unit.SECONDS:
        return f"every {say_duration(period.period_s)}"
    return f"every {period.period_steps:g} steps"


def _cycles(groups: Sequence[Group], label: Label) -> Exhibit:
    """Return the steps of the worker in which a rhythm costs most, slow ones in own columns."""
    series = groups[0].main.series
    drawn = series.drawn
    assert drawn is not None
    own = [
        (label(group, member), member.period.slowest)
        for group in groups
        for member in group.members
        if member.series is series
    ]
    start_ns, length_ns = _together([drawn, *(points for _, points in own)])
    columns: list[ColumnSpec] = [
        ("time_s", "s", start_ns / NS_PER_S),
        ("step_and_pause_s", "s", np.round(length_ns / NS_PER_S, DIGITS)),
    ]
    columns += [
        (
            f"slow {name}",
            "s",
            np.where(
                np.isin(start_ns, points.start_ns), np.round(length_ns / NS_PER_S, DIGITS), np.nan
            ),
        )
        for name, points in own
    ]
    thinned = (
        f" {say_count(start_ns.size)} of {say_count(series.n_steps)} steps are drawn, of each "
        "stretch the longest."
        if start_ns.size < series.n_steps
        else ""
    )
    return exhibit(
        CYCLES,
        ExhibitKind.SERIES,
        title=f"Steps of {series.worker} ({phase_word(series.phase)}) with the pause behind each",
        caption=f"From the start of a step to that of the next one; slow ones are marked.{thinned}",
        columns=columns,
    )


def _together(parts: Sequence[Points]) -> tuple[np.ndarray, np.ndarray]:
    start_ns, first = np.unique(
        np.concatenate([part.start_ns for part in parts]), return_index=True
    )
    return start_ns, np.concatenate([part.length_ns for part in parts])[first]


def _periods(groups: Sequence[Group], label: Label) -> Exhibit:
    rows = [(label(group, member), member) for group in groups for member in group.members]
    members = [member for _, member in rows]
    periods = [member.period for member in members]
    return exhibit(
        "periods",
        ExhibitKind.TABLE,
        title="Rhythms of slow steps by worker",
        caption=(
            "Costs are above the usual cycle at that time; shares are of the worker's loop. Cheap "
            "rhythms stand in this table only."
        ),
        columns=[
            ("period", "", [name for name, _ in rows]),
            ("worker", "", [member.series.worker for member in members]),
            ("phase", "", [phase_word(member.series.phase) for member in members]),
            ("even_in", "", [period.unit.value for period in periods]),
            ("period_steps", "steps", [period.period_steps for period in periods]),
            ("period_s", "s", [period.period_s for period in periods]),
            ("found", "", [period.n_found for period in periods]),
            ("expected", "", [period.n_expected for period in periods]),
            ("first_step", "", [int(period.slowest.step[0]) for period in periods]),
            ("usual_s", "s", [member.series.usual_ns / NS_PER_S for member in members]),
            ("cost_each_s", "s", [p.cost_ns / p.n_found / NS_PER_S for p in periods]),
            ("cost_s", "s", [period.cost_ns / NS_PER_S for period in periods]),
            ("cost_pct", "%", [100 * member.cost_ratio for member in members]),
            ("slow_part", "", [_part(member) for member in members]),
        ],
    )


def _part(member: Member) -> str:
    return "pause before the next step" if member.period.is_between else "step"


def _functions(groups: Sequence[Group], label: Label) -> Exhibit:
    rows = []
    for group in groups:
        contents = merge_contents([member.period.contents for member in group.members])
        compared = [
            item for item in compare(contents) if abs(item.excess_ratio) >= LISTED_FROM_RATIO
        ]
        differing = sorted(compared, key=lambda item: -abs(item.excess_ratio))[:MOST_FUNCTIONS]
        rows += [(group, item) for item in compared if item in differing]
    return exhibit(
        "slow_functions",
        ExhibitKind.TABLE,
        title="What ran in slow steps and in normal ones",
        caption=(
            "Means per step, or per pause where the pause is slow, over all workers of the "
            "rhythm. A function inside another counts in both. What runs in the background at "
            "its usual rate has evidence 0, what filled all of the extra time 100 %."
        ),
        columns=[
            ("period", "", [label(group, group.main) for group, _ in rows]),
            ("function", "", [item.part.label for _, item in rows]),
            ("slow_s", "s", [item.slow_ns / NS_PER_S for _, item in rows]),
            ("normal_s", "s", [item.normal_ns / NS_PER_S for _, item in rows]),
            (
                "difference_s",
                "s",
                [(item.slow_ns - item.normal_ns) / NS_PER_S for _, item in rows],
            ),
            ("of_extra_time_pct", "%", [100 * item.excess_ratio for _, item in rows]),
            ("evidence_pct", "%", [100 * max(item.evidence_ratio, 0.0) for _, item in rows]),
        ],
    )


def _loads(groups: Sequence[Group], label: Label) -> tuple[Exhibit, ...]:
    rows = [
        (label(group, member), member, gauge, load)
        for group in groups
        for member in _one_per_node(group)
        for gauge, load in member.period.loads.by_gauge.items()
    ]
    if not rows:
        return ()
    return (
        exhibit(
            "inside_outside",
            ExhibitKind.TABLE,
            title="How busy the node was inside and outside slow steps",
            caption=(
                "Means over the samples of the training loop, by node for its costliest worker; "
                "without a value where no sample fell."
            ),
            columns=[
                ("period", "", [name for name, *_ in rows]),
                ("node", "", [member.series.node for _, member, _, _ in rows]),
                ("gauge", "", [gauge.value for *_, gauge, _ in rows]),
                ("inside_pct", "%", [load.inside_pct for *_, load in rows]),
                ("outside_pct", "%", [load.outside_pct for *_, load in rows]),
                ("samples_inside", "", [load.n_inside for *_, load in rows]),
                ("samples_outside", "", [load.n_outside for *_, load in rows]),
            ],
        ),
    )


def _one_per_node(group: Group) -> list[Member]:
    best: dict[str, Member] = {}
    for member in group.members:
        known = best.get(member.series.node)
        if known is None or member.cost_ratio > known.cost_ratio:
            best[member.series.node] = member
    return list(best.values())


def _intervals(groups: Sequence[Group], label: Label) -> list[Interval]:
    return [
        Interval(
            node=member.series.node,
            device=member.series.worker,
            what=f"step {step}, slow {label(group, member)}",
            start_s=seconds(start_ns),
            end_s=seconds(end_ns),
        )
        for group in groups
        for member in group.members
        for step, start_ns, end_ns in zip(
            member.period.slowest.step.tolist(),
            member.period.windows.first_ns.tolist(),
            member.period.windows.last_ns.tolist(),
            strict=True,
        )
    ]
