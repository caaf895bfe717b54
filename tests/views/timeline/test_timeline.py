"""The time axis: what it is made of, and what it keeps."""

from __future__ import annotations

import base64
import math
import re
import struct
from dataclasses import replace
from itertools import pairwise

import pytest

from reportgen import views
from reportgen.report import JobSummary, Report
from reportgen.results import About, ExhibitKind, RuleId, RuleResult, Status
from reportgen.views.cell_output import PLOTLY_MIME, outputs
from reportgen.views.charts.layout import ChartContext
from reportgen.views.timeline.functions import functions_of
from reportgen.views.timeline.refined import refined_traces
from reportgen.views.timeline.tracks import MOST_SPANS, lanes_of, panels_of
from reportgen.views.values import plotly_date
from tests.builders import START_S, known
from tests.strange_exhibits import rule_id_of, strange
from tests.views import reports
from tests.views.timeline.jobs import training_node, training_report


@pytest.fixture(scope="module")
def report() -> Report:
    return training_report()


def html_of(report: Report) -> str:
    return views.timeline(report)._repr_html_()


def test_each_step_is_a_flat_bar_and_no_line_runs_between_two_steps():
    # Steps of 0.9 s, a second apart; the panel has fewer points than there are steps.
    report = training_report(training_node([90.0] * 600))
    context = ChartContext(rule_id="t", is_unix=False)
    panels = [
        replace(item, exhibit=replace(item.exhibit, columns=()))
        for item in panels_of(report, is_unix=False)
    ]
    (curve,) = refined_traces(panels, report, context, n_lanes=0)[:1]
    (bytes_x, bytes_y) = (base64.b64decode(curve[name]["bdata"]) for name in ("x", "y"))
    x = struct.unpack(f"<{len(bytes_x) // 8}d", bytes_x)
    y = struct.unpack(f"<{len(bytes_y) // 4}f", bytes_y)
    assert curve["line"]["shape"] == "hv"
    assert curve["text"][:4] == ["0", "0", "0", "1"]
    assert (x[1] - x[0], x[3] - x[0]) == pytest.approx((0.9, 1.0), abs=1e-3)
    assert y[:2] == pytest.approx((900.0, 900.0), rel=1e-3)  # ms
    assert math.isnan(y[2])


def test_a_panel_of_several_lines_says_which_is_which():
    page = html_of(training_report(training_node([80.0] * 600, n_gpus=2)))
    legend = page.partition("Which line is which")[2].partition("</details>")[0]
    names = re.findall(r'<li><i class="(rg-ink-[^"]+)"[^>]*></i><span>([^<]+)</span>', legend)
    assert [name for _, name in names] == ["gpu0", "gpu1"]
    assert len({ink for ink, _ in names}) == 2


def test_all_panels_share_the_axis_and_the_margins(report):
    (figure,) = (
        output.data[PLOTLY_MIME]
        for output in outputs(views.timeline(report))
        if PLOTLY_MIME in output.data and "hoversubplots" in output.data[PLOTLY_MIME]["layout"]
    )
    layout = figure["layout"]
    assert {trace.get("xaxis", "x") for trace in figure["data"]} == {"x", "x2"}
    assert (layout["xaxis2"]["matches"], layout["xaxis2"]["side"]) == ("x", "top")
    axes = [layout[key] for key in layout if key.startswith("yaxis")]
    assert all(axis["fixedrange"] and not axis["automargin"] for axis in axes)
    domains = [axis["domain"] for axis in axes]
    assert domains[0][1] == 1.0
    assert domains[-1][0] == pytest.approx(0.0)
    assert all(upper[0] > lower[1] for upper, lower in pairwise(domains))
    assert layout["xaxis"]["range"] == [plotly_date(at * 1000) for at in (START_S, START_S + 300)]


@pytest.mark.parametrize("values", ["endless", "backwards"])
def test_intervals_of_another_clock_do_not_squeeze_the_job(report: Report, values: str) -> None:
    name = rule_id_of(ExhibitKind.SPANS)
    odd = RuleResult(id=name, status=Status.OK, exhibits=(strange(ExhibitKind.SPANS, values),))
    beside = replace(
        report,
        results={**report.results, name: odd},
        rules={**report.rules, name: next(iter(report.rules.values()))},
    )
    assert html_of(beside) == html_of(report)


def test_a_stall_of_ten_seconds_is_visible_in_two_hours():
    gpu = [95.0] * 14_400
    gpu[7_000:7_020] = [0.0] * 20
    report = training_report(training_node(gpu, n_gpus=1), duration_s=7_200.0)
    panel = panels_of(report, is_unix=True)[0]
    (curve,) = panel.found.bands
    dips = [at for at, low in enumerate(curve.low) if low == 0.0]
    stall_ms = (START_S + 3_500) * 1000
    assert dips
    assert all(abs((panel.found.time_x[at] or 0) - stall_ms) < 25_000 for at in dips)
    assert min(value for value in curve.mean if value is not None) < 60.0
    assert panel.reach[0] == 0.0


def test_the_caption_says_from_how_many_points_the_curves_were_made():
    html = html_of(training_report(training_node([80.0] * 4_000), duration_s=2_000.0))
    assert "Reduced from 4,000 samples; minima and maxima are kept." in html
    assert html.count("Minimum, mean and maximum of each interval of time.") == 1


def test_the_text_alternative_says_what_the_curves_reach(report):
    alt = known(
        re.search(r'<div class="rg-plot rg-axis"[^>]*aria-label="([^"]*)"', html_of(report))
    )
    assert "GPU utilization from 80 % to 80 %" in alt[1]
    assert "Steps (280)" in alt[1]


def test_lanes_begin_with_the_phases_and_the_steps(report):
    phases, steps, *_ = lanes_of(report)
    assert [(span.words, span.end_s - span.start_s) for span in phases.spans] == [
        ("initialization", 10.0),
        ("training loop", 280.0),
        ("finalization", 10.0),
    ]
    assert (steps.name, steps.n_spans) == ("Steps", 280)
    assert steps.spans[0].words == "step 0"


def test_intervals_of_any_rule_have_a_lane_and_the_longest_are_drawn(report):
    n_spans = MOST_SPANS + 50
    found = reports.drawn(
        ExhibitKind.SPANS,
        ("lane", "", ["algo-1"] * n_spans),
        ("name", "", [f"loss {at}" for at in range(n_spans)]),
        ("start_s", "s", [START_S + 0.5 * at for at in range(n_spans)]),
        ("end_s", "s", [START_S + 0.5 * at + 0.001 * at for at in range(n_spans)]),
        exhibit_id="intervals",
        title="When packets were lost",
    )
    more = reports.result("PacketLoss", Status.TRIGGERED, exhibits=(found,))
    more = replace(more, about=About(title="Packet loss", checks="", reading="", advice=""))
    lane = lanes_of(with_result(report, more))[-1]
    assert (lane.name, lane.n_spans, len(lane.spans)) == ("Packet loss", n_spans, MOST_SPANS)
    assert lane.spans[0].words == "algo-1: loss 50"
    assert "Packet loss: the 400 longest of 450 intervals." in html_of(with_result(report, more))


def test_system_usage_leaves_its_curves_to_the_timeline_and_keeps_their_anchors(report):
    usage = views.section(report, "system-usage")._repr_html_()
    assert 'id="OverallSystemUsage--gpu_over_time"' not in usage
    assert 'id="OverallSystemUsage--usage"' in usage
    assert html_of(report).count('id="OverallSystemUsage--gpu_over_time"') == 1


def test_without_curves_there_is_no_timeline_and_nothing_is_lost():
    assert views.timeline(reports.short_report()).blocks == ()
    heat = reports.result(
        "OverallSystemUsage", Status.OK, exhibits=(replace(reports.heatmap(), id="device_heatmap"),)
    )
    shown = views.section(reports.report_of((heat,)), "system-usage")._repr_html_()
    assert 'id="OverallSystemUsage--device_heatmap"' in shown


def test_a_recording_without_a_wall_clock_counts_seconds():
    report = training_report()
    relative = replace(report, job=replace(report.job, clock="relative"), summary=JobSummary())
    assert '"unix":false' in html_of(relative)


def test_functions_are_summed_over_the_whole_job_without_script(report):
    found = known(functions_of(report))
    totals = dict(zip(found.names, map(sum, found.cells), strict=True))
    assert totals == {"net": pytest.approx(280 * 0.55), "GetNext": pytest.approx(280 * 0.25)}
    html = html_of(report)
    assert "2 min 34 s" in html
    assert "1 min 10 s" in html


def test_every_device_has_a_row_worst_node_first():
    nodes = [
        training_node([level] * 600, name=f"algo-{at}") for at, level in ((1, 80.0), (2, 20.0))
    ]
    report = training_report(*nodes)
    assert 'id="OverallSystemUsage--device_heatmap"' in html_of(report)
    found = known(report.results[RuleId("OverallSystemUsage")].exhibit("device_heatmap"))
    assert list(dict.fromkeys(found.columns[0].values)) == [
        "algo-2 gpu0",
        "algo-2 gpu1",
        "algo-1 gpu0",
        "algo-1 gpu1",
    ]


def with_result(report: Report, result: RuleResult) -> Report:
    return replace(report, results={**report.results, result.id: result})
