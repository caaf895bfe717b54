"""The result of a rule: the types behind one ``<Id>.json``.

All types are plain values. Nothing here reads, draws or writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NewType

from reportgen.profiler_config import ProfilingKind
from reportgen.results.causes import Cause
from reportgen.results.place import NOWHERE, AtAGlance, Depth, Place, Role, Section
from reportgen.text import one_line

RuleId = NewType("RuleId", str)

Scalar = str | int | float | bool | None
if TYPE_CHECKING:
    JsonValue = Scalar | list["JsonValue"] | dict[str, "JsonValue"]
else:  # msgspec reads the fields' types at run time and knows no alias that names itself
    JsonValue = Any
Details = dict[str, JsonValue]


class Status(StrEnum):
    """How a rule ended: found something, found nothing, could not look, or broke."""

    TRIGGERED = "triggered"
    OK = "ok"
    SKIPPED = "skipped"
    FAILED = "failed"


class Severity(StrEnum):
    """How much a finding matters, worst first."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class ReasonCode(StrEnum):
    """Why a rule did not look, or where its numbers come from."""

    NO_GPU = "no_gpu"
    NO_STEPS = "no_steps"
    NO_FRAMEWORK_METRICS = "no_framework_metrics"
    NOT_SAMPLED = "not_sampled"
    TOO_FEW_SAMPLES = "too_few_samples"
    NO_EVENTS = "no_events"
    IMPORTED = "imported"
    ERROR = "error"


class ExhibitKind(StrEnum):
    """How the evidence is shaped. The columns of each kind are in ``docs/json.md``."""

    SERIES = "series"
    BAND = "band"
    HISTOGRAM = "histogram"
    BOXES = "boxes"
    BARS = "bars"
    SHARES = "shares"
    HEATMAP = "heatmap"
    SPANS = "spans"
    ROOFLINE = "roofline"
    TABLE = "table"
    TIMELINE = "timeline"


COLUMNAR = (ExhibitKind.SERIES, ExhibitKind.BAND)
"""Kinds whose JSON holds each column under its name instead of rows."""


class ColumnType(StrEnum):
    """The JSON type of a column's values; any of them may be ``null``."""

    INT = "int"
    FLOAT = "float"
    TEXT = "text"
    BOOL = "bool"


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """A rule in words, and where its results stand: feeds the page, the README and the docs.

    Attributes:
        checks: The question that it answers, one sentence.
        reading: How to read its numbers, one or two sentences.
        advice: What to do when it finds something, one sentence.
        title: The heading people read; the runner takes it from the rule.
        section: The place of its results on the page; ``None`` is a separate section at the end.
        further: Sections for exhibits that are placed in them.
        at_a_glance: Its parts in the cards at the top of the page; the section that they lead to
            is open.
        needs: Kinds of input of the rule; the runner takes it from the rule.
        recorded_by: The kind of profiling that records what it reads.
        is_quiet: Whether the rule looks for a fault and nothing else: without one its evidence
            waits behind a fold.
        is_optional: Whether it is about something that most jobs neither use nor record: without
            such events it does not apply, unless the profiler was asked to record them.
        has_counters: Whether its three counters mean something (they are AWS's).
        opens_dashboard: Whether there is a dashboard where this rule looked.
        first_picture: The exhibit of shares that is the bar at the top of the page.
        second_picture: The exhibit of shares whose bar is below that one.
        host_picture: The exhibit of shares that is the bar of a job without a GPU.
        hint_when_skipped: How to record what the rule lacked; ``None`` leaves the words to the
            page, which knows what each reason to skip usually means; empty says nothing.
    """

    checks: str
    reading: str
    advice: str
    title: str = ""
    section: Section | None = None
    further: tuple[Section, ...] = ()
    at_a_glance: tuple[AtAGlance, ...] = ()
    needs: tuple[str, ...] = ()
    recorded_by: ProfilingKind | None = None
    is_quiet: bool = False
    is_optional: bool = False
    has_counters: bool = False
    opens_dashboard: bool = False
    first_picture: str = ""
    second_picture: str = ""
    host_picture: str = ""
    hint_when_skipped: str | None = None

    def __post_init__(self) -> None:
        """Make paragraphs of words that are written over several lines of code."""
        for name in ("checks", "reading", "advice"):
            object.__setattr__(self, name, one_line(getattr(self, name)))
        parts = (replace(part, missing=one_line(part.missing)) for part in self.at_a_glance)
        object.__setattr__(self, "at_a_glance", tuple(parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a result has its status."""

    code: ReasonCode
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Place and time of a finding; ``start_s`` and ``end_s`` are Unix seconds."""

    node: str | None = None
    device: str | None = None
    start_s: float | None = None
    end_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Upper bound of what removing the cause could save.

    ``share_ratio`` is the recoverable share of the time in 0-1, ``speedup_at_most`` is
    1 / (1 - share).
    """

    share_ratio: float
    speedup_at_most: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One observation that speaks for the cause of a finding, or against it."""

    text: str
    is_against: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One statement about the job: what, where, how much, against what, what to try.

    Attributes:
        cause: its subject: a word of ``Cause``, or another one of a plugin.
        symptom_of: ids of the findings that explain it, set by ``reportgen.diagnosis``.
        attributed_ratio: share of the time in 0-1 that this cause takes when larger ones are gone
            already: parts that do not overlap, where the estimate is the bound for each alone.
            It says where the loss went, not what can be won.
        evidence: further observations for this cause, and against it.
        possible_causes: causes that are possible where the recording does not show the cause.
    """

    id: str
    severity: Severity
    title: str
    text: str
    where: Where = field(default_factory=Where)
    measured: float | None = None
    threshold: float | None = None
    unit: str = ""
    advice: str
    estimate: Estimate | None = None
    exhibit: str | None = None
    cause: str = Cause.OBSERVATION
    symptom_of: tuple[str, ...] = ()
    attributed_ratio: float | None = None
    evidence: tuple[Evidence, ...] = ()
    possible_causes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One named column of an exhibit. ``unit`` is empty for text and counts."""

    name: str
    unit: str
    type: ColumnType
    values: tuple[Scalar, ...]
    role: Role | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """One piece of evidence: columns of equal length and what they mean.

    Attributes:
        depth: whether it waits behind a fold.
        role: the subject of the whole exhibit.
        row_roles: (n_rows,) the subject of each row, for shares and bars; empty where the role of
            the exhibit holds for all rows.
        place: where else it stands than in its turn in the section of its rule.
    """

    id: str
    kind: ExhibitKind
    title: str
    caption: str
    columns: tuple[Column, ...]
    depth: Depth = Depth.SHOWN
    role: Role | None = None
    row_roles: tuple[Role | None, ...] = ()
    place: Place = NOWHERE

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self.columns[0].values) if self.columns else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """AWS's three counters. Their units differ from rule to rule."""

    rule_triggered: int = 0
    violations: int = 0
    datapoints: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsResult:
    """One rule's result as SageMaker wrote it: its bytes, and the values of the five keys."""

    raw: bytes
    counters: Counters
    details: Details
    rule_parameters: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedColumn:
    """Whole numbers of one unit as text: see ``reportgen.results.packed_columns``."""

    name: str
    unit: str
    packed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedTable:
    """Numbers to compute with, not to draw: columns of equal length, written small.

    Attributes:
        id: kind of the rows; several tables of one rule may share it.
        of: of what: ``{"worker": "algo-1/0", "phase": "Step:TRAIN"}``; unique for one id.
        n_rows: how many rows the columns have.
        n_measured: how many were measured; where that is more, a row is the mean of a block of
            them, and the column ``count`` says of how many.
    """

    id: str
    of: Mapping[str, str]
    n_rows: int
    n_measured: int
    columns: tuple[PackedColumn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """All that one rule says: AWS's five keys and ours."""

    id: RuleId
    status: Status
    reason: Reason | None = None
    counters: Counters = field(default_factory=Counters)
    details: Details = field(default_factory=dict)
    rule_parameters: str = ""
    params: Mapping[str, Scalar] = field(default_factory=dict)
    metrics: Mapping[str, float | int | None] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    exhibits: Sequence[Exhibit] = ()
    data: tuple[PackedTable, ...] = ()
    about: About | None = None

    def exhibit(self, exhibit_id: str) -> Exhibit | None:
        """Return the exhibit with this id, or ``None``."""
        return next((item for item in self.exhibits if item.id == exhibit_id), None)
