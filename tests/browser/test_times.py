"""Times of charts are in UTC; a job without an end is called ended when its data are old."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.browser.watching import draw, opened
from tests.views import pages, reports

pytestmark = pytest.mark.browser

CPU = "OverallSystemUsage--cpu"
FIRST_X = f"document.querySelector('#{CPU} .rg-plot').data.at(-1).x[0]"
TICKS = f"[...document.querySelectorAll('#{CPU} .xtick text')].map(t => t.textContent).join(' ')"


def test_a_chart_is_in_utc_wherever_it_is_opened(browser, busy_page):
    with opened(browser, busy_page, timezone_id="Asia/Kolkata") as watched:
        draw(watched.page, CPU)
        assert watched.page.evaluate(FIRST_X) == "2026-07-03 09:30"
        assert "UTC" in watched.page.evaluate(TICKS)
        assert "10:00" in watched.page.evaluate(TICKS)


@pytest.mark.parametrize(
    ("until", "said"),
    [
        (
            "2999-01-01T00:00:00Z",
            r"no end marker, data until 2999-\S+ \S+ UTC it still runs, or .*",
        ),
        ("2020-01-01T00:00:00Z", r"ended without notice, data until \S+ \S+ UTC \(\d+ days ago\)"),
    ],
)
def test_a_job_without_an_end_is_called_ended_when_its_data_are_old(browser, tmp_path, until, said):
    report = reports.busy_report()
    report = replace(report, job=replace(report.job, running_until=until))
    with opened(browser, pages.write_page(tmp_path, report)) as watched:
        assert re.fullmatch(said, watched.page.locator(".rg-state dd").inner_text())
