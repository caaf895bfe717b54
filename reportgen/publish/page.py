"""Turn the executed notebook into one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import functools
import gzip
import importlib.util
from dataclasses import dataclass
from pathlib import Path

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
    from nbconvert.exporters.html import HTMLExporter

    exporter = HTMLExporter(  # type: ignore[no-untyped-call]  # nbconvert has no types
        template_name=TEMPLATE,
        extra_template_basedirs=[str(templates_dir())],
        require_js_url="",
        mathjax_url="",
    )
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
