"""Sentences of the page: instants are `<time>` elements, and ids of findings stay in one line.

The page's script shows instants in another zone.
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from reportgen.views.values import LONGEST_TEXT, shorten

_DAY, _CLOCK = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d:\d\d(?:\.\d+)?"
_INSTANT = re.compile(
    rf"(?P<day>{_DAY}) (?P<clock>{_CLOCK})"
    rf"(?: – (?:(?P<end_day>{_DAY}) )?(?P<end_clock>{_CLOCK}))? UTC|(?P<id>\b[A-Z]+-\d+\b)"
)


def timed(text: str) -> str:
    """Return a text with its instants and ids marked; the end of a range follows another.

    Example:
        >>> print(timed("at 2026-07-03 09:30:21 UTC"))
        at <time datetime="2026-07-03T09:30:21Z">2026-07-03 09:30:21 UTC</time>
        >>> print(timed("see DL-1"))
        see <span class="rg-id">DL-1</span>
    """
    if hasattr(text, "__html__") or not _INSTANT.search(text):
        return text
    pieces, done, text = [], 0, shorten(text, most=LONGEST_TEXT).text
    for found in _INSTANT.finditer(text):
        pieces += [escape(text[done : found.start()]), _marked(found)]
        done = found.end()
    return Markup().join([*pieces, escape(text[done:])])


def _marked(found: re.Match[str]) -> Markup:
    day, clock, end_day, end_clock, finding_id = found.groups()
    if finding_id:
        return Markup('<span class="rg-id">{}</span>').format(finding_id)
    if end_clock is None:
        return _element(day, clock, shown=found[0])
    start = _element(day, clock, shown=f"{day} {clock}")
    shown = f"{end_day} {end_clock} UTC" if end_day else f"{end_clock} UTC"
    end = _element(end_day or day, end_clock, shown=shown, mark=Markup(" data-after"))
    return Markup("{} – {}").format(start, end)


def _element(day: str, clock: str, *, shown: str, mark: Markup = Markup()) -> Markup:  # noqa: B008 - immutable
    return Markup('<time datetime="{}T{}Z"{}>{}</time>').format(day, clock, mark, shown)
