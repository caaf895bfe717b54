"""The files of a node's system metrics: minutes, or hours that our recorder packed.

Source: docs/formats.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reportgen.formats.decompression import (
    PIECE_BYTES,
    Packing,
    in_pieces,
    no_more_than_written,
    tell_packing,
    unpacked,
)
from reportgen.formats.diagnostics import Diagnostics
from reportgen.formats.json_text import to_text
from reportgen.profile import Quality
from reportgen.storage import Location

PACKED_RATIO = 25
"""Measured ratio of the length of samples to their packed length."""

_MINUTE_S, _HOUR_S = 60, 3_600
_HEAD_BYTES = 64
_PATTERN = re.compile(r"[*?[]")


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemFile:
    """A file of a node: the minute ``minute_s`` (seconds UTC), or the rest of its hour, packed."""

    location: Location
    key: str
    size_bytes: int
    node: str
    minute_s: int

    @property
    def is_packed(self) -> bool:
        """Return whether it holds an hour, packed."""
        return self.key.endswith(".gz")

    @property
    def length_s(self) -> int:
        """Return how many seconds it is about."""
        return _HOUR_S if self.is_packed else _MINUTE_S

    @property
    def text_bytes(self) -> int:
        """Return about how long its text is."""
        return self.size_bytes * (PACKED_RATIO if self.is_packed else 1)

    def pieces(self, content: bytes, problems: Diagnostics) -> Iterator[bytes]:
        """Yield its text, unpacked if need be, in pieces of whole lines (``in_pieces``)."""
        if not self.is_packed:
            is_utf8 = len(content) <= PIECE_BYTES or to_text(content[:_HEAD_BYTES])[1] == "UTF-8"
            yield from in_pieces((content,)) if is_utf8 else (content,)
            return
        packing = Packing()
        yield from in_pieces(no_more_than_written(unpacked((content,), packing), packing))
        tell_packing(packing, self.key, problems)

    def path(self) -> str | None:
        """Return where it lies on this machine, if DuckDB can open that path."""
        local = self.location.local_path(self.key)
        # DuckDB takes other paths for patterns, or does not take them at all.
        is_plain = local is not None and local.isprintable() and not _PATTERN.search(local)
        return local if is_plain else None


def readable(files: Sequence[SystemFile], problems: Diagnostics) -> list[SystemFile]:
    """Return the files that may be read and hold something; note the others."""
    kept = []
    for file in files:
        local = file.location.local_path(file.key)
        if file.size_bytes == 0:
            problems.add(Quality.FILES_SKIPPED, file.key, what="{n} [file was|files were] empty")
        elif local is not None and not os.access(local, os.R_OK):
            problems.add(Quality.FILES_SKIPPED, file.key, what="{n} [file|files] cannot be opened")
        else:
            kept.append(file)
    return kept
