"""The tables and charts of a comparison, as exhibits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace

from reportgen.comparison.model import Comparison, FindingState, MetricChange, Moved
from reportgen.results import Depth, Exhibit, ExhibitKind, Role
from reportgen.results.exhibits import column, exhibit
from reportgen.results.model import Column, ColumnType
from reportgen.text import plural

MOST_MOVED = 25
"""So many kernels or operators of a kind stand on the page; the JSON has all of them."""
_STATE_WORDS: dict[FindingState, str] = {
    FindingState.NOT_CHECKED: "could not look",
    **{state: state.value for state in tuple(FindingState)[:-1]},
}
_SAME_WORDS: dict[bool | None, str] = {True: "equal", False: "differs", None: "unknown"}


def conditions(comparison: Comparison) -> tuple[Exhibit, ...]:
    """Return what should be equal in both jobs, a row each."""
    rows = comparison.comparability
    made = exhibit(
        "comparability",
        ExhibitKind.TABLE,
        title="Can these jobs be compared?",
        caption="Unknown is what one of the two reports does not say.",
        columns=[
            _texts("what", [row.what for row in rows]),
            _texts("before", [row.before for row in rows]),
            _texts("after", [row.after for row in rows]),
            _texts("same", [_SAME_WORDS[row.same] for row in rows]),
        ],
    )
    return (made,)


def step_times(comparison: Comparison) -> tuple[Exhibit, ...]:
    """Return the distributions of both, and the numbers of their difference."""
    step = comparison.step
    if step is None:
        return ()
    edges = step.histogram.edges_s
    distributions = exhibit(
        "step_times",
        ExhibitKind.HISTOGRAM,
        title="Time per step",
        caption=(
            "From the start of a step to the start of the next one; the last bin holds all that "
            f"took longer. {step.before_n:,} steps before, {step.after_n:,} after."
        ),
        columns=[
            _numbers("bin_start", "s", edges[:-1]),
            _numbers("bin_end", "s", edges[1:]),
            column("before", "", step.histogram.before, type=ColumnType.INT, role=Role.OTHER),
            column("after", "", step.histogram.after, type=ColumnType.INT, role=Role.STEP),
        ],
    )
    rows = [
        ("median before", step.before_p50_s),
        ("median after", step.after_p50_s),
        ("difference of the medians", step.difference_s),
        ("95 % interval, low", step.interval_s[0]),
        ("95 % interval, high", step.interval_s[1]),
        ("difference of the means", step.step_mean_difference_s),
        ("noise: halves of one run differ by", step.noise_s),
        ("smallest difference that would have shown", step.least_s),
    ]
    numbers = exhibit(
        "step_difference",
        ExhibitKind.TABLE,
        title="Difference in time per step",
        caption=(
            "The interval is from a block bootstrap over steps; of fewer than 30 steps, from the "
            "rank-sum test."
        ),
        columns=[
            _texts("what", [name for name, _ in rows]),
            _numbers("time_s", "s", [value for _, value in rows]),
        ],
    )
    return distributions, numbers


def waterfall(comparison: Comparison) -> tuple[Exhibit, ...]:
    """Return where the difference of the means comes from: parts that add up to it."""
    rows = comparison.waterfall
    if not rows:
        return ()
    made = exhibit(
        "waterfall",
        ExhibitKind.BARS,
        title="Where the difference comes from, per step",
        caption=(
            "Means over the compared steps and all GPUs. The parts of a job add up to its mean "
            "time per step, the differences to the difference of the means."
        ),
        columns=[
            _texts("part", [row.part for row in rows]),
            _numbers("before_s", "s", [row.before_s for row in rows], role=Role.OTHER),
            _numbers("after_s", "s", [row.after_s for row in rows], role=Role.STEP),
            _numbers("difference_s", "s", [row.difference_s for row in rows], role=Role.WARNING),
        ],
    )
    return (made,)


def findings(comparison: Comparison) -> tuple[Exhibit, ...]:
    """Return what became of each finding."""
    rows = comparison.findings
    if not rows:
        return ()
    made = exhibit(
        "findings",
        ExhibitKind.TABLE,
        title="Findings",
        caption=(
            "By their stable ids. A finding is resolved only if its check looked again and did "
            "not find it."
        ),
        columns=[
            _texts("id", [row.id for row in rows]),
            _texts("state", [_STATE_WORDS[row.state] for row in rows]),
            _texts("severity_before", [row.severity_before for row in rows]),
            _texts("severity_after", [row.severity_after for row in rows]),
            _numbers("may_save_before", "%", [_pct(row.share_before_ratio) for row in rows]),
            _numbers("may_save_after", "%", [_pct(row.share_after_ratio) for row in rows]),
            _texts("finding", [row.title for row in rows]),
        ],
    )
    return (made,)


def moved(comparison: Comparison) -> tuple[Exhibit, ...]:
    """Return a table of each kind of item, those that changed most first."""
    kinds = dict.fromkeys(row.kind for row in comparison.moved)
    return tuple(
        _moved(number, kind, [row for row in comparison.moved if row.kind == kind])
        for number, kind in enumerate(kinds)
    )


def _moved(number: int, kind: str, rows: Sequence[Moved]) -> Exhibit:
    shown = rows[:MOST_MOVED]
    unit_of = "of one call" if kind.startswith("call") else "per step and rank"
    rest = (
        f" Of {plural(len(rows), 'row')} those that changed most." if len(rows) > len(shown) else ""
    )
    made = exhibit(
        f"moved_{number}",
        ExhibitKind.TABLE,
        title=f"Time by {kind}",
        caption=f"Times {unit_of}; a dash is what a job does not have.{rest}",
        columns=[
            _texts("name", [row.name for row in shown]),
            *(
                _numbers(
                    name,
                    "us" if name.endswith("_us") else "",
                    [getattr(row, name) for row in shown],
                )
                for name in [item.name for item in fields(Moved)][2:]
            ),
        ],
    )
    return replace(made, depth=Depth.FOLDED) if number else made


def metrics(comparison: Comparison) -> tuple[Exhibit, ...]:
    """Return all numbers of both reports by name."""
    rows = [row for row in comparison.metrics if row.before is not None or row.after is not None]
    if not rows:
        return ()
    made = exhibit(
        "metrics",
        ExhibitKind.TABLE,
        title="All numbers of both reports",
        caption="The names are those of the results and of --fail-if.",
        columns=[
            _texts("name", [row.name for row in rows]),
            *(
                _numbers(name, "", [getattr(row, name) for row in rows])
                for name in [item.name for item in fields(MetricChange)][2:]
            ),
        ],
    )
    return (made,)


def _pct(ratio: float | None) -> float | None:
    return None if ratio is None else 100 * ratio


def _texts(name: str, values: Sequence[str | None]) -> Column:
    return column(name, "", values, type=ColumnType.TEXT)


def _numbers(
    name: str, unit: str, values: Sequence[float | None], *, role: Role | None = None
) -> Column:
    return column(name, unit, values, type=ColumnType.FLOAT, role=role)


SECTIONS: Mapping[str, Callable[[Comparison], tuple[Exhibit, ...]]] = {
    "comparability": conditions,
    "step-time": step_times,
    "waterfall": waterfall,
    "findings": findings,
    "moved": moved,
    "metrics": metrics,
}
"""What stands in each section of the page, in its order."""
