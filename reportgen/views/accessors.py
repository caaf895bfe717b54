"""Single exhibits for cells of the reader's own: as on the page, as figures, as pandas frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reportgen.errors import PluginError
from reportgen.report import Report
from reportgen.results import Exhibit, RuleId
from reportgen.views.cell_output import PageSection
from reportgen.views.charts.layout import Figure
from reportgen.views.charts.plain import plain_figure
from reportgen.views.exhibits import anchor_of, exhibit_block, figure_of
from reportgen.views.outline import context_of
from reportgen.views.theme import resolved

if TYPE_CHECKING:
    import pandas as pd


def exhibit(report: Report, rule_id: str, exhibit_id: str) -> PageSection:
    """Show one exhibit of a rule.

    Raises:
        PluginError: the report holds no such rule or exhibit; the message lists those it holds.
    """
    found = _find(report, rule_id, exhibit_id)
    block = exhibit_block(found, context_of(rule_id, report))
    return PageSection(
        id=f"own-{anchor_of(rule_id, exhibit_id)}", title=found.title, blocks=(block,)
    )


def figure(report: Report, rule_id: str, exhibit_id: str) -> Figure:
    """Return the figure of an exhibit, to change and to pass to ``plotly.graph_objects.Figure``.

    Raises:
        PluginError: the report holds no such rule or exhibit; the message lists those it holds.
    """
    found = _find(report, rule_id, exhibit_id)
    drawn = figure_of(found, context_of(rule_id, report))
    made: Figure = resolved(plain_figure(found) if drawn is None else drawn)
    return made


def frame(report: Report, rule_id: str, exhibit_id: str) -> pd.DataFrame:
    """Return an exhibit as a pandas frame, one column per column; errors as ``exhibit``."""
    import pandas as pd

    found = _find(report, rule_id, exhibit_id)
    made = pd.DataFrame({place: column.values for place, column in enumerate(found.columns)})
    return made.set_axis([column.name for column in found.columns], axis="columns")


def _find(report: Report, rule_id: str, exhibit_id: str) -> Exhibit:
    result = report.results.get(RuleId(rule_id))
    if result is None:
        hint = f"It holds: {', '.join(report.results)}."
        raise PluginError(f"The report holds no rule {rule_id}.", hint=hint, rule_id=rule_id)
    found = result.exhibit(exhibit_id)
    if found is None:
        known = ", ".join(item.id for item in result.exhibits) or "none"
        hint = f"It has: {known}."
        raise PluginError(f"{rule_id} has no exhibit {exhibit_id}.", hint=hint, rule_id=rule_id)
    return found
