"""Turn the executed notebook into one HTML file that needs nothing else."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reportgen.assets import templates_dir
from reportgen.compression import pack
from reportgen.errors import writing
from reportgen.page_scripts import joined
from reportgen.publish.policy import (
    PackedScript,
    package_data,
    packed_script,
    plotly_script,
    policy,
    scripts_of,
)
from reportgen.text_safety import clean, cut_middle
from reportgen.views.charts.layout import template
from reportgen.views.fragments import script_json
from reportgen.views.theme import css

SHEETS = ("components.css", "page.css", "timeline.css", "lanes.css")
BEFORE_PAINT, SCRIPT = "before_paint.js", "main.js"
LANES_SCRIPT = "lanes.js"
"""Packed, in pages with lanes of events; it runs when they come near the window."""

_HAS_LANES = 'id="timeline-lanes"'
_LONGEST_TITLE = 160


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
        "style": css() + _texts("style", SHEETS),
        "before_paint": joined(templates_dir() / "script" / BEFORE_PAINT),
        "script": joined(templates_dir() / "script" / SCRIPT),
        "chart_style": script_json(template()),
        "library": plotly_script(),
        "lanes": _lanes_script(),
    }
    html, _ = _exporter().from_notebook_node(notebook, resources={"info": info})
    with writing(page):
        page.write_text(html, encoding="utf-8")


@functools.cache
def _exporter() -> Any:
    """Return what makes pages, with its templates compiled."""
    from reportgen.publish.exporter import PageExporter  # 0.3 s, for whoever makes a page alone

    return PageExporter(
        packed_figure=_packed_figure,
        has_lanes=_has_lanes,
        policy=_policy,
        own_figure=_without_default_template,
    )


def _texts(folder: str, names: tuple[str, ...]) -> str:
    home = templates_dir() / folder
    return "\n".join((home / name).read_text(encoding="utf-8") for name in names)


def _packed_figure(figure: Mapping[str, Any]) -> str:
    """Return a figure of ours, packed, without the look of all charts, which the page has once."""
    layout = {key: part for key, part in figure["layout"].items() if key != "template"}
    return pack(json.dumps({**figure, "layout": layout}, separators=(",", ":")))


def _without_default_template(figure: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a figure of the notebook's author, without the template that plotly gives to each."""
    layout = dict(figure.get("layout", {}))
    if layout.get("template") == _default_template():
        del layout["template"]
    return {**figure, "layout": layout}


@functools.cache
def _default_template() -> Any:
    path = package_data() / "templates" / "plotly.json"
    return json.loads(path.read_bytes())


@functools.cache
def _lanes_script() -> PackedScript:
    text = joined(templates_dir() / "script" / LANES_SCRIPT)
    return packed_script(f'(() => {{"use strict";\n{text}}})();\n')


def _has_lanes(notebook: Any) -> bool:
    return any(
        _HAS_LANES in output.get("data", {}).get("text/html", "")
        for cell in notebook.cells
        for output in cell.get("outputs", ())
    )


def _policy(notebook: Any, info: Mapping[str, Any]) -> str:
    return policy(
        [info["before_paint"], info["script"], *scripts_of(_html_of_author(notebook))],
        more_scripts=[
            info["library"].digest,
            *([info["lanes"].digest] if _has_lanes(notebook) else []),
        ],
    )


def _html_of_author(notebook: Any) -> Iterator[str]:
    """Yield the HTML that the notebook's author brought: none in the report's own notebook."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield cell.source
    for data in _outputs_of_author(notebook):
        for kind in ("text/html", "text/markdown"):
            yield "".join(data.get(kind, ""))


def _outputs_of_author(notebook: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the data of the outputs that the notebook's author brought."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if "reportgen" not in output.get("metadata", {}):
                yield output.get("data", {})
