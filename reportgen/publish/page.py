"""Turn the executed notebook into one HTML file that needs nothing else."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from reportgen.assets import templates_dir
from reportgen.compiled_templates import environment_of
from reportgen.errors import writing
from reportgen.page_scripts import joined
from reportgen.publish.library import Library, own_library, packed_script, whole_library
from reportgen.publish.policy import Inline, inline_of, policy
from reportgen.svg_embed import inline
from reportgen.text_safety import clean, cut_middle

TEMPLATE = "page"
SHEETS = ("tokens.css", "components.css", "page.css", "timeline.css", "lanes.css")
EARLY_SCRIPT, SCRIPT = "early.js", "main.js"
LANES_SCRIPT = "lanes.js"
"""Packed, in pages with lanes of events; it runs when they come near the window."""

_HAS_LANES = 'id="timeline-lanes"'
_LONGEST_TITLE = 160
_OF_NBCONVERT = ("markdown2html", "strip_ansi", "text_base64")
_OVERWRITTEN = re.compile(r"(?m)^.*\r(?=[^\n])")
_PLOTLY_TYPE = "application/vnd.plotly.v1+json"
_FOLD = re.compile("<!--(/?)fold-->")
_END_OF_CELL = re.compile("</t[dhr]>")
"""HTML lets cells and rows end by themselves: 60 kB of a page of many tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """Statements of the page about itself: ``theme`` is ``auto``, ``light`` or ``dark``."""

    title: str
    theme: str
    report_id: str


def export_page(notebook: Any, page: Path, options: PageOptions) -> None:
    """Write the page of an executed notebook.

    Raises:
        OutputError: the page cannot be written.
    """
    info = {
        "title": cut_middle(clean(options.title), _LONGEST_TITLE),
        "theme": options.theme,
        "report_id": options.report_id,
        "style": _texts("style", SHEETS),
        "early_script": joined(templates_dir() / "script" / EARLY_SCRIPT),
        "script": joined(templates_dir() / "script" / SCRIPT),
        "lanes": _lanes_script(),
    }
    # Not escaped as a whole: HTML of sections and of the notebook's author goes in as it is.
    environment = environment_of(templates_dir() / TEMPLATE)
    environment.filters |= {
        "page_form": _page_form,
        "library": _library_for,
        "has_lanes": _has_lanes,
        "policy": functools.partial(_policy, info),
        "joined_streams": _joined_streams,
        **{name: functools.partial(_as_nbconvert, name) for name in _OF_NBCONVERT},
    }
    pieces = environment.get_template("index.html.j2").generate(nb=notebook, info=info)
    with writing(page), page.open("w", encoding="utf-8") as file:
        while not (begin := next(pieces).lstrip("\r\n")):
            pass
        file.write(begin)
        file.writelines(pieces)  # all of the page as one text takes three times its size


def _as_nbconvert(name: str, text: str) -> Any:
    """Return a text that the notebook's author brought, put through a filter of nbconvert.

    Our own notebook has none, and is spared the import: 0.1 s of processor time.
    """
    return getattr(import_module("nbconvert.filters"), name)(text)


def _joined_streams(outputs: Sequence[Any]) -> list[Any]:
    """Return outputs with what was printed bit by bit as one text, as a terminal shows it."""
    joined: list[Any] = []
    for output in outputs:
        is_stream = output.output_type == "stream"
        if is_stream and joined and joined[-1].get("name") == output.name:
            joined[-1] = {**joined[-1], "text": joined[-1]["text"] + output.text}
        else:
            joined.append({**output} if is_stream else output)
    for output in joined:
        if output["output_type"] == "stream":
            output["text"] = _OVERWRITTEN.sub("", output["text"])
    return joined


def _texts(folder: str, names: tuple[str, ...]) -> str:
    home = templates_dir() / folder
    return "\n".join((home / name).read_text(encoding="utf-8") for name in names)


def _page_form(html: str) -> str:
    return _folded(_END_OF_CELL.sub("", inline(html)))


def _folded(html: str) -> str:
    """Hide what is folded from browsers that run scripts, until the page's script unfolds it.

    A ``noscript`` element is one text to them, whatever it holds: a long table costs nothing until
    it is opened. Without script it is shown as if it were not there. Folds within folds remain as
    they are: ``noscript`` elements cannot be nested.
    """
    depth = 0

    def hide(mark: re.Match[str]) -> str:
        nonlocal depth
        is_end = bool(mark[1])
        depth += -1 if is_end else 1
        is_outermost = depth == (0 if is_end else 1)
        return f"<{mark[1]}noscript>" if is_outermost else ""

    return _FOLD.sub(hide, html)


def _library_for(notebook: Any) -> Library:
    """Return the library for the charts of a notebook: all of it if its author may draw any."""
    has_figures = any(_PLOTLY_TYPE in data for data in _own(notebook))
    has_scripts = any("<script" in html.lower() for html in _own_html(notebook))
    return whole_library() if has_figures or has_scripts else own_library()


@functools.cache
def _lanes_script() -> Library:
    text = joined(templates_dir() / "script" / LANES_SCRIPT)
    return packed_script(f'(() => {{"use strict";\n{text}}})();\n')


def _has_lanes(notebook: Any) -> bool:
    return any(
        _HAS_LANES in output.get("data", {}).get("text/html", "")
        for cell in notebook.cells
        for output in cell.get("outputs", ())
    )


def _policy(info: Mapping[str, Any], notebook: Any) -> str:
    own = inline_of(_own_html(notebook))
    return policy(
        Inline(
            scripts=(info["early_script"], info["script"], *own.scripts),
            styles=(info["style"], *own.styles),
        ),
        more_scripts=[
            _library_for(notebook).digest,
            *([info["lanes"].digest] if _has_lanes(notebook) else []),
        ],
    )


def _own_html(notebook: Any) -> Iterator[str]:
    """Yield the HTML that the notebook's author brought: none in the report's own notebook."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield cell.source
    for data in _own(notebook):
        for kind in ("text/html", "text/markdown"):
            yield "".join(data.get(kind, ""))


def _own(notebook: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the data of the outputs that the notebook's author brought."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if "reportgen" not in output.get("metadata", {}):
                yield output.get("data", {})
