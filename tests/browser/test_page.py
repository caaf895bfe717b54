"""The page in a browser: offline, without script, dark, on a phone, on paper."""

from __future__ import annotations

import pytest

from reportgen.views import theme
from tests.browser.watching import draw, opened, quiet_page, scroll_through, unfold, wait_until

pytestmark = pytest.mark.browser

N_CHARTS = 9


def test_the_page_asks_for_nothing_and_draws_every_chart(browser, busy_page):
    with quiet_page(browser, busy_page, has_idle_time=True) as page:
        scroll_through(page)
        drawn = page.locator("figure.chart .main-svg").count()
        assert page.locator("figure.chart").count() == N_CHARTS
        assert drawn >= N_CHARTS


def test_a_chart_far_below_is_not_drawn_until_it_comes_near(browser, busy_page):
    with quiet_page(browser, busy_page) as page:
        last = page.locator("figure.chart:not(details:not([open]) *)").last
        assert last.get_attribute("data-drawn") is None
        last.scroll_into_view_if_needed()
        wait_until(
            page,
            "() => [...document.querySelectorAll('figure.chart:not(details:not([open]) *)')].at(-1)"
            ".dataset.drawn === 'yes'",
        )


@pytest.mark.parametrize("name", ["busy_page", "hostile_page"])
def test_a_phone_scrolls_down_but_never_sideways(browser, name, request):
    path = request.getfixturevalue(name)
    with opened(browser, path, viewport={"width": 360, "height": 740}) as watched:
        scroll_through(watched.page)
        assert watched.page.evaluate("document.documentElement.scrollWidth") == 360


def test_charts_follow_the_system_and_the_switch(browser, busy_page):
    stroke = (
        "getComputedStyle(document.querySelector("
        "'#OverallSystemUsage--cpu .scatterlayer .trace:last-child path.js-line')).stroke"
    )
    with quiet_page(browser, busy_page, color_scheme="dark") as page:
        draw(page, "OverallSystemUsage--cpu")
        dark = page.evaluate(stroke)
        page.select_option("#rg-theme", "light")
        wait_until(page, f"() => {stroke} !== '{dark}'")
        light = page.evaluate(stroke)
    assert dark == _rgb(theme.HUES["cpu"].dark)
    assert light == _rgb(theme.HUES["cpu"].light)


def test_without_script_every_number_can_be_read(browser, busy_page):
    with quiet_page(browser, busy_page, java_script_enabled=False) as page:
        unfold(page)
        text = page.locator("main").inner_text()
        assert "Scripts are off" in text
        assert "The GPUs wait for the CPU in a third of the time." in text
        assert "98.4 MB/s" in text
        chart = page.locator("#LowGPUUtilization--utilization")
        assert "41.2 %" not in chart.inner_text()
        chart.get_by_text("Numbers of this chart").click()
        assert "41.2 %" in chart.inner_text()


def test_the_page_can_be_walked_with_the_keyboard(browser, busy_page):
    with quiet_page(browser, busy_page) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
        page.keyboard.press("Enter")
        wait_until(page, "() => location.hash === '#main'")


def test_the_navigation_leads_to_sections_and_says_where_one_is(browser, busy_page):
    with quiet_page(browser, busy_page) as page:
        page.locator(".rg-side a[href='#cpu-bottlenecks']").click()
        wait_until(
            page,
            "() => document.querySelector('.rg-side a[aria-current]').hash === '#cpu-bottlenecks'",
        )


def _rgb(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgb({red}, {green}, {blue})"
