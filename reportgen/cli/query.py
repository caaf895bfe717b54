"""``reportgen query``: ask a saved report one question."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from reportgen.cli.places import Grouped, bucket_options
from reportgen.cli.streams import say
from reportgen.errors import LocationError
from reportgen.plain_files import refuse_oddity
from reportgen.report.query import Answer, ask, narrowed
from reportgen.results import Scalar

_ROWS, _ROWS_OF_LIST = 20, 200
_MOST_COLUMNS = 12
_CHARS_OF_TEXT, _CHARS_OF_DATA = 90, 2000
_LONG_NUMBER = 1e6
_PAIR_COLUMNS = ["key", "value"]


def _print_skill(ctx: click.Context, _: click.Parameter, is_wanted: bool) -> None:  # click calls it
    if is_wanted:
        from reportgen.assets import skill_path

        click.echo(f"file: {skill_path()}", err=True)
        click.echo(skill_path().read_text(encoding="utf-8"), nl=False)
        ctx.exit()


@click.command(cls=Grouped)
@click.argument("path", metavar="REPORT")
@click.argument("what", metavar="[WHAT]", default="")
@click.option(
    "--where",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help="Only rows that meet it: 'pct > 5', 'node = algo-1', 'name ~ conv'. Repeatable.",
)
@click.option("--sort", metavar="COLUMN", help="Sort by a column; -COLUMN: the largest first.")
@click.option("--columns", metavar="A,B", default="", help="Only these columns, in this order.")
@click.option(
    "--rows",
    type=click.IntRange(1),
    metavar="N",
    help=f"How many rows. [default: {_ROWS}; {_ROWS_OF_LIST} of lists]",
)
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
@click.option("--csv", "as_csv", is_flag=True, help="Answer with CSV; the rest goes to stderr.")
@click.option(
    "--skill",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_skill,
    help="Print how to read a report, for assistants, and end.",
)
@bucket_options
def command(
    path: str,
    what: str,
    conditions: tuple[str, ...],
    sort: str | None,
    columns: str,
    rows: int | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Ask a saved report one question; the answer is one table of bounded size.

    REPORT is profiler-report/, the folder that holds it, or s3://bucket/prefix. WHAT is

    \b
    (nothing)         a list of everything that can be asked
    job               times, set-up, figures, data quality
    findings          all findings, most important first
    rules             how each rule ended, and why it was skipped
    exhibits          the evidence of all rules
    DL-1              one finding with its text, evidence and advice
    StepOutlier       one rule with its parameters and metrics
    StepOutlier.steps one exhibit

    The answer says how many rows, columns and characters it left out.
    """  # noqa: D301  # click's mark
    if as_json and as_csv:
        raise click.UsageError("Choose one of --json and --csv.")
    name, whole = _asked(path, what)
    chosen = [part.strip() for part in columns.split(",") if part.strip()]
    names = chosen or list(whole.columns)[:_MOST_COLUMNS]
    shown = narrowed(whole, conditions, sort=sort or "", columns=names)
    n_shown = rows or (_ROWS_OF_LIST if whole.is_list else _ROWS)
    is_wide = as_json or as_csv or list(shown.columns) == _PAIR_COLUMNS
    most = _CHARS_OF_DATA if is_wide else _CHARS_OF_TEXT
    n_cut = sum(_is_longer(value, most) for row in shown.rows[:n_shown] for value in row)
    cells = [
        [f"{str(value)[: most - 1]}…" if _is_longer(value, most) else value for value in row]
        for row in shown.rows[:n_shown]
    ]
    left_out: dict[str, Any] = {
        "rows": len(shown.rows) - len(cells),
        "columns": [] if chosen else list(whole.columns)[_MOST_COLUMNS:],
        "cut_cells": n_cut,
    }
    if as_json:
        answer = {
            "report": name,
            "asked": what,
            "title": shown.title,
            "caption": shown.caption,
            "columns": [{"name": key, "unit": unit} for key, unit in shown.columns.items()],
            "rows": [dict(zip(shown.columns, row, strict=True)) for row in cells],
            "n_rows": len(whole.rows),
            "n_matching": len(shown.rows),
            "left_out": left_out,
        }
        say(json.dumps(answer, ensure_ascii=False, allow_nan=False), err=False)
        return
    say(_as_csv(shown, cells) if as_csv else _as_text(shown, cells), err=False, nl=False)
    for line in _left_out_lines(left_out, n_rows=len(shown.rows)):
        say(line, err=as_csv)


def _asked(path: str, what: str) -> tuple[str, Answer]:
    from reportgen.store import load, saved_report

    hint = "Make one with make-profiler-report, or pass the folder profiler-report/."
    refuse_oddity(Path(path), hint=hint)
    with saved_report(path) as folder:
        if folder is None:
            raise LocationError(f"There is no saved report under {path!r}.", hint=hint, path=path)
        report = load(folder)
    return report.job.name, ask(report, what)


def _is_longer(value: Scalar, most: int) -> bool:
    return isinstance(value, str) and len(value) > most


def _as_csv(answer: Answer, rows: list[list[Scalar]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(answer.columns)
    writer.writerows(rows)
    return text.getvalue()


def _as_text(answer: Answer, rows: list[list[Scalar]]) -> str:
    heads = [f"{name} ({unit})" if unit else name for name, unit in answer.columns.items()]
    cells = [heads, *([_plain(value) for value in row] for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(heads))]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    title = [answer.title] + ([answer.caption] if answer.caption else [])
    return "\n".join([*title, "", *lines]) + "\n"


def _plain(value: Scalar) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < _LONG_NUMBER else f"{value:.3f}"
    return " ".join(str(value).split())


def _left_out_lines(left_out: dict[str, Any], *, n_rows: int) -> Iterator[str]:
    if left_out["rows"]:
        yield f"left out: {left_out['rows']} of {n_rows} rows; --rows {n_rows} shows all"
    if left_out["columns"]:
        yield f"left out: columns {','.join(left_out['columns'])}; --columns shows them"
    if left_out["cut_cells"]:
        yield f"cut: {left_out['cut_cells']} long texts; --json shows more of them"
