"""The one gate to jinja2: dataclasses in, HTML out. Everything is escaped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from reportgen.assets import templates_dir
from reportgen.views.theme import css, with_fallback
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


_NOTEBOOK_SHEETS = ("components.css", "timeline.css", "lanes.css", "notebook.css")
_BREAKS = re.compile(r"(?<=[_:./])(?=[^_:./\s])|(?<=[a-z])(?=[A-Z])")
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def render(name: str, **values: object) -> Markup:
    """Return the HTML of a fragment of ``templates/fragments``; a missing value is an error."""
    html = _environment().get_template(f"{name}.html.j2").render(**values)
    return Markup(html)  # noqa: S704 - made by an escaping environment


def script_json(tree: object) -> Markup:
    """Return JSON that cannot end its script element, nor begin a comment."""
    text = json.dumps(tree, separators=(",", ":"), allow_nan=False)
    for character, escaped in _ESCAPES.items():
        text = text.replace(character, escaped)
    return Markup(text)  # noqa: S704 - holds no <, > or &


def notebook_style() -> Markup:
    """Return the style of sections for notebooks: the page has the same in its head."""
    folder = templates_dir() / "style"
    sheets = ((folder / name).read_text(encoding="utf-8") for name in _NOTEBOOK_SHEETS)
    return Markup(f"<style>{css()}{''.join(sheets)}</style>")  # noqa: S704 - style sheets of ours


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(templates_dir() / "fragments"),
        auto_reload=False,
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "breakable": _breakable,
        "linked": _linked,
        "unbroken": unbroken,
        "with_fallback": with_fallback,
    }
    return environment


def _breakable(name: str) -> Markup:
    """Return a name that a narrow column breaks after punctuation, not within a word."""
    pieces = _BREAKS.split(shorten(name, most=LONGEST_TEXT).text)
    return Markup("<wbr>").join(pieces)


def _linked(text: str, findings: Iterable[Any]) -> Markup:
    """Return HTML in which the ids of findings lead to them."""
    html = escape(_harmless(text))
    for item in findings:
        link = Markup('<a href="{}">{}</a>').format(item.link, item.id)
        html = html.replace(escape(item.id), link, 1)
    return html


def _harmless(value: Any) -> Any:
    """Shorten a text beyond all measure and take control characters out; leave our HTML alone."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return shorten(value, most=LONGEST_TEXT).text
