"""An analysis notebook exported by nbconvert, looked at without network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from nbconvert import HTMLExporter

from tests.builders import START_S, write_system
from tests.end_to_end.test_analysis_notebooks import executed

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.mark.notebook
@pytest.mark.browser
def test_charts_are_drawn_in_an_exported_page_without_network(
    browser: Browser, tmp_path: Path
) -> None:
    job = tmp_path / "job"
    write_system(job, {"gpu0": [50.0] * 120, "cpu0": [50.0] * 120}, start_s=START_S)
    notebook = executed("interactive", job, tmp_path)
    page = tmp_path / "page.html"
    page.write_text(HTMLExporter().from_notebook_node(notebook)[0], encoding="utf-8")
    n_charts = json.dumps(notebook.cells).count('"application/vnd.plotly.v1+json"')

    context = browser.new_context(offline=True)
    seen = context.new_page()
    seen.goto(page.as_uri())
    seen.wait_for_selector(".js-plotly-plot .main-svg")
    drawn = seen.locator(".js-plotly-plot:has(.main-svg)").count()
    context.close()
    assert n_charts == drawn >= 4
