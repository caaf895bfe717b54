"""Tables in a browser: sorted by what they hold, filtered, copied in full."""

from __future__ import annotations

import csv
import io

import pytest

from tests.browser.watching import quiet_page, wait_until
from tests.views import reports

pytestmark = pytest.mark.browser

OUTLIERS = "#StepOutlier--outliers"
N_OUTLIERS = reports.steps_table().n_rows
CLIPBOARD = ["clipboard-read", "clipboard-write"]
ROWS = f"() => document.querySelectorAll('{OUTLIERS} tbody tr:not([hidden])').length"


def _column(page, at):
    return page.locator(f"{OUTLIERS} tbody td:nth-child({at})").all_text_contents()


def test_the_further_rows_of_a_long_table_join_it_when_their_fold_is_opened(browser, busy_page):
    with quiet_page(browser, busy_page) as page:
        shown = page.locator(f"{OUTLIERS} tbody tr:visible")
        assert shown.count() == 10
        page.locator(f"{OUTLIERS} summary").click()
        assert page.evaluate(ROWS) == N_OUTLIERS
        assert page.locator(f"{OUTLIERS} summary").count() == 0


def test_a_table_is_sorted_by_its_numbers_and_says_so(browser, busy_page):
    with quiet_page(browser, busy_page) as page:
        head = page.locator(f"{OUTLIERS} th").nth(3)
        before = _column(page, 4)[:10]
        head.get_by_role("button").press("Enter")
        assert head.get_attribute("aria-sort") == "descending"
        assert _column(page, 4)[0] == "429 ms"
        assert len(_column(page, 4)) == N_OUTLIERS
        head.get_by_role("button").press("Enter")
        assert head.get_attribute("aria-sort") == "ascending"
        assert _column(page, 4)[0] == "310 ms"
        head.get_by_role("button").press("Enter")
        assert head.get_attribute("aria-sort") is None
        assert _column(page, 4)[:10] == before


def test_a_filter_leaves_the_rows_that_hold_all_its_words(browser, busy_page):
    with quiet_page(browser, busy_page) as page:
        page.get_by_label("Filter the rows of Outlier steps").fill("ALGO-2 4.29")
        assert page.evaluate(ROWS) == 1
        assert page.locator("#rg-said").text_content() == f"1 of {N_OUTLIERS} rows"
        page.keyboard.press("Escape")
        assert page.evaluate(ROWS) == N_OUTLIERS


def test_a_table_is_copied_with_all_its_rows_and_digits(browser, busy_page):
    with quiet_page(browser, busy_page, permissions=CLIPBOARD) as page:
        page.locator(f"{OUTLIERS} .rg-tool").click()
        wait_until(
            page, "() => document.getElementById('rg-said').textContent.startsWith('Copied')"
        )
        text = page.evaluate("navigator.clipboard.readText()")
    rows = list(csv.reader(io.StringIO(text)))
    exhibit = reports.steps_table()
    assert rows[0] == ["worker", "step", "start_s", "duration_s", "factor"]
    assert len(rows) == 1 + N_OUTLIERS
    for row, values in zip(
        rows[1:], zip(*(column.values for column in exhibit.columns), strict=True), strict=True
    ):
        assert row[0] == values[0]
        assert [float(cell) for cell in row[1:]] == list(values[1:])


def test_names_are_copied_whole_and_never_as_formulas(browser, hostile_page):
    with quiet_page(browser, hostile_page, permissions=CLIPBOARD) as page:
        page.evaluate("document.querySelector('td').textContent = '=1+1'")
        table = page.locator("figure[id$='--bars'] .rg-tool")
        page.evaluate(
            "document.querySelector('figure[id$=\"--bars\"] tbody th').textContent = '=1+1'"
        )
        table.click()
        page.wait_for_timeout(100)
        text = page.evaluate("navigator.clipboard.readText()")
    assert "\n'=1+1," in text.replace("\r", "")
