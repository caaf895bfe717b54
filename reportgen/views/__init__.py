"""The report's sections and charts, as the notebook's cells call them.

``section`` takes the saved report (``reportgen.load``) and shows itself at the end of a cell. The
functions of single sections, ``idle_time(report)`` for ``section(report, "idle-time")``, are names
of it that go with the next version.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from reportgen.report import Report
from reportgen.views.accessors import exhibit, figure, frame
from reportgen.views.cell_output import PageSection
from reportgen.views.comparison import comparison_section
from reportgen.views.sections.at_a_glance import at_a_glance
from reportgen.views.sections.closing import appendix, data_quality, not_recorded
from reportgen.views.sections.opening import findings, header, job_summary
from reportgen.views.sections.rule import rule_section
from reportgen.views.sections.rules_summary import rules_summary
from reportgen.views.sections.timeline import timeline
from reportgen.views.sections.walk import FUNCTIONS, other_rules, rules_section, section

__all__ = [
    "appendix", "at_a_glance", "comparison_section", "data_quality", "exhibit", "figure",
    "findings", "frame", "header", "job_summary", "not_recorded", "other_rules", "rule_section",
    "rules_summary", "section", "timeline",
]  # fmt: skip


def __getattr__(name: str) -> Callable[[Report], PageSection]:
    """Return the function of one section, of versions without ``section`` (PEP 562)."""
    if name == "gpu_dashboard":
        return at_a_glance
    if name not in FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return partial(rules_section, FUNCTIONS[name])
