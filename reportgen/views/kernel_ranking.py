"""Kernels by their share: a pie, and bars with the long names, painted by what kernels do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reportgen.results import Exhibit, ExhibitKind, Scalar
from reportgen.views.blocks import Block
from reportgen.views.charts import bars, shares
from reportgen.views.charts.layout import ChartContext
from reportgen.views.exhibits import anchor_of, pie_html
from reportgen.views.fragments import render
from reportgen.views.meaning import Ink

_CATEGORY = "category"
_HUES = {"compute": "gpu", "communication": "network"}
_REST = "idle"


def ranking_block(
    exhibit: Exhibit, context: ChartContext, *, title: str, noun: str = "kernel"
) -> Block:
    """Return shares of kernels as a pie and as bars, in their order.

    Args:
        exhibit: ``shares`` with the columns ``full_name`` and ``category``.
        context: of its rule.
        title: what stands above it.
        noun: what its rows are.
    """
    info = info_of(exhibit, file=f"{context.rule_id}.json", noun=noun)
    parts = parts_of(exhibit)
    shown, _ = shares.split(parts)
    return Block(
        html=render(
            "bars",
            anchor=anchor_of(context.rule_id, exhibit.id),
            title=title,
            caption=exhibit.caption,
            info=bars.with_swatches(info, shares.swatches_of(parts)),
            pie=pie_html(shown, title),
            pie_of="",
        )
    )


def info_of(exhibit: Exhibit, *, file: str, noun: str = "kernel") -> bars.BarsInfo:
    """Return the rows of a ranking, each painted by its kernel's category."""
    columns = {column.name: column for column in exhibit.columns}
    name, pct = replace(columns.pop("part"), name=noun), columns.pop("pct")
    categories = _categories(exhibit)
    columns.pop(_CATEGORY, None)
    ranked = replace(exhibit, kind=ExhibitKind.BARS, columns=(name, pct, *columns.values()))
    info = bars.info(ranked, file=file)
    rows = (*info.rows, *info.folded)
    painted = tuple(
        replace(row, bars=tuple(_painted(bar, category) for bar in row.bars))
        for row, category in zip(rows, categories, strict=False)
    )
    n_first = len(info.rows)
    return replace(info, rows=painted[:n_first], folded=painted[n_first:])


def parts_of(exhibit: Exhibit) -> list[shares.Part]:
    """Return all parts of a ranking: a hue for each category, a shade for each of its kernels."""
    used: dict[str, int] = {}
    painted = []
    for part, category in zip(shares.parts_of(exhibit), _categories(exhibit), strict=True):
        hue = _hue(category)
        painted.append(replace(part, colour=Ink(hue=hue, index=used.get(hue, 0))))
        used[hue] = used.get(hue, 0) + 1
    return painted


def _categories(exhibit: Exhibit) -> Sequence[Scalar]:
    found = next((column for column in exhibit.columns if column.name == _CATEGORY), None)
    return found.values if found else (None,) * exhibit.n_rows


def _hue(category: Scalar) -> str:
    return _HUES.get(str(category), _REST)


def _painted(bar: bars.Bar, category: Scalar) -> bars.Bar:
    ink = shares.ink_class(_hue(category), 0)
    return replace(bar, ink=ink) if bar.ink else bar
