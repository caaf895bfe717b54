"""Kernels below each other by their share: long names, communication told apart by colour."""

from __future__ import annotations

from dataclasses import replace

from reportgen.results import Exhibit, ExhibitKind, Scalar
from reportgen.views.blocks import Block
from reportgen.views.charts import bars
from reportgen.views.charts.layout import ChartContext
from reportgen.views.charts.shares import ink_class
from reportgen.views.exhibits import anchor_of
from reportgen.views.fragments import render

_CATEGORY = "category"
_HUES = {"compute": "gpu", "communication": "network"}
_REST = "idle"


def ranking_block(
    exhibit: Exhibit, context: ChartContext, *, title: str, noun: str = "kernel"
) -> Block:
    """Return shares of kernels as bars, in their order.

    Args:
        exhibit: ``shares`` with the columns ``full_name`` and ``category``.
        context: of its rule.
        title: what stands above it.
        noun: what its rows are.
    """
    info = info_of(exhibit, file=f"{context.rule_id}.json", noun=noun)
    return Block(
        html=render(
            "bars",
            anchor=anchor_of(context.rule_id, exhibit.id),
            title=title,
            caption=exhibit.caption,
            info=info,
        )
    )


def info_of(exhibit: Exhibit, *, file: str, noun: str = "kernel") -> bars.BarsInfo:
    """Return the rows of a ranking, each painted by its kernel's category."""
    columns = {column.name: column for column in exhibit.columns}
    name, pct = replace(columns.pop("part"), name=noun), columns.pop("pct")
    found = columns.pop(_CATEGORY, None)
    categories: tuple[Scalar, ...] = found.values if found else (None,) * exhibit.n_rows
    ranked = replace(exhibit, kind=ExhibitKind.BARS, columns=(name, pct, *columns.values()))
    info = bars.info(ranked, file=file)
    rows = (*info.rows, *info.folded)
    painted = tuple(
        replace(row, bars=tuple(_painted(bar, category) for bar in row.bars))
        for row, category in zip(rows, categories, strict=False)
    )
    n_first = len(info.rows)
    return replace(info, rows=painted[:n_first], folded=painted[n_first:])


def _painted(bar: bars.Bar, category: Scalar) -> bars.Bar:
    ink = ink_class(_HUES.get(str(category), _REST), 0)
    return replace(bar, ink=ink) if bar.ink else bar
