"""Curves that stay until they change."""

from __future__ import annotations

import pytest

from reportgen.results import ExhibitKind, exhibit
from reportgen.views.charts import series
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
