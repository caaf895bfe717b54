"""An analysis notebook exported by nbconvert, looked at without network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from nbconvert import HTMLExporter

from tests.end_to_end.test_analysis_notebooks import executed

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WIDTH_PX = 1_000


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
