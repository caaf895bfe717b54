"""The tables of the exam: by kind, by size, and what was missed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median

from benchmarks.exam.traces.scoring import SIZES, TOO_HIGH, TOO_LOW, Row

HEAD = (
    *("", "faults", "named", "first", "place", "time", "advice"),
    *("too low", "too high", "median off"),
)


def summary(rows: Sequence[Row]) -> str:
    """Return the tables as Markdown."""
    faulty, healthy = [row for row in rows if row.kind], [row for row in rows if not row.kind]
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    kinds = sorted({row.kind for row in faulty})
    lines += [_line(kind, [row for row in faulty if row.kind == kind]) for kind in kinds]
    lines += [_line(size, [row for row in faulty if row.size == size]) for _, size in SIZES]
    lines += [_line("all", faulty), ""]
    alarmed = [row for row in healthy if row.found]
    lines.append(f"{len(healthy)} healthy traces, {len(alarmed)} with a warning or worse.")
    return "\n".join(lines)


def _line(name: str, rows: Sequence[Row]) -> str:
    bounds = [row.bound_off for row in rows if row.bound_off is not None]
    return (
        "| "
        + " | ".join(
            (
                name,
                str(len(rows)),
                _share(rows, lambda row: row.is_named),
                _share(rows, lambda row: row.is_first),
                _share(rows, lambda row: row.place),
                _share(rows, lambda row: row.time),
                _share(rows, lambda row: row.is_advised),
                str(sum(each < TOO_LOW for each in bounds)),
                str(sum(each > TOO_HIGH for each in bounds)),
                f"{100 * median(bounds):+.1f}" if bounds else "–",
            )
        )
        + " |"
    )


def _share(rows: Sequence[Row], asks: Callable[[Row], bool | None]) -> str:
    answers = [answer for row in rows if (answer := asks(row)) is not None]
    return f"{100 * sum(answers) / len(answers):.0f} %" if answers else "–"


def misses(rows: Sequence[Row]) -> Iterator[str]:
    """Yield what was expected and what was found, wherever they differ."""
    for row in rows:
        wrong = _faults_of(row)
        if wrong:
            expected = f"{row.kind} {100 * row.share:.1f} %" if row.kind else "healthy"
            yield f"{row.trace} ({row.family}, {row.detail}): expected {expected}"
            yield f"    {', '.join(wrong)}"
            yield from (f"    found {text}" for text in row.found or ("nothing",))


def _faults_of(row: Row) -> list[str]:
    if not row.kind:
        return ["false alarm"] if row.found else []
    if not row.is_named:
        return ["not named"]
    found = {
        "not first": not row.is_first,
        "wrong place": row.place is False,
        "wrong time": row.time is False,
        "advice elsewhere": not row.is_advised,
        "no bound": row.bound_off is None,
    }
    wrong = [text for text, is_so in found.items() if is_so]
    if row.bound_off is not None and not TOO_LOW <= row.bound_off <= TOO_HIGH:
        wrong.append(f"bound off by {100 * row.bound_off:+.1f}")
    return wrong
