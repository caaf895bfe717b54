"""AWS's ``Details`` of rules that keep the last violation of each device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reportgen.facts.distributions import Box
from reportgen.results import Details, JsonValue
from reportgen.units import NS_PER_MINUTE, minute_start_us

LAST_TIMESTAMP = "last_timestamp"


@dataclass(frozen=True, slots=True, kw_only=True)
class LastViolation:
    """The newest violation of a device, ready for the JSON.

    Attributes:
        first_ns, last_ns: times of the first and of the newest violation.
        members: what it adds to the entry of its node.
    """

    first_ns: int
    last_ns: int
    members: Mapping[str, JsonValue]


def violation_details(nodes: Iterable[tuple[str, Sequence[LastViolation]]]) -> Details:
    """Return ``{node: {device: …}, "last_timestamp": µs, …}``; ``{}`` without violations.

    Nodes and devices stand in the order of their first violation, minute by minute, and
    ``last_timestamp`` (start of the minute of the newest violation) after the first node.

    Args:
        nodes: (node, violations of its devices in device order), in node order.

    Source: rules-spec §3.
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


def box_member(box: Box) -> dict[str, JsonValue]:
    """Return a box in AWS's order of fields."""
    return {
        "p25": box.p25,
        "p50": box.p50,
        "p75": box.p75,
        "p95": box.p95,
        "upper": box.upper,
        "lower": box.lower,
    }


def entries_of(details: Details) -> list[tuple[str, str, dict[str, float]]]:
    """Return (node, device, numbers) of each entry; the way back from ``violation_details``.

    Edge cases: members that are no numbers are left out, so that a foreign file cannot break a
    report.
    """
    found = []
    for node, devices in details.items():
        if node == LAST_TIMESTAMP or not isinstance(devices, dict):
            continue
        for device, entry in devices.items():
            if isinstance(entry, dict):
                numbers = {
                    key: float(value)
                    for key, value in entry.items()
                    if isinstance(value, int | float) and not isinstance(value, bool)
                }
                found.append((node, device, numbers))
    return found


def last_timestamp_s(details: Details) -> float | None:
    """Return the start of the minute of the newest violation in Unix seconds."""
    stamp = details.get(LAST_TIMESTAMP)
    return stamp / 1e6 if isinstance(stamp, int | float) and not isinstance(stamp, bool) else None
