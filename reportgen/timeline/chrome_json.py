"""Timelines as Chrome's trace events, JSON that Perfetto and ``chrome://tracing`` read.

Source: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. Times are
microseconds with three decimals after ``baseTimeNanoseconds``: readers hold them in float64,
which cannot distinguish nanoseconds of the time since 1970.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import select
from reportgen.profile.trace_tables import NONE
from reportgen.timeline.lanes import Arrows, Codes, Counter, Lane, LaneKind, PartLanes, Strips
from reportgen.units import NS_PER_S

_STACKED_NESTS = 32
"""Nests in which strips may lie within each other; those behind them hold one strip at a time."""


def by_start(strips: Strips) -> Strips:
    """Return strips sorted by (start, longest first): a strip comes before those within it."""
    return select(strips, np.lexsort((-strips.duration_ns, strips.start_ns)))


def nests_of(strips: Strips) -> Codes:
    """Return the nest of each strip, (n,) int32 from 0; ``strips`` as ``by_start`` returns them.

    Programs that show traces close the strip that was opened last: strips that overlap without one
    lying within the other are in separate nests.
    """
    nests, end_ns = _Nests(), strips.start_ns + strips.duration_ns
    pairs = zip(strips.start_ns.tolist(), end_ns.tolist(), strict=True)
    return np.fromiter((nests.place(*pair) for pair in pairs), dtype=np.int32, count=strips.n)


class _Nests:
    def __init__(self) -> None:
        self._stacks: list[list[int]] = [[]]
        self._singles: list[tuple[int, int]] = []

    def place(self, start_ns: int, end_ns: int) -> int:
        """Return the first nest in which a strip fits, and open it there."""
        for number, stack in enumerate(self._stacks):
            while stack and stack[-1] <= start_ns:
                stack.pop()
            if not stack or stack[-1] >= end_ns:
                stack.append(end_ns)
                return number
        if len(self._stacks) < _STACKED_NESTS:
            self._stacks.append([end_ns])
            return len(self._stacks) - 1
        if self._singles and self._singles[0][0] <= start_ns:
            number = self._singles[0][1]
            heapq.heapreplace(self._singles, (end_ns, number))
            return number
        number = _STACKED_NESTS + len(self._singles)
        heapq.heappush(self._singles, (end_ns, number))
        return number


@dataclass(slots=True, kw_only=True)
class Written:
    """Content of a file; ``n_arrows_left_out``: a graph ran, as its clock says, before its call."""

    n_slices: int = 0
    n_arrows: int = 0
    n_arrows_left_out: int = 0
    n_values: int = 0
    n_parts: int = 0


@dataclass(slots=True, kw_only=True)
class Clocks:
    """Puts parts on one axis; ``unlike``: parts whose clock cannot be compared with the first's."""

    first_ns: int | None = None
    is_unix: bool = True
    unlike: list[str] = field(default_factory=list)

    def zero_of(self, part: PartLanes) -> int:
        """Return the origin of a part; one with a clock of another kind begins with the first."""
        if self.first_ns is None:
            self.first_ns, self.is_unix = part.origin_ns, part.is_unix
        if part.is_unix == self.is_unix:
            return part.origin_ns
        self.unlike.append(part.node)
        return self.first_ns


class ArrowEnds:
    """The ends of the arrows of a part, from a call to its work.

    The earlier of call and operation is the start of the arrow: programs drop arrows that lead back
    in time. Where such a call started other work too, its arrow is left out.
    """

    def __init__(self, arrows: Arrows) -> None:
        self._n_flows = int(arrows.flow.max(initial=0)) + 1
        n_of_flow = np.bincount(arrows.flow, minlength=self._n_flows)
        is_back = arrows.to_start_ns < arrows.from_start_ns
        self._is_turned = np.zeros(self._n_flows, dtype=np.bool_)
        self._is_turned[arrows.flow[is_back]] = n_of_flow[arrows.flow[is_back]] == 1
        is_lost = is_back & (n_of_flow[arrows.flow] > 1)
        self.n_left_out = int(is_lost.sum())
        self._is_drawn = n_of_flow > 0
        self._call_ns = np.zeros(self._n_flows, dtype=np.int64)
        self._call_ns[arrows.flow] = arrows.from_start_ns

    def of(self, lane: Lane, strips: Strips) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Return the flow of each strip, 0 for none, and whether its arrows begin there."""
        flow = np.where(self._is_drawn[strips.flow], strips.flow, 0)
        is_turned = self._is_turned[flow]
        is_call = (strips.start_ns == self._call_ns[flow]) & (lane.kind is not LaneKind.STREAM)
        is_early = (strips.start_ns < self._call_ns[flow]) & ~is_turned
        flow = np.where(is_early, 0, flow)
        return flow.astype(np.int32), is_turned ^ is_call


def arguments_of(part: PartLanes, strips: Strips) -> Iterator[tuple[str, NDArray[np.integer]]]:
    """Yield the name of each argument, and its value of each strip, ``NONE`` where it has none."""
    if strips.source is None:
        return
    for argument in part.arguments:
        row = strips.source - argument.first
        is_there = (row >= 0) & (row < argument.values.size)
        yield argument.name, np.where(is_there, argument.values[row * is_there], NONE)


_DAY_NS = 86_400 * NS_PER_S
_OUT, _IN = ',"flow_out":true', ',"flow_in":true'


class ChromeWriter:
    """Writes parts, one after the other; nothing is held but the part that is written."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.written = Written()
        self._stream = stream
        self._base_ns = 0
        self._n_threads = 0
        self._n_flows = 0
        self._comma = ""

    def add(self, part: PartLanes, *, zero_ns: int) -> None:
        """Write a part whose origin is ``zero_ns``."""
        self.written.n_parts += 1
        if self.written.n_parts == 1:
            self._open(zero_ns)
        ends = ArrowEnds(part.arrows)
        self.written.n_arrows += part.arrows.n - ends.n_left_out
        self.written.n_arrows_left_out += ends.n_left_out
        self._write([_metadata("process_name", self.written.n_parts, 0, name=part.node)])
        names = [_quoted(name) for name in part.names]
        details = [f'"detail":{_quoted(text)}' if text else "" for text in part.details]
        for lane in part.lanes:
            label = _path_of(part, lane)
            if lane.strips is not None:
                strips = by_start(lane.strips)
                args = _args(part, strips, details)
                self._write(self._slices(lane, label, strips, ends, names, args, zero_ns))
            elif lane.track is not None:
                self._write(self._values(label, lane.track, zero_ns))
        self._n_flows += int(part.arrows.flow.max(initial=0)) + 1

    def close(self) -> None:
        """End the list of events."""
        if not self.written.n_parts:
            self._open(0)
        self._stream.write(b"\n]}\n")

    def _open(self, zero_ns: int) -> None:
        """Write the text before the events; other parts may begin a day earlier."""
        self._base_ns = max(zero_ns // _DAY_NS - 1, 0) * _DAY_NS
        head = f'{{"displayTimeUnit":"ns","baseTimeNanoseconds":{self._base_ns},"traceEvents":['
        self._stream.write(head.encode())

    def _write(self, events: Iterable[str]) -> None:
        for event in events:
            self._stream.write(f"{self._comma}\n{event}".encode("utf-8", "backslashreplace"))
            self._comma = ","

    def _slices(
        self,
        lane: Lane,
        label: str,
        strips: Strips,
        ends: ArrowEnds,
        names: list[str],
        args: Iterator[str],
        zero_ns: int,
    ) -> Iterator[str]:
        nest = nests_of(strips)
        process, first = self.written.n_parts, self._n_threads + 1
        self._n_threads += int(nest.max(initial=0)) + 1
        for thread in range(first, self._n_threads + 1):
            yield _metadata("thread_name", process, thread, name=label)
            yield _metadata("thread_sort_index", process, thread, sort_index=thread)
        flow, is_out = ends.of(lane, strips)
        lead = f'{{"ph":"X","cat":"{lane.kind}","pid":{process},"tid":'
        start_ns = strips.start_ns + (zero_ns - self._base_ns)
        columns = (nest + first, strips.name, start_ns, strips.duration_ns, flow, is_out)
        for thread, name, start, duration, arrow, leaves in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            bound = f',"bind_id":"0x{arrow + self._n_flows:x}"{_OUT if leaves else _IN}'
            yield (
                f'{lead}{thread},"name":{names[name]},"ts":{_us(start)},"dur":{_us(duration)}'
                f"{bound if arrow else ''}{next(args)}}}"
            )
        self.written.n_slices += strips.n

    def _values(self, label: str, track: Counter, zero_ns: int) -> Iterator[str]:
        name, key = _quoted(label), _quoted(track.unit or "value")
        lead = f'{{"ph":"C","pid":{self.written.n_parts},"name":{name},"ts":'
        times_ns = track.time_ns + (zero_ns - self._base_ns)
        for time_ns, value in zip(times_ns.tolist(), track.value.tolist(), strict=True):
            yield f'{lead}{_us(time_ns)},"args":{{{key}:{value!r}}}}}'
        self.written.n_values += int(track.time_ns.size)


def _args(part: PartLanes, strips: Strips, details: Sequence[str]) -> Iterator[str]:
    """Yield the arguments of each strip as the end of its event, empty without any."""
    found = list(arguments_of(part, strips))
    keys = [f"{_quoted(name)}:" for name, _ in found]
    given = [values.tolist() for _, values in found]
    for detail, *values in zip(strips.detail.tolist(), *given, strict=True):
        said = [f"{key}{value}" for key, value in zip(keys, values, strict=True) if value >= 0]
        text = ",".join([details[detail], *said] if detail else said)
        yield f',"args":{{{text}}}' if text else ""


def _us(time_ns: int) -> str:
    """Write whole nanoseconds as microseconds.

    Example:
        >>> _us(1_500), _us(-1)
        ('1.500', '-0.001')
    """
    sign, time_ns = ("-", -time_ns) if time_ns < 0 else ("", time_ns)
    return f"{sign}{time_ns // 1000}.{time_ns % 1000:03d}"


def _metadata(kind: str, process: int, thread: int, **args: object) -> str:
    event = {"ph": "M", "pid": process, "tid": thread, "ts": 0, "name": kind, "args": args}
    return _quoted(event)


def _quoted(value: object) -> str:
    """Write a value as JSON; Perfetto's reader stops at escapes of pairs of surrogates."""
    return json.dumps(value, ensure_ascii=False)


def _path_of(part: PartLanes, lane: Lane) -> str:
    """Return the label of a lane behind those of its groups: ``GPU 0 · stream 7``."""
    labels = [lane.label]
    while lane.parent is not None:
        lane = part.lanes[lane.parent]
        labels.append(lane.label)
    return " · ".join(reversed(labels[:-1] or labels))
