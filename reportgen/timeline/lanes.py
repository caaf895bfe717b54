"""Lanes of one part of a job: strips, counters and arrows as columns, and their tree.

Times are int64 ns after the origin of the part. A strip is one event of the input, and every
event is in one lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import Floats
from reportgen.merging import joint_codes, order_of_codes, rows_by_code
from reportgen.results.timeline_file import Family

Times = NDArray[np.int64]
Numbers = NDArray[np.int64]
Codes = NDArray[np.int32]

MOST_ROWS = 256
"""A lane has no more rows: deeper events share the last. Python stacks have a few hundred."""

MOST_ALIKE = 48
"""Threads of a host, streams of a GPU, phases of a worker; further ones share a lane."""


_COUNTERS = {
    "gpu": Family.COMPUTE,
    "network": Family.COMMUNICATION,
    "i/o": Family.LOADING,
    "disk": Family.LOADING,
    "cpu": Family.OPERATORS,
    "host": Family.OPERATORS,
}
"""Words in the names of counters, the first that fits."""


class LaneKind(StrEnum):
    """Kinds of lanes; the first four are groups, without strips."""

    NODE = "node"
    RANK = "rank"
    HOST = "host"
    GPU = "gpu"
    STEPS = "steps"
    ANNOTATIONS = "annotations"
    THREAD = "thread"
    STREAM = "stream"
    PHASES = "phases"
    FUNCTIONS = "functions"
    FINDINGS = "findings"
    COUNTER = "counter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Strips:
    """The drawn events of a lane, sorted by (start, row), (n,) each.

    Attributes:
        start_ns: after the origin of the part; may be negative in what was cut to a range.
        duration_ns: as the input says it.
        row: 0 is the top; strips of a row do not overlap.
        name, detail: codes into ``names`` and ``details`` of the part; detail 0 is empty.
        flow: the number that a call shares with all work it started, from 1; 0 without.
        source: row among the host slices, calls and GPU operations of a trace, in this order;
            ``NONE`` for anything else, ``None`` where it is not asked for.
    """

    start_ns: Times
    duration_ns: Times
    row: Codes
    name: Codes
    detail: Codes
    flow: Codes
    source: Codes | None = None

    @property
    def n(self) -> int:
        """Return how many strips there are."""
        return int(self.start_ns.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterTrack:
    """A counter: a value holds from its time until the next, (n,) each, sorted by time."""

    time_ns: Times
    value: Floats
    unit: str = ""
    family: Family = Family.RUNTIME


class Counter(Protocol):
    """A ``CounterTrack``, or what computes the columns of one each time that they are asked for."""

    @property
    def time_ns(self) -> Times:
        """Return the times."""

    @property
    def value(self) -> Floats:
        """Return the values."""

    @property
    def unit(self) -> str:
        """Return the unit of the values, as text."""

    @property
    def family(self) -> Family:
        """Return what it counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One lane: a group, strips or a counter; ``parent`` is the place of its group in the list."""

    kind: LaneKind
    label: str
    parent: int | None = None
    strips: Strips | None = None
    track: Counter | None = None

    @property
    def n_events(self) -> int:
        """Return how many events of the input it holds; of a counter, its values."""
        if self.strips is not None:
            return self.strips.n
        return int(self.track.time_ns.size) if self.track is not None else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrows:
    """From a call to what it started, sorted by (from_start, flow, to_start), (n,) each.

    ``from_lane`` and ``to_lane`` are places in the lanes of the part.
    """

    flow: Codes
    from_lane: Codes
    from_start_ns: Times
    to_lane: Codes
    to_start_ns: Times

    @property
    def n(self) -> int:
        """Return how many arrows there are."""
        return int(self.flow.size)


def no_arrows() -> Arrows:
    """Return no arrow."""
    code, time_ns = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
    return Arrows(
        flow=code, from_lane=code, from_start_ns=time_ns, to_lane=code, to_start_ns=time_ns
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """A number that events have: ``values`` are of the sources from ``first``, NONE is none."""

    name: str
    first: int
    values: NDArray[np.integer]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSteps:
    """The training steps of a part in order, (n,) each; a step ends where the next begins."""

    number: Numbers
    start_ns: Times
    end_ns: Times


def no_steps() -> LaneSteps:
    """Return no step."""
    none = np.empty(0, dtype=np.int64)
    return LaneSteps(number=none, start_ns=none, end_ns=none)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartLanes:
    """The lanes of a node or rank; the first is its own group, parents come before children.

    Attributes:
        node: the part's name, as findings write it.
        origin_ns: zero of its times, UTC where ``is_unix``.
        host: the machine of a rank, empty where unknown.
        n_counters: counters of the input; further ones are computed.
        names, details: meanings of the codes of strips; ``details[0]`` is empty.
        families: of each name; a name of several families has a code for each.
    """

    node: str
    origin_ns: int
    is_unix: bool
    lanes: tuple[Lane, ...]
    names: tuple[str, ...] = ()
    families: tuple[Family, ...] = ()
    details: tuple[str, ...] = ("",)
    arrows: Arrows = field(default_factory=no_arrows)
    arguments: tuple[Argument, ...] = ()
    steps: LaneSteps = field(default_factory=no_steps)
    host: str = ""
    n_counters: int = 0


def family_of_counter(label: str) -> Family:
    """Return the family of a counter by its name.

    Example:
        >>> [str(family_of_counter(it)) for it in ("GPU memory in use", "GPU power", "I/O wait")]
        ['copies', 'compute', 'loading']
    """
    said = label.casefold()
    if "mem" in said:
        return Family.COPIES if "gpu" in said else Family.FUNCTIONS
    found = (family for word, family in _COUNTERS.items() if word in said)
    return next(found, Family.RUNTIME)


@dataclass(slots=True)
class TextCodes:
    """Texts, or names with their families, and their codes."""

    codes: dict[Any, int] = field(default_factory=dict)

    def of(self, text: Any) -> int:
        """Return the code of a text."""
        return self.codes.setdefault(text, len(self.codes))

    def of_rows(self, keys: Sequence[NDArray[Any]], write: Any) -> Codes:
        """Return the code of each row of some columns, whose text ``write`` makes of its values."""
        if not keys[0].size:
            return np.empty(0, dtype=np.int32)
        if len(keys) == 1:  # codes, of which a vocabulary has few
            used = np.unique(keys[0])
            numbers = np.zeros(used.max() + 2, dtype=np.int32)
            numbers[used] = [self.of(write(code)) for code in used.tolist()]
            found: Codes = numbers[keys[0]]
            return found
        code = joint_codes(*keys)
        first = np.empty(int(code.max()) + 1, dtype=np.int64)
        first[code[::-1]] = np.arange(code.size)[::-1]  # the last that is written stays
        words = [self.of(write(*(key[row].item() for key in keys))) for row in first.tolist()]
        return np.array(words, dtype=np.int32)[code]


def strips_of(
    start_ns: Times,
    duration_ns: Times,
    name: NDArray[Any],
    *,
    detail: NDArray[Any] | None = None,
    flow: NDArray[Any] | None = None,
    source: NDArray[Any] | None = None,
    slack_ns: int = 0,
) -> Strips:
    """Return events in any order as strips in rows; see ``rows_of``."""
    order = _by_start(start_ns, duration_ns).astype(np.int32)
    start_ns, duration_ns = start_ns[order], duration_ns[order]
    row = rows_of(start_ns, duration_ns, slack_ns=slack_ns)
    if not ((np.diff(start_ns) > 0) | (np.diff(row) >= 0)).all():
        again = np.lexsort((row, start_ns))
        order, row = order[again], row[again]
        start_ns, duration_ns = start_ns[again], duration_ns[again]
    none = np.zeros(order.size, dtype=np.int32)
    return Strips(
        start_ns=start_ns,
        duration_ns=duration_ns,
        row=row,
        name=name[order].astype(np.int32),
        detail=none if detail is None else detail[order].astype(np.int32),
        flow=none if flow is None else flow[order].astype(np.int32),
        source=None if source is None else source[order].astype(np.int32),
    )


def _by_start(start_ns: Times, duration_ns: Times) -> NDArray[np.intp]:
    """Return the order of events by (start, longest first); most are written nearly so."""
    order = np.argsort(start_ns, kind="stable")
    is_tied = np.zeros(order.size + 1, dtype=bool)
    is_tied[1:-1] = np.diff(start_ns[order]) == 0
    is_tied = is_tied[1:] | is_tied[:-1]
    tied = order[is_tied]
    order[is_tied] = tied[np.lexsort((-duration_ns[tied], start_ns[tied]))]
    return order


def rows_of(start_ns: Times, duration_ns: Times, *, slack_ns: int = 0) -> Codes:
    """Return the row of each event, (n,) int32: the first that is free when it begins.

    Events are sorted by (start, longest first), so that nested calls lie below one another. What
    overlaps the event before by no more than ``slack_ns`` lies beside it; an instant takes 1 ns.
    """
    end_ns = np.maximum(start_ns + duration_ns - slack_ns, start_ns + 1)
    row = np.arange(start_ns.size, dtype=np.int32)  # right where all events are nested
    row -= np.searchsorted(np.sort(end_ns), start_ns, side="right").astype(np.int32)
    clashes_ns = _clashes(row, start_ns, end_ns)
    np.minimum(row, MOST_ROWS - 1, out=row)
    if clashes_ns.size:
        _fit_groups(row, start_ns, end_ns, clashes_ns=clashes_ns)
    return row


def _clashes(row: Codes, start_ns: Times, end_ns: Times) -> Times:
    """Return when events begin before the one before them in their row ends."""
    by_row = order_of_codes(row)
    before, after = by_row[:-1], by_row[1:]
    is_clash = (end_ns[before] > start_ns[after]) & (row[before] == row[after])
    clashes_ns: Times = start_ns[after[is_clash]]
    return clashes_ns


def _fit_groups(row: Codes, start_ns: Times, end_ns: Times, *, clashes_ns: Times) -> None:
    """Fit, in place, the rows of the groups of overlapping events that hold clashes."""
    reach_ns = np.maximum.accumulate(end_ns)
    first = np.flatnonzero(np.concatenate(([True], start_ns[1:] >= reach_ns[:-1])))
    holds_clash = np.zeros(first.size, dtype=bool)
    holds_clash[np.searchsorted(start_ns[first], clashes_ns, side="right") - 1] = True
    events = np.flatnonzero(np.repeat(holds_clash, np.diff(np.append(first, start_ns.size))))
    row[events] = _first_fit(start_ns[events].tolist(), end_ns[events].tolist())


def _first_fit(starts_ns: Sequence[int], ends_ns: Sequence[int]) -> list[int]:
    """Return the lowest row that is free when each event begins."""
    rows, free_ns = list[int](), list[int]()
    for start_ns, end_ns in zip(starts_ns, ends_ns, strict=True):
        for row, until_ns in enumerate(free_ns):
            if until_ns <= start_ns:
                free_ns[row] = end_ns
                break
        else:
            row = len(free_ns)
            if row < MOST_ROWS - 1:
                free_ns.append(end_ns)
        rows.append(row)
    return rows


def grouped(codes: NDArray[Any]) -> list[tuple[list[int], Codes]]:
    """Return each code and its rows, in the order of codes; the rarest share the last of many.

    Example:
        >>> [(codes, rows.tolist()) for codes, rows in grouped(np.array([7, 3, 7]))]
        [([3], [1]), ([7], [0, 2])]
    """
    groups = [([code], rows.astype(np.int32)) for code, rows in rows_by_code(codes)]
    if len(groups) <= MOST_ALIKE:
        return groups
    by_size = sorted(groups, key=lambda group: (-group[1].size, group[1][0]))
    kept = {code for (code,), _ in by_size[: MOST_ALIKE - 1]}
    rest = [group for group in groups if group[0][0] not in kept]
    together = [code for (code,), _ in rest], np.sort(np.concatenate([rows for _, rows in rest]))
    return [*(group for group in groups if group[0][0] in kept), together]
