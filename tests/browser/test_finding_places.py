"""Search, links and keys: how a reader gets to a place of the page."""

from __future__ import annotations

import pytest

from tests.browser.watching import opened, quiet_page, wait_until

pytestmark = pytest.mark.browser

FINDING = "LowGPUUtilization--finding-GPU-1"
IN_VIEW = (
    "id => { const box = document.getElementById(id).getBoundingClientRect();"
    " return box.top >= -1 && box.top < innerHeight; }"
)


def test_a_link_to_a_finding_brings_it_into_view(browser, busy_page):
    with opened(browser, busy_page, at=f"#{FINDING}") as watched:
        wait_until(watched.page, IN_VIEW, FINDING)


def test_a_link_into_a_fold_opens_it(browser, crowded_page):
    """The last of many findings lies in a fold that nobody has opened."""
    place = "LowGPUUtilization--finding-GPU-40"
    with quiet_page(browser, crowded_page) as page:
        assert not page.locator(f"#{place}").is_visible()
        page.evaluate(f"location.hash = '{place}'")
        page.locator(f"#{place}").wait_for()
        wait_until(page, IN_VIEW, place)


def test_the_browsers_own_search_finds_the_text_of_a_folded_section(browser, busy_page):
    """A closed ``details`` element holds it as text, not as a packed element."""
    with quiet_page(browser, busy_page) as page:
        found = page.evaluate(
            "document.querySelector('#not-recorded > details').textContent"
            ".includes('Too short to judge')"
        )
        assert found
        page.get_by_role("button", name="Open all").click()
        assert page.locator("main details:not([open]):not(.rg-code)").count() == 0
        page.get_by_role("button", name="Fold all").click()
        assert page.locator("main details[open]").count() == 0


def test_a_shortened_name_is_shown_whole_to_the_keyboard(browser, hostile_page):
    with quiet_page(browser, hostile_page) as page:
        name = page.locator("abbr.rg-name").last
        name.focus()
        shown = name.evaluate("node => getComputedStyle(node, '::after').content")
        assert shown != "none"
        assert len(name.get_attribute("title") or "") > len(name.text_content() or "")
