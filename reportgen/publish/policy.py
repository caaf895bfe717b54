"""The scripts of a page, and its security policy: nothing from outside, only these scripts."""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from reportgen.compression import pack

_SCRIPT_TYPES = frozenset(
    {"", "module", "text/javascript", "application/javascript", "text/ecmascript"}
)


def digest(text: str) -> str:
    """Return the source expression that allows an inline script or style sheet.

    Example:
        >>> digest("")
        "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    hashed = hashlib.sha256(text.encode("utf-8", "replace")).digest()
    return f"'sha256-{base64.b64encode(hashed).decode('ascii')}'"


def policy(scripts: Iterable[str], *, more_scripts: Iterable[str] = ()) -> str:
    """Return the policy of a page with these scripts, and the digests of those it adds later.

    No request, no ``eval``, no script that is not listed. Style is free: plotly adds style sheets
    and sets attributes on what it draws, bars carry their width, and no style can make a request.
    """
    allowed = dict.fromkeys([*map(digest, scripts), *more_scripts])
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(allowed)}",
            "style-src 'unsafe-inline'",
            "img-src data: blob:",
            "media-src data:",
            "font-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def scripts_of(fragments: Iterable[str]) -> list[str]:
    """Return the texts of the scripts in pieces of HTML, as a browser reads them."""
    scripts: list[str] = []
    for html in fragments:
        if "<script" in html.lower():
            reader = _Reader()
            reader.feed(html.replace("\r\n", "\n").replace("\r", "\n"))
            reader.close()
            scripts += reader.scripts
    return scripts


class _Reader(HTMLParser):
    """Collects the texts of script elements that a browser would run."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.scripts: list[str] = []
        self._text: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        is_script = (
            tag == "script"
            and "src" not in found
            and (found.get("type") or "").strip().lower() in _SCRIPT_TYPES
        )
        self._text = [] if is_script else None

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if self._text is not None and tag == "script":
            self.scripts.append("".join(self._text))
        self._text = None


_FAST = 4
"""Level of gzip: 0.14 s for plotly's 4.8 MB; the usual level takes 0.3 s to save 4 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedScript:
    """A script gzipped in base 64, and its digest, by which the page's policy allows it."""

    packed: str
    digest: str


@functools.cache
def plotly_script() -> PackedScript:
    """Return plotly's script as it is installed."""
    return packed_script((package_data() / "plotly.min.js").read_text(encoding="utf-8"))


def packed_script(text: str) -> PackedScript:
    """Return a script as the page carries it."""
    return PackedScript(packed=pack(text, level=_FAST), digest=digest(text))


def package_data() -> Path:
    """Return the folder of plotly's files.

    The package is found, not imported: importing plotly costs more than making the page.
    """
    spec = importlib.util.find_spec("plotly")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "package_data"
