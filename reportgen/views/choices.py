"""Several views of the same thing in one place: one is shown, a choice shows another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from reportgen.results import Exhibit, RuleResult
from reportgen.views.blocks import Block
from reportgen.views.exhibits import anchor_of
from reportgen.views.fragments import render
from reportgen.views.outline import is_drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """One of the views: fragments of ours.

    ``html_without`` is the same with something left out, empty where there is nothing to leave
    out.
    """

    label: str
    html: str
    html_without: str = ""


def choice_block(
    options: Sequence[Exhibit], result: RuleResult, draw: Callable[[Exhibit], str]
) -> Block:
    """Return exhibits of which the reader chooses one; a single one stands alone.

    No script is needed; where styles are missing all stand below each other.

    Args:
        options: of one group, the first is shown first.
        result: theirs; it holds their twins.
        draw: returns the HTML of an exhibit.
    """
    choices = [item.place.choice for item in options]
    panes = []
    for item, choice in zip(options, choices, strict=True):
        assert choice is not None
        twin = result.exhibit(choice.twin) if choice.twin else None
        without = draw(replace(twin, place=item.place)) if is_drawn(twin) and twin else ""
        panes.append(Pane(label=choice.label, html=draw(item), html_without=without))
    first = choices[0]
    assert first is not None
    anchor = anchor_of(result.id, first.group)
    return choices_block(anchor, first.question, panes, switch=first.switch)


def choices_block(anchor: str, question: str, panes: Sequence[Pane], *, switch: str = "") -> Block:
    """Return panes of which the reader chooses one; a single one stands alone.

    No script is needed; where styles are missing all panes stand below each other.

    Args:
        anchor: a name of its own on the page.
        question: what is chosen: ``Group by``.
        panes: the first is shown first.
        switch: what a tick box leaves out, for panes that can.
    """
    can_leave_out = any(pane.html_without for pane in panes)
    if len(panes) == 1 and not can_leave_out:
        return Block(html=panes[0].html)
    return Block(
        html=render(
            "choices",
            anchor=anchor,
            question=question,
            switch=switch if can_leave_out else "",
            panes=[
                {
                    "label": pane.label,
                    "html": Markup(pane.html),  # noqa: S704 - a fragment of ours
                    "html_without": Markup(pane.html_without),  # noqa: S704 - a fragment of ours
                }
                for pane in panes
            ],
        )
    )
