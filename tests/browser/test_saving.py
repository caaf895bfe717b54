"""Charts saved as files, with the network shut."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.browser.watching import draw, opened

pytestmark = pytest.mark.browser

CHART = "OverallSystemUsage--cpu"
PNG_HEAD = b"\x89PNG\r\n\x1a\n"
TITLE_PX = 52


def _saved(page, format_name: str) -> Path:
    button = page.locator(f"#{CHART} .modebar-btn", has_text=format_name)
    assert button.get_attribute("aria-label") == f"Save this chart as {format_name}"
    button.focus()
    with page.expect_download() as info:
        page.keyboard.press("Enter")
    download = info.value
    assert download.suggested_filename.endswith(
        f"-{CHART.replace('--', '-')}.{format_name.lower()}"
    )
    assert " " not in download.suggested_filename
    return Path(download.path())


def test_a_chart_is_saved_as_png_at_twice_its_size(browser, busy_page):
    with opened(browser, busy_page) as watched:
        page = watched.page
        draw(page, CHART)
        content = _saved(page, "PNG").read_bytes()
        box = page.evaluate(
            f"(plot => [plot.clientWidth, plot.clientHeight])"
            f"(document.querySelector('#{CHART} .rg-plot'))"
        )
        assert watched.requests == []
        assert watched.complaints == []
    assert content.startswith(PNG_HEAD)
    assert struct.unpack(">II", content[16:24]) == (2 * box[0], 2 * (box[1] + TITLE_PX))


@pytest.mark.parametrize(
    ("scheme", "ground"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(22, 27, 34)")]
)
def test_a_chart_is_saved_as_svg_with_its_title_on_the_ground_of_the_page(
    browser, busy_page, scheme, ground
):
    with opened(browser, busy_page, color_scheme=scheme) as watched:
        page = watched.page
        draw(page, CHART)
        text = _saved(page, "SVG").read_text(encoding="utf-8")
        title = page.locator(f"#{CHART} figcaption h3").inner_text()
        assert watched.requests == []
        assert watched.complaints == []
    assert text.startswith("<svg")
    assert f"fill: {ground}" in text.partition("<defs")[0]
    assert title in text
