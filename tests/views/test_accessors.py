"""Exhibits for cells of the reader's own."""

from __future__ import annotations

import pytest

from reportgen import views
from reportgen.errors import PluginError
from reportgen.results import ExhibitKind, Status, exhibit
from tests.views import reports

TABLE = exhibit(
    "twice",
    ExhibitKind.TABLE,
    title="Two columns of one name",
    columns=[("count", "", [1, 2]), ("count", "", [3, None])],
)
REPORT = reports.report_of((reports.result("Mine", Status.OK, exhibits=(TABLE,)),))


def test_a_frame_has_every_column_of_its_exhibit():
    frame = views.frame(REPORT, "Mine", "twice")
    assert list(frame.columns) == ["count", "count"]
    assert frame.iloc[0].tolist() == [1, 3]
    assert frame.iloc[1, 1] != frame.iloc[1, 1]  # NaN: absent


def test_a_table_has_no_figure_but_a_frame():
    with pytest.raises(PluginError, match=r"Mine.twice is drawn without plotly") as caught:
        views.figure(REPORT, "Mine", "twice")
    assert "views.frame" in caught.value.hint


@pytest.mark.parametrize("show", [views.frame, views.figure, views.exhibit])
def test_what_is_not_there_is_named_with_what_is(show):
    with pytest.raises(PluginError, match=r"Mine has no exhibit other. It has: twice"):
        show(REPORT, "Mine", "other")
    with pytest.raises(PluginError, match=r"The report holds no rule Yours. It holds: Mine"):
        show(REPORT, "Yours", "twice")
