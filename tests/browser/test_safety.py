"""What the page may do, and names that try to do more."""

from __future__ import annotations

import json

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from tests.browser.watching import opened, scroll_through
from tests.end_to_end.command import run_here
from tests.traces import header, small_events
from tests.views import pages, reports

pytestmark = pytest.mark.browser

OWN_CELLS = [
    new_markdown_cell("## Mine\n\n<script>window.fromText = 1</script>"),
    new_code_cell(
        "display(HTML(...))",
        outputs=[
            new_output(
                "display_data",
                data={
                    "text/html": "<style>#mine { color: rgb(1, 2, 3) }</style><p id='mine'>mine</p>"
                    "<script>\nwindow.fromOutput = document.getElementById('mine').id\n</script>"
                    "<script src='https://example.invalid/x.js'></script>"
                    "<img src='https://example.invalid/x.png'>"
                },
            )
        ],
    ),
]


@pytest.fixture(scope="module")
def own_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    return pages.write_page(folder, reports.short_report(), own_cells=OWN_CELLS)


def test_scripts_of_a_readers_own_cells_run_and_load_nothing(browser, own_page):
    with opened(browser, own_page) as watched:
        page = watched.page
        assert page.evaluate("[window.fromText, window.fromOutput]") == [1, "mine"]
        colour = page.locator("#mine").evaluate("node => getComputedStyle(node).color")
        assert colour == "rgb(1, 2, 3)"
        assert watched.requests == []


def test_a_script_that_came_in_later_does_not_run(browser, busy_page):
    with opened(browser, busy_page) as watched:
        page = watched.page
        page.evaluate(
            "() => { const s = document.createElement('script'); s.textContent = 'window.bad = 1';"
            " document.body.append(s); document.body.insertAdjacentHTML('beforeend',"
            ' \'<img src="data:," onerror="window.bad = 2">\'); }'
        )
        page.wait_for_timeout(100)
        assert page.evaluate("window.bad") is None
        assert any("Content Security Policy" in text for text in watched.complaints)


def test_names_that_are_markup_stay_text_and_the_layout_stays_whole(browser, hostile_page):
    with opened(browser, hostile_page) as watched:
        page = watched.page
        scroll_through(page)
        assert page.evaluate("window.hacked") is None
        assert reports.HOSTILE.partition("\u202e")[0] in page.locator("h1").inner_text()
        labels = page.locator("figure.chart .ytick text").all_text_contents()
        assert any(label.startswith("</script>") for label in labels)
        assert page.evaluate("document.documentElement.scrollWidth") == 1280
        assert not any(mark in page.content() for mark in "\u202e\u2066\u2069")
        assert "שלום" in page.locator("main").inner_text()
        assert watched.requests == []
        assert watched.complaints == []


def test_a_trace_whose_every_name_is_markup_makes_a_harmless_page(browser, tmp_path):
    bad = "</script><img src=x onerror='window.hacked = 1'>\u202e{{ 7 * 7 }}"
    events = [event | {"name": bad + event["name"]} for event in small_events()]
    head = header(deviceProperties=[{"id": 0, "name": bad}])
    path = tmp_path / f"{bad.replace('/', '_')}.pt.trace.json"
    path.write_text(json.dumps({**head, "traceEvents": events * 20}))

    run = run_here(path, "--name", bad, "-o", tmp_path / "out")
    assert run.code == 0, run.stderr
    with opened(browser, tmp_path / "out" / "profiler-report.html") as watched:
        scroll_through(watched.page)
        assert watched.page.evaluate("window.hacked") is None
        assert "{{ 7 * 7 }}" in watched.page.locator("main").inner_text()
        assert "\u202e" not in watched.page.content()
        assert watched.requests == []
        assert watched.complaints == []
