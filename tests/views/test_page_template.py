"""The page as text: complete without script, nothing from elsewhere, a reader's cells included."""

import re

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from tests.views import pages, reports

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
    "awAAAABJRU5ErkJggg=="
)
OWN_FIGURE = {
    "data": [{"type": "bar", "y": [1, 2], "name": "</script>"}],
    "layout": {"height": 300},
}
OWN_CELLS = [
    new_markdown_cell("## My own analysis\n\nA *word* of my own."),
    new_markdown_cell("Not for the page.", metadata={"tags": ["notebook-only"]}),
    new_code_cell("silent = 1"),
    new_code_cell(
        "print('printed <b>')",
        outputs=[
            new_output("stream", name="stdout", text="\x1b[31mprinted <b>\x1b[0m"),
            new_output("stream", name="stderr", text="warned"),
            new_output("execute_result", data={"text/plain": "<Plain object>"}),
            new_output(
                "display_data", data={"text/html": "<table><tr><td>frame</td></tr></table>"}
            ),
            new_output("display_data", data={"text/markdown": "**shown markdown**"}),
            new_output("display_data", data={"image/png": PIXEL}),
            new_output("display_data", data={"image/svg+xml": "<svg><script>bad()</script></svg>"}),
            new_output(
                "display_data",
                data={
                    "application/vnd.plotly.v1+json": OWN_FIGURE,
                    "text/html": "<div>" + "x" * 100 + "</div>",
                },
            ),
            new_output("error", ename="ValueError", evalue="<odd>", traceback=["\x1b[0;31mline 1"]),
        ],
    ),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    path = pages.write_page(folder, reports.busy_report(), own_cells=OWN_CELLS, theme="dark")
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def visible(page):
    """The page without styles, scripts and the packed library."""
    return re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.DOTALL)


def test_nothing_is_loaded_from_elsewhere(visible):
    assert not re.search(r'\b(?:src|href)="(?!data:|#)', visible)
    assert "@import" not in visible


def test_the_page_forbids_itself_every_request(page):
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy"[^>]*', page)
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy


def test_the_library_is_in_the_page_once(page):
    assert page.count('id="plotly-gz"') == 1
    assert page.count("plotly.js v") == 0


def test_the_wished_theme_is_set(page):
    assert re.search(r'<html[^>]*data-theme="dark"', page)


def test_numbers_and_texts_are_there_without_script(visible):
    for text in (
        "The GPUs wait for the CPU in a third of the time.",
        "33.0\u00a0%",
        "up to 1.49× faster",
        "98.4 MB/s",
        "2,376",
        "46.1 s",
        "Too short to judge: 870 samples, more than 1,000 are needed.",
        "Scripts are off",
    ):
        assert text in visible


def test_the_navigation_names_each_section_with_its_state(visible):
    nav = visible[visible.index("<nav") : visible.index("</nav>")]
    entries = re.findall(r'<a[^>]*href="#([^"]+)"', nav)
    assert set(entries) <= set(re.findall(r'\bid="([^"]+)"', visible))
    assert "cpu-bottlenecks" in entries
    assert '<span class="rg-hidden"> (1 critical)</span>' in nav
    assert "My own analysis" in nav


def test_every_link_of_the_page_has_its_target(visible):
    targets = set(re.findall(r'href="#([^"]+)"', visible))
    ids = re.findall(r'\bid="([^"]+)"', visible)
    assert targets <= set(ids)
    assert len(ids) == len(set(ids))


def test_cells_of_the_reader_are_shown_with_all_their_outputs(page, visible):
    assert "<em>word</em>" in visible
    assert "printed &lt;b&gt;" in visible
    assert "\x1b" not in page
    assert "&lt;Plain object&gt;" in visible
    assert "<td>frame</td>" in visible
    assert "<strong>shown markdown</strong>" in visible
    assert f"data:image/png;base64,{PIXEL}" in visible
    assert "data:image/svg+xml;base64," in visible
    assert "ValueError: &lt;odd&gt;" in visible


def test_a_readers_plotly_figure_is_drawn_by_the_pages_own_script(page):
    (figure,) = re.findall(r"<figure[^>]*data-own.*?</figure>", page, flags=re.DOTALL)
    assert '"type": "bar"' in figure
    assert figure.count("</script>") == 1
    assert "x" * 100 not in page


def test_code_is_folded_and_silent_code_stands_with_what_follows(visible):
    code = re.findall(r'<details class="rg-code">.*?</details>', visible, flags=re.DOTALL)
    assert "views.section(report, &#34;overview&#34;)" in code[0]
    assert "report_dir" in code[0]
    assert "silent = 1" in code[-1]
    assert "print" in code[-1]


def test_text_for_the_notebook_stays_out_of_the_page(visible):
    assert "About this notebook" not in visible
    assert "Not for the page" not in visible


def test_an_hour_of_two_nodes_stays_within_the_weight(page):
    assert len(page.encode()) < 2_700_000
