"""The cards below the verdict: open, in order, with their pies, however the page is shown."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from sample_data.make import make_job
from sample_data.spec import NAMED_JOBS
from tests.end_to_end.command import run_command

pytestmark = pytest.mark.browser

CARDS = ["Job summary", "Utilization percentiles", "Framework", "Step durations", "Bottlenecks"]
N_PIES = [1, 0, 2, 0, 1]
MOST_PX = 1400


@pytest.fixture(scope="module", params=["healthy", "input_bound"])
def page_file(request, tmp_path_factory) -> Path:
    """Return the page of a sample job."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    job = make_job(NAMED_JOBS[request.param], output=folder)
    made = run_command(job, "--output", folder / "report", cwd=folder)
    assert made.code == 0, made.stderr
    return folder / "report" / "profiler-report.html"


def shown_on(page):
    cards = page.locator("#at-a-glance .rg-glance:visible")
    titles = [text.strip("# \n") for text in cards.locator("h3").all_inner_texts()]
    pies = [
        cards.nth(at).locator(".rg-glance-pie svg:visible").count() for at in range(cards.count())
    ]
    return titles, pies


@pytest.mark.parametrize("has_script", [True, False])
def test_five_cards_are_open_in_order_with_their_pies(browser, page_file, has_script):
    page = browser.new_page(java_script_enabled=has_script)
    page.goto(page_file.as_uri())
    if has_script:
        order = page.evaluate(
            "[...document.querySelectorAll('.rg-verdict, #at-a-glance, #timeline')]"
            ".map(it => it.id || it.className)"
        )
        assert order == ["rg-verdict", "at-a-glance", "timeline"]
        assert page.locator("#overview article.rg-card:visible").count() <= 1
    for width, media in itertools.product((1280, 360), ("screen", "print")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(media=media)
        assert shown_on(page) == (CARDS, N_PIES), (width, media)
        assert page.locator("#at-a-glance .rg-histogram svg:visible").count() == 1
        box = page.locator("#at-a-glance").bounding_box()
        assert box["x"] + box["width"] <= width
        if width == 1280:
            assert box["height"] <= MOST_PX
        if has_script and media == "screen":
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
