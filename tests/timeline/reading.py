"""A second reader of ``Timeline.bin``, after its document, and a second count of kernel traces.

Neither shares a line with the package: plain Python, one number and one event at a time.
"""

from __future__ import annotations

import gzip
import json
import re
import struct
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Strip = tuple[int, int, int, str, str, int]
"""Start and duration in ns of the file, row, name, detail, flow."""

Run = tuple[int, int, int, str, int, int]
"""Start, duration, row, name, events, busy ns."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file of the timeline."""

    header: dict[str, Any]
    blocks: bytes

    def words(self, key: str) -> list[str]:
        words: list[str] = json.loads(self._block(self.header[key]))
        return words

    def strips(self, lane: dict[str, Any], level: int = 0) -> list[Strip]:
        """Return all strips of a lane at a level; those of level 1 are runs."""
        names, details = self.words("names"), self.words("details")
        found = []
        for block in lane["blocks"]:
            if block["level"] == level:
                start = block["from"]
                for change, *rest in self._rows(block, 6):
                    start += change
                    duration, row, name, fifth, sixth = rest
                    word: Any = details[fifth] if level == 0 else fifth
                    found.append((start, duration, row, names[name], word, sixth))
        return found

    def values(self, lane: dict[str, Any], level: int = 0) -> list[tuple[int, float]]:
        found = []
        for block in lane["blocks"]:
            if block["level"] == level:
                time = block["from"]
                for change, value in self._rows(block, 2):
                    time += change
                    found.append((time, value / 1000))
        return found

    def arrows(self) -> list[tuple[int, int, int, int, int, int]]:
        """Return flow, lane and start of call, lane and start of operation, lane of rank."""
        found = []
        for block in self.header["arrows"]:
            start = block["from"]
            for flow, from_lane, change, to_lane, after in self._rows(block, 5):
                start += change
                to_start = start + after
                found.append((flow, from_lane, start, to_lane, to_start, block["lane"]))
        return found

    def _rows(self, block: dict[str, Any], n_columns: int) -> list[tuple[int, ...]]:
        n, planes = block["n"], self._block(block["at"])
        assert len(planes) == 8 * n * n_columns
        columns = (planes[8 * n * at : 8 * n * (at + 1)] for at in range(n_columns))
        return list(zip(*map(_numbers, columns, [n] * n_columns), strict=True))

    def _block(self, at: list[int]) -> bytes:
        return gzip.decompress(self.blocks[at[0] : at[0] + at[1]])


def read_file(content: bytes) -> ReadFile:
    magic, size = struct.unpack("<8sI", content[:12])
    assert magic == b"RGTL0003"
    return ReadFile(json.loads(content[12 : 12 + size]), content[12 + size :])


def _numbers(planes: bytes, n: int) -> list[int]:
    return [int.from_bytes(planes[at::n], "little", signed=True) for at in range(n)]


_GPU = {"kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset"}
_CALLS = {"cuda_runtime", "cuda_driver", "Runtime"}
_SHADOWS = {
    "gpu_user_annotation", "Trace", "cuda_profiler_range", "cuda_event", "collective_comm",
}  # fmt: skip
_MARK = re.compile(r"ProfilerStep\s*\*?\s*#\s*\d+$")
_OLD_ANNOTATION = re.compile(r"ProfilerStep|enumerate\(DataLoader\)|Optimizer\.")


@dataclass(frozen=True, slots=True)
class CountedTrace:
    """What a trace holds: (lane, start in µs) of each event, pairs of call and operation."""

    events: list[tuple[str, float]]
    pairs: Counter[tuple[str, str]]

    @property
    def by_lane(self) -> Counter[str]:
        return Counter(lane for lane, _ in self.events)


def count_trace(path: Path) -> CountedTrace:
    """Count a trace event by event, straight from its JSON."""
    raw = path.read_bytes()
    tree = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    spans = [event for event in tree["traceEvents"] if event.get("ph") == "X"]
    has_marks = any(_MARK.match(span["name"]) for span in spans)
    events, started = [], []
    calls: dict[object, str] = {}
    for span in spans:
        category, args = span.get("cat", ""), span.get("args", {})
        if category in _SHADOWS:
            continue
        lane = _lane_of(span, category, args, has_marks=has_marks)
        events.append((lane, float(span["ts"])))
        if category in _CALLS and args.get("correlation") is not None:
            calls.setdefault(args["correlation"], lane)
        if category in _GPU:
            started.append((args.get("correlation"), lane))
    pairs = Counter((calls[number], lane) for number, lane in started if number in calls)
    return CountedTrace(events, pairs)


def _lane_of(span: Any, category: str, args: Any, *, has_marks: bool) -> str:
    if category in _GPU:
        return f"GPU {args['device']}/stream {args['stream']}"
    if category == "cuda_sync":
        return f"GPU {args['device']}/waits for streams and events"
    is_old = category == "Operator" and _OLD_ANNOTATION.match(span["name"])
    if has_marks and _MARK.match(span["name"]) and category != "python_function":
        return "steps"
    if category == "user_annotation" or is_old:
        return "annotations"
    if category == "python_function" and span["name"].startswith("nn.Module: "):
        return "modules"
    return f"thread {span['tid']}"
