"""The job over time: curves, phases, detections, and the functions that ran in a range."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from reportgen.errors import FormatError
from reportgen.report import Report
from reportgen.results import ExhibitKind, RuleId, Status, Track
from reportgen.text import format_count
from reportgen.views.cell_output import Block, PageSection, block_of, headed_section
from reportgen.views.charts.layout import ChartContext, Drawing, times
from reportgen.views.exhibits import exhibit_block, titled
from reportgen.views.fragments import render, script_json
from reportgen.views.outline import context_of, exhibits_of
from reportgen.views.sections.rule import notice_block
from reportgen.views.summary_table import data_of
from reportgen.views.tables import TableInfo, table_of
from reportgen.views.timeline import tracks
from reportgen.views.timeline.figure import AxisExtent, draw, slots_of
from reportgen.views.timeline.functions import FunctionTable, functions_of
from reportgen.views.timeline.lanes import lanes_block
from reportgen.views.timeline.refined import refined_traces
from reportgen.views.values import heading_of, plot_label, shorten

ID, TITLE = "timeline", "Timeline"
_EVENTS = RuleId("Timeline")
_END_OF_SENTENCE = re.compile(r"(?<=\.) +")
_AXIS_ID = "timeline-axis"
"""The id of the figure in ``templates/fragments/timeline.html.j2``."""
_LEAD = (
    "All charts have one time axis: if you zoom into one, the others follow. The table of "
    "functions below shows the visible range."
)
_LEAD_OF_LANES = (
    "All work in time, from the host to the GPUs: zoom in, and click an event for its details."
)
_SHORTEST_S = 1.0
"""Length shown of a job that was sampled once."""
_TOOL = "One time axis: drag to zoom, double-click for the whole job"


def timeline(report: Report) -> PageSection:
    """Show curves, phases and detected intervals over one time axis, and the lanes of events."""
    axis, lanes = _axis_blocks(report), _lanes_blocks(report)
    return headed_section(ID, TITLE, [*axis, *lanes], lead=_LEAD if axis else _LEAD_OF_LANES)


def _lanes_blocks(report: Report) -> list[Block]:
    entry = report.rules.get(_EVENTS)
    if report.timeline_data is None or (entry is not None and entry.status is Status.SKIPPED):
        return []
    try:
        return [lanes_block(report.timeline_data, _counts(report))]
    except FormatError as err:
        return [notice_block("skipped", err.message, err.hint)]


def _counts(report: Report) -> TableInfo | None:
    for rule_id, item in exhibits_of(report):
        if item.kind is ExhibitKind.TIMELINE:
            most = context_of(rule_id, report).most_cells
            return table_of(item, is_unix=True, file=f"{rule_id}.json", most_cells=most)
    return None


def _axis_blocks(report: Report) -> list[Block]:
    is_unix = report.job.clock == "unix"
    context = ChartContext(rule_id=ID, is_unix=is_unix)
    panels = tracks.panels_of(report, is_unix=is_unix)
    job = _job_extent(report, panels, context)
    if job is None or not panels:
        return []
    lanes = [lane for lane in tracks.lanes_of(report) if _is_of_job(lane, job)]
    extent = _extent(job, lanes)
    functions = functions_of(report)
    drawing = draw(lanes, panels, extent, context)
    drawing.figure["data"] += refined_traces(panels, report, context, n_lanes=len(lanes))
    facts = _facts(report, lanes, panels, functions, extent, context)
    blocks = [_axis_block(lanes, panels, drawing, facts)]
    if functions is not None:
        blocks.append(block_of("timeline_functions", functions=functions))
    blocks += [
        exhibit_block(item, context_of(rule_id, report))
        for rule_id, item, _ in tracks.tracks_of(report, Track.BELOW)
    ]
    return blocks


def _axis_block(
    lanes: Sequence[tracks.SummaryLane],
    panels: Sequence[tracks.TimelinePanel],
    drawing: Drawing,
    facts: dict[str, Any],
) -> Block:
    tables = [
        (panel.title, data_of(panel.exhibit, is_unix=facts["unix"], file=f"{panel.rule_id}.json"))
        for panel in panels
    ]
    lines = [
        (panel.title, [(line.name, line.ink.css_class) for line in panel.found.bands])
        for panel in panels
        if len(panel.found.bands) > 1
    ]
    html = render(
        "timeline",
        lines=lines,
        drawing=drawing,
        caption=_caption(panels, lanes),
        facts=script_json(facts),
        anchors=[panel.anchor for panel in panels if panel.anchor],
        length_s=round(facts["length_s"], 3),
        tables=tables,
    )
    return Block(html=html, figure=titled(drawing, _TOOL), figure_id=_AXIS_ID)


def _caption(panels: Sequence[tracks.TimelinePanel], lanes: Sequence[tracks.SummaryLane]) -> str:
    """Say from how many points the curves were made, and what the lanes leave out, each once."""
    captions = " ".join(panel.exhibit.caption for panel in panels)
    said = list(dict.fromkeys(_END_OF_SENTENCE.split(captions.strip())))
    for lane in lanes:
        hidden = lane.n_spans - len(lane.spans)
        if hidden:
            said.append(
                f"{lane.name}: the {format_count(len(lane.spans))} longest of "
                f"{format_count(lane.n_spans)} intervals."
            )
    return " ".join(said)


def _job_extent(
    report: Report, panels: Sequence[tracks.TimelinePanel], context: ChartContext
) -> AxisExtent | None:
    scale = times([1.0], context)[0] or 1.0
    instants = [
        value / scale for panel in panels for value in panel.found.time_x if value is not None
    ]
    if not instants:
        return None
    summary = report.summary
    known = [tracks.seconds_of(text) for text in (summary.start_time, summary.end_time)]
    instants += [time_s for time_s in known if time_s is not None]
    extent = AxisExtent(start_s=min(instants), end_s=max(instants))
    # Times of a damaged report may lie so far apart that no number holds the difference.
    return extent if math.isfinite(extent.end_s - extent.start_s) else None


def _is_of_job(lane: tracks.SummaryLane, job: AxisExtent) -> bool:
    """Return whether intervals are on the job's clock: those of another squeeze it to a line."""
    length_s = max(job.end_s - job.start_s, _SHORTEST_S)
    return all(
        span.start_s >= job.start_s - length_s and span.end_s <= job.end_s + length_s
        for span in lane.spans
    )


def _extent(job: AxisExtent, lanes: Sequence[tracks.SummaryLane]) -> AxisExtent:
    spans = [span for lane in lanes for span in lane.spans]
    start_s = min([job.start_s, *(span.start_s for span in spans)])
    end_s = max([job.end_s, *(span.end_s for span in spans)])
    return AxisExtent(start_s=start_s, end_s=end_s if end_s > start_s else start_s + _SHORTEST_S)


def _facts(
    report: Report,
    lanes: Sequence[tracks.SummaryLane],
    panels: Sequence[tracks.TimelinePanel],
    functions: FunctionTable | None,
    extent: AxisExtent,
    context: ChartContext,
) -> dict[str, Any]:
    """Return the values that the script shows under the pointer: times in seconds."""
    slots, _ = slots_of(len(lanes), len(panels))
    marks = tracks.step_marks(report)
    return {
        "unix": context.is_unix,
        "start": extent.start_s,
        "end": extent.end_s,
        "length_s": extent.end_s - extent.start_s,
        "lanes": [
            {
                "name": lane.name,
                "start": [span.start_s for span in lane.spans],
                "end": [span.end_s for span in lane.spans],
                "words": [span.words for span in lane.spans],
            }
            for lane in lanes
        ],
        "panels": [
            {
                "title": panel.title,
                "unit": panel.scale.label,
                "percent": panel.scale.is_percent,
                "axis": f"y{at + 1}" if at else "y",
                "top": slots[at].top_px,
                "lines": [
                    shorten(heading_of(line.name), most=40).text
                    for line in panel.found.bands
                    if line.panel == 0
                ],
                "names": [plot_label(line.name) for line in panel.found.bands if line.panel == 0],
            }
            for at, panel in enumerate(panels, start=1 if lanes else 0)
        ],
        "steps": {
            "time": [mark.start_s for mark in marks],
            "step": [mark.step for mark in marks],
            "end": [mark.end_s for mark in marks],
        },
        "functions": functions.as_json() if functions else None,
    }
