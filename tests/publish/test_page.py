"""What the page carries: its scripts by hash, plotly as it is installed, figures packed."""

from __future__ import annotations

import base64
import gzip
import html as markup
import json
import re
from pathlib import Path

import pytest
from nbconvert.exporters.templateexporter import TemplateExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from plotly.utils import PlotlyJSONEncoder

from reportgen.assets import templates_dir
from reportgen.publish.exporter import PageExporter
from reportgen.publish.policy import digest, package_data, plotly_script
from reportgen.views.charts.layout import template
from reportgen.views.theme import resolved
from tests.views import pages, reports


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    return pages.write_page(folder, reports.busy_report()).read_text(encoding="utf-8")


def test_the_policy_lists_just_the_scripts_of_the_page(page):
    (text,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    inline = re.findall(r"<script(?: type=\"module\")?>(.*?)</script>", page, flags=re.DOTALL)
    allowed = re.search(r"script-src ([^;]*)", text)
    assert allowed
    assert allowed[1].split() == [*map(digest, inline), plotly_script().digest]
    assert len(inline) == 2


def test_nbconvert_makes_the_page_with_our_template_alone(monkeypatch, tmp_path):
    asked = []
    make = PageExporter.from_notebook_node

    def from_notebook_node(self, notebook, *args, **more):
        asked.append((self.template_name, [Path(path) for path in self.template_paths]))
        return make(self, notebook, *args, **more)

    monkeypatch.setattr(TemplateExporter, "from_notebook_node", from_notebook_node)
    page = pages.write_page(tmp_path, reports.report_of(()))
    assert asked == [("page", [templates_dir() / "page"])]
    assert "<main" in page.read_text(encoding="utf-8")


def test_a_formula_is_mathml_and_one_that_cannot_be_read_is_its_text(tmp_path):
    cells = [
        new_markdown_cell("$x^2 < y$\n\n\\begin{align} a &= b \\end{align}"),
        new_markdown_cell("$\\frac{a$ and $}{<$"),
    ]
    page = pages.write_page(tmp_path, reports.report_of(()), own_cells=cells)
    text = page.read_text(encoding="utf-8")
    assert "<msup><mi>x</mi><mn>2</mn></msup><mo>&lt;</mo>" in text
    assert '<mtable displaystyle="true"' in text
    assert "$x^2" not in text


@pytest.mark.parametrize("template", ["plotly", "seaborn"])
def test_only_the_template_that_plotly_gives_to_each_figure_is_left_out(tmp_path, template):
    import plotly.graph_objects as go

    figure = go.Figure(go.Bar(y=[1]), layout_template=template).to_plotly_json()
    plain = json.loads(json.dumps(figure, cls=PlotlyJSONEncoder))
    shown = new_output("display_data", data={"application/vnd.plotly.v1+json": plain})
    cell = new_code_cell("mine()", outputs=[shown])
    page = pages.write_page(tmp_path, reports.report_of(()), own_cells=[cell])
    written = page.read_text(encoding="utf-8").partition("data-own>")[2].partition("</figure>")[0]
    has_template = '"colorway"' in written
    assert has_template is (template == "seaborn")


def test_no_script_is_written_into_an_attribute(page):
    body = re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.DOTALL)
    assert not re.search(r"<[^>]*\son[a-z]+=", body)
    assert "javascript:" not in body


def test_the_packed_library_is_the_script_that_the_policy_allows(page):
    (packed,) = re.findall(r'id="plotly-gz" data-packed>([^<]*)<', page)
    text = gzip.decompress(base64.b64decode(packed)).decode()
    assert plotly_script().digest == digest(text)
    assert text == (package_data() / "plotly.min.js").read_text(encoding="utf-8")
    assert "Plotly" in text


def test_a_chart_is_the_figure_of_the_notebook_without_the_common_look(page):
    figures = {
        output["metadata"]["reportgen"]["figure"]: output["data"]["application/vnd.plotly.v1+json"]
        for cell in pages.notebook_of(reports.busy_report()).cells
        for output in cell.get("outputs", ())
        if "figure" in output["metadata"]["reportgen"]
    }
    found = dict(re.findall(r'data-figure="([^"]*)" data-packed>([^<]*)<', page))
    assert found.keys() == figures.keys()
    for name, packed in found.items():
        drawn = json.loads(gzip.decompress(base64.b64decode(packed)))
        assert drawn["data"] == figures[name]["data"]
        assert figures[name]["layout"] == {**drawn["layout"], "template": resolved(template())}


def test_a_title_can_be_neither_long_nor_turned_around(tmp_path):
    path = pages.write_page(tmp_path, reports.report_of((), name="x\u202e" + "y" * 10_000))
    (title,) = re.findall(r"<title>(.*?)</title>", path.read_text(encoding="utf-8"))
    assert len(markup.unescape(title)) <= 160
    assert "\u202e" not in title
