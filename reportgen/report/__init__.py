"""The saved report: its model, its bytes, and what is said across rules."""

from reportgen.report.data_kind import DataKind, data_kind
from reportgen.report.model import (
    DataQuality,
    Figures,
    JobHeader,
    JobStatus,
    JobSummary,
    QualityNote,
    RankedFinding,
    Report,
    RuleEntry,
    Setup,
    TimelineEntry,
)
from reportgen.report.ranking import rank_findings
from reportgen.report.summary import Extent, join_extents, summarize

__all__ = [
    "DataKind", "DataQuality", "Extent", "Figures", "JobHeader", "JobStatus", "JobSummary",
    "QualityNote", "RankedFinding", "Report", "RuleEntry", "Setup", "TimelineEntry", "data_kind",
    "join_extents", "rank_findings", "summarize",
]  # fmt: skip
