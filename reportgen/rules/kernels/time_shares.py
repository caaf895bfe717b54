"""Times as shares of their sum."""

from __future__ import annotations

from collections.abc import Mapping

from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.units import NS_PER_US, percentages


def time_shares(
    exhibit_id: str, parts_ns: Mapping[str, int], *, title: str, caption: str
) -> Exhibit:
    """Return what a time is made of: name and ns of each part, in their order."""
    return exhibit(
        exhibit_id,
        ExhibitKind.SHARES,
        title=title,
        caption=caption,
        columns=[
            ("part", "", list(parts_ns)),
            ("time_us", "us", [part_ns / NS_PER_US for part_ns in parts_ns.values()]),
            ("pct", "%", percentages(list(parts_ns.values()))),
        ],
    )
