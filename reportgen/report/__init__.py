"""The saved report: its model, its bytes, and what is said across rules."""

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
from reportgen.report.summary import (
    DataKind,
    Extent,
    data_kind,
    join_extents,
    rank_findings,
    summarize,
)

__all__ = [
    "DataKind", "DataQuality", "Extent", "Figures", "JobHeader", "JobStatus", "JobSummary",
    "QualityNote", "RankedFinding", "Report", "RuleEntry", "Setup", "TimelineEntry", "data_kind",
    "join_extents", "rank_findings", "summarize",
]  # fmt: skip
