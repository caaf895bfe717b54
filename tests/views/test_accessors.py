"""Exhibits for cells of the reader's own."""

from __future__ import annotations

import plotly.graph_objects
import pytest

from reportgen import views
from reportgen.errors import PluginError
from reportgen.results import ExhibitKind, Status
from tests.views import reports

TABLE = reports.table(
    ("count", "", [1, 2]),
    ("count", "", [3, None]),
    exhibit_id="twice",
    title="Two columns of one name",
)
REPORT = reports.report_of((reports.result("Mine", Status.OK, exhibits=(TABLE,)),))


def test_a_frame_has_every_column_of_its_exhibit():
    frame = views.frame(REPORT, "Mine", "twice")
    assert list(frame.columns) == ["count", "count"]
    assert frame.iloc[0].tolist() == [1, 3]
    assert frame.iloc[1, 1] != frame.iloc[1, 1]  # NaN: absent


SHARES = reports.drawn(
    ExhibitKind.SHARES,
    ("part", "", ["a", "b"]),
    ("pct", "%", [30.0, 70.0]),
    ("time_s", "s", [3.0, 7.0]),
    exhibit_id="shares",
    title="Shares",
)
BARS = reports.drawn(
    ExhibitKind.BARS,
    ("name", "", ["a", "b"]),
    ("time_s", "s", [1.5, 2.5]),
    ("count", "", [1, 2]),
    exhibit_id="bars",
    title="Bars",
)
HISTOGRAM = reports.drawn(
    ExhibitKind.HISTOGRAM,
    ("from_s", "s", [0.0, 1.0]),
    ("to_s", "s", [1.0, 2.0]),
    ("TRAIN", "", [3, 4]),
    exhibit_id="histogram",
    title="Histogram",
)


@pytest.mark.parametrize(
    ("item", "kind", "key", "values"),
    [
        (TABLE, "table", "cells", {"values": [["1", "2"], ["3", ""]]}),
        (SHARES, "pie", "values", [30.0, 70.0]),
        (BARS, "bar", "x", [1.5, 2.5]),
        (HISTOGRAM, "bar", "y", [3.0, 4.0]),
    ],
)
def test_what_the_page_draws_without_plotly_has_a_figure_too(item, kind, key, values):
    report = reports.report_of((reports.result("Mine", Status.OK, exhibits=(item,)),))
    figure = plotly.graph_objects.Figure(views.figure(report, "Mine", item.id))
    (trace,) = figure.to_plotly_json()["data"]
    assert trace["type"] == kind
    found = trace[key]
    assert (found if isinstance(found, dict) else list(found)) == values


@pytest.mark.parametrize("show", [views.frame, views.figure, views.exhibit])
def test_what_is_not_there_is_named_with_what_is(show):
    with pytest.raises(PluginError, match=r"Mine has no exhibit other. It has: twice"):
        show(REPORT, "Mine", "other")
    with pytest.raises(PluginError, match=r"The report holds no rule Yours. It holds: Mine"):
        show(REPORT, "Yours", "twice")
