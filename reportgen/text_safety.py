"""Names as people may read them: harmless, and no longer than their place."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence

from reportgen.masking import without_secrets

_SPECIAL = re.compile(r"([\\`*\[\]|~]|^[#+>-]|(?<!\w)_|_(?!\w))", flags=re.MULTILINE)
_CONTROLS = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)


class TerminalFormatter(logging.Formatter):
    """Writes lines of the log as ``terminal_text``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a line of the log, with its traceback if it has one."""
        return terminal_text(super().format(record))


def terminal_text(text: str) -> str:
    """Return a text as everything is printed: no secrets, nothing that a terminal would obey."""
    return clean(without_secrets(text))


def clean(text: str) -> str:
    """Return a text without control characters and without marks that turn its direction."""
    return _CONTROLS.sub("\ufffd", text)


def cut_middle(text: str, most: int) -> str:
    """Return a text of at most ``most`` characters: both ends say most.

    Example:
        >>> cut_middle("aten::convolution_backward", 12)
        'aten::c…ward'
    """
    if len(text) <= most:
        return text
    tail = most // 3
    return f"{text[: most - tail - 1]}…{text[-tail:]}"


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table and the empty line behind it."""
    yield f"| {' | '.join(markdown_text(head) for head in heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(markdown_text(cell) for cell in row)} |"
    yield ""


def markdown_text(text: str) -> str:
    """Return a text that Markdown and HTML show as it is, on one line."""
    line = " ".join(text.replace("\u00a0", " ").split())
    safe = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", safe)
