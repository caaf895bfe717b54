"""Results of rules (``model``), their evidence (``exhibits``), the saved form (``codec``)."""

from reportgen.results.causes import Cause
from reportgen.results.exhibits import MAX_SERIES_POINTS, column, exhibit
from reportgen.results.model import (
    About,
    AwsResult,
    Column,
    ColumnType,
    Counters,
    Details,
    Estimate,
    Evidence,
    Exhibit,
    ExhibitKind,
    Finding,
    JsonValue,
    PackedColumn,
    PackedTable,
    Reason,
    ReasonCode,
    RuleId,
    RuleResult,
    Scalar,
    Severity,
    Status,
    Where,
)
from reportgen.results.place import (
    FIRST_PART,
    LARGEST_PART,
    NOWHERE,
    OTHERS,
    AtAGlance,
    Choice,
    DashboardPanel,
    Depth,
    PartWords,
    Place,
    Role,
    Section,
    TimelineTrack,
    Track,
    words_for,
)

__all__ = [
    "FIRST_PART", "LARGEST_PART", "MAX_SERIES_POINTS", "NOWHERE", "OTHERS", "About", "AtAGlance",
    "AwsResult", "Cause", "Choice", "Column", "ColumnType", "Counters", "DashboardPanel", "Depth",
    "Details", "Estimate", "Evidence", "Exhibit", "ExhibitKind", "Finding", "JsonValue",
    "PackedColumn", "PackedTable", "PartWords", "Place", "Reason", "ReasonCode", "Role", "RuleId",
    "RuleResult", "Scalar", "Section", "Severity", "Status", "TimelineTrack", "Track", "Where",
    "column", "exhibit", "words_for",
]  # fmt: skip
