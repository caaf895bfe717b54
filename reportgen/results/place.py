"""Further places of an exhibit on the page: declared, never guessed.

A rule declares a ``Place`` for patterns of its exhibits' ids; the runner writes it onto the
exhibits, and the page is drawn from the JSON alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from reportgen.profiler_config import ProfilingKind

OTHERS = "others ("
"""How the name of a part begins that adds up the rest: ``others (12 kernels)``."""
FIRST_PART = "{title}: {pct}"
"""A headline: ``GPU active time: 56.6 %``."""
LARGEST_PART = "{title}: {pct} {part}"
"""A headline, with ``row_of="pct"``: ``Why the GPUs idled: 31 % waits for the data loader``."""


class Role(StrEnum):
    """The subject of a column, a part or a whole exhibit; decides its colour, never its numbers."""

    GPU = "gpu"
    GPU_MEMORY = "gpu-memory"
    CPU = "cpu"
    MEMORY = "memory"
    IO = "io"
    NETWORK = "network"
    STEP = "step"
    IDLE = "idle"
    START = "start"
    OTHER = "other"
    WARNING = "warning"
    CRITICAL = "critical"


class Depth(StrEnum):
    """Depth of an exhibit in its section: in sight, or behind a fold."""

    SHOWN = "shown"
    FOLDED = "folded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section of the page; rules that name the same one share it.

    Attributes:
        id: its anchor.
        title: its heading.
        order: its place on the page, ascending; equal ones follow the order of the rules.
        lead: its subject; the questions of its rules where it is empty.
        missing: the lacking data where the rule looked and none of its exhibits is there, and
            ``hint`` how to record it; the section is then left out where it is empty.
        recorded_by: the kind of profiling that records what it shows.
    """

    id: str
    title: str
    order: int
    lead: str = ""
    missing: str = ""
    hint: str = ""
    recorded_by: ProfilingKind | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AtAGlance:
    """A part of a card in the section "At a glance", which leads to the section of its rule.

    Attributes:
        card: the heading of the card; all parts that name it share it.
        order: its place, ascending; a card comes where its first part comes.
        exhibits: patterns of ids of the rule's exhibits; the first that has rows is drawn. None of
            them for a rule whose section is only linked.
        missing: how to record the data where none of them is there, one sentence.
        section: the id of the section that the card leads to, if not that of the rule.
        is_only_here: whether the section of the rule leaves the exhibit out.
    """

    card: str
    order: int
    exhibits: tuple[str, ...] = ()
    missing: str = ""
    section: str = ""
    is_only_here: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardPanel:
    """A picture of the dashboard.

    Attributes:
        order: its place, ascending.
        headline: its title, in which ``{title}`` is the exhibit's own and any other name in
            braces the value of that column in one row; the exhibit's title where it is empty.
        row_of: the column whose largest value picks that row; the first row where it is empty.
        passed_over: beginnings of names of rows that are never picked as the largest.
        row_noun: a noun for one row (``kernel``); shares are then bars below each other, for names
        that
            are many and long.
        is_wide: whether it fills the width.
        shares_axis: whether its time axis is the one of all panels that say so.
    """

    order: int
    headline: str = ""
    row_of: str = ""
    passed_over: tuple[str, ...] = (OTHERS,)
    row_noun: str = ""
    is_wide: bool = False
    shares_axis: bool = False


class Track(StrEnum):
    """The part of an exhibit in the timeline.

    ``panel``: a band as curves; ``lane``: spans, or a table with ``start_s`` and ``duration_s``, as
    intervals; ``steps``: a series of step numbers under the pointer; ``functions``: a heatmap of
    seconds as the table that follows the range in view; ``below``: a chart of its own below it.
    """

    PANEL = "panel"
    LANE = "lane"
    STEPS = "steps"
    FUNCTIONS = "functions"
    BELOW = "below"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineTrack:
    """The part of an exhibit in the timeline.

    Attributes:
        kind: curves, intervals, steps, …
        title: of the panel or lane; where several exhibits of a rule are the same lane, the first
            with rows is drawn.
        order: of panels, ascending.
        role: the colour of a lane.
        is_only_here: whether the section of the rule leaves it out where there is a timeline.
    """

    kind: Track
    title: str = ""
    order: int = 0
    role: Role | None = None
    is_only_here: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One of several exhibits of a rule that say the same in other groups; the reader chooses.

    Attributes:
        group: their common name; the first of them is shown first.
        question: the choice: ``Group by``.
        label: the name of this one.
    """

    group: str
    question: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartWords:
    """Names of the parts of a whole time; for the first picture also words for sentences.

    Attributes:
        names: the name of each part, in tables too.
        did: the verb for the parts ``work``: ``worked in``.
        work: parts that are work.
        partly: the part of ``work`` that was less than full.
        causes: parts that are idling, and to what the time was lost.
        gaps: causes in which nothing was waited for: it idled.
        aside: parts beside the work and what they are called in the first picture.
        aside_says: the words for their time; ``tells_aside``: whether also beside a loss.
        unmeasured: the part that was not measured.
        groups: neighbouring parts with a common heading, from left to right.
        has_window: whether the caption says what the whole is.
        limits: for each part what limits a job of which it is the largest part, and what would
            change that; ``{pct}`` is its share.
    """

    names: Mapping[str, str]
    did: str = ""
    work: tuple[str, ...] = ()
    partly: str = ""
    causes: Mapping[str, str] = field(default_factory=dict)
    gaps: tuple[str, ...] = ()
    aside: Mapping[str, str] = field(default_factory=dict)
    aside_says: str = ""
    tells_aside: bool = False
    unmeasured: str = ""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    has_window: bool = False
    limits: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an exhibit stands, if not in its turn in the section of its rule.

    Attributes:
        section: the id of a further section of its rule (``About.further``).
        dashboard: its panel in the dashboard; the section then only leads to it.
        timeline: its part in the timeline.
        choice: with which others it shares one place.
        words: of the parts that it names; of several those that name most of them.
    """

    section: str = ""
    dashboard: DashboardPanel | None = None
    timeline: TimelineTrack | None = None
    choice: Choice | None = None
    words: tuple[PartWords, ...] = ()


NOWHERE = Place()
"""An exhibit in its turn in the section of its rule."""


def words_for(place: Place, parts: Iterable[str]) -> PartWords:
    """Return the words that name most of some parts, the first of equal ones; else none at all."""
    present = set(parts)
    known = [len(present & (words.names.keys() | words.aside.keys())) for words in place.words]
    return place.words[known.index(max(known))] if known else PartWords(names={})
