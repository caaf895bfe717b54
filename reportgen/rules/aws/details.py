"""AWS's ``Details``: of rules that keep the last violation of each device, and read as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from reportgen.arrays import Instants
from reportgen.results import Counters, Details, JsonValue
from reportgen.units import NS_PER_MINUTE, minute_start_us

LAST_TIMESTAMP = "last_timestamp"
MEMORY_SUFFIX = "_memory"
"""Behind the name of a GPU where its memory is meant."""


Found = tuple[Instants, Mapping[str, JsonValue]]
"""The (n,) ascending times of the violations of a device, and what the newest one adds to the entry
of its node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violations:
    """What one of AWS's rules on GPUs counts on a node: samples of a series, and its violations.

    ``found`` are those of each device that has any, in device order.
    """

    node: str
    n_samples: int
    found: tuple[Found, ...]


class Counted(TypedDict):
    """The part of an ``Outcome`` that AWS's rule of this name writes."""

    counters: Counters
    details: Details


def counted(nodes: Sequence[Violations]) -> Counted:
    """Return AWS's counters and details of all nodes: each violation is also a trigger.

    Nodes and devices are in the order of their first violation, minute by minute, and
    ``last_timestamp`` (start of the minute of the newest violation) after the first node
    (docs/rules.md, LowGPUUtilization).
    """
    found = [
        (int(time_ns[0]) // NS_PER_MINUTE, place, node.node, time_ns, members)
        for place, node in enumerate(nodes)
        for time_ns, members in node.found
    ]
    found.sort(key=lambda entry: entry[:2])
    details: Details = {}
    for _, _, node, _, members in found:
        entry = details.setdefault(node, {})
        assert isinstance(entry, dict)
        entry.update(members)
        details.setdefault(LAST_TIMESTAMP, 0)
    if found:
        details[LAST_TIMESTAMP] = minute_start_us(max(int(times[-1]) for *_, times, _ in found))
    n_found = sum(times.size for *_, times, _ in found)
    n_samples = max((node.n_samples for node in nodes), default=0)
    counters = Counters(rule_triggered=n_found, violations=n_found, datapoints=n_samples)
    return {"counters": counters, "details": details}


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
