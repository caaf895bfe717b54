"""Turn the executed notebook into one HTML file that needs nothing else."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reportgen.assets import templates_dir
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


def export_page(notebook: Path, page: Path, options: PageOptions) -> None:
    """Write the page of an executed notebook.

    Raises:
        OutputError: the page cannot be written.
    """
    exporter = _page_exporter()
    info = {
        "title": cut_middle(clean(options.title), _LONGEST_TITLE),
        "theme": options.theme,
        "report_id": options.report_id,
        "style": _texts("style", SHEETS),
        "early_script": joined(templates_dir() / "script" / EARLY_SCRIPT),
        "script": joined(templates_dir() / "script" / SCRIPT),
        "lanes": _lanes_script(),
    }
    exporter.register_filter("page_form", _page_form)
    exporter.register_filter("library", _library_for)
    exporter.register_filter("has_lanes", _has_lanes)
    exporter.register_filter("policy", functools.partial(_policy, info))
    html, _ = exporter.from_filename(str(notebook), resources={"reportgen": info})
    with writing(page):
        page.write_text(html, encoding="utf-8")


def _page_exporter() -> Any:
    from nbconvert.exporters.html import HTMLExporter
    from nbconvert.exporters.templateexporter import TemplateExporter
    from nbconvert.filters.highlight import Highlight2HTML
    from nbconvert.filters.widgetsdatatypefilter import WidgetsDataTypeFilter

    class PageExporter(HTMLExporter):
        """The HTML exporter without its second pass, which parses and rewrites all of the page.

        That pass adds attributes for nbconvert's own templates and takes as long as the rest.
        Templates are looked for in our folder alone: a ``page/conf.json`` among the user's own
        would be merged with ours, and can name objects to be run.
        """

        def get_prefix_root_dirs(self) -> list[str]:
            return []

        def from_notebook_node(  # type: ignore[override]  # as in HTMLExporter
            self, nb: Any, resources: dict[str, Any] | None = None, **kw: Any
        ) -> tuple[str, dict[str, Any]]:
            resources = self._init_resources(resources)
            self.register_filter(
                "highlight_code", Highlight2HTML(pygments_lexer="ipython3", parent=self)
            )
            self.register_filter(
                "filter_data_type",
                WidgetsDataTypeFilter(notebook_metadata={}, parent=self, resources=resources),
            )
            return TemplateExporter.from_notebook_node(self, nb, resources, **kw)

    return PageExporter(
        template_name=TEMPLATE,
        extra_template_basedirs=[str(templates_dir())],
        default_preprocessors=[
            "nbconvert.preprocessors.coalescestreams.CoalesceStreamsPreprocessor"
        ],
    )


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
