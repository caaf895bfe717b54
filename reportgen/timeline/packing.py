"""Blocks of the file: columns of lanes packed, texts of all parts as one vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import join, select
from reportgen.byte_planes import differences
from reportgen.results import timeline_file
from reportgen.results.timeline_file import PER_UNIT, pack_columns
from reportgen.text_safety import cut_middle
from reportgen.timeline.lanes import MOST_ROWS, CounterTrack, LaneKind, Strips, Times
from reportgen.timeline.runs import Pieces
from reportgen.timeline.shown import ShownLane, shown_lanes
from reportgen.timeline.staged import Staged, StagedLane

LONGEST_TEXT = 300
"""Characters of a name or detail; its middle goes. Names of kernels have up to some thousand."""

CHUNK = 1 << 16
"""Approximate events of a block; a block is unpacked as a whole even if few are drawn."""

_MOST_VALUE = 1 << 60
"""The largest value of a counter, in thousandths."""

Block = dict[str, Any]


class PackedTexts:
    """Texts of all parts that blocks use, each once."""

    def __init__(self, *texts: str) -> None:
        self._codes = {(text, ""): code for code, text in enumerate(texts)}

    def of(self, text: str, family: str = "") -> int:
        """Return the number of a text, one for each family that it is of."""
        return self._codes.setdefault((cut_middle(text, LONGEST_TEXT), family), len(self._codes))

    @property
    def texts(self) -> list[str]:
        """Return the texts in the order of their numbers."""
        return [text for text, _ in self._codes]

    @property
    def families(self) -> list[str]:
        """Return the family of each text."""
        return [family for _, family in self._codes]


@dataclass(slots=True)
class Blocks:
    """The packed blocks of a file, in the order in which they were added."""

    packed: list[bytes] = field(default_factory=list)
    n_bytes: int = 0
    names: PackedTexts = field(default_factory=PackedTexts)
    details: PackedTexts = field(default_factory=lambda: PackedTexts(""))

    def add(self, content: bytes) -> list[int]:
        """Add a block; return where it stands."""
        at = [self.n_bytes, len(content)]
        self.packed.append(content)
        self.n_bytes += len(content)
        return at

    def texts(self, texts: Sequence[str]) -> list[int]:
        """Add a block of texts."""
        return self.add(timeline_file.pack_texts(texts))


class PackedPart:
    """Packs the lanes of one part; ``shift_ns`` makes times of the file of those of the part.

    Its strips and arrows are held from ``open`` to ``close``.
    """

    def __init__(
        self, staged: Staged, blocks: Blocks, *, shift_ns: int, lane: int, most: int | None
    ) -> None:
        """``lane``: the number of the part's first lane in the file, of at most ``most``."""
        self.about, self.staged = staged.about, staged
        self.shift_ns, self.lane = shift_ns, lane
        self.lanes = shown_lanes(staged.about.lanes, most)
        self._lane_ids = np.full(len(staged.about.lanes), lane, dtype=np.int64)
        for number, shown in enumerate(self.lanes, start=lane):
            self._lane_ids[[member for member, _ in shown.members]] = number
        self._blocks = blocks
        self._names = np.full(len(self.about.names), -1, dtype=np.int64)

    def open(self) -> None:
        """Read the events."""
        self._strips, self._arrows = self.staged.strips(), self.staged.arrows()
        self._texts = self.about.details
        self._details = np.full(len(self._texts), -1, dtype=np.int64)

    def close(self) -> None:
        """Free the events."""
        del self._strips, self._arrows, self._texts

    def events(self, lane: ShownLane, start_ns: int, end_ns: int, after_ns: int) -> Strips:
        """Return the events that begin in a range of the part's time, or reach into it.

        Events that began before ``after_ns`` were in the window before.
        """
        found = []
        for number, row in lane.members:
            strips = self._events(self.about.lanes[number], start_ns, end_ns, after_ns)
            below = np.minimum(strips.row + row, MOST_ROWS - 1)
            found.append(replace(strips, row=below.astype(np.int32)) if row else strips)
        if len(found) == 1:
            return found[0]
        joined = join(found)
        return select(joined, np.lexsort((joined.row, joined.start_ns)))

    def _events(self, lane: StagedLane, start_ns: int, end_ns: int, after_ns: int) -> Strips:
        strips, times_ns = self._strips, (after_ns, start_ns, end_ns)
        begins_ns = strips.start_ns[lane.first : lane.first + lane.n_events]
        low, first, end = (np.searchsorted(begins_ns, times_ns) + lane.first).tolist()
        before = strips.start_ns[low:first] + strips.duration_ns[low:first] > start_ns
        return select(strips, np.append(low + np.flatnonzero(before), np.arange(first, end)))

    def pack_sample(self, number: int, most: int) -> int:
        """Add events from the middle of a lane, to see how long they are; return how many."""
        lane = self.about.lanes[number]
        low = max(lane.n_events - most, 0) // 2
        rows = slice(lane.first + low, lane.first + min(low + most, lane.n_events))
        if lane.kind == LaneKind.COUNTER:
            track = self.staged.track(number)
            self.pack_values(
                replace(track, time_ns=track.time_ns[rows], value=track.value[rows]), 0, 0, 1 << 62
            )
        else:
            self.pack_events(select(self._strips, rows), 0, 1 << 62)
        return rows.stop - rows.start

    def pack_events(self, strips: Strips, start_ns: int, end_ns: int) -> list[Block]:
        """Add strips of a range as blocks that follow one another."""
        found, first = [], 0
        while first < strips.n:
            after = _chunk_end(strips.start_ns, first)
            rows = slice(first, after)
            until_ns = end_ns if after == strips.n else max(int(strips.start_ns[after]), start_ns)
            columns: list[NDArray[Any]] = [
                differences(strips.start_ns[rows] - start_ns),
                strips.duration_ns[rows],
                strips.row[rows],
                self._coded(strips.name[rows]),
                self._coded_details(strips.detail[rows]),
                strips.flow[rows],
            ]
            found.append(self._block(0, start_ns, until_ns, columns))
            first, start_ns = after, until_ns
        return found

    def pack_runs(self, lane: ShownLane, runs: Pieces, start_ns: int, end_ns: int) -> Block:
        """Add the runs of a part in a lane."""
        rows, first_row = [], []
        for number, row in lane.members:
            low, high = np.searchsorted(runs.lane, (number, number + 1)).tolist()
            rows.append(np.arange(low, high))
            first_row.append(np.full(high - low, row, dtype=np.int32))
        runs = select(runs, np.concatenate(rows))
        runs = replace(runs, row=np.minimum(runs.row + np.concatenate(first_row), MOST_ROWS - 1))
        runs = select(runs, np.lexsort((runs.row, runs.start_ns)))
        columns: list[NDArray[Any]] = [
            differences(runs.start_ns - start_ns),
            runs.end_ns - runs.start_ns,
            runs.row,
            self._coded(runs.name),
            runs.count,
            np.minimum(runs.busy_ns, runs.end_ns - runs.start_ns),
        ]
        return self._block(1, start_ns, end_ns, columns)

    def pack_values(self, track: CounterTrack, level: int, start_ns: int, end_ns: int) -> Block:
        """Add the values of a counter in a range, and the one that holds at its begin."""
        low, high = np.searchsorted(track.time_ns, (start_ns, end_ns)).tolist()
        rows = slice(max(low - 1, 0), high)
        time_ns = track.time_ns[rows]
        value = np.clip(np.rint(track.value[rows] * PER_UNIT), -_MOST_VALUE, _MOST_VALUE)
        return self._block(
            level, start_ns, end_ns, [differences(time_ns - start_ns), value.astype(np.int64)]
        )

    def arrow_rows(self, ranges_ns: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
        """Return the arrows that begin or end in the last of some ranges and begin in no other."""
        start_ns, end_ns = ranges_ns[-1]
        from_ns, to_ns = self._arrows.from_start_ns, self._arrows.to_start_ns
        is_meant = (to_ns >= start_ns) & (to_ns < end_ns)
        for start_ns, end_ns in ranges_ns:
            first, after = np.searchsorted(from_ns, (start_ns, end_ns)).tolist()
            is_meant[first:after] = (start_ns, end_ns) == ranges_ns[-1]
        rows: NDArray[np.int64] = np.flatnonzero(is_meant)
        return rows

    def pack_arrows(self, rows: NDArray[Any], start_ns: int, end_ns: int) -> Block:
        """Add some arrows."""
        arrows = self._arrows
        from_ns, to_ns = arrows.from_start_ns[rows], arrows.to_start_ns[rows]
        columns: list[NDArray[Any]] = [
            arrows.flow[rows],
            self._lane_ids[arrows.from_lane[rows]],
            differences(from_ns - start_ns),
            self._lane_ids[arrows.to_lane[rows]],
            to_ns - from_ns,
        ]
        block = self._block(0, start_ns, end_ns, columns)
        del block["level"]
        return {"lane": self.lane, **block}

    def _block(
        self, level: int, start_ns: int, end_ns: int, columns: Sequence[NDArray[Any]]
    ) -> Block:
        """Add columns; the times of ranges become those of the file."""
        return {
            "level": level,
            "from": start_ns + self.shift_ns,
            "to": end_ns + self.shift_ns,
            "n": int(columns[0].size),
            "at": self._blocks.add(pack_columns(columns)),
        }

    def _coded(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        names, families = self.about.names, self.about.families
        words = self._blocks.names
        return _recoded(codes, self._names, lambda code: words.of(names[code], families[code]))

    def _coded_details(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        details, words = self._texts, self._blocks.details
        return _recoded(codes, self._details, lambda code: words.of(details[code]))


def _chunk_end(start_ns: Times, first: int) -> int:
    """Return where the block that begins at ``first`` ends: simultaneous events stay together."""
    after = first + CHUNK
    if after >= start_ns.size:
        return int(start_ns.size)
    begins = int(np.searchsorted(start_ns, start_ns[after], side="left"))
    return begins if begins > first else int(np.searchsorted(start_ns, start_ns[after], "right"))


def _recoded(
    codes: NDArray[Any], known: NDArray[np.int64], number_of: Callable[[int], int]
) -> NDArray[np.int64]:
    """Return codes of a part as numbers of the file; ``known`` has those that were met before."""
    numbers: NDArray[np.int64] = known[codes]
    if (numbers < 0).any():
        for code in np.unique(codes[numbers < 0]).tolist():
            known[code] = number_of(code)
        numbers = known[codes]
    return numbers
