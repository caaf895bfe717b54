"""The lanes in the page without a browser: their words, where findings lead, the picture."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from reportgen.results import Status, Where
from reportgen.store import load, with_timeline
from reportgen.views.findings import cards_of
from reportgen.views.sections.timeline import timeline
from reportgen.views.timeline.lanes import Spot, lanes_block, spot_of
from tests.fuzz.attacks_saved import ATTACKS_ON_SAVED
from tests.views import reports, traces
from tests.views.lane_files import LaneFile, training_file

START_S = 1_694_128_201.541


def test_the_page_carries_the_bytes_of_the_file():
    content = training_file().packed()
    (packed,) = re.findall(r'class="rg-lanes-file">([^<]*)<', lanes_block(content).html)
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


def test_counters_alone_are_shown_without_events():
    made = LaneFile()
    made.counter(made.lane("counter", "GPU power", node="algo-1"), [0, 9], [70, 300])
    assert "<p>No events were recorded.</p>" in lanes_block(made.packed()).html


def test_a_report_that_recorded_neither_events_nor_samples_has_no_lanes():
    skipped = reports.result("Timeline", Status.SKIPPED)
    report = with_timeline(traces.traced_report(skipped), LaneFile().packed())
    assert "rg-lanes" not in timeline(report)._repr_html_()


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


def test_a_report_without_a_timeline_has_no_section_and_no_links():
    report = traces.traced_report()
    assert timeline(report).blocks == ()
    assert all(card.spot is None for card in cards_of(report))


def test_a_file_of_another_version_is_said_to_be_unreadable():
    content = b"RGTL0009" + training_file().packed()[8:]
    html = timeline(with_timeline(traces.traced_report(), content))._repr_html_()
    assert "cannot be read" in html
    assert "timeline-lanes" not in html
    assert spot_of(Where(node="rank 1"), content) is None


def test_a_file_of_an_older_version_names_the_command_that_makes_it_again():
    content = b"RGTL0002" + training_file().packed()[8:]
    html = timeline(with_timeline(traces.traced_report(), content))._repr_html_()
    assert "it is of version 2, not 3" in html
    assert "make-profiler-report JOB" in html


@pytest.mark.parametrize("attack", ["timeline_lane_is_its_parent", "timeline_absurd_counts"])
def test_a_crafted_timeline_leaves_a_notice_that_says_why(tmp_path: Path, attack: str) -> None:
    report = load(ATTACKS_ON_SAVED[attack](tmp_path))
    html = "".join(block.html for block in timeline(report).blocks)
    assert "timeline of this report cannot be read" in html
