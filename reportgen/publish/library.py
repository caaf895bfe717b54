"""The installed plotly's browser library as a page carries it: whole, or what the report draws.

The library is one script of 4.8 MB. A page holds it packed, and its reader waits until it is
unpacked, parsed and run, so what a page cannot need is taken out of the text. Each change looks for
one form of text that plotly's own build writes; where that is not found, the text stays as it is.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from reportgen.assets import templates_dir
from reportgen.compiled_templates import kept_beside
from reportgen.compression import pack
from reportgen.publish.policy import digest

DRAWN_KINDS = ("bar", "box", "heatmap", "pie")
"""Kinds of the report's charts, next to ``scatter``, which is in plotly's core."""

_WRAPPER_STARTS = '"use strict";var Plotly=(()=>{'
_WRAPPER_ENDS = "return Plotly;"
_WRAPPER_WITHIN = 2000
_STYLE_ID = re.compile(
    r'getElementById\("([0-9a-f]{64})"\)\)\{var \w+=document\.createElement\("style"'
)
_REGISTERED = re.compile(r"\.register\(\[((?:[\w$]+\(\),?)+)\]\)")
_MODULE = re.compile(r"([\w$]+)=[\w$]+\(\(")
_LONGEST_MODULE_HEAD = 20_000
_LONGEST_HAND = 100
_LONG_TEXT = re.compile(r"(\.exports=)'[^'\\]{1000}[^'\\]*(?:\\.[^'\\]*)*'(?=\}\))")


_AT_WORK = Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A script as the page carries it: gzipped in base 64, and the digest that the policy allows.

    ``style_ids`` are those of style sheets that it adds unless an element has them; for maps, 83
    kB.
    """

    packed: str
    digest: str
    style_ids: tuple[str, ...]


@functools.cache
def whole_library() -> Library:
    """Return all of plotly, for a notebook whose author draws figures of any kind."""
    return packed_script(_unwrapped(_plotly_text()))


def own_library() -> Library:
    """Return plotly with the kinds of ``DRAWN_KINDS`` and ``scatter``, for our own charts.

    Without the others the browser runs it in 0.3 s instead of 0.5 s. Whoever asks while another
    thread is at it waits for that.
    """
    with _AT_WORK:
        return _own_library()


@functools.cache
def _own_library() -> Library:
    made_of = [_plotly_path(), Path(__file__)]
    stats = [(path.stat().st_size, path.stat().st_mtime_ns) for path in made_of]
    about = repr((stats, DRAWN_KINDS, zlib.ZLIB_RUNTIME_VERSION))
    kept = kept_beside(templates_dir() / "page", "library", about, _packed_own)
    packed, allowed, *style_ids = json.loads(kept)
    return Library(packed=packed, digest=allowed, style_ids=tuple(style_ids))


def _packed_own() -> str:
    made = packed_script(with_kinds(_unwrapped(_plotly_text()), DRAWN_KINDS))
    return json.dumps([made.packed, made.digest, *made.style_ids])


def with_kinds(text: str, kinds: tuple[str, ...]) -> str:
    """Return plotly's script without the kinds of traces, and the maps' worker, that are not asked.

    The modules of other kinds stay, but are never run: only their registration is left out. Where
    the list of all kinds or one of ``kinds`` is not found, the text is returned unchanged.
    """
    lists = list(_REGISTERED.finditer(text))
    if len(lists) != 1:
        return text
    listed = lists[0][1].replace("()", "").split(",")
    found = [_listed_as(text, kind, listed) for kind in kinds]
    wanted = [name for name in found if name is not None]
    if len(wanted) != len(kinds):
        return text
    calls = ",".join(f"{name}()" for name in wanted)
    start, end = lists[0].span(1)
    return _LONG_TEXT.sub(r"\1''", text[:start] + calls + text[end:])


def _listed_as(text: str, kind: str, listed: list[str]) -> str | None:
    """Return the name of a kind's module in the list of kinds.

    A kind is a module that says ``moduleType:"trace",name:"bar"``; in the list stands another one,
    which only hands it on.
    """
    declared = text.find(f'moduleType:"trace",name:"{kind}"')
    if declared < 0:
        return None
    heads = list(_MODULE.finditer(text, max(0, declared - _LONGEST_MODULE_HEAD), declared))
    for head in reversed(heads):
        handed = text.find(f".exports={head[1]}()}})")
        nearest = list(_MODULE.finditer(text, max(0, handed - _LONGEST_HAND), handed))
        if nearest and nearest[-1][1] in listed:
            return nearest[-1][1]
    return None


def packed_script(text: str) -> Library:
    """Return a script as the page carries it."""
    return Library(packed=pack(text), digest=digest(text), style_ids=tuple(_STYLE_ID.findall(text)))


def _plotly_text() -> str:
    return _plotly_path().read_bytes().decode("utf-8")


def _plotly_path() -> Path:
    return package_data() / "plotly.min.js"


def package_data() -> Path:
    """Return the folder of plotly's files.

    The package is found, not imported: importing plotly costs more than making the page.
    """
    spec = importlib.util.find_spec("plotly")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "package_data"


def _unwrapped(text: str) -> str:
    """Return plotly without its wrapper, a function that is passed on.

    The browser then parses the library once instead of twice: 0.8 s instead of 1.1 s. A wrapper
    that looks otherwise stays.
    """
    start, end = text.find(_WRAPPER_STARTS), text.rfind(_WRAPPER_ENDS)
    is_known = 0 < start < _WRAPPER_WITHIN and end > len(text) - 200
    return text[start:end] if is_known else text
