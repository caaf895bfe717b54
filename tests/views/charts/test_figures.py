"""Every figure is one that plotly accepts, small, and safe in a script element."""

import json

import pytest

from reportgen.results import ExhibitKind, exhibit
from reportgen.views.cell_output import PLOTLY_MIME, outputs
from reportgen.views.charts.layout import ChartContext
from reportgen.views.exhibits import exhibit_block, exhibit_blocks, figure_of
from reportgen.views.fragments import script_json
from reportgen.views.theme import resolved
from tests.views import reports

CONTEXT = ChartContext(rule_id="Rule", is_unix=True)
EXHIBITS = {
    "series": reports.steps_series(),
    "band": reports.band("gpu", "x", {"gpu0": (40, 20), "gpu1": (50, 20)}),
    "many bands": reports.band("gpu", "x", {f"gpu{at}": (40, 20) for at in range(8)}),
    "boxes": reports.boxes("b", "x", ("cpu", "gpu0", "gpu0 memory")),
    "heatmap": reports.heatmap(8),
    "spans": reports.spans("s", "x"),
    "roofline": reports.roofline(),
}
HISTOGRAM = reports.histogram("h", "x", {f"gpu{at}": 40.0 for at in range(4)})


@pytest.mark.parametrize("name", EXHIBITS)
@pytest.mark.parametrize("is_unix", [True, False])
def test_plotly_accepts_the_figure(name, is_unix):
    from plotly.graph_objects import Figure

    figure = figure_of(EXHIBITS[name], ChartContext(rule_id="Rule", is_unix=is_unix))
    assert figure is not None
    assert len(Figure(resolved(figure)).data) == len(figure["data"])


@pytest.mark.parametrize("chart", [*EXHIBITS.values(), HISTOGRAM])
def test_a_chart_carries_its_numbers_as_a_table_and_its_title_in_words(chart):
    html = exhibit_block(chart, CONTEXT).html
    assert "<summary>Numbers of this chart</summary>" in html
    assert "</td>" in html
    assert 'aria-label="' in html


@pytest.mark.parametrize("name", EXHIBITS)
def test_each_trace_says_the_role_of_its_colour(name):
    figure = figure_of(EXHIBITS[name], CONTEXT)
    assert figure is not None
    for trace in figure["data"]:
        assert trace["type"] == "heatmap" or f"var(--rg-{trace['meta']['role']})" in str(trace)


def test_json_cannot_end_the_script_it_stands_in():
    text = script_json({"a": "</script><!-- \u2028 & \u2029"})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"a": "</script><!-- \u2028 & \u2029"}


@pytest.mark.parametrize("kind", ExhibitKind)
def test_an_exhibit_without_rows_says_so(kind):
    empty = exhibit("none", kind, title="Episodes", columns=[("time_s", "s", [])])
    html = exhibit_block(empty, CONTEXT).html
    assert "Episodes" in html
    assert "nothing to list" in html


def test_jupyter_gets_the_same_figure_with_its_title_and_with_colours():
    from reportgen.views.cell_output import PageSection

    block = exhibit_block(EXHIBITS["band"], CONTEXT)
    (output,) = outputs(PageSection(id="s", title="S", blocks=(block,)))
    figure = output.data[PLOTLY_MIME]
    assert figure["layout"]["title"]["text"] == "x"
    assert "var(--" not in json.dumps(figure)
    assert 'class="rg-figure chart"' in output.data["text/html"]


def test_small_charts_stand_two_by_two_and_an_odd_one_has_the_width():
    charts = [HISTOGRAM, EXHIBITS["boxes"], EXHIBITS["series"]]
    blocks = exhibit_blocks([*charts, EXHIBITS["band"]], CONTEXT)
    assert [block.is_panel for block in blocks] == [True, True, False, False]
    assert not any(block.is_panel for block in exhibit_blocks(charts[:1], CONTEXT))
