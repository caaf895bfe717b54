"""The page of many jobs: search, sorting, groups, without a request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reportgen.index.model import JobRow
from reportgen.index.read import index_of
from reportgen.publish.policy import policy
from reportgen.views.index import index_page
from tests.browser.test_accessibility import LOOKS, _complaints
from tests.browser.watching import opened

pytestmark = pytest.mark.browser

ROWS = [
    JobRow(
        job=f"run-{number}",
        group="run",
        path=f"/jobs/{number}",
        created=f"2026-03-{1 + number % 28:02d}T10:00:00Z",
        status="Failed" if number % 50 == 0 else "Completed",
        step_period_p50_s=0.1 + number / 1000,
        wasted_gpu_hours=float(number),
        top_cause="io_wait",
        top_severity="warning",
        top_finding="The disk holds up the input",
    )
    for number in range(300)
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    index = index_of([*ROWS, replace(ROWS[0], job="</script>other", group="other", path="/x")])
    page = tmp_path_factory.mktemp("index") / "profiler-index.html"
    page.write_text(
        index_page(index, title="Jobs", policy_of=lambda script: policy([script])), encoding="utf-8"
    )
    return page


def first_job(page: Any) -> str:
    return str(page.locator("tbody tr td").first.inner_text())


def test_a_reader_searches_sorts_and_groups(browser: Any, path: Path) -> None:
    with opened(browser, path) as watched:
        page = watched.page
        page.wait_for_selector(".rgi-tools:not([hidden])")
        assert first_job(page) == "run-299"
        assert page.locator("tbody tr").count() == 100
        page.get_by_role("button", name="GPU time without work").click()
        assert first_job(page) in {"run-0", "</script>other"}
        page.get_by_label("Search").fill("run-17")
        assert page.locator("tbody tr").count() == 11
        page.get_by_label("Search").fill("")
        page.locator("[name=status]").select_option("Failed")
        assert page.locator("tbody tr").count() == 7
        page.locator("[name=status]").select_option("")
        page.get_by_label("group by name").check()
        assert page.locator("tbody tr").count() == 2
        assert "run (300 jobs)" in page.locator("tbody").inner_text()
        assert page.locator(".rgi-trend").count() == 1
        assert page.locator("script").count() == 2
    assert not watched.requests
    assert not watched.complaints


@pytest.mark.parametrize("look", LOOKS)
def test_it_is_accessible(browser: Any, path: Path, look: str) -> None:
    with opened(browser, path, **LOOKS[look]) as watched:
        watched.page.wait_for_selector(".rgi-tools:not([hidden])")
        assert not _complaints(watched.page, look)
        assert watched.page.evaluate("document.body.scrollWidth <= innerWidth")


def test_without_script_the_first_jobs_are_there(browser: Any, path: Path) -> None:
    with opened(browser, path, java_script_enabled=False) as watched:
        assert watched.page.locator("tbody tr").count() == 100
        assert "profiler-index.json" in watched.page.locator("noscript").inner_text()
