"""The report's sections and charts, as the notebook's cells call them.

``section`` takes the saved report (``reportgen.load``) and shows itself at the end of a cell;
``section_ids`` lists the sections of a report.
"""

from __future__ import annotations

from reportgen.views.accessors import exhibit, figure, frame
from reportgen.views.comparison import comparison_section
from reportgen.views.sections.at_a_glance import at_a_glance
from reportgen.views.sections.by_id import section, section_ids
from reportgen.views.sections.closing import appendix, data_quality, not_recorded
from reportgen.views.sections.opening import findings, header, job_summary
from reportgen.views.sections.rule import rule_section
from reportgen.views.sections.rules_summary import rules_summary
from reportgen.views.sections.timeline import timeline
from reportgen.views.text_reports import markdown_summary, terminal_lines

__all__ = [
    "appendix", "at_a_glance", "comparison_section", "data_quality", "exhibit", "figure",
    "findings", "frame", "header", "job_summary", "markdown_summary", "not_recorded",
    "rule_section", "rules_summary", "section", "section_ids", "terminal_lines", "timeline",
]  # fmt: skip
