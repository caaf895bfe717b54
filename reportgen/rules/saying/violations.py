"""Names from before ``rules.aws.details`` had them."""

from __future__ import annotations

from reportgen.rules.aws.details import (
    LastViolation,
    box_member,
    entries_of,
    last_timestamp_s,
    violation_details,
)

__all__ = ["LastViolation", "box_member", "entries_of", "last_timestamp_s", "violation_details"]
