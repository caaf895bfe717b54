"""Damaged or unusual JSON text, item by item."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator

_DECODER = json.JSONDecoder()
_BETWEEN = " \t\r\n,"


def to_text(content: bytes) -> tuple[str, str]:
    """Return text and the name of its encoding.

    Bytes that are no UTF-8 become lone surrogates, so that only their lines are lost.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace"), "UTF-16"
    head = content[:64]
    for offset, encoding in ((1, "UTF-16-LE"), (0, "UTF-16-BE")):
        if len(head) > 8 and not any(head[offset::2]):
            return content.decode(encoding, "replace"), encoding
    return content.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape"), "UTF-8"


def whole_array(text: str) -> list[object] | None:
    """Return the items of a text that is one JSON array, else ``None``."""
    if not text.lstrip().startswith("["):
        return None
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return items if isinstance(items, list) else None


def items_of_line(line: str) -> Iterator[object]:
    """Yield the JSON values of a line, which may hold several or be part of an array.

    Raises:
        ValueError: a value that cannot be read; those before it were yielded.
    """
    text = line.strip().removeprefix("[").strip(_BETWEEN)
    if text == "]":
        return
    text = text.removesuffix("]").rstrip(_BETWEEN) if text.endswith(("}]", "} ]")) else text
    text.encode("utf-8")
    position = 0
    while position < len(text):
        try:
            item, position = _DECODER.raw_decode(text, position)
        except RecursionError as err:
            raise ValueError("nested too deeply") from err
        yield item
        while position < len(text) and text[position] in _BETWEEN:
            position += 1
