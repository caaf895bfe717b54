"""The lanes in the page without a browser: their words, where findings lead, the picture."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import numpy as np
import pytest

from reportgen.results import Where
from reportgen.results.timeline_file import read_timeline
from reportgen.store import load, with_timeline
from reportgen.views.findings import cards_of
from reportgen.views.sections.timeline import timeline
from reportgen.views.timeline.lanes import Spot, lanes_block, spot_of
from reportgen.views.timeline.still import still_of
from tests.fuzz.attacks_saved import ATTACKS_ON_SAVED
from tests.views import traces
from tests.views.lane_files import LaneFile, training_file

START_S = 1_694_128_201.541


def test_the_page_carries_the_bytes_of_the_file():
    content = training_file().packed()
    html = lanes_block(content).html
    (packed,) = re.findall(r'class="rg-lanes-file">([^<]*)<', html)
    assert base64.b64decode(packed) == content


@pytest.mark.parametrize(
    ("windows", "said"),
    [
        ([(0, 1_000_000)], "All 2 events are shown."),
        ([(0, 10)], "2 events. All of them are shown in 1 range of time, elsewhere runs"),
        ([], "2 events, drawn as runs of neighbouring events"),
    ],
)
def test_the_caption_says_what_is_left_out(windows, said):
    made = LaneFile(names=["", "a"])
    lane = made.lane("thread", "main", node="algo-1")
    made.strips(lane, [(0, 5, 0, 1, 0, 0), (9, 5, 0, 1, 0, 0)])
    for start, end in windows:
        made.window(start, end, "why")
    assert f"<p>{said}" in lanes_block(made.packed()).html


def test_findings_are_not_counted_as_events():
    made = LaneFile(names=["", "a"])
    for kind, node in (("findings", ""), ("thread", "algo-1")):
        lane = made.lane(kind, kind, node=node)
        made.strips(lane, [(0, 5, 0, 1, 0, 0), (9, 5, 0, 1, 0, 0)])
    made.window(0, 1_000_000, "why")
    assert "<p>All 2 events are shown." in lanes_block(made.packed()).html


@pytest.mark.parametrize(
    ("where", "spot"),
    [
        (Where(node="rank 1"), Spot(node="rank 1")),
        (Where(node="rank 9"), None),
        (Where(), None),
        (Where(node="rank 1", start_s=START_S - 2, end_s=START_S - 1), None),
        (Where(start_s=START_S + 1), None),
    ],
)
def test_a_finding_leads_to_the_lanes_only_where_they_cover_it(where, spot):
    assert spot_of(where, training_file().packed()) == spot


def test_a_findings_time_is_told_from_the_start_of_the_file():
    where = Where(node="rank 1", start_s=START_S + 0.002, end_s=START_S + 0.003)
    spot = spot_of(where, training_file().packed())
    assert spot is not None
    assert [round(int(edge) / 1e3) for edge in (spot.start_ns, spot.end_ns)] == [2_000, 3_000]


def test_parts_of_several_clocks_are_shown_without_a_time():
    made = training_file()
    made.is_unix, made.start_ns = False, 0
    where = Where(node="rank 1", start_s=0.001, end_s=0.002)
    assert spot_of(where, made.packed()) == Spot(node="rank 1")


def test_a_report_without_a_timeline_has_no_section_and_no_links():
    report = traces.traced_report()
    assert timeline(report).blocks == ()
    assert all(card.spot is None for card in cards_of(report))


def test_a_file_of_another_version_is_said_to_be_unreadable():
    content = b"RGTL0009" + training_file().packed()[8:]
    report = with_timeline(traces.traced_report(), content)
    html = timeline(report)._repr_html_()
    assert "cannot be read" in html
    assert "timeline-lanes" not in html
    assert spot_of(Where(node="rank 1"), content) is None


def test_the_picture_shows_each_family_of_the_median_step_in_its_colour():
    made = training_file()
    made.window(1_000_000, 2_000_000, "median step: 1")
    svg = still_of(read_timeline(made.packed()))
    assert "median step: 1 · 1 ms" in svg
    for hue in ("gpu", "network", "cpu", "other", "step"):
        assert f'stroke="var(--rg-{hue},' in svg
    assert "ProfilerStep#1" in svg
    assert "ProfilerStep#0" not in svg
    assert "stream 20" in svg


def test_the_picture_takes_families_from_the_file_and_explains_all_of_them():
    made = LaneFile(length_ns=1_000, details=[""])
    names = made.name("Stream Wait Event", "runtime"), made.name("mine", "communication")
    lane = made.lane("stream", "waits for streams and events", node="rank 0")
    made.window(0, 1_000, "everything")
    made.strips(lane, [(0, 400, 0, names[0], 0, 0)])
    svg = still_of(read_timeline(made.packed()))
    assert re.findall(r'<path[^>]* stroke="var\(--rg-([\w-]+),[^>]*stroke-width="12"', svg) == [
        "other"
    ]
    assert "communication" in svg  # the lanes below the window's may have it
    assert "functions" not in svg


def test_a_file_of_an_older_version_names_the_command_that_makes_it_again():
    content = b"RGTL0001" + training_file().packed()[8:]
    html = timeline(with_timeline(traces.traced_report(), content))._repr_html_()
    assert "it is of version 1, not 2" in html
    assert "make-profiler-report JOB" in html


def test_strips_that_touch_are_one_line_and_long_ones_carry_their_names():
    made = LaneFile(length_ns=1_000_000, details=[""])
    a, b = (made.name(name, "compute") for name in ("a", "<b>"))
    lane = made.lane("stream", "stream 7", node="rank 0")
    made.window(0, 1_000_000, "everything")
    made.strips(lane, [(at * 100, 99, 0, a, 0, 0) for at in range(1_000)])
    made.strips(lane, [(500_000, 400_000, 0, b, 0, 0)])
    svg = still_of(read_timeline(made.packed()))
    (path,) = re.findall(r'<path d="([^"]*)" stroke="var\(--rg-gpu,', svg)
    assert path.count("M") == 2
    assert "&lt;b&gt;" in svg


def test_the_picture_has_a_bounded_number_of_rows():
    made = LaneFile(length_ns=1_000, names=["", "a"])
    made.window(0, 1_000, "everything")
    for at in range(100):
        lane = made.lane("thread", f"thread {at}", node="algo-1")
        made.strips(lane, [(0, 900, row, 1, 0, 0) for row in range(9)])
    svg = still_of(read_timeline(made.packed()))
    assert len(np.unique(re.findall(r'd="M170 ([\d.]+)h', svg))) == 26


def test_a_file_without_a_window_has_no_picture():
    made = LaneFile(names=["", "a"])
    made.strips(made.lane("thread", "main"), [(0, 5, 0, 1, 3, 5)], level=1)
    assert still_of(read_timeline(made.packed())) == ""
    html = lanes_block(made.packed()).html
    assert "are not shown. No counters were recorded. The lanes are drawn on a screen" in html


@pytest.mark.parametrize(
    "attack", ["timeline_lane_is_its_parent", "timeline_wrong_counts", "timeline_absurd_counts"]
)
def test_a_crafted_timeline_leaves_a_notice_that_says_why(tmp_path: Path, attack: str) -> None:
    report = load(ATTACKS_ON_SAVED[attack](tmp_path))
    html = "".join(block.html for block in timeline(report).blocks)
    assert "timeline of this report cannot be read" in html
