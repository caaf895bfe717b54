"""A name from before ``rules.kit`` had it."""

from __future__ import annotations

from reportgen.rules.kit import longest_minutes

__all__ = ["longest_minutes"]
