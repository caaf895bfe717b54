"""Times in UTC and in the reader's zone: in sentences, tables and charts alike."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.browser.watching import draw, opened, wait_until
from tests.views import pages, reports

pytestmark = pytest.mark.browser

ZONE = "Asia/Kolkata"  # UTC+05:30
CPU = "OverallSystemUsage--cpu"
FIRST_X = f"document.querySelector('#{CPU} .rg-plot').data.at(-1).x[0]"
TICKS = f"[...document.querySelectorAll('#{CPU} .xtick text')].map(t => t.textContent).join(' ')"
STARTED = "document.querySelector('.rg-facts').innerText"
ROW = "document.querySelector('#StepOutlier--outliers tbody tr').cells[2].textContent"
HEAD = "document.querySelectorAll('#StepOutlier--outliers th')[2].innerText"


@pytest.mark.parametrize("zone", [ZONE, "America/Los_Angeles"])
def test_a_chart_is_in_utc_wherever_it_is_opened(browser, busy_page, zone):
    with opened(browser, busy_page, timezone_id=zone) as watched:
        draw(watched.page, CPU)
        assert watched.page.evaluate(FIRST_X) == "2026-07-03 09:30"
        assert "UTC" in watched.page.evaluate(TICKS)
        assert "10:00" in watched.page.evaluate(TICKS)


def test_all_times_change_to_the_readers_zone_and_back(browser, busy_page):
    with opened(browser, busy_page, timezone_id=ZONE) as watched:
        page = watched.page
        draw(page, CPU)
        before = page.evaluate(STARTED), page.evaluate(ROW), page.evaluate(HEAD)
        page.select_option("#rg-zone", "local")
        assert "2026-07-03 15:00:00 UTC+05:30" in page.evaluate(STARTED)
        assert page.evaluate(ROW) == "2026-07-03 15:00:00.0"
        assert "UTC+05:30" in page.evaluate(HEAD)
        wait_until(page, f"() => {FIRST_X} === '2026-07-03 15:00'")
        wait_until(page, f"() => ({TICKS}).includes('UTC+05:30')")
        page.keyboard.press("u")
        wait_until(page, f"() => {FIRST_X} === '2026-07-03 09:30'")
        assert (page.evaluate(STARTED), page.evaluate(ROW), page.evaluate(HEAD)) == before
        assert watched.complaints == []


def test_rows_behind_a_fold_follow_the_zone(browser, busy_page):
    with opened(browser, busy_page, timezone_id=ZONE) as watched:
        page = watched.page
        page.select_option("#rg-zone", "local")
        page.locator("#StepOutlier--outliers summary").click()
        last = page.locator("#StepOutlier--outliers tbody tr").last.locator("td").nth(2)
        assert last.text_content() == "2026-07-03 15:59:30.0"


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
