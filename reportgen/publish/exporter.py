"""nbconvert's exporter over the template ``templates/page``."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape, unescape
from typing import Any
from xml.etree.ElementTree import tostring

from nbconvert.exporters.templateexporter import TemplateExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.preprocessors.coalescestreams import CoalesceStreamsPreprocessor

from reportgen.assets import templates_dir

TEMPLATE = "page"


class PageExporter(TemplateExporter):
    """Makes the page of an executed notebook.

    No template, preprocessor or setting of the user's own Jupyter takes part in it.
    """

    output_mimetype = "text/html"

    def __init__(self, **filters: Any) -> None:
        super().__init__(
            template_name=TEMPLATE,
            extra_template_basedirs=[str(templates_dir())],
            template_data_paths=[],
            file_extension=".html",
            default_preprocessors=[],
            preprocessors=[CoalesceStreamsPreprocessor],
            filters=filters,
        )

    def get_prefix_root_dirs(self) -> list[str]:
        """Return no folder of Jupyter: the search for templates ends at ours."""
        return []

    def default_filters(self) -> Iterable[tuple[str, Any]]:
        """Return nbconvert's filters, of which Markdown's writes formulas as MathML."""
        return {**dict(super().default_filters()), "markdown2html": _html_of}.items()


class _Renderer(IPythonRenderer):
    """nbconvert's renderer of Markdown, which leaves formulas to MathJax, with MathML for them."""

    def inline_math(self, body: str) -> str:
        return _mathml(body, display="inline")

    def block_math(self, body: str) -> str:
        return _mathml(body, display="block")

    def latex_environment(self, name: str, body: str) -> str:
        return _mathml(f"\\begin{{{name}}}{body}\\end{{{name}}}", display="block")


def _html_of(markdown: str) -> str:
    """Return the HTML of Markdown whose author may write HTML, too."""
    return str(MarkdownWithMath(renderer=_Renderer(escape=False)).render(markdown))


def _mathml(latex: str, *, display: str) -> str:
    """Return a formula as MathML; as its LaTeX text where that cannot be read."""
    from latex2mathml.converter import convert_to_element

    try:
        formula = convert_to_element(latex, display=display)
    except Exception:  # noqa: BLE001  # for many mistakes it raises what Python raised in it
        return f"<code>{escape(latex)}</code>"
    for element in formula.iter():
        element.text = unescape(element.text or "")  # symbols are references in it
    return tostring(formula, encoding="unicode")
