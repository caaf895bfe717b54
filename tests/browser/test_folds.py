"""Charts that wait behind a fold: drawn when they are seen, on paper too."""

from __future__ import annotations

import pytest

from tests.browser.watching import quiet_page, scroll_through, wait_until

pytestmark = pytest.mark.browser

CHART = "CPUBottleneck--intervals"
IS_OPEN = f"document.getElementById('{CHART}').closest('details').open"
HEIGHT = f"(document.querySelector('#{CHART} .main-svg') || {{}}).clientHeight || 0"


def _wait_for_height(page) -> None:
    wait_until(page, f"() => ({HEIGHT}) > 100")


def test_a_link_to_a_folded_chart_opens_its_fold_and_draws_it(browser, busy_page):
    with quiet_page(browser, busy_page, at=f"#{CHART}") as page:
        assert page.evaluate(IS_OPEN)
        _wait_for_height(page)
        top = page.evaluate(f"document.getElementById('{CHART}').getBoundingClientRect().top")
        assert abs(top) < page.evaluate("innerHeight")


def test_a_folded_chart_is_not_drawn_until_its_fold_opens(browser, busy_page):
    with quiet_page(browser, busy_page, has_idle_time=True) as page:
        scroll_through(page)
        assert not page.evaluate(IS_OPEN)
        assert page.evaluate(f"document.getElementById('{CHART}').dataset.drawn") is None
        page.locator(f"details:has(#{CHART}) > summary").first.press("Enter")
        _wait_for_height(page)
