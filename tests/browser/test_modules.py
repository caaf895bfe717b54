"""The pure parts of the page's scripts, as modules in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from reportgen.assets import templates_dir
from tests.views.lane_files import planes

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.browser

SITE = "http://modules.test/"


def _answer(route: Route) -> None:
    name = route.request.url.removeprefix(SITE)
    if name.endswith(".js"):
        text = (templates_dir() / "script" / name).read_text("utf-8")
        route.fulfill(body=text, content_type="text/javascript")
    else:
        route.fulfill(body="<title>modules</title><main></main>", content_type="text/html")


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(timezone_id="Asia/Kolkata")
    opened = context.new_page()
    opened.route("**/*", _answer)
    opened.goto(SITE)
    yield opened
    context.close()


def run(page: Page, module: str, code: str, argument: object = None) -> Any:
    """Return what an expression of a module's exports and an argument gives."""
    call = f"async (it) => {{ const own = await import('./{module}.js'); return {code}; }}"
    return page.evaluate(call, argument)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ([10, 20], [10, 20]),
        ([-5, 5], [0, 10]),
        ([95, 105], [90, 100]),
        ([-50, 150], None),
        ([50, 50], [50, 50.0001]),
        (None, None),
    ],
)
def test_a_range_stays_within_the_job(page, wanted, expected):
    assert run(page, "range", "own.clamped(it, [0, 100])", wanted) == expected


@pytest.mark.parametrize(
    ("length_s", "expected"),
    [
        (0.0123, "12.3 ms"),
        (59.96, "60 s"),
        (61, "1 min 01 s"),
        (3_599.7, "1 h 00 min"),
        (7_380, "2 h 03 min"),
    ],
)
def test_lengths_are_said_as_people_say_them(page, length_s, expected):
    assert run(page, "durations", "own.durationText(it)", length_s) == expected


def test_steps_between_those_with_a_known_start_are_estimated(page):
    steps = {"time": [0, 10, 20], "step": [0, 100, 101], "end": [10, 18, 22]}
    code = "[-1, 0, 5, 10, 19, 21, 23].map((at) => own.stepText(it, at))"
    assert run(page, "axis_words", code, steps) == [
        "",
        "step ≈ 0",
        "step ≈ 50",
        "step 100",
        "",
        "step 101",
        "",
    ]


def test_a_curve_has_no_value_behind_the_end_of_a_stretch(page):
    points = [{"x": 1, "y": 5}, {"x": 2, "y": 5}, {}, {"x": 7, "y": 6, "tx": "3"}, {"x": 9, "y": 6}]
    found = run(page, "axis_words", "own.standing(it)", points)
    assert found == {"x": [1, 2, 7, 9], "y": [5, None, 6, None], "step": ["", "", "3", ""]}


def test_many_curves_are_said_by_their_lowest_and_highest(page):
    panel = {"percent": True, "unit": "%"}
    values = [{"name": f"gpu{at}", "value": value} for at, value in enumerate([50, None, 9.25, 80])]
    said = run(page, "axis_words", "own.panelText(it[0], it[1])", [panel, values])
    assert said == "gpu2 9.3 % – gpu3 80.0 %"
    assert run(page, "axis_words", "own.panelText(it[0], it[1])", [panel, values[:2]]) == (
        "gpu0 50.0 %"
    )


def test_cells_become_csv_that_no_spreadsheet_runs(page):
    rows = [["name", "note"], ["a,b", 'said "no"'], [" kept ", "two\nlines"]]
    assert run(page, "csv", "own.csvOf(it)", rows) == (
        'name,note\r\n"a,b","said ""no"""\r\n" kept ","two\nlines"\r\n'
    )
    texts = ["=1+1", "@x", "-5", "-x", "+1e3", "plain"]
    assert run(page, "csv", "it.map(own.harmless)", texts) == [
        "'=1+1", "'@x", "-5", "'-x", "+1e3", "plain",
    ]  # fmt: skip


def test_cells_without_a_value_come_last_in_both_orders(page):
    code = "[1, -1].map((sign) => [...it].sort((a, b) => own.orderOf(a, b, sign)))"
    assert run(page, "csv", code, [3, None, 10, 2]) == [[2, 3, 10, None], [10, 3, 2, None]]
    assert run(page, "csv", code, ["gpu10", "gpu2"]) == [["gpu2", "gpu10"], ["gpu10", "gpu2"]]


SIGNED = [0, 1, -1, 127, -128, 300, 2**31, -(2**40), 2**51]


def test_numbers_of_the_timeline_are_unpacked_as_they_were_packed(page):
    packed = list(planes(np.array(SIGNED, dtype=np.int64)))
    code = "[...own.decode(new Uint8Array(it), it.n, 1)[0]]"
    assert run(page, "lane_numbers", code.replace("it.n", str(len(SIGNED))), packed) == SIGNED


@pytest.mark.parametrize(
    ("limit", "lowest", "above"), [(0, 0, 0), (1, 0, 1), (2, 1, 3), (2.5, 3, 3), (9, 4, 4)]
)
def test_places_in_a_rising_column(page, limit, lowest, above):
    code = "[own.lowest([1, 2, 2, 5], it), own.above([1, 2, 2, 5], it)]"
    assert run(page, "lane_numbers", code, limit) == [lowest, above]


def _columns(*strips: tuple[int, ...]) -> list[list[int]]:
    return [list(column) for column in zip(*strips, strict=True)]


@pytest.mark.parametrize("unit", [1, 7, 100, 3_000, 10**9])
def test_each_strip_of_a_range_is_told_once_whatever_the_zoom(page, unit):
    chance = np.random.default_rng(unit)
    starts = np.sort(chance.integers(0, 100_000, 2_000))
    lengths = np.minimum(chance.integers(0, 90, 2_000), np.append(np.diff(starts), 50))
    strips = [(int(at), int(long), 0, 1, 0, 0) for at, long in zip(starts, lengths, strict=True)]
    code = (
        "(() => { const told = []; const [row] = own.rowsOf(it.columns, 0);"
        " own.eachMark(row, 20000, 80000, it.unit, (at, next) => told.push([at, next]));"
        " return told; })()"
    )
    ranges = run(page, "lane_rows", code, {"columns": _columns(*strips), "unit": unit})
    inside = [
        at
        for at, (start, long, *_) in enumerate(strips)
        if start < 80_000 and start + long > 20_000
    ]
    listed = [at for first, stop in ranges for at in range(first, stop)]
    assert set(inside) <= set(listed)
    assert listed == list(range(listed[0], listed[-1] + 1))
    assert all(
        stop == first + 1 or all(strips[at][1] < unit for at in range(first, stop))
        for first, stop in ranges
    )


def test_runs_are_shown_only_between_ranges_that_are_kept_in_full(page):
    blocks = [
        {"level": 1, "from": 0, "to": 100, "rows": []},
        {"level": 0, "from": 20, "to": 30, "rows": []},
        {"level": 0, "from": 60, "to": 70, "rows": []},
    ]
    code = "own.piecesOf({kind: 'stream', blocks: it}, 5, 90).map(([b, f, t]) => [b.level, f, t])"
    assert run(page, "lane_rows", code, blocks) == [
        [1, 5, 20],
        [1, 30, 60],
        [1, 70, 90],
        [0, 20, 30],
        [0, 60, 70],
    ]


@pytest.mark.parametrize(
    ("from_ns", "to_ns", "sums"),
    [
        (0, 300, [[1, False, 2, 120], [2, True, 10, 40]]),
        (100, 200, [[1, False, 2, 100]]),
        (180, 300, [[1, False, 1, 40], [2, True, 10, 40]]),
        (200, 225, [[1, False, 1, 20], [2, True, 1, 4]]),
    ],
)
def test_sums_of_a_range_count_no_event_and_no_time_twice(page, from_ns, to_ns, sums):
    """In full from 100 to 200; an event reaches out of it by 20, ten short ones lie behind it."""
    events = _columns((110, 60, 0, 1, 0, 0), (160, 60, 1, 1, 0, 0))
    runs = _columns((110, 60, 0, 1, 1, 60), (160, 60, 1, 1, 1, 60), (220, 50, 0, 2, 10, 40))
    code = (
        "(() => { const blocks = [{ level: 0, from: 100, to: 200, rows: own.rowsOf(it.events, 0) },"
        " { level: 1, from: 0, to: 300, rows: own.rowsOf(it.runs, 1) }];"
        " return own.tally({ kind: 'thread', blocks }, it.from, it.to)"
        ".map(({ name, isRun, n, ns }) => [name, isRun, n, ns])"
        ".sort((a, b) => a[0] - b[0]); })()"
    )
    argument = {"events": events, "runs": runs, "from": from_ns, "to": to_ns}
    assert run(page, "lane_rows", code, argument) == sums


def test_the_operator_of_a_call_is_the_innermost_that_encloses_it(page):
    columns = _columns(
        (0, 90, 0, 1, 0, 0), (10, 40, 1, 2, 0, 0), (12, 20, 2, 3, 0, 0), (15, 5, 3, 4, 0, 7)
    )
    code = (
        "(() => { const rows = own.rowsOf(it, 0); const lane = { blocks: [{ level: 0, rows }] };"
        " const call = own.eventAt(lane, 15, 7);"
        " return own.enclosing(call, name => name !== 3).row.name[0]; })()"
    )
    assert run(page, "lane_rows", code, columns) == 2


def test_folded_groups_hide_what_is_in_them(page):
    lanes = [
        {"id": 0, "parent": None},
        {"id": 1, "parent": 0},
        {"id": 2, "parent": 1},
        {"id": 3, "parent": 0},
    ]
    code = (
        "own.laidOut(it, new Set([1]), () => 10)"
        ".map(({ lane, depth, top, isFolded }) => [lane.id, depth, top, isFolded])"
    )
    assert run(page, "lane_rows", code, lanes) == [
        [0, 0, 0, False],
        [1, 1, 10, True],
        [3, 1, 20, False],
    ]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("own.timeText(812345)", "812.3 µs"),
        ("own.timeText(2300000, 9)", "2.3 ms"),
        ("own.timeText(999)", "999 ns"),
        ("own.timeText(71e9)", "1 min 11 s"),
        ("own.amountText(2090000000, 'bytes')", "2.09 GB"),
        ("own.amountText(93.04, '%')", "93 %"),
        ("own.instantText('1694128201541000000', 2300000)", "2023-09-07 23:10:01.543300 UTC"),
    ],
)
def test_numbers_of_the_timeline_are_written_for_people(page, code, said):
    assert run(page, "lane_words", code) == said


def test_a_group_of_jobs_is_one_row_with_sums_and_a_trend(page):
    job = {"group": "g", "wasted_usd": None, "step_period_p50_s": 0.5, "duration_s": 10}
    jobs = [
        {**job, "job": "g-2", "created": "2026-01-02", "wasted_gpu_hours": 2},
        {
            **job,
            "job": "g-1",
            "created": "2026-01-01",
            "wasted_gpu_hours": 1,
            "step_period_p50_s": 0.7,
        },
        {**job, "job": "alone", "group": "h", "created": "", "wasted_gpu_hours": None},
    ]
    both, alone = run(page, "job_rows", "own.grouped(it)", jobs)
    assert (both["job"], both["wasted_gpu_hours"], both["duration_s"]) == ("g (2 jobs)", 3, 20)
    assert (both["created"], both["trend"]) == ("2026-01-02", [0.7, 0.5])
    assert both["wasted_usd"] is None
    assert alone["job"] == "alone"


def test_cells_of_jobs_are_written_with_their_units(page):
    job = {
        "duration_s": 7_500,
        "steps_per_s": 12.3456,
        "created": "2026-01-02T03:04:05Z",
        "n": None,
        "wasted_gpu_hours": 0.001,
    }
    names = ["duration_s", "steps_per_s", "created", "n", "wasted_gpu_hours"]
    code = "it[1].map((name) => own.cellText(it[0], {name, isNumber: true}))"
    assert run(page, "job_rows", code, [job, names]) == [
        "2 h 05 min",
        "12.35",
        "2026-01-02 03:04",
        "–",
        "3.6 s",
    ]
