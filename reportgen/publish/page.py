"""Turn the executed notebook into one HTML file that needs nothing else."""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reportgen.assets import templates_dir
from reportgen.errors import OutputError
from reportgen.letters import pack
from reportgen.names import clean, cut_middle
from reportgen.publish.policy import Inline, digest, inline_of, policy

TEMPLATE = "page"
SHEETS = ("tokens.css", "components.css", "page.css", "timeline.css")
EARLY_SCRIPTS = ("early.js",)
SCRIPTS = (
    "folds.js",
    "times.js",
    "charts.js",
    "timeline.js",
    "tables.js",
    "saving.js",
    "search.js",
    "page.js",
)
"""In the order in which they run; each says at its head what it gives to those below."""

_LONGEST_TITLE = 160
_WRAPPER_STARTS = '"use strict";var Plotly=(()=>{'
_WRAPPER_ENDS = "return Plotly;"
_WRAPPER_WITHIN = 2000
_STYLE_ID = re.compile(
    r'getElementById\("([0-9a-f]{64})"\)\)\{var \w+=document\.createElement\("style"'
)
_FOLD = re.compile("<!--(/?)fold-->")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """What the page says about itself: ``theme`` is ``auto``, ``light`` or ``dark``."""

    title: str
    theme: str
    report_id: str


def export_page(notebook: Path, page: Path, options: PageOptions) -> None:
    """Write the page of an executed notebook.

    Raises:
        OutputError: the page cannot be written.
    """
    exporter = _page_exporter()
    library = packed_plotly()
    info = {
        "title": cut_middle(clean(options.title), _LONGEST_TITLE),
        "theme": options.theme,
        "report_id": options.report_id,
        "plotly": library.packed,
        "plotly_bytes": library.n_bytes,
        "style_ids": library.style_ids,
        "style": _texts("style", SHEETS),
        "early_script": _texts("script", EARLY_SCRIPTS),
        "script": _texts("script", SCRIPTS),
    }
    exporter.register_filter("folded", _folded)
    exporter.register_filter("policy", functools.partial(_policy, info, library))
    html, _ = exporter.from_filename(str(notebook), resources={"reportgen": info})
    try:
        page.write_text(html, encoding="utf-8")
    except OSError as err:
        raise OutputError(
            f"Cannot write {page}: {err.strerror}.",
            hint="Choose another folder with --output.",
            path=str(page),
        ) from err


def _page_exporter() -> Any:
    from nbconvert.exporters.html import HTMLExporter
    from nbconvert.exporters.templateexporter import TemplateExporter
    from nbconvert.filters.highlight import Highlight2HTML
    from nbconvert.filters.widgetsdatatypefilter import WidgetsDataTypeFilter

    class PageExporter(HTMLExporter):
        """The HTML exporter without its second pass, which parses and rewrites all of the page.

        That pass adds attributes for nbconvert's own templates and takes as long as the rest.
        """

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


def _folded(html: str) -> str:
    """Hide what is folded from browsers that run scripts, until the page's script unfolds it.

    A ``noscript`` element is one text to them, whatever it holds: a long table costs nothing until
    somebody opens it. Without script it is shown as if it were not there. Folds within folds stay
    as they are: ``noscript`` elements cannot be nested.
    """
    depth = 0

    def hide(mark: re.Match[str]) -> str:
        nonlocal depth
        is_end = bool(mark[1])
        depth += -1 if is_end else 1
        is_outermost = depth == (0 if is_end else 1)
        return f"<{mark[1]}noscript>" if is_outermost else ""

    return _FOLD.sub(hide, html)


def _policy(info: Mapping[str, Any], library: Library, notebook: Any) -> str:
    """Return the policy: our scripts, plotly, and those of the notebook's own outputs."""
    own = inline_of(_own_html(notebook))
    return policy(
        Inline(
            scripts=(info["early_script"], info["script"], *own.scripts),
            styles=(info["style"], *own.styles),
        ),
        more_scripts=[library.digest],
    )


def _own_html(notebook: Any) -> Iterator[str]:
    """Yield the HTML that the notebook's author brought: none in the report's own notebook."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield cell.source
        for output in cell.get("outputs", ()):
            if "reportgen" in output.get("metadata", {}):
                continue
            for kind in ("text/html", "text/markdown"):
                yield "".join(output.get("data", {}).get(kind, ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A script as the page carries it.

    Attributes:
        packed: gzipped, in base 85 with ``,`` for ``<``, which could begin a comment.
        n_bytes: how long the gzipped script is.
        digest: what the policy allows it by.
        style_ids: ids of style sheets that it adds unless an element has them; for maps, 83 kB.
    """

    packed: str
    n_bytes: int
    digest: str
    style_ids: tuple[str, ...]


@functools.cache
def packed_plotly() -> Library:
    """Return the installed plotly's browser library.

    The package is found, not imported: importing plotly costs more than making the page.
    """
    spec = importlib.util.find_spec("plotly")
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin).parent / "package_data" / "plotly.min.js"
    text = _unwrapped(path.read_bytes().decode("utf-8"))
    packed = pack(text)
    return Library(
        packed=packed.text,
        n_bytes=packed.n_bytes,
        digest=digest(text),
        style_ids=tuple(_STYLE_ID.findall(text)),
    )


def _unwrapped(text: str) -> str:
    """Return plotly without its wrapper, a function that is passed on.

    The browser then parses the library once instead of twice: 0.8 s instead of 1.1 s. A wrapper
    that looks otherwise stays.
    """
    start, end = text.find(_WRAPPER_STARTS), text.rfind(_WRAPPER_ENDS)
    is_known = 0 < start < _WRAPPER_WITHIN and end > len(text) - 200
    return text[start:end] if is_known else text
