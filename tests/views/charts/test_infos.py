"""What each kind of chart shows, before it is drawn."""

import base64
import struct
from dataclasses import replace

import pytest

from reportgen.results import Column, ColumnType, ExhibitKind
from reportgen.views.charts import (
    band,
    bars,
    boxes,
    heatmap,
    histogram,
    roofline,
    series,
    shares,
    spans,
)
from reportgen.views.charts.arrays import stepped, stepped_outline
from reportgen.views.charts.layout import ChartContext, unit_scale
from tests.views import reports

UNIX = ChartContext(rule_id="Rule", is_unix=True)
RELATIVE = ChartContext(rule_id="Rule", is_unix=False)


def unpacked(packed):
    code = {"f4": "f", "f8": "d"}[packed["dtype"]]
    content = base64.b64decode(packed["bdata"])
    return list(struct.unpack(f"<{len(content) // struct.calcsize(code)}{code}", content))


def test_instants_are_texts_for_plotly_which_takes_numbers_for_local_time():
    """plotly.js reads a number on a date axis as an instant in the browser's zone."""
    (trace, *_) = band.draw(reports.band("gpu", "x", {"gpu0": (50, 9)}), UNIX).figure["data"]
    assert trace["x"][0] == "2026-07-03 09:30"
    spans_x = spans.draw(reports.spans("s", "x"), UNIX).figure["data"][0]
    assert spans_x["base"][1] == "2026-07-03 09:33:20"
    assert not isinstance(spans_x["x"], list)


@pytest.mark.parametrize(
    ("unit", "top", "label", "factor"),
    [
        ("s", 0.35, "ms", 1e3),
        ("s", 12.0, "s", 1.0),
        ("us", 5e6, "s", 1e-6),
        ("bytes/s", 9.8e7, "MB/s", 1e-6),
        ("%", 40.0, "%", 1.0),
        ("1/s", 40.0, "1/s", 1.0),
    ],
)
def test_an_axis_has_the_unit_that_fits_its_largest_value(unit, top, label, factor):
    scale = unit_scale(unit, [0.0, None, top])
    assert scale.label == label
    assert scale.factor == pytest.approx(factor)


def test_sparse_values_of_a_series_are_points_and_a_threshold_is_dashed():
    drawing = series.draw(reports.steps_series(), UNIX)
    duration, outlier, threshold = drawing.figure["data"]
    assert [trace["mode"] for trace in (duration, outlier, threshold)] == [
        "lines", "markers", "lines",
    ]  # fmt: skip
    assert (duration["line"]["dash"], threshold["line"]["dash"]) == ("solid", "dash")
    assert outlier["meta"]["role"] == "warning"
    assert unpacked(duration["y"])[0] == pytest.approx(1000 * 0.09, abs=11)
    assert drawing.figure["layout"]["yaxis"]["title"]["text"] == "ms"


def test_lines_of_different_units_stand_in_panels_of_their_own():
    made = reports.drawn(
        ExhibitKind.SERIES,
        ("time_s", "s", [1.0, 2.0]),
        ("gpu0", "%", [10.0, 20.0]),
        ("step_s", "s", [0.1, 0.2]),
        ("gpu1", "%", [30.0, 40.0]),
    )
    figure = series.draw(made, UNIX).figure
    layout = figure["layout"]
    assert [trace["yaxis"] for trace in figure["data"]] == ["y", "y2", "y"]
    assert layout["yaxis"]["ticksuffix"] == " %"
    assert layout["yaxis2"]["title"]["text"] == "step (ms)"
    assert layout["yaxis"]["domain"][0] > layout["yaxis2"]["domain"][1]


def test_an_envelope_has_one_outline_per_stretch_without_gaps():
    xs, ys = stepped_outline([1.0, 2.0, 3.0, 4.0], [0.0, None, 1.0, 2.0], [5.0, None, 6.0, 7.0])
    assert xs == [1.0, 2.0, 2.0, 1.0, None, 3.0, 4.0, 5.0, 5.0, 4.0, 3.0]
    assert ys == [5.0, 5.0, 0.0, 0.0, None, 6.0, 7.0, 7.0, 2.0, 1.0, 1.0]


def test_the_value_of_a_bucket_stands_over_its_whole_width_and_not_over_a_gap():
    xs, (values,) = stepped([1.0, 2.0, 3.0, 4.0], [5.0, None, 6.0, 7.0])
    assert xs == [1.0, 2.0, None, 3.0, 4.0, 5.0]
    assert values == [5.0, 5.0, None, 6.0, 7.0, 7.0]


def test_many_bands_share_one_envelope_from_lowest_to_highest():
    made = reports.band("gpu", "x", {f"gpu{at}": (40 + at, 10) for at in range(8)})
    drawing = band.draw(made, UNIX)
    assert len([trace for trace in drawing.figure["data"] if trace.get("fill")]) == 1
    assert drawing.remarks


def test_a_histogram_has_a_bar_for_each_bin_that_says_its_range():
    made = reports.drawn(
        ExhibitKind.HISTOGRAM,
        ("bin_start", "s", [0.0, 0.1]),
        ("bin_end", "s", [0.1, 0.2]),
        ("a", "", [3, 4]),
    )
    drawing = histogram.histogram_of(made)
    (group,) = drawing.groups
    assert [item.says for item in group.paths] == ["0 s – 100 ms", "100 ms – 200 ms"]
    assert [item.path[:12] for item in group.paths] == ["M0.00 25.00h", "M50.00 0.00h"]
    assert (drawing.ticks[-1], drawing.most) == ("200 ms", "4")


def test_groups_beyond_the_limit_are_counted():
    many = {f"gpu{at}": 40.0 for at in range(histogram.MOST_GROUPS + 3)}
    drawing = histogram.histogram_of(reports.histogram("h", "x", many))
    assert len(drawing.groups) == histogram.MOST_GROUPS
    assert "3 more" in drawing.remark


def test_boxes_beyond_the_limit_are_counted():
    many = reports.boxes("b", "x", tuple(f"gpu{at}" for at in range(boxes.MOST_BOXES + 5)))
    drawing = boxes.draw(many, UNIX)
    assert len(drawing.figure["data"]) == boxes.MOST_BOXES
    assert "5 more" in drawing.remarks[0]


def test_a_heat_map_leaves_cells_empty_that_were_not_measured():
    made = reports.drawn(
        ExhibitKind.HEATMAP,
        ("row", "", ["gpu0", "gpu0", "gpu1"]),
        ("time_s", "s", [10.0, 20.0, 20.0]),
        ("gpu_pct", "%", [1.0, 2.0, 3.0]),
    )
    (trace,) = heatmap.draw(made, RELATIVE).figure["data"]
    assert (trace["y"], unpacked(trace["x"])) == (["gpu0", "gpu1"], [10.0, 20.0])
    assert str(unpacked(trace["z"])) == "[1.0, 2.0, nan, 3.0]"


def test_a_roofline_has_a_dot_for_each_row_with_a_place_and_a_roof_for_each_format():
    slope, flat, dots = roofline.draw(reports.roofline(), RELATIVE).figure["data"]
    assert [unpacked(dots[name]) for name in ("x", "y")] == [[600.0, 0.5], [494.7, 0.01]]
    assert unpacked(dots["marker"]["size"]) == [800.0, 8.0]
    assert "50.0 % of the peak" in dots["text"][0]
    assert unpacked(slope["x"]) == pytest.approx((0.5 / 3, 989.4 / 3.35, 1800.0))
    assert unpacked(slope["y"]) == pytest.approx((0.5 / 3 * 3.35, 989.4, 989.4))
    assert set(unpacked(flat["y"])) == {67.0}


def test_spans_are_placed_on_their_lanes_with_their_length():
    made = reports.drawn(
        ExhibitKind.SPANS,
        ("lane", "", ["algo-1", "algo-2"]),
        ("name", "", ["1 stall", "2 stalls"]),
        ("start_s", "s", [100.0, 200.0]),
        ("end_s", "s", [101.5, None]),
    )
    drawing = spans.draw(made, UNIX)
    trace, _ = drawing.figure["data"]
    assert drawing.figure["layout"]["yaxis"]["ticktext"] == ["algo-1", "algo-2"]
    assert (trace["y"], unpacked(trace["x"])) == ([0], [1500.0])
    assert "1 more" in drawing.remarks[0]


def test_small_shares_are_one_part_of_the_bar_and_rows_of_the_legend():
    parts = {"loader": 60.0, "forward": 35.0, **{f"part {at}": 0.5 for at in range(10)}}
    found = shares.info(reports.shares("s", "x", parts))
    assert [part.name.text for part in found.parts] == ["loader", "forward", "others (10)"]
    assert found.parts[-1].pct.text == "5.0 %"
    assert len(found.folded) == 10


def test_bars_compare_within_a_unit_and_other_columns_are_numbers():
    found = bars.info(reports.operators("cpu_operators", "x"), file="Rule.json")
    first, second = found.rows[0].bars, found.rows[1].bars
    assert [head.has_bars for head in found.groups] == [True, False, False]
    assert (first[0].width_pct, second[0].width_pct) == (100.0, 50.0)
    assert first[0].value.text == "46.1 s"
    assert first[1].ink == ""
    assert first[0].ink == "rg-ink-cpu"


def test_a_long_list_of_bars_is_folded():
    found = bars.info(reports.operators("x", "x", 26), file="Rule.json")
    assert (len(found.rows), len(found.folded)) == (15, 11)


def test_a_heat_map_of_many_gpus_names_their_nodes_as_many_as_fit():
    heat = reports.heatmap(512, 2)
    nodes = tuple(str(name).split(" ")[0] for name in heat.columns[0].values)
    named = replace(
        heat,
        columns=(*heat.columns, Column(name="node", unit="", type=ColumnType.TEXT, values=nodes)),
    )
    drawing = heatmap.draw(named, UNIX)
    axis = drawing.figure["layout"]["yaxis"]
    assert len(axis["ticktext"]) == 64
    assert axis["ticktext"][:2] == ["algo-1", "algo-3"]
    rows = drawing.figure["data"][0]["y"]
    assert [rows.index(name) for name in axis["tickvals"][:2]] == [2, 10]
    assert drawing.height_px < 1_000


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
    made = reports.drawn(
        ExhibitKind.SERIES, ("time_s", "s", [0.0, 1.0, 2.0]), ("curve", unit, values)
    )
    (trace,) = series.draw(made, RELATIVE).figure["data"]
    assert trace["line"].get("shape") == shape
