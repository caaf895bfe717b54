"""AWS's ``Details``: of rules that keep the last violation of each device, and read as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from reportgen.results import Counters, Details, JsonValue
from reportgen.units import NS_PER_MINUTE, minute_start_us

LAST_TIMESTAMP = "last_timestamp"
MEMORY_SUFFIX = "_memory"
"""Behind the name of a GPU where its memory is meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastViolation:
    """The newest violation of a device, ready for the JSON.

    Attributes:
        first_ns, last_ns: times of the first and of the newest violation.
        members: additions to the entry of its node.
    """

    first_ns: int
    last_ns: int
    members: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Violations:
    """What one of AWS's rules on GPUs counts on a node: samples of a series, and its violations.

    ``newest`` are those of each device, in device order.
    """

    node: str
    n_samples: int
    n_found: int
    newest: tuple[LastViolation, ...]


class Counted(TypedDict):
    """The part of an ``Outcome`` that AWS's rule of this name writes."""

    counters: Counters
    details: Details


def counted(nodes: Sequence[Violations]) -> Counted:
    """Return AWS's counters and details of all nodes: each violation is also a trigger."""
    n_found = sum(node.n_found for node in nodes)
    n_samples = max((node.n_samples for node in nodes), default=0)
    return {
        "counters": Counters(rule_triggered=n_found, violations=n_found, datapoints=n_samples),
        "details": violation_details((node.node, node.newest) for node in nodes),
    }


def violation_details(nodes: Iterable[tuple[str, Sequence[LastViolation]]]) -> Details:
    """Return ``{node: {device: …}, "last_timestamp": µs, …}``; ``{}`` without violations.

    Nodes and devices are in the order of their first violation, minute by minute, and
    ``last_timestamp`` (start of the minute of the newest violation) after the first node
    (docs/rules.md, LowGPUUtilization).
    """
    found = [
        (item.first_ns // NS_PER_MINUTE, place, node, item)
        for place, (node, items) in enumerate(nodes)
        for item in items
    ]
    found.sort(key=lambda entry: entry[:2])
    details: Details = {}
    for _, _, node, item in found:
        entry = details.setdefault(node, {})
        assert isinstance(entry, dict)
        entry.update(item.members)
        details.setdefault(LAST_TIMESTAMP, 0)
    if found:
        details[LAST_TIMESTAMP] = minute_start_us(max(item.last_ns for *_, item in found))
    return details


def mapping_of(entry: JsonValue) -> Mapping[str, JsonValue]:
    """Return an object of JSON; an empty one for any other value."""
    return entry if isinstance(entry, dict) else {}


def numbers_of(entry: JsonValue) -> dict[str, float]:
    """Return the members of an object of JSON that are numbers."""
    return {
        key: float(value)
        for key, value in mapping_of(entry).items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
