"""Sentences of the page in which instants and ids of findings are not broken between two lines."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from reportgen.views.values import LONGEST_TEXT, shorten

_WHOLE = re.compile(
    r"\b\d{4}-\d\d-\d\d(?: \d\d:\d\d:\d\d(?:\.\d{1,9})?(?: UTC)?)?\b"
    r"|\b\d\d:\d\d:\d\d(?:\.\d{1,9})? UTC\b|\b[A-Z]{1,12}-\d{1,4}\b"
)


def unbroken(text: str) -> str:
    """Return a text with its instants and ids marked, as a browser breaks lines after a hyphen.

    Example:
        >>> print(unbroken("since 2026-07-03 09:30:21 UTC"))
        since <span class="rg-unbroken">2026-07-03 09:30:21 UTC</span>
    """
    if hasattr(text, "__html__") or not _WHOLE.search(text):
        return text
    pieces, done, text = [], 0, shorten(text, most=LONGEST_TEXT).text
    for found in _WHOLE.finditer(text):
        marked = Markup('<span class="rg-unbroken">{}</span>').format(found[0])
        pieces += [escape(text[done : found.start()]), marked]
        done = found.end()
    return Markup().join([*pieces, escape(text[done:])])
