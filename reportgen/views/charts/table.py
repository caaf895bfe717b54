"""``table``: its rows as plotly's figure, for notebooks; the page has it as HTML."""

from __future__ import annotations

from reportgen.results import Exhibit
from reportgen.views.charts import layout
from reportgen.views.charts.layout import ChartContext, Drawing
from reportgen.views.tables import table_of
from reportgen.views.values import plot_label

_LONGEST_CELL = 60
_ROW_PX, _FRAME_PX, _MOST_PX = 24, 60, 640
_FONT = {"color": "var(--rg-text)", "size": 12}


def draw(exhibit: Exhibit, context: ChartContext) -> Drawing:
    """Draw an exhibit as a table, whatever its kind."""
    file = f"{context.rule_id}.json"
    table = table_of(exhibit, is_unix=context.is_unix, file=file, most_cells=context.most_cells)
    rows = [*table.rows, *table.folded]
    columns = list(zip(*rows, strict=True))
    aligned = ["right" if head.is_number else "left" for head in table.heads]
    trace = {
        "type": "table",
        "header": {
            "values": [plot_label(f"{head.text} {head.note}".strip()) for head in table.heads],
            "align": aligned,
            "fill": {"color": "var(--rg-raised)"},
            "line": {"color": "var(--rg-line)"},
            "font": _FONT,
        },
        "cells": {
            "values": [
                [plot_label(cell.text, most=_LONGEST_CELL) for cell in column] for column in columns
            ],
            "align": aligned,
            "fill": {"color": "var(--rg-surface)"},
            "line": {"color": "var(--rg-grid)"},
            "font": _FONT,
        },
    }
    return layout.drawn(
        exhibit,
        "Table",
        [],
        traces=[trace],
        height_px=min(_FRAME_PX + _ROW_PX * len(rows), _MOST_PX),
        remark=table.remark,
    )
