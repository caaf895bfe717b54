"""Patterns as smdebug means them: found anywhere in a name, not the whole of it."""

from __future__ import annotations

from collections.abc import Sequence

from reportgen.explore.selection import name_filter


def anywhere(patterns: Sequence[str]) -> list[str]:
    """Return patterns that match whole names in which the given ones are found.

    Raises:
        ConfigError: a pattern that is none.
    """
    name_filter(patterns, option="patterns")
    return [f".*(?:{pattern}).*" for pattern in patterns]
