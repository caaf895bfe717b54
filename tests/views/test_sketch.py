"""Plain pictures of charts: right places, few points, extremes kept."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest

from reportgen.results import ExhibitKind, exhibit
from reportgen.views.charts import band, boxes, heatmap, histogram, pie, series, shares, spans
from reportgen.views.charts.layout import ChartContext, Drawing
from reportgen.views.exhibits import exhibit_block
from reportgen.views.sketch import WIDTH_PX, Sketch, sketch_of
from reportgen.views.sketch.marks import MOST_POINTS
from reportgen.views.theme import N_SHADES
from tests.views import reports

UNIX = ChartContext(rule_id="Rule", is_unix=True)
SVG = "{http://www.w3.org/2000/svg}"
DRAWINGS = {
    "series": series.draw(reports.steps_series(), UNIX),
    "band": band.draw(reports.band("gpu", "x", {"gpu0": (45, 30), "gpu1": (20, 9)}), UNIX),
    "histogram": histogram.draw(reports.histogram("h", "x", {"gpu0": 40.0}), UNIX),
    "boxes": boxes.draw(reports.boxes("b", "x", ("gpu0", "gpu1")), UNIX),
    "heatmap": heatmap.draw(reports.heatmap(), UNIX),
    "spans": spans.draw(reports.spans("s", "x"), UNIX),
}


PIES = {
    "parts": {"forward": 60.0, "backward": 39.9, "others": 0.1},
    "one part": {"forward": 1.0},
    "many of one meaning": {f"cpu{at}": 8.0 - at for at in range(8)},
}


def _pie(name: str) -> Drawing:
    made = pie.draw(shares.info(reports.shares("s", "x", PIES[name])).parts, title="x")
    assert made is not None
    return made


@pytest.mark.parametrize("name", PIES)
def test_a_pie_has_a_picture_of_its_size_with_its_names(name):
    drawing = _pie(name)
    made = _sketch(drawing)
    assert (made.width_px, made.height_px) == (drawing.height_px, drawing.height_px)
    n_sectors = sum(mark.fill != "url(#hatched)" for mark in made.marks)
    assert n_sectors == len(PIES[name])
    assert (n_sectors < len(made.marks)) is (len(PIES[name]) > N_SHADES)
    for mark in made.marks:
        assert re.fullmatch(r"[MLAz\d .]+", mark.path)
        assert all(0 <= number <= made.width_px for number in _numbers(mark.path))
    assert any(label.text.endswith(" %") for label in made.labels)


def test_the_picture_of_a_pie_is_svg_with_text_that_can_be_read_on_its_colour():
    html = exhibit_block(reports.shares("s", "x", PIES["many of one meaning"]), UNIX).html
    picture = re.search(r'src="data:image/svg\+xml,([^"]+)"', html)
    assert picture
    root = ET.fromstring(unquote(picture[1]))
    assert root.find(f"{SVG}pattern") is not None
    texts = root.findall(f".//{SVG}text")
    assert texts
    assert all("--rg-on-cpu" in text.get("fill", "") for text in texts)


def _sketch(drawing: Drawing) -> Sketch:
    made = sketch_of(drawing.figure, height_px=drawing.height_px)
    assert made is not None
    return made


def _numbers(path: str) -> list[float]:
    return [float(text) for text in re.findall(r"-?\d+(?:\.\d+)?", path)]


@pytest.mark.parametrize("name", DRAWINGS)
def test_each_kind_of_chart_has_a_picture_within_its_frame(name):
    made = _sketch(DRAWINGS[name])
    assert made.marks
    for mark in made.marks:
        assert re.fullmatch(r"[MLHVhvlz\d .-]+", mark.path)
        for x in re.findall(r"[ML](-?\d+) ", mark.path):
            assert -2 <= float(x) <= WIDTH_PX


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_picture_is_small(name):
    size = sum(len(mark.path) for mark in _sketch(DRAWINGS[name]).marks)
    assert size < 12_000


def test_a_curve_of_many_points_keeps_its_lowest_and_highest():
    values = [50.0] * 5_000
    values[1_234], values[4_000] = 0.0, 100.0
    made = exhibit(
        "x",
        ExhibitKind.SERIES,
        title="x",
        columns=[("time_s", "s", reports.times(5_000)), ("cpu", "%", values)],
    )
    sketch = _sketch(series.draw(made, UNIX))
    ys = _numbers(sketch.marks[0].path)[1::2]
    frame = _numbers(sketch.frames[0].path)
    assert len(ys) <= MOST_POINTS
    assert max(ys) == frame[2], "0 % lies on the ground"
    assert min(ys) == pytest.approx(frame[1], abs=3), "100 % lies near the top"


def test_a_gap_stays_a_gap():
    made = exhibit(
        "x",
        ExhibitKind.SERIES,
        title="x",
        columns=[("time_s", "s", reports.times(6)), ("cpu", "%", [1.0, 2.0, None, 3.0, 4.0, 5.0])],
    )
    assert _sketch(series.draw(made, UNIX)).marks[0].path.count("M") == 2


def test_axes_say_their_ends_with_units():
    texts = [label.text for label in _sketch(DRAWINGS["band"]).labels]
    assert "100 %" in texts
    assert "2026-07-03 09:30:00 UTC" in texts


def test_a_long_unit_stands_below_its_number():
    made = exhibit(
        "x",
        ExhibitKind.SERIES,
        title="x",
        columns=[("time_s", "s", reports.times(3)), ("a", "steps/s", [0.1, 0.15484, 0.1])],
    )
    texts = [label.text for label in _sketch(series.draw(made, UNIX)).labels]
    assert {"0.161", "steps/s"} <= set(texts)


def test_names_stand_in_the_picture_as_text():
    drawing = boxes.draw(reports.boxes("b", "x", ("<b>", "gpu1")), UNIX)
    assert "<b>" in [label.text for label in _sketch(drawing).labels]
    assert "&lt;b&gt;" in exhibit_block(reports.boxes("b", "x", ("<b>", "gpu1")), UNIX).html


def _image_of(html: str) -> ET.Element:
    """Return the picture that an image in HTML is."""
    address = re.search(r'src="data:image/svg\+xml,([^"]*)"', html)
    assert address is not None
    return ET.fromstring(unquote(address[1]))


def test_where_svg_elements_are_stripped_a_picture_leaves_no_word_behind():
    html = exhibit_block(reports.boxes("b", "x", ("<b>", "gpu1")), UNIX).html
    assert "<svg" not in html
    assert "<text" not in html
    assert "<b>" in [item.text for item in _image_of(html).iter(f"{SVG}text")]


def test_a_picture_needs_no_style_sheet():
    picture = _image_of(exhibit_block(reports.steps_series(), UNIX).html)
    assert picture.get("stroke-width") is not None
    words = picture.find(f"{SVG}g")
    assert words is not None
    colours = [path.get(side) for path in picture.iter(f"{SVG}path") for side in ("fill", "stroke")]
    for colour in [words.get("fill"), *colours]:
        assert colour in (None, "none") or re.fullmatch(r"var\(--rg-[a-z0-9-]+,.+\)", colour)
    assert any(colour not in (None, "none") for colour in colours)


def test_the_key_of_a_picture_has_its_colours_without_the_tokens():
    bands = reports.band("gpu", "x", {"gpu0": (45, 30), "gpu1": (20, 9)})
    assert re.search(
        r'style="color: #[0-9a-f]{6}; color: var\(--rg-', exhibit_block(bands, UNIX).html
    )


def test_a_figure_without_a_value_has_no_picture():
    made = exhibit(
        "x",
        ExhibitKind.SERIES,
        title="x",
        columns=[("time_s", "s", [None, None]), ("cpu", "%", [None, None])],
    )
    drawing = series.draw(made, UNIX)
    assert sketch_of(drawing.figure, height_px=drawing.height_px) is None


def test_an_outline_that_is_filled_in_the_chart_is_filled_in_the_picture():
    square = {
        "type": "scatter",
        "mode": "lines",
        "x": [0.0, 1.0, 1.0, 0.0, 0.0],
        "y": [0.0, 0.0, 1.0, 1.0, 0.0],
        "fill": "toself",
        "fillcolor": "var(--rg-gpu)",
        "line": {"color": "var(--rg-cpu)"},
    }
    layout = {"xaxis": {}, "yaxis": {"domain": [0, 1]}, "showlegend": False}
    made = sketch_of({"data": [square], "layout": layout}, height_px=200)
    assert made is not None
    assert [(mark.fill, mark.stroke) for mark in made.marks] == [("var(--rg-gpu)", "var(--rg-cpu)")]


HUGE = 1.5e308
"""A number that JSON knows; twice as much it does not."""
ODD = {
    "boxes": reports.boxes("b", "x", ("gpu0", "gpu1")),
    "heatmap": reports.heatmap(rows=2, cells=90),
    "histogram": reports.histogram("h", "x", {"gpu0": 40.0}),
    "series": reports.steps_series(),
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("number", [HUGE, -HUGE])
def test_a_number_beyond_all_measure_costs_the_picture_at_most(kind: str, number: float):
    sound = ODD[kind]
    for place, column in enumerate(sound.columns):
        if column.name in {"name", "row"}:
            continue
        odd = replace(column, values=(number, -number, *column.values[2:]))
        columns = (*sound.columns[:place], odd, *sound.columns[place + 1 :])
        assert sound.title in exhibit_block(replace(sound, columns=columns), UNIX).html


def test_what_lies_far_outside_a_range_is_drawn_beside_the_panel():
    drawing = boxes.draw(reports.boxes("b", "x", ("gpu0",)), UNIX)
    (trace,) = [item for item in drawing.figure["data"] if item["type"] == "box"]
    far = {**trace, "upperfence": [HUGE]}
    made = sketch_of({**drawing.figure, "data": [far]}, height_px=drawing.height_px)
    assert made is not None
    assert max(max(map(abs, _numbers(mark.path))) for mark in made.marks) < 3 * WIDTH_PX
