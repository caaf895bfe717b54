"""Notebooks of readers in a browser: exported by nbconvert, and edited ones as our page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell

from tests.browser.watching import opened, wait_until
from tests.end_to_end.command import run_here
from tests.end_to_end.test_analysis_notebooks import executed

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WIDTH_PX = 1_000
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADU"
    "lEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
"""One point: what matplotlib's backend for notebooks shows is a PNG of its own."""

OWN_CELLS = (
    new_markdown_cell("## My own section\n\nThe loss is $x^2$."),
    new_code_cell("import pandas as pd\npd.DataFrame({'name': ['b', 'a'], 'loss': [3.5, 1.25]})"),
    new_code_cell(
        f"from IPython.display import Image\nimport base64\nImage(base64.b64decode('{PNG}'))"
    ),
    new_code_cell("import plotly.graph_objects as go\ngo.Figure(go.Bar(x=['a', 'b'], y=[1, 2]))"),
    new_code_cell("1 / 0"),
    new_code_cell("[][1]"),
    new_code_cell("print('the last words')"),
)


@pytest.mark.notebook
@pytest.mark.browser
def test_an_exported_page_draws_its_charts_without_network_and_its_tables_fit(
    browser: Browser, input_bound_job: Path, tmp_path: Path
) -> None:
    notebook = executed("interactive", input_bound_job, tmp_path)
    page = tmp_path / "page.html"
    page.write_text(HTMLExporter().from_notebook_node(notebook)[0], encoding="utf-8")
    n_charts = json.dumps(notebook.cells).count('"application/vnd.plotly.v1+json"')

    context = browser.new_context(offline=True, viewport={"width": WIDTH_PX, "height": 900})
    seen = context.new_page()
    seen.goto(page.as_uri())
    seen.wait_for_selector(".js-plotly-plot .main-svg")
    drawn = seen.locator(".js-plotly-plot:has(.main-svg)").count()
    right_px = seen.locator("table.dataframe").evaluate_all(
        "tables => tables.map(table => table.getBoundingClientRect().right)"
    )
    context.close()
    assert n_charts == drawn >= 10
    assert len(right_px) >= 8
    assert max(right_px) <= WIDTH_PX


@pytest.mark.notebook
@pytest.mark.browser
def test_an_edited_notebook_looks_like_ours_in_light_and_dark(browser, input_bound_job, tmp_path):
    made = run_here(input_bound_job, "--output", tmp_path, "--format", "html,ipynb")
    assert made.code == 0, made.stderr
    notebook = nbformat.read(tmp_path / "profiler-report.ipynb", as_version=4)
    notebook.cells += OWN_CELLS
    edited = tmp_path / "edited.ipynb"
    nbformat.write(notebook, edited)
    made = run_here(input_bound_job, "--output", tmp_path / "mine", "--notebook", edited)
    assert made.code == 0, made.stderr
    assert "ZeroDivisionError: division by zero. The page shows the error." in made.stderr
    assert "IndexError: list index out of range. The page shows the error." in made.stderr
    for scheme in ("light", "dark"):
        with opened(
            browser, tmp_path / "mine" / "profiler-report.html", color_scheme=scheme
        ) as watched:
            page = watched.page
            table = page.locator("table.dataframe")
            table.scroll_into_view_if_needed()
            assert table.evaluate("it => getComputedStyle(it).borderTopWidth") == "0px"
            table.locator("th button", has_text="loss").click(click_count=2)
            assert table.locator("tbody tr").first.inner_text().split() == ["1", "a", "1.25"]
            mine = page.locator(".rg-cell", has=table)
            assert mine.locator("button", has_text="Copy CSV").is_visible()
            assert page.locator("math msup").text_content() == "x2"
            assert page.locator(f"img[src*='{PNG[:40]}']").bounding_box()
            chart = page.locator("figure.chart[data-own]")
            chart.scroll_into_view_if_needed()
            wait_until(page, "() => document.querySelector('.chart[data-own] .xtick text')")
            of_chart = "it => getComputedStyle(it.querySelector('.xtick text')).fill"
            of_page = "it => getComputedStyle(document.querySelector('.rg-footer')).color"
            assert chart.evaluate(of_chart) == chart.evaluate(of_page)
            assert page.get_by_text("This cell failed: ZeroDivisionError").is_visible()
            assert page.get_by_text("the last words", exact=True).is_visible()
            assert watched.complaints == []
            assert watched.requests == []
