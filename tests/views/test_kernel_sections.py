"""The page of kernel traces: the dashboard, the sections by topic, what was not recorded."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from reportgen import views
from reportgen.report import Report
from reportgen.results import (
    DashboardPanel,
    ExhibitKind,
    Place,
    ReasonCode,
    Severity,
    Status,
    exhibit,
)
from reportgen.views.cell_output import PageSection, outputs
from reportgen.views.charts import series
from reportgen.views.charts.layout import ChartContext
from reportgen.views.sections.closing import absent_of
from reportgen.views.status import hint_of
from reportgen.views.verdict import verdict_of
from tests.views import reports, traces

UNIX = ChartContext(rule_id="GPUActivity", is_unix=True)


def html_of(section: PageSection) -> str:
    """Return a section's page; a number and its unit are tied by a space of their own there."""
    return "".join(output.data["text/html"] for output in outputs(section)).replace("\u00a0", " ")


def anchors_of(html: str) -> list[str]:
    return re.findall(r' id="([^"]+)"', html)


@pytest.mark.parametrize(
    "name", sorted({*traces.SECTIONS} - {"not-recorded", "at-a-glance", "findings"})
)
def test_a_job_without_traces_has_none_of_the_sections_of_traces(name):
    assert name not in views.section_ids(reports.busy_report())


def test_a_trace_without_gpu_work_has_its_pictures_of_the_host_at_a_glance():
    shares = reports.shares("threads", "Threads", {"busy": 3.0, "idle": 1.0})
    shown = replace(shares, place=Place(dashboard=DashboardPanel(order=190)))
    report = traces.cpu_report(reports.result("HostThreads", Status.OK, exhibits=(shown,)))
    assert "HostThreads--threads" in anchors_of(html_of(views.section(report, "at-a-glance")))


def test_each_picture_stands_once_and_the_tables_by_topic():
    report = traces.traced_report()
    dashboard = html_of(views.section(report, "at-a-glance"))
    topics = [
        views.section(report, "gpu-activity"),
        views.section(report, "idle-time"),
        views.section(report, "kernels"),
    ]
    details = "".join(map(html_of, topics))
    drawn = {"GPUActivity--utilization", "IdleTime--idle_shares", "KernelTime--top_by_time"}
    assert drawn <= set(anchors_of(dashboard))
    assert drawn.isdisjoint(anchors_of(details))
    assert {"IdleTime--idle_causes", "KernelTime--kernels"} <= set(anchors_of(details))
    assert 'href="#IdleTime--idle_shares"' in details
    every = anchors_of(dashboard + details)
    assert len(every) == len(set(every))


def test_titles_tell_the_finding_and_not_the_rest():
    html = html_of(views.section(traces.traced_report(), "at-a-glance"))
    assert "<h3>GPU active time: 50.0 %</h3>" in html
    assert "<h3>Why the GPUs idled: 40.0 % waits for the data loader</h3>" in html
    assert "<h3>Kernels by time: 40.0 % kernel Functor</h3>" in html


def test_of_several_gpus_the_mean_is_drawn_and_each_gpu_waits_in_the_legend():
    drawing = series.draw(traces.utilization("mean of GPUs", "rank 0 gpu0", "rank 1 gpu1"), UNIX)
    assert [trace.get("visible", True) for trace in drawing.figure["data"]] == [
        True,
        "legendonly",
        "legendonly",
    ]
    assert drawing.remarks == (
        "The chart shows the mean. Click in the legend to show one of the 2 GPUs.",
    )
    assert series.draw(traces.utilization("gpu0"), UNIX).remarks == ()


def test_the_overview_has_further_faults_as_lines_that_lead_to_their_cards():
    report = traces.traced_report()
    overview = html_of(views.header(report))
    assert 'href="#IdleTime--finding-IDLE-2"' in overview
    assert "<article" not in overview
    full = html_of(views.findings(report))
    assert 'id="IdleTime--finding-IDLE-2"' in full
    assert full.count('<article class="rg-card') == 2


def report_of_readings(*shares):
    """A report of a busy GPU where nothing is wrong but each of some readings could win a share."""
    found = tuple(
        reports.finding(f"PREC-{at}", Severity.INFO, f"reading {at} of kernels", share=share)
        for at, share in enumerate(shares, start=1)
    )
    precision = reports.result("KernelPrecision", Status.OK, findings=found)
    return reports.report_of((traces.activity(), precision), nodes=("rank 0",))


def test_without_faults_the_verdict_tells_what_could_be_won_most():
    report = report_of_readings(0.2, 0.5)
    verdict = verdict_of(report)
    assert (verdict.kind, verdict.headline) == ("info", "Reading 2 of kernels.")
    assert verdict.lead.startswith("A change here could make the run at most 2.00×")
    assert verdict.action
    overview = html_of(views.header(report))
    assert 'href="#KernelPrecision--finding-PREC-1"' in overview
    assert overview.count('href="#KernelPrecision--finding-PREC-2"') == 1, "the verdict"


def test_what_could_win_little_is_a_line_below_a_verdict_without_problem():
    report = report_of_readings(0.08)
    assert verdict_of(report).headline == "No problem found."
    overview = html_of(views.header(report))
    assert 'href="#KernelPrecision--finding-PREC-1"' in overview
    assert "up to 1.09× faster" in overview


def test_every_link_of_the_checks_has_a_place():
    report = traces.traced_report()
    sections = [views.section(report, name) for name in traces.SECTIONS]
    places = {section.id for section in sections if section.blocks}
    places |= set(anchors_of("".join(map(html_of, sections))))
    links = set(re.findall(r'href="#([^"]+)"', html_of(views.findings(report))))
    assert links <= places


def test_what_could_not_look_is_one_line_with_how_to_record_it():
    report = traces.traced_report()
    assert views.section(report, "communication").blocks == ()
    absent = absent_of(report)
    assert absent[0].anchors == ("communication",)
    assert absent[0].text == traces.NO_COLLECTIVES
    assert "several ranks" in absent[0].hint
    assert absent[-1].title == "System metrics"


def test_rules_that_lack_the_same_are_told_together():
    report = traces.cpu_report()
    assert views.section(report, "at-a-glance").blocks == ()
    assert views.section(report, "gpu-time").blocks == ()
    first, system = absent_of(report)
    assert first.anchors == ("gpu-time", "gpu-activity", "idle-time", "kernels")
    assert first.title.count(",") == 4
    assert system.title == "System metrics"


def test_a_trace_without_steps_is_not_told_of_sagemakers_profiler():
    steps = reports.skipped("StepTime", ReasonCode.NO_STEPS, "No steps.")
    assert "prof.step()" in hint_of("StepTime", traces.traced_report(steps))


def test_the_summary_of_traces_speaks_of_the_recording():
    html = html_of(views.job_summary(traces.traced_report()))
    assert "Start of the recording" in html
    assert "of the job" not in html


def _with_stretches(lane: str, cause: str) -> Report:
    """Return a report with utilization and two idle stretches of a lane."""
    start_s = reports.START_S
    stretches = reports.drawn(
        ExhibitKind.SPANS,
        ("lane", "", [lane, lane]),
        ("name", "", [cause] * 2),
        ("start_s", "s", [start_s + 0.0002, start_s + 0.0005]),
        ("end_s", "s", [start_s + 0.0003, start_s + 0.0007]),
        ("duration_us", "us", [100.0, 200.0]),
        ("before", "", ["a", "b"]),
        exhibit_id="idle_stretches",
        title="Long idle stretches",
    )
    idle = reports.result("IdleTime", Status.OK, exhibits=(stretches,))
    return reports.report_of((traces.activity(), idle), nodes=("rank 0",))


def test_idle_stretches_are_told_by_the_longest_and_share_the_axis_of_utilization():
    section = views.section(_with_stretches("gpu0", "waits for the data loader"), "at-a-glance")
    assert "Long idle stretches: the longest 200 µs before b" in html_of(section)
    axes = [block.figure["layout"]["xaxis"] for block in section.blocks if block.figure]
    assert [len(axis["range"]) for axis in axes] == [2, 2]
    assert axes[0]["range"] == axes[1]["range"]


def test_a_further_grouping_shows_its_first_rows_and_says_how_many_there_are():
    tables = [
        exhibit(name, ExhibitKind.TABLE, title=name, columns=[("name", "", names)])
        for name, names in (
            ("kernels", [f"by name {at}" for at in range(60)]),
            ("kernels_by_shape", [f"by shape {at}" for at in range(60)]),
        )
    ]
    kernels = reports.result("KernelTime", Status.OK, exhibits=tuple(tables))
    report = reports.report_of((traces.activity(), kernels), nodes=("rank 0",))
    html = html_of(views.section(report, "kernels"))
    assert "by name 59" in html
    assert "by shape 49" in html
    assert "by shape 50" not in html
    assert "The first 50 of 60" in html
