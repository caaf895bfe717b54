"""Packed files that unpack to next to nothing, without end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reportgen.formats.tally import Tally

MAX_BLANK_BYTES = 256 << 20
"""Source: ours; no writer leaves as much white space between two events."""


def until_blank(blocks: Iterable[bytes], key: str, tally: Tally) -> Iterator[bytes]:
    """Yield blocks of a text until only white space follows for long; that is noted.

    Args:
        blocks: of any size.
        key: the file's, for the tally.
        tally: told when reading was given up.
    """
    n_blank = 0
    for block in blocks:
        n_blank = n_blank + len(block) if block.isspace() else 0
        if n_blank > MAX_BLANK_BYTES:
            tally.remark(
                "It has hundreds of megabytes of white space; what follows was not read.", path=key
            )
            return
        if not n_blank or b"\n" in block:
            yield block
