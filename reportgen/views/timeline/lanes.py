"""The lanes of the timeline in the page: the packed file, and how many events each lane has."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from markupsafe import Markup

from reportgen.errors import FormatError
from reportgen.results import Where
from reportgen.results.timeline_file import Family, read_timeline
from reportgen.text import format_count, plural
from reportgen.units import NS_PER_S
from reportgen.views.cell_output import Block, block_of
from reportgen.views.tables import TableInfo

_TITLE, _TITLE_WITHOUT_GPU = "Events, from host to device", "Events and metrics"
_ON_GPU = frozenset({Family.COMPUTE, Family.COPIES})
_GROUPS = frozenset({"node", "rank", "host", "gpu"})
_NO_EVENTS = frozenset({"counter", "findings"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Where the timeline shows a finding: a part, and ns after the file's zero, as texts."""

    node: str
    start_ns: str = ""
    end_ns: str = ""


def lanes_block(content: bytes, counts: TableInfo | None = None) -> Block:
    """Return the lanes of a file of the timeline (docs/timeline-format.md) as a block.

    ``counts`` has the number of events of each lane.

    Raises:
        FormatError: the file is none, or of another version.
    """
    file = read_timeline(content)
    has_ranks = any(lane["kind"] == "rank" for lane in file.header["lanes"])
    has_gpus = has_ranks and not _ON_GPU.isdisjoint(file.texts("families"))
    packed = base64.b64encode(content).decode("ascii")
    return block_of(
        "lanes",
        title=_TITLE if has_gpus else _TITLE_WITHOUT_GPU,
        caption=_caption(file.header),
        label=_label(file.header["lanes"]),
        counts=counts,
        packed=Markup(packed),  # noqa: S704 - letters, digits, +, / and =
    )


def spot_of(where: Where, content: bytes) -> Spot | None:
    """Return where the lanes of a file show a finding's place; ``None`` where they do not."""
    header = _header(content)
    node = where.node or ""
    nodes = {lane["node"] for lane in header["lanes"]} - {""} if header else set()
    if header is None or (node and node not in nodes):
        return None
    has_one_clock = header["is_unix"] or len(nodes) == 1
    if where.start_s is None or not has_one_clock:
        return Spot(node=node) if node else None
    edges_s = (where.start_s, where.start_s if where.end_s is None else where.end_s)
    if not all(math.isfinite(edge * NS_PER_S) for edge in edges_s):
        return None
    start_ns, end_ns = (round(edge * NS_PER_S) - int(header["start_ns"]) for edge in edges_s)
    if end_ns < 0 or start_ns > header["length_ns"]:
        return None
    return Spot(node=node, start_ns=str(start_ns), end_ns=str(end_ns))


@lru_cache(maxsize=1)
def _header(content: bytes) -> Mapping[str, Any] | None:
    """Return the header of a file, ``None`` of another version; all findings of a page ask."""
    try:
        return read_timeline(content).header
    except FormatError:
        return None


def _caption(header: Mapping[str, Any]) -> str:
    without = "" if header["n_counters"] else " No counters were recorded."
    return f"{_said_of_events(header)}{without}"


def _said_of_events(header: Mapping[str, Any]) -> str:
    lanes = header["lanes"]
    n_events = sum(lane["n_events"] for lane in lanes if lane["kind"] not in _NO_EVENTS)
    if not n_events:
        return "No events were recorded."
    said = f"{format_count(n_events)} events"
    windows = header["windows"]
    if any(item["start"] <= 0 and item["end"] >= header["length_ns"] for item in windows):
        return f"All {said} are shown." if n_events > 1 else f"{said}."
    if not windows:
        return f"{said}, drawn as runs of neighbouring events; single events are not shown."
    ranges = plural(len(windows), "range", "ranges")
    return (
        f"{said}. All of them are shown in {ranges} of time, elsewhere runs of neighbouring events."
    )


def _label(lanes: Sequence[Mapping[str, Any]]) -> str:
    ranks = [lane["label"] for lane in lanes if lane["kind"] == "rank"]
    n_lanes = sum(lane["kind"] not in _GROUPS for lane in lanes)
    of_ranks = f" of {plural(len(ranks), 'rank', 'ranks')}" if ranks else ""
    return f"Timeline of {plural(n_lanes, 'lane', 'lanes')}{of_ranks}"
