"""The tables of an exam, as Markdown, and what was wrong in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from benchmarks.exam.causes import PLANTABLE, VISIBILITY, Input
from benchmarks.exam.marks import Mark, Result
from benchmarks.exam.truth import SIZES, SMALL, UNSIZED, Planted

_COLUMNS = ("faults", "named", "first", "place", "time", "estimates", "too low", "median off")


def report_of(results: Sequence[Result]) -> str:
    """Return all tables of an exam."""
    marks = [mark for result in results for mark in result.marks]
    counted = [mark for mark in marks if mark.is_counted]
    sizes = [name for _, name in SIZES if name != SMALL] + [UNSIZED]
    effects = [mark for mark in marks if mark.is_effect]
    blocks = [
        summary(results),
        _table("cause", counted, PLANTABLE, lambda planted: planted.cause),
        _table("size", counted, sizes, lambda planted: planted.size),
        _by_input(results),
        _effects(effects),
        _by_kind(results),
    ]
    return "\n\n".join(blocks) + "\n"


def figures_of(results: Sequence[Result]) -> dict[str, tuple[int, int]]:
    """Return the figures of an exam that are promised: how many, and of how many."""
    marks = [mark for result in results for mark in result.marks]
    counted = [mark for mark in marks if mark.is_counted]
    from_5, from_12 = (
        [mark for mark in counted if (mark.planted.share_ratio or 0) >= least]
        for least in (0.05, 0.12)
    )
    named = [mark for mark in counted if mark.is_named]
    known = [mark for mark in named if mark.error_ratio is not None]
    effects = [mark for mark in marks if mark.is_effect]
    healthy = [result for result in results if result.truth.is_healthy]
    faulty = [
        result for result in results if any(m.is_counted or m.is_effect for m in result.marks)
    ]

    def of(part: Sequence[object], whole: Sequence[object]) -> tuple[int, int]:
        return len(part), len(whole)

    return {
        "named, from 5 % on": of([m for m in from_5 if m.is_named], from_5),
        "first, from 5 % on": of([m for m in from_5 if m.is_first], from_5),
        "named, from 12 % on": of([m for m in from_12 if m.is_named], from_12),
        "first, from 12 % on": of([m for m in from_12 if m.is_first], from_12),
        "named, of all sizes": of(named, counted),
        "effects warned of, with the cause listed": of(
            [m for m in effects if m.is_warned], effects
        ),
        "place right": of([m for m in named if m.is_place_right], named),
        "time right": of([m for m in named if m.is_time_right], named),
        "bound more than 3 points too low": of([m for m in known if m.is_too_low], known),
        "healthy jobs with a warning": of([r for r in healthy if r.alarms], healthy),
        "faulty jobs with a wrong first warning": of(
            [r for r in faulty if r.has_wrong_first], faulty
        ),
        "jobs with a rule that broke": of([r for r in results if r.answer.failed_rules], results),
    }


def summary(results: Sequence[Result]) -> str:
    """Return the promised figures as a table."""
    rows = [
        f"| {name} | {part} of {whole} | {_pct(part, whole)} |"
        for name, (part, whole) in figures_of(results).items()
    ]
    return "\n".join(["| | | |", "|---|---:|---:|", *rows])


def sight_table() -> str:
    """Return what each kind of input can tell about each cause, and why."""
    names = {
        Input.SYSTEM: "system metrics only",
        Input.PYTORCH: "with PyTorch events",
        Input.TENSORFLOW: "with TensorFlow events",
    }
    lines = [f"| cause | {' | '.join(names[kind] for kind in Input)} |", "|---|---|---|---|"]
    for cause in PLANTABLE:
        verdicts = [VISIBILITY[cause, kind] for kind in Input]
        cells = [f"*{each.sight.value.replace('_', ' ')}*: {each.because}" for each in verdicts]
        lines.append(f"| `{cause}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def put_between(text: str, name: str, body: str) -> str:
    """Return a page with new text between the markers ``<!-- name: begin -->`` and ``end``.

    Raises:
        ValueError: The page lacks a marker.
    """
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, found_begin, rest = text.partition(begin)
    _, found_end, tail = rest.partition(end)
    if not found_begin or not found_end:
        raise ValueError(f"The page has no lines {begin} and {end}.")
    return f"{head}{begin}\n\n{body}\n{end}{tail}"


def _table(
    first: str, marks: Sequence[Mark], names: Iterable[str], key: Callable[[Planted], str]
) -> str:
    groups = [(name, [mark for mark in marks if key(mark.planted) == name]) for name in names]
    return _rows(first, groups)


def _by_input(results: Sequence[Result]) -> str:
    groups = [
        (
            kind.value,
            [m for r in results if r.truth.input is kind for m in r.marks if m.is_counted],
        )
        for kind in Input
    ]
    return _rows("input", groups)


def _rows(first: str, groups: Iterable[tuple[str, list[Mark]]]) -> str:
    head = f"| {' | '.join((first, *_COLUMNS))} |"
    rows = [_row(name, marks) for name, marks in groups if marks]
    return "\n".join([head, f"|---{'|---:' * len(_COLUMNS)}|", *rows])


def _row(name: str, marks: Sequence[Mark]) -> str:
    named = [mark for mark in marks if mark.is_named]
    errors = [mark.error_ratio for mark in named if mark.error_ratio is not None]
    cells = [
        name,
        str(len(marks)),
        _pct(len(named), len(marks)),
        _pct(sum(mark.is_first for mark in marks), len(marks)),
        _pct(sum(mark.is_place_right for mark in named), len(named)),
        _pct(sum(mark.is_time_right for mark in named), len(named)),
        str(len(errors)),
        _pct(sum(mark.is_too_low for mark in named), len(errors)),
        f"{100 * np.median(np.abs(errors)):.1f}" if errors else "–",
    ]
    return f"| {' | '.join(cells)} |"


def _effects(effects: Sequence[Mark]) -> str:
    lines = ["| only the effect recorded | faults | cause listed or named |", "|---|---:|---:|"]
    for cause in PLANTABLE:
        mine = [mark for mark in effects if mark.planted.cause is cause]
        if mine:
            warned = _pct(sum(mark.is_warned for mark in mine), len(mine))
            lines.append(f"| {cause} | {len(mine)} | {warned} |")
    return "\n".join(lines)


def _by_kind(results: Sequence[Result]) -> str:
    healthy = [result for result in results if result.truth.is_healthy]
    kinds = Counter(result.truth.kind for result in healthy)
    alarmed = Counter(result.truth.kind for result in healthy if result.alarms)
    rows = [
        f"| {kind.removeprefix('healthy-')} | {n} | {alarmed[kind]} |" for kind, n in kinds.items()
    ]
    return "\n".join(["| healthy jobs | jobs | with a warning |", "|---|---:|---:|", *sorted(rows)])


def _pct(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "–"


def misses(results: Sequence[Result]) -> str:
    """Return for each miss and each false warning what was planted, and the first findings."""
    lines: list[str] = []
    for result in results:
        is_alarmed = result.truth.is_healthy and bool(result.alarms)
        is_wrong = any(mark.is_miss for mark in result.marks) or result.has_wrong_first
        if is_alarmed or is_wrong or result.answer.failed_rules:
            lines += _miss(result)
    return "\n".join(lines)


def _miss(result: Result) -> list[str]:
    truth = result.truth
    wrong_first = "  WRONG FIRST" if result.has_wrong_first else ""
    lines = ["", f"{truth.name}  [{truth.input}]{wrong_first}  {truth.facts}"]
    lines += [_miss_of(mark) for mark in result.marks]
    lines += [f"  RULE BROKE: {rule}" for rule in result.answer.failed_rules]
    lines += [
        f"    {finding.severity:8} {finding.id:9} {finding.cause or '-':20} "
        f"{_share(finding.share_ratio):>7}  "
        f"{finding.node or ''} {finding.device or ''}  {finding.title}"
        + (f"  [may be: {', '.join(finding.possible_causes)}]" if finding.possible_causes else "")
        for finding in result.answer.findings[:5]
    ]
    return lines


def _miss_of(mark: Mark) -> str:
    planted = mark.planted
    if not mark.is_counted:
        words = "not warned of" if mark.is_effect and not mark.is_warned else "not counted"
        words = "warned of" if mark.is_effect and mark.is_warned else words
    elif not mark.is_named:
        words = "NOT NAMED"
    else:
        checks = {
            "not first": mark.is_first,
            "place": mark.is_place_right,
            "time": mark.is_time_right,
            "bound too low": not mark.is_too_low,
        }
        words = ", ".join(word for word, is_right in checks.items() if not is_right) or "right"
    return (
        f"  planted {planted.cause} {_share(planted.share_ratio)} of the {planted.share_of}, "
        f"{planted.sight}, {', '.join(planted.places[:3])}, "
        f"{planted.start_s:.0f}-{planted.end_s:.0f} s: {words}; error {_share(mark.error_ratio)}"
    )


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"
