"""What a stranger's rule puts into an exhibit costs that exhibit's picture at most."""

import logging
from dataclasses import replace

import pytest

from reportgen.results import Column, ColumnType, Exhibit, ExhibitKind, exhibit
from reportgen.views.charts.layout import ChartContext
from reportgen.views.exhibits import anchor_of, exhibit_block
from tests.strange_exhibits import STRANGE, strange
from tests.views import reports

CONTEXT = ChartContext(rule_id="Rule", is_unix=True)
NOT_DRAWN = "cannot be drawn as such"


@pytest.mark.parametrize("kind", ExhibitKind)
@pytest.mark.parametrize("values", STRANGE)
def test_strange_values_are_shown_whatever_the_kind(kind: ExhibitKind, values: str) -> None:
    shown = exhibit_block(strange(kind, values), CONTEXT)
    assert anchor_of("Rule", f"{kind}-{values}") in shown.html


LISTED = (ExhibitKind.TABLE, ExhibitKind.TIMELINE)


@pytest.mark.parametrize("kind", [kind for kind in ExhibitKind if kind not in LISTED])
def test_text_where_numbers_belong_is_a_table_that_says_so(kind: ExhibitKind) -> None:
    shown = exhibit_block(strange(kind, "text"), CONTEXT)
    assert f"kind “{kind}”, but its values {NOT_DRAWN}" in shown.html
    assert shown.figure is None
    assert "rg-table" in shown.html


@pytest.mark.parametrize("kind", LISTED)
def test_a_table_of_text_needs_no_excuse(kind: ExhibitKind) -> None:
    assert NOT_DRAWN not in exhibit_block(strange(kind, "text"), CONTEXT).html


def test_a_drawing_that_breaks_is_a_table_and_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="reportgen"):
        shown = exhibit_block(_no_amount(), CONTEXT)
    assert NOT_DRAWN in shown.html
    assert shown.figure is None
    assert [record.exc_info is not None for record in caplog.records] == [True]


@pytest.mark.parametrize("value", [[1.0], {"a": 1}, object()])
def test_what_not_even_a_table_holds_is_named(value: object) -> None:
    column = Column(name="n", unit="s", type=ColumnType.FLOAT, values=(value,))  # type: ignore[arg-type]  # as of a rule that nobody checked
    shown = exhibit_block(replace(_no_amount(), columns=(column, column)), CONTEXT)
    assert "Parts</b>: this exhibit cannot be shown." in shown.html
    assert f'id="{anchor_of("Rule", "parts")}"' in shown.html


def test_a_band_beside_a_column_that_only_looks_like_one_is_drawn() -> None:
    whole = [(f"busy{part}", "%", [50.0] * 40) for part in ("_min", "_mean", "_max")]
    lone = ("idle_mean", "%", [50.0] * 40)
    times = ("time_s", "s", [1e9 + at for at in range(40)])
    band = exhibit("b", ExhibitKind.BAND, title="B", columns=[times, *whole, lone])
    assert exhibit_block(band, CONTEXT).figure is not None


def _no_amount() -> Exhibit:
    """Return shares that name two percentages and no amount."""
    return reports.drawn(
        ExhibitKind.SHARES,
        ("part", "", ["a", "b"]),
        ("pct", "%", [40.0, 60.0]),
        ("pct", "%", [40.0, 60.0]),
        exhibit_id="parts",
        title="Parts",
    )
