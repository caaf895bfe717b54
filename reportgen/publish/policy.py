"""The page's content security policy: nothing from outside, only scripts known by their hash."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from html.parser import HTMLParser

_SCRIPT_TYPES = frozenset(
    {"", "module", "text/javascript", "application/javascript", "text/ecmascript"}
)
_EMPTY_STYLE = ""
"""plotly adds its few rules to an empty style element, through the object model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inline:
    """The texts of the scripts and style sheets in a page."""

    scripts: tuple[str, ...] = ()
    styles: tuple[str, ...] = ()


def digest(text: str) -> str:
    """Return the source expression that allows an inline script or style sheet.

    Example:
        >>> digest("")
        "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    hashed = hashlib.sha256(text.encode("utf-8", "replace")).digest()
    return f"'sha256-{base64.b64encode(hashed).decode('ascii')}'"


def policy(inline: Inline, *, more_scripts: Iterable[str] = ()) -> str:
    """Return the policy of a page with these scripts and style sheets, and scripts it adds later.

    No request, no ``eval``, no script that is not listed. Style *attributes* are free: plotly sets
    them on what it draws, and bars carry their width; style *elements* are listed. The plain
    ``style-src`` is for browsers that do not distinguish the two.
    """
    scripts = dict.fromkeys([*map(digest, inline.scripts), *more_scripts])
    styles = dict.fromkeys(map(digest, [*inline.styles, _EMPTY_STYLE]))
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(scripts)}",
            "style-src 'unsafe-inline'",
            f"style-src-elem {' '.join(styles)}",
            "style-src-attr 'unsafe-inline'",
            "img-src data: blob:",
            "media-src data:",
            "font-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def inline_of(fragments: Iterable[str]) -> Inline:
    """Return the scripts and style sheets in pieces of HTML, as a browser reads them."""
    scripts: list[str] = []
    styles: list[str] = []
    for html in fragments:
        if "<script" not in html.lower() and "<style" not in html.lower():
            continue
        reader = _Reader()
        reader.feed(html.replace("\r\n", "\n").replace("\r", "\n"))
        reader.close()
        scripts += reader.scripts
        styles += reader.styles
    return Inline(scripts=tuple(scripts), styles=tuple(styles))


class _Reader(HTMLParser):
    """Collects the texts of script and style elements that a browser would run or apply."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self._text: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        is_script = (
            tag == "script"
            and "src" not in found
            and (found.get("type") or "").strip().lower() in _SCRIPT_TYPES
        )
        self._text = [] if is_script or tag == "style" else None

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if self._text is not None and tag in {"script", "style"}:
            (self.scripts if tag == "script" else self.styles).append("".join(self._text))
        self._text = None
