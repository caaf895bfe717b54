"""Box plots as exhibits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reportgen.facts.distributions import Box
from reportgen.results import Exhibit, ExhibitKind, exhibit

MAX_BOXES = 64
"""More boxes than this cannot be told apart in a chart; all numbers stay in tables. Ours."""
CAPTION = (
    "Box: 25th to 75th percentile with the median; whiskers reach to the last value within 1.5 "
    "times the box (Tukey), not to p5 and p95."
)


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


def boxes_exhibit(exhibit_id: str, boxes: Sequence[NamedBox], *, title: str, unit: str) -> Exhibit:
    """Return a ``boxes`` exhibit of the first ``MAX_BOXES``; the caption says when some miss."""
    shown = boxes[:MAX_BOXES]
    rest = f" The first {len(shown)} of {len(boxes)}." if len(shown) < len(boxes) else ""
    return exhibit(
        exhibit_id,
        ExhibitKind.BOXES,
        title=title,
        caption=CAPTION + rest,
        columns=[
            ("name", "", [item.name for item in shown]),
            ("lower", unit, [round(item.box.lower, 4) for item in shown]),
            ("p25", unit, [round(item.box.p25, 4) for item in shown]),
            ("p50", unit, [round(item.box.p50, 4) for item in shown]),
            ("p75", unit, [round(item.box.p75, 4) for item in shown]),
            ("upper", unit, [round(item.box.upper, 4) for item in shown]),
            ("p95", unit, [round(item.box.p95, 4) for item in shown]),
            (
                "max",
                unit,
                [None if item.largest is None else round(item.largest, 4) for item in shown],
            ),
        ],
    )
