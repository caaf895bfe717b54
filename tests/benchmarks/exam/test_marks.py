"""How a report is marked, on reports made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.exam.analyse import Answer, Told
from benchmarks.exam.causes import Input, Sight
from benchmarks.exam.marks import Result, mark
from benchmarks.exam.tables import misses, report_of
from benchmarks.exam.truth import Planted, Truth
from reportgen.results.causes import Cause

START_S = 1_000_000.0
PAUSE = Planted(
    cause=Cause.LONG_PAUSE,
    share_ratio=0.08,
    share_of="loop",
    start_s=200.0,
    end_s=240.0,
    seen_s=(200.0, 240.0),
    sight=Sight.IDENTIFIABLE,
)
LAGGARD = Planted(
    cause=Cause.SLOW_WORKER,
    share_ratio=0.2,
    share_of="loop",
    places=("algo-2-27", "algo-2"),
    start_s=10.0,
    end_s=510.0,
    seen_s=(10.0, 510.0),
    sight=Sight.IDENTIFIABLE,
)
SAID = Told(
    rule="AnyRule",
    id="ANY-1",
    cause="long_pause",
    severity="warning",
    title="The job paused for 40 s",
    advice="Find out what stalled between the steps.",
    share_ratio=0.1,
    node="algo-1",
    device=None,
    start_s=START_S + 199,
    end_s=START_S + 241,
)


def truth_with(*planted: Planted) -> Truth:
    return Truth(
        name="000-x",
        kind="x",
        input=Input.PYTORCH,
        start_unix_s=START_S,
        duration_s=520.0,
        loop_s=(10.0, 510.0),
        planted=planted,
        is_healthy=not planted,
    )


def marks_of(*finding: Told, planted: tuple[Planted, ...] = (PAUSE,)):
    return mark(truth_with(*planted), Answer(findings=finding, failed_rules=()))


def test_a_right_answer_gets_every_mark():
    (got,) = marks_of(SAID)
    assert got.is_named
    assert got.is_first
    assert got.is_place_right
    assert got.is_time_right
    assert got.error_ratio == pytest.approx(0.02)


def test_an_info_does_not_name_a_cause():
    (got,) = marks_of(replace(SAID, severity="info"))
    assert not got.is_named
    assert not got.is_first
    assert got.error_ratio is None


def test_a_cause_behind_another_is_named_but_not_first():
    (got,) = marks_of(replace(SAID, cause="gpu_swings", severity="critical"), SAID)
    assert got.is_named
    assert not got.is_first


def test_the_larger_of_two_faults_must_come_first():
    large = replace(SAID, cause="slow_worker", node="algo-2", device="algo-2-27")
    marks = marks_of(SAID, large, planted=(PAUSE, LAGGARD))
    assert [got.is_first for got in marks] == [True, False]


@pytest.mark.parametrize(
    ("node", "device", "is_right"),
    [
        ("algo-2", "algo-2-27", True),
        ("algo-2", None, True),
        ("algo-1", "algo-1-27, algo-2-27", True),
        ("algo-1", "algo-1-27", False),
        ("algo-1", None, False),
        (None, None, False),
    ],
)
def test_a_place_is_right_when_it_is_one_of_the_true_ones(node, device, is_right):
    finding = replace(SAID, cause="slow_worker", node=node, device=device, title="Slow")
    assert marks_of(finding, planted=(LAGGARD,))[0].is_place_right is is_right


@pytest.mark.parametrize(
    ("start_s", "end_s", "is_right"),
    [
        (195, 245, True),
        (190, 290, True),
        (100, 150, False),
        (10, 510, False),
        (200, 210, False),
        (None, None, False),
    ],
)
def test_a_time_must_cover_the_pause_and_not_far_more(start_s, end_s, is_right):
    finding = replace(
        SAID,
        start_s=None if start_s is None else START_S + start_s,
        end_s=None if end_s is None else START_S + end_s,
    )
    assert marks_of(finding)[0].is_time_right is is_right


def test_a_cause_that_may_be_behind_an_effect_is_listed():
    planted = replace(PAUSE, sight=Sight.EFFECT_ONLY)
    finding = replace(SAID, cause="gpu_swings", possible_causes=("io_wait", "long_pause"))
    (got,) = marks_of(finding, planted=(planted,))
    assert got.is_warned
    assert got.is_effect
    assert not got.is_named
    assert not got.is_counted


def test_the_tables_count_alarms_of_healthy_jobs_and_rules_that_broke():
    healthy = Answer(findings=(SAID,), failed_rules=("StepOutlier",))
    low = Answer(findings=(replace(SAID, share_ratio=0.04),), failed_rules=())
    results = [
        Result(truth=truth_with(), answer=healthy, marks=()),
        Result(truth=truth_with(PAUSE), answer=low, marks=mark(truth_with(PAUSE), low)),
    ]
    text = report_of(results)
    assert "| healthy jobs with a warning | 1 of 1 | 100 % |" in text
    assert "| jobs with a rule that broke | 1 of 2 | 50 % |" in text
    assert "| long_pause | 1 | 100 % | 100 % | 100 % | 100 % | 1 | 100 % | 4.0 |" in text
    assert "RULE BROKE: StepOutlier" in misses(results)


def test_a_first_warning_is_wrong_if_it_neither_is_a_fault_nor_lists_one():
    other = replace(SAID, cause="gpu_swings")
    listing = replace(other, possible_causes=("long_pause",))
    for first, is_wrong in ((SAID, False), (other, True), (listing, False)):
        answer = Answer(findings=(first, SAID), failed_rules=())
        result = Result(truth=truth_with(PAUSE), answer=answer, marks=marks_of(first, SAID))
        assert result.has_wrong_first is is_wrong
