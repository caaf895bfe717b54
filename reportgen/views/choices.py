"""Several views of the same thing in one place: one is shown, a choice shows another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from reportgen.views.blocks import Block
from reportgen.views.fragments import render


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """One of the views: fragments of ours.

    ``html_without`` is the same with something left out, empty where there is nothing to leave
    out.
    """

    label: str
    html: str
    html_without: str = ""


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
