"""Several views of the same thing in one place: one is shown, a choice shows another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from markupsafe import Markup

from reportgen.results import Exhibit
from reportgen.views.cell_output import Block, block_of
from reportgen.views.exhibits import anchor_of


def choice_blocks(
    options: Sequence[Exhibit], rule_id: str, draw: Callable[[Exhibit], Block]
) -> list[Block]:
    """Return exhibits of which the reader chooses one; a single one stands alone.

    ``options`` are of one group of a rule, the first is shown first. One block has all of them;
    those that follow have the figures of the charts among them.
    """
    drawn = [draw(item) for item in options]
    choices = [item.place.choice for item in options if item.place.choice is not None]
    if len(drawn) == 1:
        return drawn
    chooser = block_of(
        "choices",
        anchor=anchor_of(rule_id, choices[0].group),
        question=choices[0].question,
        panes=[(choice.label, block.html) for choice, block in zip(choices, drawn, strict=True)],
    )
    figures = [
        replace(block, html=Markup(), is_for_notebook=True)
        for block in drawn
        if block.figure is not None
    ]
    return [chooser, *figures]
