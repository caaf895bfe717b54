"""The walker: sections come from what results declare, whoever wrote their rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reportgen import views
from reportgen.report import Report
from reportgen.results import (
    NOWHERE,
    About,
    DashboardPanel,
    Depth,
    Exhibit,
    ExhibitKind,
    Place,
    RuleResult,
    Section,
    Severity,
    Status,
    TimelineTrack,
    Track,
    exhibit,
)
from reportgen.views.cell_output import outputs
from reportgen.views.sections.by_id import WHOLE_PAGE, section_ids
from tests.views import reports

SPEED = Section(id="speed", title="Speed", order=155)


def table(exhibit_id: str, place: Place = NOWHERE) -> Exhibit:
    columns = [("a", "", [1])]
    title = f"Table {exhibit_id}"
    return exhibit(exhibit_id, ExhibitKind.TABLE, title=title, columns=columns, place=place)


def strange(*exhibits: Exhibit, rule_id: str = "Speed", **about: object) -> RuleResult:
    """Return the result of a stranger's rule."""
    made = reports.result(rule_id, Status.OK, exhibits=exhibits)
    said = About(title=f"Title of {rule_id}", checks=f"Checks {rule_id}.", reading="", advice="")
    return replace(made, about=replace(said, **about))  # type: ignore[arg-type]  # a shorthand


def html_of(report: Report, section_id: str) -> str:
    return "".join(item.data["text/html"] for item in outputs(views.section(report, section_id)))


def test_sections_stand_in_the_declared_order() -> None:
    report = reports.report_of(
        (
            reports.result("BatchSize", Status.OK),
            strange(section=SPEED),
            reports.result("StepOutlier", Status.OK),
            strange(rule_id="Plain"),
        )
    )
    assert [item for item in section_ids(report) if item not in WHOLE_PAGE] == [
        "step-durations",
        "speed",
        "batch-size",
        "rule--Plain",
    ]


def test_rules_that_name_one_section_share_it() -> None:
    report = reports.report_of(
        (strange(table("a"), section=SPEED), strange(table("b"), rule_id="More", section=SPEED))
    )
    html = html_of(report, "speed")
    assert "Checks Speed. Checks More." in html
    assert {"Speed--a", "More--b"} <= {part.split('"')[0] for part in html.split('id="')}
    assert "Title of" not in html


def test_an_exhibit_stands_in_the_further_section_that_it_names_with_its_findings() -> None:
    more = Section(id="more", title="More", order=500, lead="What else.", missing="Nothing.")
    finding = reports.finding("S-1", Severity.WARNING, "Too slow", exhibit="b")
    result = strange(table("a"), table("b", place=Place(section="more")), section=SPEED)
    result = replace(result, findings=(finding,), about=replace(result.about, further=(more,)))  # type: ignore[type-var]  # it has words
    report = reports.report_of((result,))

    assert "Speed--b" not in html_of(report, "speed")
    assert "Too slow" not in html_of(report, "speed")
    further = html_of(report, "more")
    assert "What else." in further
    assert "Too slow" in further
    assert 'id="Speed--b"' in further

    without = reports.report_of((replace(result, exhibits=result.exhibits[:1], findings=()),))
    assert "Nothing." in html_of(without, "more")


def test_folded_exhibits_wait_behind_one_fold_unless_there_is_nothing_else() -> None:
    folded = replace(table("b"), depth=Depth.FOLDED)
    both = reports.report_of((strange(table("a"), folded, section=SPEED),))
    alone = reports.report_of((strange(folded, section=SPEED),))
    folds = [
        [block.fold for block in views.section(report, "speed").blocks if "Table b" in block.html]
        for report in (both, alone)
    ]
    assert folds == [["More: Table b"], [""]]


def test_a_strangers_pictures_stand_in_a_dashboard_that_its_rule_opens() -> None:
    place = Place(dashboard=DashboardPanel(order=5, headline="{title}: {pct} {part}", row_of="pct"))
    parts = reports.shares("parts", "Parts", {"small": 1.0, "large": 3.0, "others (2)": 6.0})
    result = strange(replace(parts, place=place), section=SPEED, opens_dashboard=True)
    report = reports.report_of((result,))
    assert "<h3>Parts: 30.0 % large</h3>" in html_of(report, "at-a-glance").replace("\u00a0", " ")
    assert 'href="#Speed--parts"' in html_of(report, "speed")

    closed = reports.report_of((strange(replace(parts, place=place), section=SPEED),))
    assert "Parts" not in html_of(closed, "at-a-glance")
    assert 'id="Speed--parts"' in html_of(closed, "speed")


@pytest.mark.parametrize(
    ("headline", "said"),
    [("{title}: {nothing}", "Parts"), ("{title.upper}", "{title.upper}"), ("{", "{")],
)
def test_a_headline_that_cannot_be_filled_is_the_title(headline: str, said: str) -> None:
    place = Place(dashboard=DashboardPanel(order=5, headline=headline))
    parts = replace(reports.shares("parts", "Parts", {"a": 1.0}), place=place)
    report = reports.report_of((strange(parts, opens_dashboard=True),))
    assert f"<h3>{said}</h3>" in html_of(report, "dashboard")


def test_a_strangers_curves_stand_in_the_timeline() -> None:
    track = TimelineTrack(kind=Track.PANEL, title="My speed", order=1, is_only_here=True)
    curve = replace(
        reports.band("curve", "Speed", {"gpu0": (80.0, 9.0)}), place=Place(timeline=track)
    )
    report = reports.report_of((strange(curve, section=SPEED),))
    assert "My speed" in html_of(report, "timeline")
    assert 'id="Speed--curve"' in html_of(report, "timeline")
    assert 'id="Speed--curve"' not in html_of(report, "speed")
