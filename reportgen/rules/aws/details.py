"""AWS's ``Details`` of rules that keep the last violation of each device: written and read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from reportgen.facts.distributions import Box
from reportgen.results import Details, Exhibit, JsonValue, Role
from reportgen.results.charts import boxes
from reportgen.text import device_label
from reportgen.units import NS_PER_MINUTE, minute_start_us

LAST_TIMESTAMP = "last_timestamp"
MEMORY_SUFFIX = "_memory"
"""Behind the name of a GPU where its memory is meant."""
IDLE_GPUS, HOT_CORES = "GPUs", "CPUs"
"""AWS's names of the two counts of a bottleneck."""


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


def box_member(box: Box) -> dict[str, JsonValue]:
    """Return a box in AWS's order of fields."""
    return asdict(box)


def boxes_of(
    entries: Sequence[tuple[str, str, dict[str, float]]],
    *,
    title: str,
    largest: str = "",
    role: Role | None = None,
    role_of: Callable[[str], Role | None] | None = None,
) -> Exhibit:
    """Return the boxes of those of ``entries_of`` that hold all numbers of a box.

    ``largest`` is the name of the largest value among the numbers, where AWS writes it; ``role_of``
    returns the role of a device's box, where ``role`` is not that of all.
    """
    marks, n_nodes = [field.name for field in fields(Box)], len({node for node, *_ in entries})
    shown = [entry for entry in entries if entry[2].keys() >= set(marks)]
    items = [
        (
            device_label(node, device, n_nodes=n_nodes),
            Box(**{mark: numbers[mark] for mark in marks}),
            numbers.get(largest),
        )
        for node, device, numbers in shown
    ]
    row_roles = [role_of(device) for _, device, _ in shown] if role_of else ()
    return boxes("boxes", items, title=title, unit="%", role=role, row_roles=row_roles)


def entries_of(details: Details) -> list[tuple[str, str, dict[str, float]]]:
    """Return (node, device, numbers) of each entry; the way back from ``violation_details``.

    Edge cases: members that are no numbers are left out, so that a foreign file cannot break a
    report.
    """
    return [
        (node, device, _numbers(entry))
        for node, devices in details.items()
        if node != LAST_TIMESTAMP and isinstance(devices, dict)
        for device, entry in devices.items()
        if isinstance(entry, dict)
    ]


def _numbers(entry: Mapping[str, JsonValue]) -> dict[str, float]:
    return {
        key: float(value)
        for key, value in entry.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def last_timestamp_s(details: Details) -> float | None:
    """Return the start of the minute of the newest violation in Unix seconds."""
    stamp = details.get(LAST_TIMESTAMP)
    return stamp / 1e6 if isinstance(stamp, int | float) and not isinstance(stamp, bool) else None
