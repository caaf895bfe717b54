"""The page on paper: light, what is open, nothing cut."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.watching import quiet_page, scroll_through, unfold, unfold_all
from tests.views import reports

pytestmark = pytest.mark.browser

SHEET_PX = 703
"""A4 without its margins."""
TOO_WIDE = (
    "[...document.querySelectorAll('main *')].filter(e => !e.closest('svg') &&"
    " e.getBoundingClientRect().width && e.getBoundingClientRect().right > innerWidth + 1).length"
)
ROWS = "document.querySelectorAll('#StepOutlier--outliers tbody tr').length"


def test_paper_holds_all_charts_and_all_rows_that_are_open_in_light_colours(browser, busy_page):
    viewport = {"width": SHEET_PX, "height": 900}
    dark: dict[str, Any] = {"color_scheme": "dark", "viewport": viewport}
    with quiet_page(browser, busy_page, **dark) as page:
        page.locator("details[data-rows] > summary").evaluate_all(
            "all => all.map(it => it.click())"
        )
        unfold_all(page)
        scroll_through(page)
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        page.wait_for_timeout(500)
        widths = page.evaluate(
            "[...document.querySelectorAll('figure.chart .main-svg:first-child')]"
            ".map(svg => svg.clientWidth)"
        )
        assert len(widths) >= page.locator("figure.chart").count()
        assert max(widths) <= 650
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == "rgb(255, 255, 255)"
        assert not page.locator(".rg-nav").is_visible()
        assert not page.locator(".rg-tools").first.is_visible()
        assert page.evaluate(ROWS) == reports.steps_table().n_rows
        # Chromium repeats the words of a head on each sheet, but not its buttons.
        assert page.eval_on_selector(".rg-sort", "it => getComputedStyle(it).display") == "contents"
        assert page.evaluate(TOO_WIDE) == 0
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert page.evaluate("document.documentElement.dataset.theme") is None


def test_paper_shows_what_is_open_and_says_how_to_print_the_rest(browser, busy_page):
    with quiet_page(browser, busy_page) as page:
        scroll_through(page)
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        assert page.locator(".rg-topic[open]").count() == 0
        assert page.locator("#batch-size summary").first.is_visible()
        assert not page.locator("#batch-size .rg-notice").first.is_visible()
        assert page.evaluate(TOO_WIDE) == 0
        assert "Folded parts are not printed" in page.locator(".rg-print").inner_text()


def test_on_paper_a_heading_stays_with_what_it_heads(browser, busy_page):
    with quiet_page(browser, busy_page, java_script_enabled=False) as page:
        page.emulate_media(media="print")
        heads = page.evaluate(
            "[...document.querySelectorAll('.rg-head')].map(head => getComputedStyle(head))"
            ".map(style => [style.breakInside, style.breakAfter])"
        )
        assert heads
        assert all(head == ["avoid", "avoid"] for head in heads)
        unfold(page)
        after = page.evaluate(
            "[...document.querySelectorAll('.rg-topic > summary, .rg-lead')]"
            ".map(head => getComputedStyle(head).breakAfter)"
        )
        assert after
        assert set(after) == {"avoid"}
