"""Names from before ``facts.device_busy`` and ``rules.kit`` had them."""

from __future__ import annotations

from reportgen.facts.device_busy import is_communication
from reportgen.rules.kit import communication_names

__all__ = [
    "communication_names",
    "is_communication",
]
