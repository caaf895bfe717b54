"""Whether a mutated file can still be read without losing anything, marked by other means than
ours.

A file of which anything is lost must be mentioned in the report. Only what is certain is said:
a file that is called damaged here has lost at least one record.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

_PERCENT = {
    "GPUUtilization", "GPUMemoryUtilization", "CPUUtilization", "I/OWaitPercentage",
}  # fmt: skip
_UNSURE = object()
"""An object with a key twice: some readers take the first value, some the last."""
_KNOWN_PHASES = {"X", "B", "E", "i", "I", "R", "M", "C"}


def damaged_minute(content: bytes, minute_s: float) -> bool:
    """Return whether a minute file holds something that cannot be a sample of its minute."""

    def is_sample(item: Any) -> bool:
        if item is _UNSURE:
            return True
        if not isinstance(item, dict) or not isinstance(item.get("Type"), str):
            return False
        value: Any = item.get("Value")
        time_s: Any = item.get("Timestamp")
        if not _is_number(value) or not _is_number(time_s):
            return False
        is_percentage = item["Type"] in {"cpu", "gpu"} and str(item.get("Dimension")) in _PERCENT
        is_possible = 0 <= float(value) <= 100 or not is_percentage
        return bool(is_possible and abs(float(time_s) - minute_s) < 86_400)

    return _is_damaged(content, is_sample)


def damaged_timeline(content: bytes) -> bool:
    """Return whether a timeline holds something that cannot be an event."""

    def is_event(item: Any) -> bool:
        if isinstance(item, list):
            return all(map(is_event, item))  # brackets more than needed
        if item == {} or item is _UNSURE:
            return True
        if not isinstance(item, dict):
            return False
        if str(item.get("ph")) not in _KNOWN_PHASES:
            return False
        if item["ph"] in {"M", "C"}:
            return True
        is_timed = _is_number(item.get("ts"))
        return is_timed and (
            item["ph"] != "X" or (_is_number(item.get("dur")) and float(item["dur"]) >= 0)
        )

    return _is_damaged(content, is_event)


def _is_damaged(content: bytes, is_good: Callable[[Any], bool]) -> bool:
    if b"\x00" in content[:64] or content[:1] in {b"\xff", b"\xfe"}:
        return False  # perhaps UTF-16: nothing is certain here
    text = content.decode("utf-8-sig", "surrogateescape")
    whole = _value_of(text)
    if isinstance(whole, list):
        return not all(map(is_good, whole))
    # An object on two lines, split where JSON may be, can still be read whole.
    lines = ["", *(line for line in text.split("\n") if line.strip()), ""]
    return any(
        _is_lost(line, is_good)
        and not any(
            is_good(_value_of(_bare(pair))) for pair in (f"{before}\n{line}", f"{line}\n{after}")
        )
        for before, line, after in zip(lines, lines[1:], lines[2:], strict=False)
    )


def _is_lost(line: str, is_good: Callable[[Any], bool]) -> bool:
    bare = _bare(line)
    if not bare:
        return False
    item = _value_of(bare)
    if item is None and _may_be_several(bare):
        return False
    if not bare.isprintable() and is_good(item):
        return False  # bytes that are no UTF-8, perhaps in a key that nobody reads
    return not is_good(item)


def _bare(line: str) -> str:
    """Return a line without what stands around its object."""
    return line.strip().strip("[], \t\r")


def _value_of(text: str) -> Any:
    def object_of(pairs: list[tuple[str, Any]]) -> Any:
        return dict(pairs) if len(dict(pairs)) == len(pairs) else _UNSURE

    try:
        return json.loads(text, object_pairs_hook=object_of)
    except (ValueError, RecursionError):
        return None


def _may_be_several(line: str) -> bool:
    """Return whether a line may be several whole objects: then nothing is certain here."""
    return line.count("{") > 1 and "}" in line[:-1]


def _is_number(value: object) -> bool:
    """Return whether a value is a number, or the text of one."""
    try:
        return not isinstance(value, bool) and math.isfinite(float(value))  # type: ignore[arg-type]  # caught
    except (OverflowError, TypeError, ValueError):
        return False
