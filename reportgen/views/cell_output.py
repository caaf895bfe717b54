"""Output of a notebook cell: a section of blocks, each HTML, some of them also a chart.

A chart is two MIME types of one output: HTML (its frame, and its numbers as a table) and plotly's
JSON, which JupyterLab draws, and the page's script too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from reportgen.views.charts.layout import Figure
from reportgen.views.fragments import render
from reportgen.views.theme import resolved

PLOTLY_MIME = "application/vnd.plotly.v1+json"
METADATA_KEY = "reportgen"
NOTEBOOK_ONLY = {"notebook_only": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A piece of a section, with a figure of plotly's if it is a chart.

    ``figure_id``: the element in which the page's script draws the figure. ``is_for_notebook``: the
    page leaves it out, because it has another. ``is_panel``: it is next to others where the page is
    wide. ``fold``: words of the fold behind which it waits together with its neighbours of the same
    words; empty where it is shown at once.
    """

    html: Markup
    figure: Figure | None = None
    figure_id: str = ""
    is_for_notebook: bool = False
    is_panel: bool = False
    fold: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How a section stands: ``kind`` picks shape and colour, ``word`` says the same."""

    kind: str
    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CellOutput:
    """One output of a notebook cell: its MIME types and its metadata."""

    data: dict[str, Any]
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSection:
    """Return type of the functions of ``reportgen.views``: shows itself at the end of a cell.

    ``id`` and ``title`` are the page's anchor and entry in its navigation; without blocks it
    shows nothing and has no entry. ``is_folded``: the page shows one line of it, with ``said``,
    until a reader opens it.
    """

    id: str
    title: str
    state: State | None = None
    blocks: tuple[Block, ...] = ()
    is_folded: bool = False
    said: str = ""

    def _ipython_display_(self) -> None:
        from IPython.display import publish_display_data

        for output in outputs(self):
            publish_display_data(output.data, metadata=output.metadata)  # type: ignore[no-untyped-call]  # IPython

    def _repr_html_(self) -> str:
        return "".join(output.data["text/html"] for output in outputs(self))


def block_of(fragment: str, **values: object) -> Block:
    """Return a fragment of ``templates/fragments`` as a block."""
    return Block(html=render(fragment, **values))


def head_block(title: str, state: State | None, lead: str) -> Block:
    """Return a section's heading."""
    return block_of("section_head", title=title, state=state, lead=lead)


def headed_section(
    section_id: str,
    title: str,
    blocks: Sequence[Block],
    *,
    lead: str,
    state: State | None = None,
    said: str | None = None,
) -> PageSection:
    """Return blocks below a heading; a section that shows nothing where there are none.

    ``said``: words beside the title of a folded section; without it the section is open.
    """
    if not blocks:
        return PageSection(id=section_id, title=title)
    head = head_block(title, state, lead)
    if said is not None:
        # The page's fold has the heading itself.
        leads = [block_of("lead", text=lead)] if lead else []
        blocks = (replace(head, is_for_notebook=True), *leads, *blocks)
    else:
        blocks = (head, *blocks)
    return PageSection(
        id=section_id,
        title=title,
        state=state,
        blocks=tuple(blocks),
        is_folded=said is not None,
        said=said or "",
    )


def pairs_block(anchor: str, title: str, pairs: Sequence[object], *, caption: str = "") -> Block:
    """Return facts (``views/facts.py``) as a table of names and values."""
    return block_of("pairs", anchor=anchor, title=title, caption=caption, pairs=pairs)


def outputs(section: PageSection) -> Iterator[CellOutput]:
    """Yield a section's outputs: runs of HTML joined, each chart apart, the first one named."""
    entry: dict[str, Any] = {"id": section.id, "title": section.title}
    if section.state:
        entry |= {"state": section.state.kind, "word": section.state.word}
    if section.is_folded:
        entry |= {"folded": True, "said": section.said}
    is_on_page = not all(block.is_for_notebook for block in section.blocks)
    metadata: dict[str, Any] = {"section": entry} if is_on_page else {}
    for block in _joined(section.blocks):
        if block.figure_id:
            metadata["figure"] = block.figure_id
        if block.is_for_notebook:
            named = {METADATA_KEY: {**metadata, **NOTEBOOK_ONLY}}
            yield CellOutput(data={"text/html": block.html, **_chart(block)}, metadata=named)
            metadata = {}
            continue
        place = "rg rg-panel" if block.is_panel else "rg"
        data = {"text/html": f'<div class="{place}">{block.html}</div>', **_chart(block)}
        if block.fold:
            metadata["fold"] = block.fold
        yield CellOutput(data=data, metadata={METADATA_KEY: metadata})
        metadata = {}


def _chart(block: Block) -> dict[str, Any]:
    return {} if block.figure is None else {PLOTLY_MIME: resolved(block.figure)}


def _joined(blocks: tuple[Block, ...]) -> Iterator[Block]:
    waiting: Block | None = None
    for block in blocks:
        if block.figure is not None or block.is_for_notebook or block.is_panel:
            if waiting:
                yield waiting
            waiting = None
            yield block
        else:
            if waiting and waiting.fold != block.fold:
                yield waiting
                waiting = None
            waiting = replace(block, html=waiting.html + block.html) if waiting else block
    if waiting:
        yield waiting
