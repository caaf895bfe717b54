"""Instants within sentences, as `<time>` elements: the page's script shows them in another zone."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from reportgen.views.values import LONGEST_TEXT, shorten

_DAY, _CLOCK = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d:\d\d(?:\.\d+)?"
_INSTANT = re.compile(
    rf"(?P<day>{_DAY}) (?P<clock>{_CLOCK})"
    rf"(?: – (?:(?P<end_day>{_DAY}) )?(?P<end_clock>{_CLOCK}))? UTC"
)


def timed(text: str) -> str:
    """Return a text with its instants marked; the end of a range says that it follows another.

    Example:
        >>> print(timed("at 2026-07-03 09:30:21 UTC"))
        at <time datetime="2026-07-03T09:30:21Z">2026-07-03 09:30:21 UTC</time>
    """
    if hasattr(text, "__html__") or " UTC" not in text:
        return text
    pieces, done, text = [], 0, shorten(text, most=LONGEST_TEXT).text
    for found in _INSTANT.finditer(text):
        pieces += [escape(text[done : found.start()]), _marked(found)]
        done = found.end()
    return Markup().join([*pieces, escape(text[done:])])


def _marked(found: re.Match[str]) -> Markup:
    day, clock, end_day, end_clock = found.groups()
    if end_clock is None:
        return _element(day, clock, shown=found[0])
    start = _element(day, clock, shown=f"{day} {clock}")
    shown = f"{end_day} {end_clock} UTC" if end_day else f"{end_clock} UTC"
    end = _element(end_day or day, end_clock, shown=shown, mark=Markup(" data-after"))
    return Markup("{} – {}").format(start, end)


def _element(day: str, clock: str, *, shown: str, mark: Markup = Markup()) -> Markup:  # noqa: B008 - immutable
    return Markup('<time datetime="{}T{}Z"{}>{}</time>').format(day, clock, mark, shown)
