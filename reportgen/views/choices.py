"""Several views of the same thing in one place: one is shown, a choice shows another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from reportgen.results import Exhibit, RuleResult
from reportgen.views.cell_output import Block, block_of
from reportgen.views.exhibits import anchor_of
from reportgen.views.outline import is_drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """One of the views: fragments of ours.

    ``html_without`` is the same with something left out, empty where there is nothing to leave
    out.
    """

    label: str
    html: Markup
    html_without: Markup


def choice_blocks(
    options: Sequence[Exhibit], result: RuleResult, draw: Callable[[Exhibit], Block]
) -> list[Block]:
    """Return exhibits of which the reader chooses one; a single one stands alone.

    ``options`` are of one group of a result, the first is shown first. One block has all of them;
    those that follow have the figures of the charts among them.
    """
    panes, drawn = [], []
    for item in options:
        assert item.place.choice is not None
        made = [draw(item)]
        twin = result.exhibit(item.place.choice.twin) if item.place.choice.twin else None
        if twin and is_drawn(twin):
            made.append(draw(replace(twin, place=item.place)))
        without = made[1].html if len(made) > 1 else Markup()
        panes.append(Pane(label=item.place.choice.label, html=made[0].html, html_without=without))
        drawn += made
    figures = [
        replace(block, html=Markup(), is_for_notebook=True)
        for block in drawn
        if block.figure is not None
    ]
    first = options[0].place.choice
    assert first is not None
    can_leave_out = any(pane.html_without for pane in panes)
    if len(panes) == 1 and not can_leave_out:
        return drawn
    choice = block_of(
        "choices",
        anchor=anchor_of(result.id, first.group),
        question=first.question,
        switch=first.switch if can_leave_out else "",
        panes=panes,
    )
    return [choice, *figures]
