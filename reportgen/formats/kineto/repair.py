"""Damaged events of kernel traces made readable: the kinds that are met in the wild.

Sources: pytorch#98432 (backslashes), #130622 and #136180 (control characters), #146900 and
kineto#1459 (quotes), kineto's guards against blank metadata, ``N/A`` and ``-nan`` of older traces.
"""

from __future__ import annotations

import json
import re

from reportgen.formats.kineto.events import TraceEvent, event_of

_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_NO_NUMBER = re.compile(
    rb"(?<=[:\[,])(\s*)(?:[-+]?(?:nan|inf(?:inity)?)(?:\(\w*\))?|N/A|undefined)(?=\s*[,}\]])",
    re.IGNORECASE,
)
_NO_VALUE = re.compile(rb'("\s*:)(\s*)(?=[,}])')
_DOUBLE_COMMA = re.compile(rb",(?:\s*,)+")
_LAST_COMMA = re.compile(rb",(\s*)(?=[}\]])")
_UNKNOWN = "�"
_REPAIRS: tuple[tuple[re.Pattern[bytes], bytes], ...] = (
    (_CONTROL, _UNKNOWN.encode()),
    (_NO_NUMBER, rb"\1null"),
    (_NO_VALUE, rb"\1null"),
    (_DOUBLE_COMMA, b","),
    (_LAST_COMMA, rb"\1"),
)
_TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
"""A quoted text; one that is never closed reaches to the end, so that its quotes start no other."""

_BAD_ESCAPE = re.compile(rb'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_LONE_BACKSLASH = re.compile(rb'(?<!\\)\\(?![\\"])')
_NAME = re.compile(r'"name"\s*:\s*"')
_NAME_END = re.compile(r'"\s*+(?:,\s*+"(?:ph|cat|pid|tid|ts|dur|id|bp|s|args)"\s*+:|\}\s*+\Z)')
MAX_REPAIR_BYTES = 1 << 20
"""Longer texts are not repaired: the names of kernels have some thousand characters, and the
arguments of an event some ten thousand."""


def repair_text(text: bytes) -> tuple[bytes, int]:
    """Return text without what no JSON reader accepts, and in how many places it was changed.

    Control characters and bytes that are no UTF-8 become ``�``; ``NaN``, ``N/A`` and values
    that are missing become ``null``; commas too many go; wrong escapes become backslashes.
    """
    decoded = text.decode("utf-8", "replace")
    n_changed = decoded.count(_UNKNOWN) - text.count(_UNKNOWN.encode())
    text = decoded.encode()
    for pattern, replacement in _REPAIRS:
        text, n_found = pattern.subn(replacement, text)
        n_changed += n_found
    if b"\\" in text:
        text, n_escaped = _escape_lone_backslashes(text)
        n_changed += n_escaped
    return text, n_changed


def _escape_lone_backslashes(text: bytes) -> tuple[bytes, int]:
    """Return text whose backslashes escape something, and how many quoted texts were changed."""
    n_changed = 0

    def escaped(match: re.Match[bytes]) -> bytes:
        nonlocal n_changed
        if not _BAD_ESCAPE.search(match[0]):
            return match[0]
        n_changed += 1
        return _LONE_BACKSLASH.sub(rb"\\\\", match[0])

    return _TEXT.sub(escaped, text), n_changed


def repair_event(text: bytes) -> TraceEvent | None:
    """Return one damaged event, ``None`` when it cannot be read.

    Quotes inside a name are found by the key that follows the name.
    """
    if len(text) > MAX_REPAIR_BYTES:
        return None
    repaired = repair_text(text)[0].decode()
    fields = _object(repaired)
    if fields is None:
        fields = _object(_with_quoted_name(repaired))
    return None if fields is None else event_of(fields)


def _object(text: str) -> dict[str, object] | None:
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _with_quoted_name(text: str) -> str:
    """Return an event whose name ends where the next key begins, not at a quote inside it."""
    begin = _NAME.search(text)
    end = _NAME_END.search(text, begin.end()) if begin else None
    if begin is None or end is None:
        return text
    inner = re.sub(r'(?<!\\)"', r'\\"', text[begin.end() : end.start()])
    return text[: begin.end()] + inner + text[end.start() :]
