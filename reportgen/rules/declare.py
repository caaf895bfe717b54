"""Declare the parameters that rules over system metrics share."""

from __future__ import annotations

from typing import Any

from reportgen.rules.base import param

GUIDE = "AWS developer guide, list of built-in profiler rules; observed defaults, rules-spec §0.5"


def percentage(default: float, meaning: str) -> Any:
    """Declare a percentage of 0-100."""
    return param(default, unit="%", meaning=meaning, source=GUIDE, minimum=0, maximum=100)


def patience() -> Any:
    """Declare how many samples must be exceeded before a rule judges."""
    return param(
        1000,
        unit="samples",
        meaning="judge only once more than this many samples exist",
        source=GUIDE,
        minimum=1,
        is_whole=True,
    )


def window(default: int, *, minimum: int = 1) -> Any:
    """Declare how many of the newest samples are looked at."""
    return param(
        default,
        unit="samples",
        meaning="how many of the newest samples are looked at",
        source=GUIDE,
        minimum=minimum,
        is_whole=True,
    )
