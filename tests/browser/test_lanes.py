"""The lanes of the timeline in a browser: what is drawn, chosen, found, folded and shown."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reportgen.results import Severity, Status, Where
from reportgen.store import with_timeline
from tests.browser.test_accessibility import LOOKS, _complaints
from tests.browser.watching import TIMEOUT_MS, opened, unfold_all, wait_until
from tests.builders import START_S as JOB_START_S
from tests.builders import known
from tests.fuzz.attacks_saved import packed_zeros
from tests.views import pages, reports, traces
from tests.views.lane_files import LaneFile, training_file
from tests.views.timeline.jobs import training_node, training_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

START_S = 1_694_128_201.541
CANVAS = ".rg-lanes-canvas"
GRAPH_LAUNCH = 2_300_000
_FILE_PART = 'class="rg-lanes-file"'


def _page_of(folder: Path, made: LaneFile) -> Path:
    late = reports.finding(
        "rank-late",
        Severity.WARNING,
        "Rank 1 begins late",
        where=Where(node="rank 1", start_s=START_S + 0.001, end_s=START_S + 0.002),
    )
    elsewhere = reports.finding("elsewhere", Severity.INFO, "Elsewhere", where=Where(node="x"))
    skew = reports.result("RankSkew", Status.TRIGGERED, findings=(late, elsewhere))
    return pages.write_page(folder, with_timeline(traces.traced_report(skew), made.packed()))


@pytest.fixture(scope="session")
def lanes_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of four ranks, of which one is late."""
    return _page_of(tmp_path_factory.mktemp("lanes"), training_file(n_ranks=4, late_rank=1))


@contextmanager
def lanes(browser: Browser, path: Path, **options: Any) -> Iterator[Page]:
    """Open the page at its lanes and wait until they are drawn; it must not complain."""
    with opened(browser, path, at="#timeline-lanes", **options) as watched:
        _wait(watched.page, "document.querySelector('[data-lanes=ready]')")
        _settle(watched.page)
        yield watched.page
        assert watched.complaints == []


def _wait(page: Page, condition: str) -> None:
    wait_until(page, f"() => {condition}")


def _settle(page: Page) -> None:
    """Wait until nothing moves and nothing is unpacked any more."""
    page.evaluate(
        "Promise.race([reportLanes.settled(), new Promise((_, fail) => setTimeout("
        f"() => fail(new Error('Timeout: the lanes do not settle')), {TIMEOUT_MS}))])"
    )


def _view(page: Page, range_ns: str) -> None:
    """Show this range and wait until it is drawn."""
    page.evaluate(f"reportLanes.setView({range_ns})")
    _settle(page)


def _choose(page: Page, lane: str, time_ns: int, depth: int = 0) -> None:
    """Click the strip of a lane of rank 0 at a time."""
    x, y = page.evaluate(
        "([label, time, depth]) => { const lane = reportLanes.stage.lanes.find("
        " it => it.label === label && it.node === 'rank 0');"
        " return [reportLanes.xOf(time), reportLanes.middleOf({ lane, depth })]; }",
        [lane, time_ns, depth],
    )
    page.locator(CANVAS).click(position={"x": x, "y": y})
    _settle(page)


def _details(page: Page) -> dict[str, str]:
    rows: list[list[str]] = page.evaluate(
        "[...document.querySelectorAll('.rg-lanes-details dl > div')]"
        ".map(row => [row.firstChild.textContent, row.lastChild.innerText])"
    )
    return {row[0]: row[1] for row in rows}


def _view_us(page: Page) -> list[float]:
    found: list[float] = page.evaluate(
        "[reportLanes.stage.view.from, reportLanes.stage.view.to].map(ns => Math.round(ns / 1000))"
    )
    return found


def test_what_reaches_into_a_range_from_an_earlier_block_is_drawn(browser, tmp_path):
    made = LaneFile(length_ns=4_000_000, names=["", "outer", "inner"])
    made.window(0, made.length_ns, "everything")
    lane = made.lane("thread", "main", node="rank 0")
    made.strips(lane, [(0, 4_000_000, 0, 1, 0, 0)], start=0, end=2_000_000)
    made.strips(lane, [(3_000_000, 500, 1, 2, 0, 0)], start=2_000_000, end=4_000_000)
    with lanes(browser, _page_of(tmp_path, made)) as page:
        _view(page, "3.5e6, 3.9e6")
        tally = page.evaluate("reportLanes.tally(reportLanes.stage.lanes[0], 3.5e6, 3.9e6)")
        assert [(item["name"], item["n"], item["ns"]) for item in tally] == [(1, 1, 400_000)]
        named = page.evaluate(
            "(() => { const lane = reportLanes.stage.lanes[0]; const { strip } ="
            " reportLanes.hit({ x: 400, y: reportLanes.middleOf({ lane, depth: 0 }) });"
            " return strip && strip.row.name[strip.at]; })()"
        )
        assert named == 1


def test_a_launch_is_shown_with_all_that_it_started(browser, lanes_page):
    with lanes(browser, lanes_page) as page:
        _view(page, "2.2e6, 2.5e6")
        _choose(page, "thread 71 (main)", GRAPH_LAUNCH + 4_000, depth=2)
        said = _details(page)
        assert said["Name"] == "cudaGraphLaunch"
        assert said["Start"] == "2.3 ms after the start (2023-09-07 23:10:01.543300 UTC)"
        assert said["Duration"] == "9 µs"
        assert said["Lane"] == "algo-1 › rank 0 › host › thread 71 (main)"
        assert said["Step"].startswith("ProfilerStep#2")
        assert said["Operator"].startswith("aten::inner")
        assert said["Starts 3 runs"].count("gemm_0") == 3
        assert page.evaluate("reportLanes.stage.links.map(link => link[1].start)") == [
            2_320_000,
            2_345_000,
            2_370_000,
        ]


def test_a_run_leads_to_its_launch_and_back(browser, lanes_page):
    with lanes(browser, lanes_page) as page:
        _view(page, "2.2e6, 2.5e6")
        _choose(page, "stream 7", 2_350_000)
        said = _details(page)
        assert said["Arguments"] == "grid 80 × 1 × 1, block 256 × 1 × 1"
        assert said["Launch"].startswith("cudaGraphLaunch")
        assert said["Started together"].count("gemm_0") == 2
        assert said["Operator of the launch"].startswith("aten::inner")
        page.get_by_role("button", name="cudaGraphLaunch").click()
        _settle(page)
        assert _details(page)["Name"] == "cudaGraphLaunch"


def test_arrows_of_a_view_are_those_of_the_file(browser, lanes_page):
    with lanes(browser, lanes_page) as page:
        _view(page, "0, 1e6")
        assert page.evaluate("reportLanes.stage.nArrows") == 9  # of rank 0, the others are folded


def test_beyond_the_windows_runs_say_how_many_events_they_are(browser, lanes_page):
    with lanes(browser, lanes_page) as page:
        _view(page, "4e6, 5e6")
        _choose(page, "stream 7", 4_100_000)
        said = _details(page)
        assert said["Events"].startswith("5, drawn as one run")
        assert "Arguments" not in said
        axis = page.locator(".rg-lanes-full").inner_text()
        assert "are left out" in axis
        _view(page, "1e6, 2e6")
        axis = page.locator(".rg-lanes-full").inner_text()
        assert axis == "In view, every event is shown (first steps)."


def test_search_counts_matches_and_goes_from_one_to_the_next(browser, lanes_page):
    with lanes(browser, lanes_page) as page:
        page.locator(".rg-lanes-query").fill("ALLREDUCE_sum")
        _wait(page, "document.querySelector('.rg-lanes-count').textContent")
        assert page.locator(".rg-lanes-count").inner_text() == "12 events"
        _view(page, "0, 3e6")
        page.keyboard.press("Enter")
        _wait(page, "document.querySelector('.rg-lanes-count').textContent.includes('of')")
        assert page.locator(".rg-lanes-count").inner_text() == "1 of 12"
        _settle(page)
        assert _details(page)["Name"] == "ncclDevKernel_AllReduce_Sum_f32"
        page.keyboard.press("Shift+Enter")
        _wait(page, "document.querySelector('.rg-lanes-count').textContent === '12 of 12'")
        page.locator(".rg-lanes-query").fill("nowhere")
        _wait(page, "document.querySelector('.rg-lanes-count').textContent === 'none'")


def test_the_range_is_walked_with_the_keyboard(browser, lanes_page):
    with lanes(browser, lanes_page, reduced_motion="reduce") as page:
        page.locator(CANVAS).focus()
        page.keyboard.press("0")
        assert _view_us(page) == [0, 6_000]
        page.keyboard.press("+")
        assert _view_us(page) == [1_500, 4_500]
        page.keyboard.press("d")
        assert _view_us(page) == [2_250, 5_250]
        page.keyboard.press("a")
        page.keyboard.press("-")
        assert _view_us(page) == [0, 6_000]
        page.keyboard.press("]")
        assert _view_us(page) == [2_951, 4_040]  # the step in the middle of the view
        page.keyboard.press("]")
        assert _view_us(page) == [3_951, 5_040]
        page.keyboard.press("[")
        assert _view_us(page) == [2_951, 4_040]


def test_strips_are_walked_chosen_and_left_with_the_keyboard(browser, lanes_page):
    with lanes(browser, lanes_page, reduced_motion="reduce") as page:
        page.evaluate("reportLanes.setView(0, 1e6)")
        page.locator(CANVAS).focus()
        said = page.locator(".rg-lanes-said")
        page.keyboard.press("ArrowDown")
        assert said.inner_text() == "ProfilerStep#0, 990 µs, steps"
        page.keyboard.press("ArrowDown")
        assert said.inner_text() == "backward, 300 µs, annotations"
        page.keyboard.press("ArrowLeft")
        assert said.inner_text() == "forward, 400 µs, annotations"
        page.keyboard.press("Enter")
        assert _details(page)["Name"] == "forward"
        page.keyboard.press("Escape")
        assert not page.locator(".rg-lanes-details").is_visible()
        for _ in range(3):
            page.keyboard.press("ArrowDown")
        assert said.inner_text().endswith("thread 71 (main)")
        page.keyboard.press(" ")
        assert said.inner_text() == "thread 71 (main) folded"


def test_a_group_is_folded_by_a_click_on_its_name(browser, lanes_page):
    with lanes(browser, lanes_page) as page:
        labels = "reportLanes.stage.entries.map(entry => entry.lane.label)"
        assert page.evaluate(labels).count("stream 7") == 1
        y = page.evaluate(
            "reportLanes.HEAD_PX + reportLanes.stage.entries.find("
            "entry => entry.lane.label === 'rank 0').top + 10"
        )
        page.locator(CANVAS).click(position={"x": 60, "y": y})
        assert page.evaluate(labels) == ["algo-1", "rank 0", "rank 1", "rank 2", "rank 3"]
        page.locator(CANVAS).click(position={"x": 60, "y": y})
        assert page.evaluate(labels).count("stream 7") == 1


def test_the_wheel_scrolls_the_page_and_zooms_with_ctrl(browser, lanes_page):
    with lanes(browser, lanes_page) as page:
        box = page.locator(CANVAS).bounding_box()
        assert box
        before, top = _view_us(page), page.evaluate("scrollY")
        page.mouse.move(box["x"] + 500, box["y"] + 100)
        page.mouse.wheel(0, 60)
        _wait(page, f"scrollY > {top}")
        assert _view_us(page) == before
        page.keyboard.down("Control")
        page.mouse.wheel(0, -200)
        _settle(page)
        page.keyboard.up("Control")
        start, end = _view_us(page)
        assert end - start < before[1] - before[0]


def test_a_drag_moves_in_time_and_with_shift_marks_a_range(browser, lanes_page):
    with lanes(browser, lanes_page) as page:
        _view(page, "1e6, 2e6")
        box = page.locator(CANVAS).bounding_box()
        assert box
        middle = box["y"] + box["height"] / 2

        def drag(start: float, end: float) -> None:
            page.mouse.move(box["x"] + start, middle)
            page.mouse.down()
            page.mouse.move(box["x"] + end, middle, steps=3)
            page.mouse.up()

        drag(600, 500)
        _settle(page)
        assert _view_us(page)[0] > 1_100
        page.keyboard.down("Shift")
        drag(400, 600)
        page.keyboard.up("Shift")
        page.locator(".rg-lanes-table summary").click()
        _wait(page, "document.querySelectorAll('.rg-lanes-table tbody tr').length > 2")
        assert page.locator(".rg-lanes-range").inner_text().startswith("Marked range: ")


def test_the_table_of_a_range_counts_events_and_sums_their_time_within_it(browser, lanes_page):
    with lanes(browser, lanes_page) as page:
        page.evaluate("reportLanes.setView(0, 985000)")
        page.locator(".rg-lanes-table summary").click()
        _wait(page, "document.querySelectorAll('.rg-lanes-table tbody tr').length > 5")
        rows = page.evaluate(
            "[...document.querySelectorAll('.rg-lanes-table tbody tr')]"
            ".map(row => [...row.cells].map(cell => cell.textContent))"
        )
        of_rank = {
            (row[0], row[1].rpartition(" › ")[2]): row[2:] for row in rows if "rank 0" in row[1]
        }
        assert of_rank["ProfilerStep#0", "steps"] == ["1", "985 µs"]
        assert of_rank["aten::mm", "thread 71 (main)"] == ["2", "120 µs"]
        assert of_rank["void gemm_2<float, 4>(float*)", "stream 7"] == ["2", "140 µs"]


def test_a_findings_link_shows_its_rank_and_time(browser, lanes_page):
    with opened(browser, lanes_page, reduced_motion="reduce") as watched:
        page = watched.page
        links = page.locator("#findings .rg-show, .rg-cards .rg-show")
        assert links.count() == 1
        links.first.click()
        _wait(page, "document.querySelector('[data-lanes=ready]')")
        _settle(page)
        folded = page.evaluate(
            "reportLanes.stage.entries.filter(it => it.isFolded).map(it => it.lane.label)"
        )
        assert folded == ["rank 0", "rank 2", "rank 3"]
        assert [round(edge) for edge in _view_us(page)] == [700, 2_300]
        assert page.evaluate("document.activeElement.className") == "rg-lanes-canvas"
        assert page.locator("#timeline-lanes").is_visible()
        assert watched.complaints == []


def test_colours_stand_out_from_the_page_and_carry_readable_names(browser, lanes_page):
    for scheme in ("light", "dark"):
        with lanes(browser, lanes_page, color_scheme=scheme) as page:
            least = page.evaluate(
                "(() => { const paint = reportLanes.stage.palette; return ["
                " Math.min(...paint.colours.map(c => reportLanes.contrast(c.fill, paint.ground))),"
                " Math.min(...paint.colours.map(c => reportLanes.contrast(c.fill, c.ink)))]; })()"
            )
            assert least[0] >= 3, scheme
            assert least[1] >= 4.5, scheme


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_no_violation_in_the_lanes(browser, lanes_page, look):
    with lanes(browser, lanes_page, **LOOKS[look]) as page:
        unfold_all(page)
        page.evaluate("reportLanes.setView(2.2e6, 2.5e6)")
        page.evaluate(
            "(() => { const lane = reportLanes.stage.lanes.find(it => it.label === 'stream 7');"
            " return reportLanes.choose(reportLanes.hit({ x: reportLanes.xOf(2350000),"
            " y: reportLanes.middleOf({ lane, depth: 0 }) }).strip); })()"
        )
        page.locator(".rg-lanes-details").wait_for(timeout=TIMEOUT_MS)
        assert _complaints(page, look) == []
        width = LOOKS[look].get("viewport", {"width": 1280})["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_finger_moves_in_time_two_zoom(browser, lanes_page):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with lanes(browser, lanes_page, **phone) as page:
        _view(page, "1e6, 2e6")
        touch = (
            "points => { const canvas = document.querySelector('.rg-lanes-canvas');"
            " canvas.setPointerCapture = () => {}; const box = canvas.getBoundingClientRect();"
            " points.forEach(([kind, id, x]) => canvas.dispatchEvent(new PointerEvent(kind, {"
            " pointerId: id, pointerType: 'touch', clientX: box.left + x, clientY: box.top + 120,"
            " bubbles: true }))); }"
        )
        page.evaluate(
            touch, [["pointerdown", 1, 200], ["pointermove", 1, 100], ["pointerup", 1, 100]]
        )
        _settle(page)
        start, end = _view_us(page)
        assert start > 1_200
        assert abs(end - start - 1_000) <= 1
        page.evaluate(
            touch,
            [["pointerdown", 1, 150], ["pointerdown", 2, 250], ["pointermove", 1, 100],
             ["pointermove", 2, 300], ["pointerup", 1, 100], ["pointerup", 2, 300]],
        )  # fmt: skip
        _settle(page)
        start, end = _view_us(page)
        assert abs(end - start - 500) <= 2


def test_names_that_are_markup_stay_text(browser, tmp_path):
    bad = "</script><img src=x onerror='window.hacked = 1'>"
    made = LaneFile(names=["", bad * 50], details=["", bad])
    made.window(0, made.length_ns, bad)
    lane = made.lane("thread", bad, node=bad)
    made.strips(lane, [(1_000, 900_000, 0, 1, 1, 0)])
    with lanes(browser, _page_of(tmp_path, made)) as page:
        page.locator(CANVAS).focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        assert _details(page)["Arguments"] == bad
        page.locator(".rg-lanes-table summary").click()
        _wait(page, "document.querySelectorAll('.rg-lanes-table tbody th').length")
        assert page.evaluate("window.hacked") is None
        assert page.evaluate("document.documentElement.scrollWidth") == 1280


def test_counters_without_any_event_are_drawn(browser, tmp_path):
    made = LaneFile(names=[], is_unix=True, start_ns=round(START_S * 1e9))
    made.counter(made.lane("counter", "GPU power", node="rank 1"), [0, 9], [70, 300])
    with lanes(browser, _page_of(tmp_path, made)) as page:
        assert page.locator(CANVAS).is_visible()


def test_a_damaged_block_is_left_out_and_said(browser, tmp_path):
    made = training_file(n_ranks=1)
    at, n_bytes = made.lanes[3]["blocks"][1]["at"]
    made._blocks[at : at + n_bytes] = bytes(n_bytes)
    with lanes(browser, _page_of(tmp_path, made)) as page:
        page.evaluate("reportLanes.setView(0, 6e6)")
        _wait(page, "document.querySelector('.rg-lanes-problem').checkVisibility()")
        assert "cannot be read" in page.locator(".rg-lanes-problem").inner_text()
        _view(page, "0, 1e6")
        _choose(page, "stream 7", 60_000)
        assert "gemm" in _details(page)["Name"]


def test_without_a_script_and_on_paper_a_table_of_their_events_stands_for_the_lanes(
    browser, lanes_page
):
    with opened(browser, lanes_page, java_script_enabled=False) as watched:
        assert watched.page.locator(".rg-lanes-undrawn").is_visible()
        assert not watched.page.locator(CANVAS).is_visible()
        assert not watched.page.locator(".rg-show").first.is_visible()
    with lanes(browser, lanes_page, color_scheme="dark") as page:
        assert not page.locator(".rg-lanes-undrawn").is_visible()
        page.emulate_media(media="print")
        assert page.locator(".rg-lanes-undrawn").is_visible()
        assert not page.locator(CANVAS).is_visible()


def test_the_steps_of_each_rank_are_listed_and_the_next_one_is_of_the_same_rank(
    browser, lanes_page
):
    with lanes(browser, lanes_page) as page:
        groups = page.locator(".rg-lanes-step optgroup[label$=steps]")
        labels = [groups.nth(at).get_attribute("label") for at in range(groups.count())]
        assert labels == [f"algo-1 › rank {rank} › steps" for rank in range(4)]
        first = groups.nth(2).locator("option").first.get_attribute("value")
        page.locator(".rg-lanes-step").select_option(first)
        page.locator(".rg-lanes-steps button").last.click()
        _settle(page)
        assert page.locator(".rg-lanes-step").input_value() == str(int(known(first)) + 1)


def test_the_lanes_and_the_charts_of_a_job_have_one_zoom(browser, tmp_path):
    node = training_node([90.0] * 600, name="algo-1")
    report = training_report(node)
    made = LaneFile(start_ns=int(JOB_START_S * 1e9), is_unix=True, length_ns=300_000_000_000)
    made.window(0, made.length_ns, "everything")
    top = made.lane("node", "algo-1", node="algo-1")
    phases = made.lane("phases", "steps", top, node="algo-1")
    step = made.name("step")
    made.strips(phases, [(at * 1_000_000_000, 900_000_000, 0, step, 0, 0) for at in range(300)])
    path = pages.write_page(tmp_path, with_timeline(report, made.packed()))
    with lanes(browser, path, reduced_motion="reduce") as page:
        ranges = (
            "(() => { const told = []; document.addEventListener('rg:range',"
            " event => told.push(event.detail)); window.toldRanges = told; })()"
        )
        page.evaluate(ranges)
        page.evaluate("reportLanes.setView(60e9, 90e9)")
        _wait(page, "window.toldRanges.length === 1")
        edges = page.evaluate("window.toldRanges[0]")
        assert [edge - JOB_START_S for edge in edges] == pytest.approx([60, 90], abs=1e-3)
        page.evaluate(
            "detail => document.dispatchEvent(new CustomEvent('rg:zoom', { detail }))",
            [JOB_START_S + 100, JOB_START_S + 130],
        )
        _settle(page)
        assert [edge / 1e6 for edge in _view_us(page)] == pytest.approx([100, 130], abs=1e-3)
        page.wait_for_timeout(300)
        assert page.evaluate("window.toldRanges.length") == 2
        page.locator("#timeline-axis [data-zoom=all]").click()
        _settle(page)
        assert [edge / 1e6 for edge in _view_us(page)] == pytest.approx([0, 300], abs=1e-3)


_TREES: Mapping[str, Callable[[dict[str, Any]], object]] = {
    "its own parent": lambda lane: lane.update(parent=lane["id"]),
    "a parent that comes later": lambda lane: lane.update(parent=lane["id"] + 1),
    "a parent that is a text": lambda lane: lane.update(parent="0"),
    "a number of another": lambda lane: lane.update(id=0),
    "no blocks": lambda lane: lane.pop("blocks"),
    "blocks that are a number": lambda lane: lane.update(blocks=7),
    "no label": lambda lane: lane.update(label=None),
}
_BLOCKS: Mapping[str, Callable[[dict[str, Any]], object]] = {
    "a row too many": lambda block: block.update(n=block["n"] + 1),
    "10¹² rows": lambda block: block.update(n=1 << 40),
    "fewer than no rows": lambda block: block.update(n=-1),
    "a place beyond the end": lambda block: block.update(at=[1 << 50, 9]),
    "a place that is a text": lambda block: block.update(at="x"),
    "an infinite time": lambda block: block.update({"from": 1e308, "to": -1e308}),
    "another kind of rows": lambda block: block.update(level=1 - block.get("level", 0)),
    "a level that is a text": lambda block: block.update(level="constructor"),
}


def _with_lanes(change: Callable[[dict[str, Any]], object]) -> bytes:
    made = training_file(n_ranks=2)
    for lane in made.lanes:
        change(lane)
    return made.packed()


def _with_blocks(change: Callable[[dict[str, Any]], object]) -> bytes:
    return _with_lanes(lambda lane: [change(block) for block in lane["blocks"]])


def _with_names(names: list[str]) -> bytes:
    made = training_file(n_ranks=2)
    made.names = names
    return made.packed()


def _with_bomb() -> bytes:
    made = training_file(n_ranks=1)
    at = made._add(packed_zeros(1 << 10, 31))
    for lane in made.lanes:
        for held in lane["blocks"]:
            held["at"] = at
    return made.packed()


_CRAFTED: Mapping[str, Callable[[], bytes]] = {
    **{what: partial(_with_lanes, change) for what, change in _TREES.items()},
    **{what: partial(_with_blocks, change) for what, change in _BLOCKS.items()},
    "no names": partial(_with_names, []),
    "one name": partial(_with_names, [""]),
    "a block that unpacks to a gigabyte": _with_bomb,
    "half of the file": lambda: training_file().packed()[:2_000],
    "a header of zeros": lambda: training_file().packed()[:12] + bytes(20_000),
    "a header without an end": lambda: training_file().packed()[:8] + b"\xff" * 20_000,
    "nothing": lambda: b"",
}


_UNNOTICED = {
    "no label", "an infinite time", "another kind of rows", "a level that is a text", "one name",
}  # fmt: skip
"""The script takes them as they are: it draws nonsense or nothing, and goes on."""


@pytest.mark.parametrize("what", _CRAFTED)
def test_a_crafted_file_neither_stops_the_page_nor_goes_unsaid(browser, lanes_page, tmp_path, what):
    # The command checks the file before it writes a page: here the script stands alone.
    packed = base64.b64encode(_CRAFTED[what]()).decode()
    text = lanes_page.read_text(encoding="utf-8")
    crafted = tmp_path / "page.html"
    crafted.write_text(re.sub(f"({_FILE_PART}>)[^<]*", rf"\g<1>{packed}", text), encoding="utf-8")
    with opened(browser, crafted, at="#timeline-lanes") as watched:
        page = watched.page
        if what in _UNNOTICED:
            _wait(page, "window.reportLanes")
        else:
            _wait(page, "document.querySelector('.rg-lanes-problem').checkVisibility()")
            assert "cannot be read" in page.locator(".rg-lanes-problem").inner_text()
        _settle(page)
        if page.locator("[data-lanes=ready]").count():
            page.evaluate("reportLanes.setView(0, 6e6)")
            page.locator(CANVAS).focus()
            for key in ("ArrowDown", "ArrowRight", "Enter", "]"):
                page.keyboard.press(key)
            _settle(page)
        assert page.evaluate("1 + 1") == 2
        assert watched.requests == []
