"""Names from before ``rules.kit`` had them."""

from __future__ import annotations

from reportgen.rules.kit import AWS_DEFAULTS, patience, percentage, window

GUIDE = AWS_DEFAULTS

__all__ = ["GUIDE", "patience", "percentage", "window"]
