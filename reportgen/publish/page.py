"""Turn the executed notebook into one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import functools
import gzip
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reportgen.assets import templates_dir
from reportgen.errors import OutputError

TEMPLATE = "page"
_GZIP_LEVEL = 6


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
    resources = {
        "reportgen": {
            "title": options.title,
            "theme": options.theme,
            "report_id": options.report_id,
            "plotly": packed_plotly(),
        }
    }
    html, _ = exporter.from_filename(str(notebook), resources=resources)
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


@functools.cache
def packed_plotly() -> str:
    """Return the installed plotly's browser library, gzipped and in base64.

    The package is found, not imported: importing plotly costs more than making the page.
    """
    spec = importlib.util.find_spec("plotly")
    assert spec is not None
    assert spec.origin is not None
    library = Path(spec.origin).parent / "package_data" / "plotly.min.js"
    packed = gzip.compress(library.read_bytes(), compresslevel=_GZIP_LEVEL, mtime=0)
    return base64.b64encode(packed).decode("ascii")
