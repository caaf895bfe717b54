"""The tables of an exam, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

import numpy as np

from benchmarks.exam.causes import PLANTABLE, VISIBILITY, Input, Verdict
from benchmarks.exam.marks import Mark, Result, is_counted
from benchmarks.exam.truth import SIZES, UNSIZED
from reportgen.results.causes import Cause

_TOO_LOW = -0.03
_COLUMNS = ("faults", "named", "first", "place", "time", "advice", "estimates", "too low")


def report_of(results: Sequence[Result]) -> str:
    """Return all tables of an exam."""
    counted = [mark for result in results for mark in result.marks if is_counted(mark.planted)]
    rest = [mark for result in results for mark in result.marks if not is_counted(mark.planted)]
    blocks = [
        _summary(results, counted),
        _table("cause", ((cause.value, _of(counted, cause)) for cause in PLANTABLE)),
        _table("size", _by_size(counted)),
        _table("input", _by_input(results)),
        _table("family", _by_family(results)),
    ]
    if rest:
        listed = sum(mark.is_listed for mark in rest)
        named = sum(mark.is_named for mark in rest)
        blocks.append(
            f"Of {len(rest)} faults of which the input shows the effect at most, a finding lists "
            f"{listed} among the possible causes; {named} were named as the cause."
        )
    return "\n\n".join(blocks) + "\n"


def sight_table() -> str:
    """Return what each kind of input can tell about each cause, and why."""
    names = {
        Input.SYSTEM: "system metrics only",
        Input.PYTORCH: "with PyTorch events",
        Input.TENSORFLOW: "with TensorFlow events",
    }
    lines = [f"| cause | {' | '.join(names[kind] for kind in Input)} |", "|---|---|---|---|"]
    for cause in PLANTABLE:
        cells = [_sight_cell(VISIBILITY[cause, kind]) for kind in Input]
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


def _sight_cell(verdict: Verdict) -> str:
    return f"*{verdict.sight.value.replace('_', ' ')}*: {verdict.because}"


def _of(marks: Iterable[Mark], cause: Cause) -> list[Mark]:
    return [mark for mark in marks if mark.planted.cause is cause]


def _by_size(marks: Sequence[Mark]) -> Iterable[tuple[str, list[Mark]]]:
    for name in (*(name for _, name in SIZES), UNSIZED):
        yield name, [mark for mark in marks if mark.planted.size == name]


def _by_input(results: Sequence[Result]) -> Iterable[tuple[str, list[Mark]]]:
    return _grouped(results, lambda result: result.truth.input.value)


def _by_family(results: Sequence[Result]) -> Iterable[tuple[str, list[Mark]]]:
    return _grouped(results, lambda result: result.truth.family)


def _grouped(
    results: Sequence[Result], key: Callable[[Result], str]
) -> Iterable[tuple[str, list[Mark]]]:
    for name in sorted({key(result) for result in results}):
        marks = chain.from_iterable(result.marks for result in results if key(result) == name)
        yield name, [mark for mark in marks if is_counted(mark.planted)]


def _table(first: str, groups: Iterable[tuple[str, Sequence[Mark]]]) -> str:
    rows = [_row(name, marks) for name, marks in groups if marks]
    head = f"| {' | '.join((first, *_COLUMNS, 'median off'))} |"
    return "\n".join([head, f"|---{'|---:' * (len(_COLUMNS) + 1)}|", *rows])


def _row(name: str, marks: Sequence[Mark]) -> str:
    named = [mark for mark in marks if mark.is_named]
    errors = np.array([mark.error_ratio for mark in named if mark.error_ratio is not None])
    cells = [
        name,
        str(len(marks)),
        _pct(len(named), len(marks)),
        _pct(sum(mark.is_first for mark in marks), len(marks)),
        _pct(sum(mark.is_place_right for mark in named), len(named)),
        _pct(sum(mark.is_time_right for mark in named), len(named)),
        _pct(sum(mark.is_advised for mark in named), len(named)),
        str(errors.size),
        _pct(int((errors < _TOO_LOW).sum()), errors.size),
        f"{100 * np.median(np.abs(errors)):.1f}" if errors.size else "–",
    ]
    return f"| {' | '.join(cells)} |"


def _pct(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "–"


def _summary(results: Sequence[Result], counted: Sequence[Mark]) -> str:
    healthy = [result for result in results if result.truth.is_healthy]
    alarmed = [result for result in healthy if result.alarms]
    broken = sum(len(result.answer.failed_rules) for result in results)
    seconds = sum(result.seconds for result in results)
    rows = [
        ("jobs", str(len(results))),
        ("planted faults that the input can identify", str(len(counted))),
        ("of them, named by a warning", _pct(sum(m.is_named for m in counted), len(counted))),
        ("of them, first", _pct(sum(m.is_first for m in counted), len(counted))),
        ("named, from 5 % on", _named_from(counted, 0.05)),
        ("named, from 12 % on", _named_from(counted, 0.12)),
        ("healthy jobs", str(len(healthy))),
        ("of them, with a warning", f"{len(alarmed)} ({_pct(len(alarmed), len(healthy))})"),
        ("rules that broke", str(broken)),
        ("seconds per job, made and analysed", f"{seconds / max(len(results), 1):.2f}"),
    ]
    return "\n".join(["| | |", "|---|---:|", *(f"| {name} | {value} |" for name, value in rows)])


def _named_from(marks: Sequence[Mark], least: float) -> str:
    sized = [mark for mark in marks if (mark.planted.share_ratio or 0) >= least]
    return _pct(sum(mark.is_named for mark in sized), len(sized))


def misses(results: Sequence[Result]) -> str:
    """Return for each miss what was planted, and the first findings."""
    lines: list[str] = []
    for result in results:
        wrong = [mark for mark in result.marks if is_counted(mark.planted) and _is_miss(mark)]
        if wrong or (result.truth.is_healthy and result.alarms) or result.answer.failed_rules:
            lines += _miss(result)
    return "\n".join(lines)


def _is_miss(mark: Mark) -> bool:
    is_low = mark.error_ratio is not None and mark.error_ratio < _TOO_LOW
    return not (mark.is_first and mark.is_place_right and mark.is_time_right) or is_low


def _miss(result: Result) -> list[str]:
    truth = result.truth
    lines = ["", f"{truth.name}  [{truth.input}]  {truth.facts}"]
    for mark in result.marks:
        planted = mark.planted
        wrong = [
            word
            for word, is_right in (
                ("NOT NAMED", mark.is_named),
                ("not first", mark.is_first),
                ("place", mark.is_place_right or not mark.is_named),
                ("time", mark.is_time_right or not mark.is_named),
                ("advice", mark.is_advised or not mark.is_named),
            )
            if not is_right
        ]
        lines.append(
            f"  planted {planted.cause} {_share(planted.share_ratio)} of the {planted.share_of}, "
            f"{planted.sight}, {', '.join(planted.places[:3])}, "
            f"{planted.start_s:.0f}-{planted.end_s:.0f} s: "
            f"{', '.join(wrong) or 'right'}; error {_share(mark.error_ratio)}"
        )
    lines += [f"  RULE BROKE: {rule}" for rule in result.answer.failed_rules]
    lines += [
        f"    {told.severity:8} {told.id:9} {told.cause or '-':20} {_share(told.share_ratio):>7}  "
        f"{told.node or ''} {told.device or ''}  {told.title}"
        for told in result.answer.told[:6]
    ]
    return lines


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"
