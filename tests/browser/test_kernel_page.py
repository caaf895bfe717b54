"""The page of kernel traces in a browser, made by the command from two ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.test_accessibility import LOOKS, _complaints
from tests.browser.watching import draw, opened, quiet_page, scroll_through, unfold_all
from tests.end_to_end.command import run_here

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
TRACES = ROOT / "sample_data" / "kernel_traces"


@pytest.fixture(scope="session")
def traced_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page that the command makes of the sample traces."""
    output = tmp_path_factory.mktemp("traced")
    made = run_here(TRACES, "--output", output, "--quiet")
    assert made.code == 0, made.stderr
    return output / "profiler-report.html"


def test_the_page_opens_on_the_dashboard_and_asks_for_nothing(browser, traced_page):
    with quiet_page(browser, traced_page) as page:
        sections = page.eval_on_selector_all("main .rg-section", "all => all.map(it => it.id)")
        assert sections[:3] == ["overview", "at-a-glance", "findings"]
        assert sections[-3:] == ["not-recorded", "data-quality", "appendix"]
        scroll_through(page)
        lost = page.eval_on_selector_all(
            "main a[href^='#']",
            "all => all.map(it => it.hash.slice(1)).filter(it => !document.getElementById(it))",
        )
        assert lost == []


def test_bins_of_less_than_a_millisecond_stay_apart_and_gpus_wait_in_the_legend(
    browser, traced_page
):
    with quiet_page(browser, traced_page) as page:
        draw(page, "GPUActivity--utilization")
        traces = page.eval_on_selector(
            "#GPUActivity--utilization .rg-plot",
            "plot => plot.data.map(it => [it.name, it.visible || true, new Set(it.x).size,"
            " it.x.length])",
        )
        assert [trace[1] for trace in traces] == [True, "legendonly", "legendonly"]
        assert all(distinct == count for _, _, distinct, count in traces)


def test_on_paper_a_chart_fits_on_a_sheet_and_its_legend_names_what_is_drawn(browser, traced_page):
    plot = "#GPUActivity--utilization .rg-plot"
    facts = (
        "plot => [...[plot, plot.querySelector('.main-svg')]"
        ".map(it => Math.round(it.getBoundingClientRect().height)),"
        " plot.querySelectorAll('.legend .traces').length]"
    )
    with quiet_page(browser, traced_page) as page:
        draw(page, "GPUActivity--utilization")
        page.eval_on_selector(plot, "plot => plot.style.setProperty('--rg-height', '1400px')")
        page.select_option("#rg-theme", "light")
        assert page.eval_on_selector(plot, facts) == [1400, 1400, 3]
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        assert page.eval_on_selector(plot, facts) == [770, 770, 1]
        page.emulate_media(media="screen")
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert page.eval_on_selector(plot, facts) == [1400, 1400, 3]


def test_charts_over_the_same_time_begin_and_end_at_the_same_place(browser, traced_page):
    with quiet_page(browser, traced_page) as page:
        edges = []
        for figure_id in ("GPUActivity--utilization", "IdleTime--idle_stretches"):
            draw(page, figure_id)
            edges.append(
                page.eval_on_selector(
                    f"#{figure_id} .rg-plot",
                    "plot => { const size = plot._fullLayout._size;"
                    " const left = plot.getBoundingClientRect().left + size.l;"
                    " return [Math.round(left), Math.round(left + size.w)]; }",
                )
            )
        assert edges[0] == edges[1]


def test_the_first_screen_holds_verdict_budget_and_the_first_picture(browser, traced_page):
    with opened(browser, traced_page, viewport={"width": 1280, "height": 900}) as watched:
        tops = watched.page.evaluate(
            "['.rg-verdict', '.rg-budget', '#at-a-glance figure']"
            ".map(it => document.querySelector(it).getBoundingClientRect().top)"
        )
        assert tops == sorted(tops)
        assert tops[-1] < 800


def test_every_share_lies_within_its_pie_and_no_two_meet(browser, traced_page):
    with quiet_page(browser, traced_page) as page:
        page.locator("#at-a-glance .rg-deeper > summary").click()
        boxes = page.evaluate(
            "[...document.querySelectorAll('.rg-pie svg')].filter(pie => pie.checkVisibility())"
            ".map(pie => [pie, ...pie.querySelectorAll('text')].map(it => {"
            " const box = it.getBoundingClientRect();"
            " return [box.left, box.top, box.right, box.bottom]; }))"
        )
        assert sum(len(names) for _, *names in boxes) >= 10
        for (left, top, right, bottom), *names in boxes:
            for at, name in enumerate(names):
                assert left <= name[0] < name[2] <= right
                assert top <= name[1] < name[3] <= bottom
                for other in names[:at]:
                    assert (
                        name[2] <= other[0]
                        or other[2] <= name[0]
                        or name[3] <= other[1]
                        or other[3] <= name[1]
                    )


def test_no_table_of_traces_scrolls_sideways_on_a_wide_screen(browser, traced_page):
    scrolling = (
        "[...document.querySelectorAll('main .rg-scroll')]"
        ".filter(it => it.scrollWidth > it.clientWidth).map(it => it.ariaLabel)"
    )
    with quiet_page(browser, traced_page) as page:
        unfold_all(page)
        for width in (1280, 1440, 1920):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(scrolling) == []
        page.set_viewport_size({"width": 360, "height": 800})
        scroll_through(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("look", ["light", "dark"])
def test_axe_finds_no_violation_on_a_page_of_traces(browser, traced_page, look):
    with quiet_page(browser, traced_page, **LOOKS[look]) as page:
        if look != "dark":
            unfold_all(page)
        draw(page, "GPUActivity--utilization")
        assert _complaints(page, look) == []


def _seen(page, *ids):
    return [page.locator(f"#{name}").is_visible() for name in ids]


def test_kernels_are_grouped_as_the_reader_chooses_without_a_script(browser, traced_page):
    tables = ("KernelTime--kernels", "KernelTime--kernels_by_shape")
    with quiet_page(browser, traced_page, java_script_enabled=False) as page:
        unfold_all(page)
        choice = page.locator("#kernels .rg-choices")
        assert _seen(page, *tables) == [True, False]
        choice.locator("label", has_text="grid").click()
        assert _seen(page, *tables) == [False, True]
        choice.get_by_role("radio").first.focus()
        page.keyboard.press("ArrowRight")
        assert not page.locator("#KernelTime--kernels").is_visible()


def test_a_link_to_what_is_not_chosen_shows_it(browser, traced_page):
    name = "KernelTime--kernels_by_shape"
    with quiet_page(browser, traced_page) as page:
        assert _seen(page, name) == [False]
        page.evaluate(f"location.hash = '{name}'")
        page.wait_for_timeout(200)
        assert _seen(page, name) == [True]
