"""Exhibits as blocks: chosen by kind and never by rule, so a stranger's rule is drawn as ours."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from reportgen.results import Exhibit, ExhibitKind
from reportgen.views import inline
from reportgen.views.cell_output import Block, block_of
from reportgen.views.charts import band, bars, boxes, heatmap, roofline, series, shares, spans
from reportgen.views.charts.histogram import histogram_of
from reportgen.views.charts.layout import ChartContext, Drawing, Figure, aligned
from reportgen.views.fragments import render
from reportgen.views.summary_table import data_of
from reportgen.views.tables import headings_of, table_of
from reportgen.views.validation import has_shape
from reportgen.views.values import heading_of, plot_label, prose

logger = logging.getLogger(__name__)

_TITLE_PX, _TITLE_LENGTH = 64, 110
_SHARES, _SMALL_CHART = "shares", "small chart"
_SMALL_KINDS = frozenset({ExhibitKind.BOXES, ExhibitKind.HISTOGRAM, ExhibitKind.SERIES})
_FEW_LINES = 6
"""With more lines, or boxes, a chart needs all of the width for its legend."""
_WORD = re.compile(r"\w+")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_NOT_DRAWN = "This exhibit is of kind “{kind}”, but its values cannot be drawn as such."

_DRAW: Mapping[ExhibitKind, Callable[[Exhibit, ChartContext], Drawing]] = {
    ExhibitKind.SERIES: series.draw,
    ExhibitKind.BAND: band.draw,
    ExhibitKind.BOXES: boxes.draw,
    ExhibitKind.HEATMAP: heatmap.draw,
    ExhibitKind.SPANS: spans.draw,
    ExhibitKind.ROOFLINE: roofline.draw,
}
"""Kinds that the page's script draws; it has all others as HTML and inline SVG."""

_LISTED = frozenset({ExhibitKind.TABLE, ExhibitKind.TIMELINE})
"""Kinds that are tables; the drawing of a timeline is in a separate file."""

_TIMED = frozenset({ExhibitKind.SERIES, ExhibitKind.BAND, ExhibitKind.HEATMAP, ExhibitKind.SPANS})
"""Kinds whose x axis is the job's time: a zoom in one of them zooms all."""


def anchor_of(rule_id: str, exhibit_id: str) -> str:
    """Return the page's anchor of an exhibit."""
    return f"{_UNSAFE.sub('-', rule_id)}--{_UNSAFE.sub('-', exhibit_id)}"


def exhibit_blocks(exhibits: Sequence[Exhibit], context: ChartContext) -> list[Block]:
    """Return exhibits in their order; neighbours that are small enough are side by side.

    Those without rows are named together at the end.
    """
    blocks: list[Block] = []
    filled = [item for item in exhibits if item.n_rows]
    for room, run in groupby(filled, key=_room_of):
        made = [exhibit_block(item, context) for item in run]
        if room == _SHARES and len(made) > 1:
            made = [block_of("side_by_side", parts=[item.html for item in made])]
        n_paired = len(made) // 2 * 2 if room == _SMALL_CHART else 0
        blocks += [replace(block, is_panel=at < n_paired) for at, block in enumerate(made)]
    empty = [item for item in exhibits if not item.n_rows]
    if empty:
        named = [(anchor_of(context.rule_id, item.id), item.title) for item in empty]
        blocks.append(block_of("exhibits_empty", exhibits=named))
    return blocks


def _room_of(exhibit: Exhibit) -> str:
    """Return whether an exhibit can be next to one like it."""
    if exhibit.kind is ExhibitKind.SHARES:
        return _SHARES
    n_lines = exhibit.n_rows if exhibit.kind is ExhibitKind.BOXES else len(exhibit.columns)
    is_small = exhibit.kind in _SMALL_KINDS and n_lines <= _FEW_LINES and has_shape(exhibit)
    return _SMALL_CHART if is_small else ""


def _said(exhibit: Exhibit) -> str:
    """Return an exhibit's caption, its columns called as their headings call them.

    A name without an underscore may be a common word, but not where it begins the caption.
    """
    pairs = zip(exhibit.columns, headings_of(exhibit.columns), strict=True)
    called = {column.name: f"“{heading}”" for column, heading in pairs}

    def said(word: re.Match[str]) -> str:
        is_name = "_" in word[0] or word.start() == 0
        return called.get(word[0], word[0]) if is_name else word[0]

    return _WORD.sub(said, exhibit.caption)


def exhibit_block(exhibit: Exhibit, context: ChartContext, *, title: str = "") -> Block:
    """Return an exhibit as HTML, with a figure where its kind is drawn by script.

    Whatever a stranger's rule put into it, the sections around it stay: an exhibit that cannot be
    drawn as its kind is a table that says so, and one that does not even fit a table is named.
    """
    for show in (_as_kind, _as_table):
        try:
            return show(exhibit, context, title)
        except Exception:
            what = f"{context.rule_id}: exhibit {exhibit.id}"
            logger.debug("%s broke %s", what, show.__name__, exc_info=True)
    named = {
        "anchors": [anchor_of(context.rule_id, exhibit.id)],
        "title": exhibit.title or exhibit.id,
        "text": "this exhibit cannot be shown.",
        "hint": f"Its values are in {context.rule_id}.json, exhibit “{exhibit.id}”.",
    }
    return block_of("absent", items=[named])


def _as_kind(exhibit: Exhibit, context: ChartContext, title: str) -> Block:
    exhibit = shares.as_shares(exhibit)
    frame = _frame(exhibit, context, title)
    if exhibit.n_rows == 0:
        return block_of("exhibit_empty", **frame)
    if exhibit.kind in _LISTED or not has_shape(exhibit):
        return _as_table(exhibit, context, title)
    if exhibit.kind is ExhibitKind.SHARES:
        return _as_shares(exhibit, frame)
    if exhibit.kind is ExhibitKind.BARS:
        return _as_bars(exhibit, frame, f"{context.rule_id}.json")
    numbers = data_of(exhibit, **_written_for(context))
    if exhibit.kind is ExhibitKind.HISTOGRAM:
        return block_of("histogram", **frame, drawing=histogram_of(exhibit), table=numbers)
    drawing = _DRAW[exhibit.kind](exhibit, context)
    if context.left_px is not None:
        drawing = aligned(drawing, context.left_px)
    html = render("chart", **frame, drawing=drawing, is_timed=exhibit.kind in _TIMED, table=numbers)
    return Block(html=html, figure=titled(drawing, exhibit.title), figure_id=frame["anchor"])


def _as_shares(exhibit: Exhibit, frame: Mapping[str, str]) -> Block:
    found = shares.info(exhibit)
    is_drawn = shares.are_several(found.parts)
    has_pie = is_drawn and shares.is_pie(exhibit)
    picture = inline.pie_of_parts(found.parts, frame["title"]) if has_pie else None
    return block_of("shares", **frame, info=found, pie=picture, is_drawn=is_drawn)


def _as_bars(exhibit: Exhibit, frame: Mapping[str, str], file: str) -> Block:
    found, whole = bars.info(exhibit, file=file), shares.whole_of(exhibit)
    parts = [] if whole is None else shares.parts_of_bars(exhibit, whole)
    if whole is None or not shares.are_several(parts):
        return block_of("bars", **frame, info=found, pie=None, pie_of="")
    shown, _ = shares.split(parts)
    return block_of(
        "bars",
        **frame,
        info=bars.with_swatches(found, shares.swatches_of(parts)),
        pie=inline.pie_of_parts(shown, frame["title"]),
        pie_of="" if whole.unit == "%" else heading_of(whole.name),
    )


def _as_table(exhibit: Exhibit, context: ChartContext, title: str) -> Block:
    rows = table_of(exhibit, **_written_for(context))
    if exhibit.kind not in _LISTED:
        remark = f"{_NOT_DRAWN.format(kind=exhibit.kind.value)} {rows.remark}".strip()
        rows = replace(rows, remark=remark)
    return block_of("exhibit_table", **_frame(exhibit, context, title), table=rows)


def _written_for(context: ChartContext) -> dict[str, Any]:
    file = f"{context.rule_id}.json"
    return {"is_unix": context.is_unix, "file": file, "most_cells": context.most_cells}


def _frame(exhibit: Exhibit, context: ChartContext, title: str) -> dict[str, str]:
    return {
        "anchor": anchor_of(context.rule_id, exhibit.id),
        "title": prose(title or exhibit.title),
        "caption": prose(_said(exhibit)),
    }


def figure_of(exhibit: Exhibit, context: ChartContext) -> Figure | None:
    """Return plotly's figure of an exhibit, its colours as tokens; ``None`` of other kinds.

    Pies, bars, histograms and tables are HTML and SVG, and so is an exhibit without rows, or
    without the columns of its kind.
    """
    if exhibit.kind not in _DRAW or not exhibit.n_rows or not has_shape(exhibit):
        return None
    return titled(_DRAW[exhibit.kind](exhibit, context), exhibit.title)


def titled(drawing: Drawing, title: str) -> Figure:
    """Return a figure that carries its title itself, for places without the page around it.

    ``meta.top`` is its margin without the title, which the page has above the figure.
    """
    layout = {**drawing.figure["layout"], "height": drawing.height_px + _TITLE_PX}
    layout["meta"] = {"top": layout["margin"]["t"]}
    layout["title"] = {"text": plot_label(title, most=_TITLE_LENGTH), "x": 0, "xref": "paper"}
    layout["margin"] = {**layout["margin"], "t": _TITLE_PX}
    return {**drawing.figure, "layout": layout}
