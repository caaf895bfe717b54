"""Charts saved as files, with the network shut."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.browser.watching import draw, quiet_page

pytestmark = pytest.mark.browser

CHART = "OverallSystemUsage--cpu"
PNG_HEAD = b"\x89PNG\r\n\x1a\n"


def test_a_chart_is_saved_as_png_at_twice_its_size(browser, busy_page):
    with quiet_page(browser, busy_page) as page:
        draw(page, CHART)
        page.locator(f"#{CHART} .rg-plot").hover()
        with page.expect_download() as info:
            page.locator(f"#{CHART} .modebar-btn[data-title*=Download]").click()
        assert info.value.suggested_filename == f"{CHART}.png"
        content = Path(info.value.path()).read_bytes()
        box = page.evaluate(
            f"(plot => [plot.clientWidth, plot.clientHeight])"
            f"(document.querySelector('#{CHART} .rg-plot'))"
        )
    assert content.startswith(PNG_HEAD)
    assert struct.unpack(">II", content[16:24]) == (2 * box[0], 2 * box[1])
