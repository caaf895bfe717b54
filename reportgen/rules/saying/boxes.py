"""Box plots as exhibits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reportgen.facts.distributions import Box
from reportgen.results import Exhibit
from reportgen.rules.kit import MOST_BOXES, boxes

MAX_BOXES = MOST_BOXES


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedBox:
    """A box, what it is about, and the largest value if it is known."""

    name: str
    box: Box
    largest: float | None = None

    @classmethod
    def from_numbers(
        cls, name: str, numbers: Mapping[str, float], largest: str = ""
    ) -> NamedBox | None:
        """Return the box in an entry of AWS's JSON, ``None`` when a field is missing."""
        try:
            box = Box(
                p25=numbers["p25"],
                p50=numbers["p50"],
                p75=numbers["p75"],
                p95=numbers["p95"],
                upper=numbers["upper"],
                lower=numbers["lower"],
            )
        except KeyError:
            return None
        return cls(name=name, box=box, largest=numbers.get(largest))


def boxes_exhibit(exhibit_id: str, items: Sequence[NamedBox], *, title: str, unit: str) -> Exhibit:
    """Return a ``boxes`` exhibit; see ``kit.boxes``."""
    named = [(item.name, item.box, item.largest) for item in items]
    return boxes(exhibit_id, named, title=title, unit=unit)
