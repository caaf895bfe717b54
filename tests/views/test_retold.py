"""Slow steps that two rules tell of: one story where they are the same, two where not."""

import pytest

from reportgen import views
from reportgen.report import Report
from reportgen.results import Exhibit, ExhibitKind, Severity, Status, exhibit
from reportgen.views.retold import are_same
from reportgen.views.text_reports.terminal import terminal_lines
from tests.views import reports

COUNTED, RHYTHM = "18 of 935 steps are slow", "Every 50th step is slow"


def _outliers(counted_s: list[float]) -> Exhibit:
    return exhibit(
        "outliers",
        ExhibitKind.TABLE,
        title="Outlier steps",
        columns=[
            ("worker", "", ["algo-1-27"] * len(counted_s)),
            ("start_s", "s", counted_s),
            ("duration_s", "s", [4.0] * len(counted_s)),
        ],
    )


def _spans(rhythm_s: list[float], worker: str = "algo-1-27") -> Exhibit:
    return exhibit(
        "intervals",
        ExhibitKind.SPANS,
        title="When",
        columns=[
            ("lane", "", [worker] * len(rhythm_s)),
            ("name", "", ["step"] * len(rhythm_s)),
            ("start_s", "s", rhythm_s),
            ("end_s", "s", [start_s + 4.0 for start_s in rhythm_s]),
        ],
    )


def _report(counted_s: list[float], rhythm_s: list[float], *, worker: str = "algo-1-27") -> Report:
    findings = (
        reports.finding("PERIOD-1", Severity.WARNING, RHYTHM, share=0.1),
        reports.finding("STEP-1", Severity.WARNING, COUNTED, share=0.1),
    )
    return reports.report_of(
        (
            reports.result(
                "StepPeriodicity",
                Status.TRIGGERED,
                exhibits=(_spans(rhythm_s, worker),),
                findings=findings[:1],
            ),
            reports.result(
                "StepOutlier",
                Status.TRIGGERED,
                exhibits=(_outliers(counted_s),),
                findings=findings[1:],
            ),
        )
    )


SAME = [100.0, 150.0, 200.0]


def test_the_same_steps_are_one_card_that_leads_to_the_other():
    report = _report(SAME, SAME)
    html = views.header(report)._repr_html_()
    assert html.count('class="rg-card rg-is-warning"') == 1
    assert f'<a href="#StepOutlier--finding-STEP-1">{COUNTED}</a>' in html
    assert 'id="StepOutlier--finding-STEP-1"' in views.step_durations(report)._repr_html_()


def test_a_terminal_tells_them_once():
    said = "\n".join(line.text for line in terminal_lines(_report(SAME, SAME)))
    assert RHYTHM in said
    assert COUNTED not in said


@pytest.mark.parametrize(
    ("counted_s", "rhythm_s", "worker"),
    [
        ([100.0, 120.0, 140.0], SAME, "algo-1-27"),
        (SAME, SAME, "algo-2-27"),
        ([], SAME, "algo-1-27"),
        (SAME, [], "algo-1-27"),
    ],
)
def test_other_steps_or_other_workers_are_two_stories(counted_s, rhythm_s, worker):
    report = _report(counted_s, rhythm_s, worker=worker)
    assert not are_same(_outliers(counted_s), _spans(rhythm_s, worker))
    html = views.header(report)._repr_html_()
    assert html.count('class="rg-card rg-is-warning"') == 2


def test_nine_of_ten_steps_in_the_rhythm_are_the_same_and_eight_are_not():
    tens = [10.0 * at for at in range(10)]
    assert are_same(_outliers([*tens[:9], 5.0]), _spans(tens))
    assert not are_same(_outliers([*tens[:8], 5.0, 15.0]), _spans(tens))
