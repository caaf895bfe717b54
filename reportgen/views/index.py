"""The page of an index: one file, sorted and filtered in the browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields

from markupsafe import Markup

from reportgen.assets import templates_dir
from reportgen.compression import pack
from reportgen.index import Index, JobRow
from reportgen.masking import without_secrets
from reportgen.page_scripts import joined
from reportgen.text import format_count, plural
from reportgen.units import S_PER_HOUR
from reportgen.views.fragments import render
from reportgen.views.theme import css
from reportgen.views.values import ABSENT, format_number, format_value

NOT_RECORDED = "not recorded"
_FIRST_ROWS = 100
"""Number of rows in the page for readers without scripts."""
_SHEETS = ("style/components.css", "style/index.css")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    name: str
    title: str
    unit: str = ""
    is_number: bool = False


_COLUMNS = (
    _Column(name="job", title="Job"),
    _Column(name="wasted_gpu_hours", title="GPU time without work", unit="h", is_number=True),
    _Column(name="wasted_usd", title="Costs USD", is_number=True),
    _Column(name="top_finding", title="Top finding"),
    _Column(name="top_saves_pct", title="May save %", is_number=True),
    _Column(name="created", title="Started (UTC)"),
    _Column(name="status", title="Status"),
    _Column(name="gpu_busy_pct", title="GPU busy %", is_number=True),
    _Column(name="mfu_pct", title="MFU %", is_number=True),
    _Column(name="step_period_p50_s", title="Time per step (median)", unit="s", is_number=True),
    _Column(name="step_gpu_span_p50_s", title="Step on the GPU (median)", unit="s", is_number=True),
    _Column(name="steps_per_s", title="Steps per second", is_number=True),
    _Column(name="samples_per_s", title="Samples per second", is_number=True),
    _Column(name="duration_s", title="Duration", unit="s", is_number=True),
    _Column(name="n_nodes", title="Nodes", is_number=True),
    _Column(name="n_gpus", title="GPUs", is_number=True),
    _Column(name="data", title="Recorded"),
    _Column(name="n_findings", title="Warnings and worse", is_number=True),
)


def index_page(index: Index, *, title: str, policy_of: Callable[[str], str]) -> str:
    """Return the HTML of an index; ``policy_of`` its script is what the page allows."""
    sheets = ((templates_dir() / name).read_text(encoding="utf-8") for name in _SHEETS)
    style = "\n".join((css(), *sheets))
    script = joined(templates_dir() / "script" / "index.js")
    names = [item.name for item in fields(JobRow)]
    tree = {"names": names, "rows": [astuple(row) for row in index.jobs]}
    columns = [item for item in _COLUMNS if any(_is_shown(row, item) for row in index.jobs)]
    data = without_secrets(json.dumps(tree, separators=(",", ":")))
    return render(
        "job_index",
        title=title,
        facts=list(_facts(index)),
        columns=columns,
        first=[[_cell(row, column) for column in columns] for row in index.jobs[:_FIRST_ROWS]],
        n_jobs=format_count(len(index.jobs)),
        data=Markup(pack(data)),  # noqa: S704 - base 64
        policy=policy_of(script),
        style=Markup(style),  # noqa: S704 - a style sheet of ours
        script=Markup(script),  # noqa: S704 - a script of ours
    )


def _facts(index: Index) -> Iterator[tuple[str, str]]:
    yield "Jobs", format_count(len(index.jobs))
    is_known = any(row.wasted_gpu_hours is not None for row in index.jobs)
    wasted = format_value(index.wasted_gpu_hours * S_PER_HOUR, "s") if is_known else NOT_RECORDED
    yield "GPU time without work", wasted
    if index.wasted_usd is not None:
        yield "They cost", f"{index.wasted_usd:,.2f} USD"
    if index.n_unreadable:
        yield "Could not be read", plural(index.n_unreadable, "report")


def _is_shown(row: JobRow, column: _Column) -> bool:
    return column.name in {"job", "wasted_gpu_hours"} or getattr(row, column.name) not in (None, "")


def _cell(row: JobRow, column: _Column) -> str:
    value = getattr(row, column.name)
    if row.problem and column.name == "top_finding":
        return row.problem
    if value is None or value == "":
        return ABSENT
    if column.unit:
        return format_value(value * (S_PER_HOUR if column.unit == "h" else 1), "s")
    return format_number(value) if column.is_number else str(value)
