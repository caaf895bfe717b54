"""Packed files that unpack to next to nothing, without end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from reportgen.formats.diagnostics import Diagnostics

MAX_BLANK_BYTES = 256 << 20
"""No writer leaves as much white space between two events."""

SAY_BLANK = "It has hundreds of megabytes of white space; what follows was not read."


def until_blank(blocks: Iterable[bytes], given_up: Callable[[], None]) -> Iterator[bytes]:
    """Yield blocks of a text until only white space follows for long.

    Args:
        blocks: of any size.
        given_up: called when the rest is left unread.
    """
    n_blank = 0
    for block in blocks:
        n_blank = n_blank + len(block) if block.isspace() else 0
        if n_blank > MAX_BLANK_BYTES:
            given_up()
            return
        if not n_blank or b"\n" in block:
            yield block


def noted_until_blank(blocks: Iterable[bytes], key: str, problems: Diagnostics) -> Iterator[bytes]:
    """Yield blocks as ``until_blank``; that the rest was not read is noted."""
    return until_blank(blocks, lambda: problems.remark(SAY_BLANK, path=key))
