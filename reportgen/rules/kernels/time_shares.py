"""Times as shares of their sum."""

from __future__ import annotations

from collections.abc import Mapping

from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.units import percentages


def time_shares(
    exhibit_id: str, parts_us: Mapping[str, float], *, title: str, caption: str
) -> Exhibit:
    """Return what a time is made of: name and µs of each part, in their order."""
    return exhibit(
        exhibit_id,
        ExhibitKind.SHARES,
        title=title,
        caption=caption,
        columns=[
            ("part", "", list(parts_us)),
            ("time_us", "us", list(parts_us.values())),
            ("pct", "%", percentages(list(parts_us.values()))),
        ],
    )
