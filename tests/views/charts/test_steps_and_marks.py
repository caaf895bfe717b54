"""Curves that stay until they change, and histograms of a few values."""

from __future__ import annotations

import pytest

from reportgen.results import ExhibitKind, exhibit
from reportgen.views.charts import band, histogram, series
from reportgen.views.charts.layout import ChartContext

CONTEXT = ChartContext(rule_id="Rule", is_unix=False)


def curve(unit, values):
    columns = [("time_s", "s", [0.0, 1.0, 2.0]), ("curve", unit, values)]
    return exhibit("curve", ExhibitKind.SERIES, title="A curve", columns=columns)


@pytest.mark.parametrize(
    ("unit", "values", "shape"),
    [
        ("", [3.0, 4.0, 2.0], "hv"),
        ("bytes", [3e9, 4e9, None], "hv"),
        ("", [3.5, 4.0, 2.0], None),
        ("%", [3.0, 4.0, 2.0], None),
        ("s", [3.0, 4.0, 2.0], None),
    ],
)
def test_counts_and_bytes_are_drawn_as_steps(unit, values, shape):
    (trace,) = series.draw(curve(unit, values), CONTEXT).figure["data"]
    assert trace["line"].get("shape") == shape


def test_a_band_of_counts_is_drawn_as_steps():
    columns = [("time_s", "s", [0.0, 1.0, 2.0])]
    columns += [(f"waiting_{part}", "", [0.0, 5.0, 1.0]) for part in ("min", "mean", "max")]
    drawn = band.draw(exhibit("queue", ExhibitKind.BAND, title="Queue", columns=columns), CONTEXT)
    assert drawn.figure["data"][-1]["line"]["shape"] == "hv"


def bins(*groups):
    columns = [("bin_start", "ms", [0.0, 10.0, 20.0]), ("bin_end", "ms", [10.0, 20.0, 30.0])]
    columns += [(name, "", counts) for name, counts in groups]
    return exhibit("bins", ExhibitKind.HISTOGRAM, title="Steps", columns=columns)


def test_a_histogram_of_a_few_values_has_a_mark_for_each():
    drawn = histogram.draw(bins(("rank 0", [0, 2, 1]), ("rank 1", [1, 0, 0])), CONTEXT)
    marks = [(trace["x"].tolist(), trace["y"].tolist()) for trace in drawn.figure["data"]]
    assert marks == [([12.5, 17.5, 25.0], [0.0, 0.0, 0.0]), ([5.0], [1.0])]
    assert list(drawn.figure["layout"]["yaxis"]["ticktext"]) == ["rank 0", "rank 1"]


@pytest.mark.parametrize("counts", [[10, 9, 1], [10**9, -(10**9), 3]])
def test_any_other_histogram_has_bars(counts):
    (trace,) = histogram.draw(bins(("steps", counts)), CONTEXT).figure["data"]
    assert trace["type"] == "bar"
