"""Panels: the curves of the job, one above the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from reportgen.report import Report
from reportgen.results import Exhibit, ExhibitKind, RuleId
from reportgen.views.charts import band
from reportgen.views.charts.layout import ChartContext, UnitScale
from reportgen.views.exhibits import anchor_of
from reportgen.views.shapes import has_shape

USAGE, STEPS = RuleId("OverallSystemUsage"), RuleId("StepOutlier")
SOURCES: tuple[tuple[RuleId, str, str], ...] = (
    (USAGE, "gpu_over_time", "GPU utilization"),
    (STEPS, "step_series", "Step duration"),
    (USAGE, "gpu_memory_over_time", "GPU memory activity"),
    (USAGE, "cpu_over_time", "CPU utilization, mean of the cores"),
    (USAGE, "io_wait_over_time", "I/O wait, mean of the cores"),
    (USAGE, "host_memory_over_time", "Host memory"),
    (USAGE, "network_over_time", "Network"),
)
"""Rule, exhibit and title of each panel, from top to bottom: steps beside what the GPUs did."""
HEATMAP = "device_heatmap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One exhibit's curves.

    Attributes:
        anchor: where links to the exhibit lead.
        found: its curves, all of the first unit.
        reach: lowest, mean and highest value, in the unit of ``scale``.
    """

    title: str
    anchor: str
    rule_id: RuleId
    exhibit: Exhibit
    found: band.BandInfo
    scale: UnitScale
    reach: tuple[float, float, float]


def panels_of(report: Report, *, is_unix: bool) -> tuple[Panel, ...]:
    """Return the panels of which the report has curves."""
    panels = []
    for rule_id, exhibit_id, title in SOURCES:
        result = report.results.get(rule_id)
        item = result.exhibit(exhibit_id) if result else None
        if item is None or not _is_curve(item):
            continue
        found = band.info(item, ChartContext(rule_id=rule_id, is_unix=is_unix))
        reach = _reach([line for line in found.bands if line.panel == 0])
        if reach is None:
            continue
        panels.append(
            Panel(
                title=title,
                anchor=anchor_of(rule_id, exhibit_id),
                rule_id=rule_id,
                exhibit=item,
                found=found,
                scale=found.panels[0],
                reach=reach,
            )
        )
    return tuple(panels)


def hosted(report: Report) -> frozenset[str]:
    """Return the exhibits of system usage that the timeline shows, and no other section."""
    result = report.results.get(USAGE)
    if result is None:
        return frozenset()
    shown = {exhibit_id for rule_id, exhibit_id, _ in SOURCES if rule_id == USAGE}
    curves = {item.id for item in result.exhibits if item.id in shown and _is_curve(item)}
    return frozenset({*curves, HEATMAP} if curves else ())


def _is_curve(item: Exhibit) -> bool:
    return item.kind is ExhibitKind.BAND and has_shape(item) and item.n_rows > 0


def _reach(lines: Sequence[band.Band]) -> tuple[float, float, float] | None:
    lows = [value for line in lines for value in line.low if value is not None]
    means = [value for line in lines for value in line.mean if value is not None]
    highs = [value for line in lines for value in line.high if value is not None]
    return (min(lows), fmean(means), max(highs)) if lows and means and highs else None
