"""The time axis in a browser: one range for all charts, by pointer, keys and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.watching import TIMEOUT_MS, Watched, draw, opened, wait_until
from tests.views import pages
from tests.views.timeline.jobs import training_node, training_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

MAIN, HEAT, STEPS = (
    "timeline-axis",
    "OverallSystemUsage--device_heatmap",
    "StepOutlier--step_series",
)


@pytest.fixture(scope="session")
def timed_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a job of five minutes on two nodes."""
    gpu = [0.0] * 20 + [90.0] * 280 + [10.0] * 40 + [90.0] * 260
    nodes = [training_node(gpu, name=f"algo-{at}") for at in (1, 2)]
    return pages.write_page(tmp_path_factory.mktemp("timed"), training_report(*nodes))


@contextmanager
def timeline(browser: Browser, path: Path, **options: Any) -> Iterator[Watched]:
    """Open the page and wait for its time axis."""
    with opened(browser, path, **options) as watched:
        draw(watched.page, MAIN)
        yield watched


def range_of(page: Page, figure: str) -> list[float]:
    """Return the range of a chart's x axis in seconds of the job."""
    found: list[float] = page.evaluate(
        "(id) => { const axis = document.querySelector('#' + id + ' .rg-plot')._fullLayout.xaxis;"
        " const start = JSON.parse(document.querySelector('.rg-timeline-facts').textContent).start;"
        " return axis.range.map(edge => axis.r2c(edge) / 1000 - start); }",
        figure,
    )
    return found


def wait_for_range(page: Page, figure: str, start_s: float, end_s: float) -> None:
    """Wait until a chart shows a range."""
    wait_until(
        page,
        "([id, start, end]) => {"
        " const plot = document.querySelector('#' + id + ' .rg-plot');"
        " if (!plot._fullLayout) return false;"
        " const axis = plot._fullLayout.xaxis;"
        " const zero = JSON.parse(document.querySelector('.rg-timeline-facts').textContent).start;"
        " const edges = axis.range.map(edge => axis.r2c(edge) / 1000 - zero);"
        " return Math.abs(edges[0] - start) < 0.5 && Math.abs(edges[1] - end) < 0.5; }",
        [figure, start_s, end_s],
    )


def box_of(page: Page) -> tuple[float, float, float]:
    """Return left edge and width of the plot area in the window, and a y within it."""
    left, width, y = page.evaluate(
        "(() => { const plot = document.querySelector('#timeline-axis .rg-plot');"
        " const box = plot.getBoundingClientRect(), size = plot._fullLayout._size;"
        " return [box.left + size.l, size.w, box.top + size.t + 150]; })()"
    )
    return left, width, y


def functions_of(page: Page) -> dict[str, str]:
    """Return the functions listed, and their times."""
    rows: list[list[str]] = page.evaluate(
        "[...document.querySelectorAll('#timeline-functions tbody tr')]"
        ".map(row => [...row.cells].slice(0, 2).map(cell => cell.textContent))"
    )
    return {row[0]: row[1] for row in rows}


def test_dragging_over_a_panel_zooms_every_chart_and_lists_its_functions(browser, timed_page):
    with timeline(browser, timed_page) as watched:
        page = watched.page
        left, width, y = box_of(page)
        assert functions_of(page)["net"] == "5 min 08 s"
        page.mouse.move(left + width / 3, y)
        page.mouse.down()
        page.mouse.move(left + width * 2 / 3, y, steps=4)
        page.mouse.up()
        wait_for_range(page, MAIN, 100, 200)
        said = functions_of(page)["net"]
        assert said.startswith(("1 min 5", "2 min 0"))  # 100 steps of 0.55 s on two nodes
        assert "added up over whole intervals" in page.locator("#timeline-functions").inner_text()
        for figure in (HEAT, STEPS):
            draw(page, figure)
            wait_for_range(page, figure, *range_of(page, MAIN))
        assert watched.complaints == []


def test_a_zoom_elsewhere_zooms_the_timeline_and_one_button_ends_it(browser, timed_page):
    with timeline(browser, timed_page) as watched:
        page = watched.page
        draw(page, HEAT)
        page.evaluate(
            "(() => { const plot = document.querySelector('#OverallSystemUsage--device_heatmap"
            " .rg-plot'); const axis = plot._fullLayout.xaxis; const zero ="
            " JSON.parse(document.querySelector('.rg-timeline-facts').textContent).start;"
            " const text = s => new Date((zero + s) * 1000).toISOString().slice(0, -1);"
            " Plotly.relayout(plot,"
            " {'xaxis.range[0]': text(50), 'xaxis.range[1]': text(150)}); })()"
        )
        page.locator(".rg-chip").wait_for(state="visible", timeout=TIMEOUT_MS)
        page.evaluate("document.getElementById('timeline-axis').scrollIntoView()")
        wait_for_range(page, MAIN, 50, 150)
        page.locator(".rg-chip button").click()
        wait_for_range(page, MAIN, 0, 300)
        assert not page.locator(".rg-chip").is_visible()
        assert functions_of(page)["net"] == "5 min 08 s"


def test_the_range_is_set_by_keys_by_numbers_and_by_a_double_click(browser, timed_page):
    with timeline(browser, timed_page) as watched:
        page = watched.page
        page.locator("#timeline-axis .rg-axis").focus()
        page.keyboard.press("+")
        wait_for_range(page, MAIN, 75, 225)
        page.keyboard.press("ArrowRight")
        wait_for_range(page, MAIN, 112.5, 262.5)
        page.keyboard.press("-")
        wait_for_range(page, MAIN, 0, 300)
        page.keyboard.press("+")
        page.keyboard.press("ArrowLeft")
        wait_for_range(page, MAIN, 37.5, 187.5)
        page.keyboard.press("0")
        wait_for_range(page, MAIN, 0, 300)
        page.locator("[data-edge=end]").fill("120")
        page.locator("[data-edge=start]").fill("60")
        page.keyboard.press("Tab")
        wait_for_range(page, MAIN, 60, 120)
        assert page.locator("[data-edge=start]").input_value() == "60"
        page.locator("[data-edge=start]").fill("500")
        page.keyboard.press("Tab")
        assert page.locator("[data-edge=start]").input_value() == "60"
        left, width, y = box_of(page)
        page.mouse.dblclick(left + width / 2, y)
        wait_for_range(page, MAIN, 0, 300)
        page.locator(".rg-chip").wait_for(state="hidden", timeout=TIMEOUT_MS)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata"])
def test_the_pointer_reads_step_phase_and_values_of_all_panels(browser, timed_page, zone):
    with timeline(browser, timed_page, timezone_id=zone) as watched:
        page = watched.page
        left, width, y = box_of(page)
        page.mouse.move(left + width * 0.53 - 2, y)
        page.mouse.move(left + width * 0.53, y)
        reads = page.locator(".rg-reads").inner_text()
        assert "step 148" in reads or "step 149" in reads
        assert "training loop" in reads
        assert "algo-1 gpu0 10.0 %" in reads
        assert "algo-1 30.0 %" in reads
        assert "0.9 s" in reads or "900 ms" in reads
        page.mouse.move(2, 2)
        assert not page.locator(".rg-cross").is_visible()


def test_the_first_picture_fits_a_phone_and_a_desk(browser, timed_page):
    for width in (360, 1280):
        viewport = {"width": width, "height": 740}
        with opened(browser, timed_page, viewport=viewport, java_script_enabled=False) as watched:
            parts = watched.page.locator(".rg-budget-parts li")
            boxes = [parts.nth(at).bounding_box() for at in range(parts.count())]
            assert boxes
            assert max(box["x"] + box["width"] for box in boxes if box) <= width


def test_a_zoom_shows_the_steps_one_by_one(browser, timed_page):
    shown = (
        "document.querySelector('#timeline-axis .rg-plot').data"
        ".filter(trace => trace.meta.refined).map(trace => [trace.visible, trace.x.length])"
    )
    with timeline(browser, timed_page) as watched:
        page = watched.page
        assert {is_shown for is_shown, _ in page.evaluate(shown)} == {False}
        page.locator("[data-zoom=in]").click()
        wait_for_range(page, MAIN, 75, 225)
        assert {is_shown for is_shown, _ in page.evaluate(shown)} == {True}
        assert sum(n_steps for _, n_steps in page.evaluate(shown)) > 200
        left, width, y = box_of(page)
        page.mouse.move(left + width * 0.5 - 2, y)
        page.mouse.move(left + width * 0.5, y)
        assert page.locator(".rg-reads", has_text=re.compile(r"step \d+ · ")).count() == 1
        page.locator("[data-zoom=all]").click()
        wait_for_range(page, MAIN, 0, 300)
        assert {is_shown for is_shown, _ in page.evaluate(shown)} == {False}
        assert watched.complaints == []
