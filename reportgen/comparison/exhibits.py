"""The tables and charts of a comparison, as exhibits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from reportgen.comparison.conditions import changed_settings
from reportgen.comparison.model import Comparison, Moved, WaterfallPart
from reportgen.comparison.waterfall import reasons_of
from reportgen.results import Depth, Exhibit, ExhibitKind, Role
from reportgen.results.exhibits import column, exhibit
from reportgen.results.model import Column, ColumnType
from reportgen.text import format_duration, plural

MOST_MOVED = 25
"""Limit of kernels or operators of a kind on the page; the JSON has all of them."""
_NO_BREAK = "\N{NO-BREAK SPACE}"
_OF_MOVED = ("before_us", "after_us", "difference_us", "before_count", "after_count")
_SAME_WORDS: dict[bool | None, str] = {True: "equal", False: "differs", None: "unknown"}


def conditions(comparison: Comparison) -> tuple[Exhibit, ...]:
    """Return the conditions that should be equal in both jobs, a row each."""
    rows = comparison.comparability
    return _table(
        "comparability",
        "Can these jobs be compared?",
        "A condition is unknown if one of the two reports does not have it.",
        *_texts_of(rows, "what", "before", "after"),
        _texts("same", [_SAME_WORDS[row.same] for row in rows]),
    )


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
        ("noise: the two halves of one run differ by", step.noise_s),
        ("smallest difference found in four of five such comparisons", step.least_s),
    ]
    numbers = _table(
        "step_difference",
        "Difference in time per step",
        "The interval is that of the difference of the medians: from a block bootstrap over "
        "steps, or from the rank-sum test if there are fewer than 30.",
        _texts("what", [name for name, _ in rows]),
        _numbers("time_s", "s", [value for _, value in rows]),
    )
    return distributions, *numbers


def waterfall(comparison: Comparison) -> tuple[Exhibit, ...]:
    """Return where the difference of the means comes from: parts that add up to it."""
    rows = comparison.waterfall
    if not rows:
        return ()
    has_budget = all(row.key != "inside_steps" for row in rows)
    measured = "GPUs" if has_budget else "training processes"
    reasons = [reasons_of(row) for row in rows]
    made = exhibit(
        "waterfall",
        ExhibitKind.BARS,
        title="Where the difference comes from, per step",
        caption=(
            f"Means over the compared steps and all {measured}. The parts of a job add up "
            f"to its mean time per step: {_total(rows, 'before_s')} before, "
            f"{_total(rows, 'after_s')} after, a difference of {_total(rows, 'difference_s')}."
        ),
        columns=[
            _texts("part", [row.part for row in rows]),
            _numbers("difference_s", "s", [row.difference_s for row in rows]),
            _texts(
                "before_to_after",
                [
                    _both(*(format_duration(time_s).replace(" ", _NO_BREAK) for time_s in times_s))
                    for times_s in ((row.before_s, row.after_s) for row in rows)
                ],
            ),
            *([_texts("of_the_difference", reasons)] if any(reasons) else []),
        ],
        row_roles=[Role.WARNING if row.difference_s > 0 else Role.GPU for row in rows],
    )
    return (made,)


def _total(rows: Sequence[WaterfallPart], name: str) -> str:
    return format_duration(sum(getattr(row, name) for row in rows))


def findings(comparison: Comparison) -> tuple[Exhibit, ...]:
    """Return the change of each finding."""
    rows = comparison.findings
    return _table(
        "findings",
        "Findings",
        "Findings of both reports, matched by id. If both have one, its words are those of the "
        "second. "
        "Unchanged: the severity is the same, and the share that it may save is within two "
        "points. Resolved: the check looked again and did not find it.",
        _texts("id", [row.id for row in rows]),
        _texts("state", [row.state.value.replace("_", " ") for row in rows]),
        _texts("severity", [_both(row.severity_before, row.severity_after) for row in rows]),
        _texts(
            "may_save",
            [_both(_pct(row.share_before_ratio), _pct(row.share_after_ratio)) for row in rows],
        ),
        _texts("finding", [row.title for row in rows]),
    )


def moved(comparison: Comparison) -> tuple[Exhibit, ...]:
    """Return a table of each kind of item, those that changed most first."""
    found = [
        item
        for kind in dict.fromkeys(row.kind for row in comparison.moved)
        for item in _moved(kind, [row for row in comparison.moved if row.kind == kind])
    ]
    return (*found[:1], *(replace(item, depth=Depth.FOLDED) for item in found[1:]))


def _moved(kind: str, rows: Sequence[Moved]) -> tuple[Exhibit, ...]:
    shown, per = (
        rows[:MOST_MOVED],
        "of one call" if kind.startswith("call") else "per step and rank",
    )
    rest = f" These are the first of {plural(len(rows), 'row')}." if rows[MOST_MOVED:] else ""
    columns = (*_texts_of(shown, "name", "operator"), *_numbers_of(shown, *_OF_MOVED))
    return _table(
        f"moved_{kind.replace(' ', '_')}",
        f"Time by {kind}",
        f"Times {per}, the largest change first. Rows without a time before or "
        f"after are of one job only: they may be renamed or replaced.{rest}",
        *(column for column in columns if set(column.values) != {None}),
    )


def resources(comparison: Comparison) -> tuple[Exhibit, ...]:
    """Return changed settings, costs of a thousand steps, and the use of the machines."""
    settings, sides = changed_settings(comparison.comparability), ("before", "after")
    costs, usage = comparison.costs, comparison.usage
    return (
        *_table(
            "settings",
            "Changed settings",
            "Loader, batch and number formats as the two jobs recorded them, where they differ.",
            *_texts_of(settings, "what", *sides),
        ),
        *_table(
            "costs",
            "Money and energy per 1,000 steps",
            "Of the recorded GPUs; money at the price that was passed to each report.",
            _texts("what", [row.name for row in costs]),
            *_texts_of(costs, "unit"),
            *_numbers_of(costs, *sides, "difference"),
        ),
        *_table(
            "usage",
            "Use of each resource",
            "Percentiles of all samples of each job.",
            *_texts_of(usage, "metric", "node", "unit"),
            *(
                _numbers(f"{side}_{point}", "", [getattr(row, side)[at] for row in usage])
                for at, point in enumerate(("p5", "p50", "p95"))
                for side in sides
            ),
        ),
    )


def metrics(comparison: Comparison) -> tuple[Exhibit, ...]:
    """Return all numbers of both reports by name."""
    rows = [row for row in comparison.metrics if row.before is not None or row.after is not None]
    return _table(
        "metrics",
        "All numbers of both reports",
        "A condition of --fail-if may use any of these names.",
        *_texts_of(rows, "name", "unit"),
        *_numbers_of(rows, "before", "after", "difference"),
    )


def _table(name: str, title: str, caption: str, *columns: Column) -> tuple[Exhibit, ...]:
    """Return a table, or nothing where it has no rows."""
    if not columns[0].values:
        return ()
    return (exhibit(name, ExhibitKind.TABLE, title=title, caption=caption, columns=columns),)


def _both(before: str | None, after: str | None) -> str | None:
    if before is None and after is None:
        return None
    return before if before == after else f"{before or '–'} → {after or '–'}"


def _pct(ratio: float | None) -> str | None:
    return None if ratio is None else f"{100 * ratio:.1f} %"


def _texts(name: str, values: Sequence[str | None]) -> Column:
    return column(name, "", values, type=ColumnType.TEXT)


def _texts_of(rows: Sequence[object], *names: str) -> Iterator[Column]:
    return (_texts(name, [getattr(row, name) for row in rows]) for name in names)


def _numbers_of(rows: Sequence[object], *names: str) -> Iterator[Column]:
    for name in names:
        unit = "us" if name.endswith("_us") else ""
        yield _numbers(name, unit, [getattr(row, name) for row in rows])


def _numbers(name: str, unit: str, values: Sequence[float | None]) -> Column:
    return column(name, unit, values, type=ColumnType.FLOAT)


SECTIONS: Mapping[str, Callable[[Comparison], tuple[Exhibit, ...]]] = {
    "comparability": conditions,
    "step-time": step_times,
    "waterfall": waterfall,
    "findings": findings,
    "moved": moved,
    "resources": resources,
    "metrics": metrics,
}
"""Content of each section of the page, in its order."""
