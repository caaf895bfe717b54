"""Patterns as smdebug means them: found anywhere in a name, not the whole of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reportgen.explore.selection import name_filter

if TYPE_CHECKING:
    import pandas as pd


def anywhere(patterns: Sequence[str]) -> list[str]:
    """Return patterns that match whole names in which the given ones are found.

    Raises:
        ConfigError: a pattern that is none.
    """
    name_filter(patterns, option="pattern")
    return [f".*(?:{pattern}).*" for pattern in patterns]


def found_in(names: pd.Series, patterns: Sequence[str]) -> pd.Series:
    """Return in which names one of the patterns is found.

    Raises:
        ConfigError: a pattern that is none.
    """
    wanted = name_filter(anywhere(patterns), option="pattern")
    return names.map({name: wanted.accepts(name) for name in names.unique()}).astype(bool)
