"""Names from before ``rules.kit`` had them."""

from __future__ import annotations

from reportgen.rules.kit import MOST_INTERVALS, Interval
from reportgen.rules.kit import intervals as intervals_exhibit

__all__ = ["MOST_INTERVALS", "Interval", "intervals_exhibit"]
