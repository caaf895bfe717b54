"""Minute files as DuckDB can open them: in place, or many tiny ones spooled into one.

Our own recorder packs the minutes of a closed hour into one file (docs/formats.md).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import accumulate
from typing import Self

import numpy as np
from numpy.typing import NDArray

from reportgen.errors import LocationError
from reportgen.formats.decompression import (
    PIECE_BYTES,
    Packing,
    in_pieces,
    no_more_than_written,
    unpacked,
)
from reportgen.formats.diagnostics import Diagnostics
from reportgen.formats.json_text import to_text
from reportgen.profile import Quality
from reportgen.scratch import scratch_folder
from reportgen.storage import Location

TINY_BYTES = 32 * 1024
"""Files below this are spooled: by measurement, opening them costs more than parsing."""

MANY_FILES = 64
"""Fewer files than this are opened in place whatever their size: spooling saves nothing."""

PACKED_RATIO = 25
"""Measured ratio of the length of samples to their packed length."""

_MINUTE_S, _HOUR_S = 60, 3_600
_HEAD_BYTES = 64
_PATTERN = re.compile(r"[*?[]")


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemFile:
    """A file of a node: the minute ``minute_s`` (seconds UTC), or the rest of its hour, packed.

    ``version`` is its ETag when it was listed; empty where files have none.
    """

    location: Location
    key: str
    size_bytes: int
    node: str
    minute_s: int
    version: str = ""

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

    def pieces(self, content: bytes, problems: Diagnostics | None = None) -> Iterator[bytes]:
        """Yield its text, unpacked if need be, in pieces of whole lines (``in_pieces``).

        Raises:
            LocationError: it is damaged and there are no ``problems`` to note that in.
        """
        if not self.is_packed:
            is_utf8 = len(content) <= PIECE_BYTES or to_text(content[:_HEAD_BYTES])[1] == "UTF-8"
            yield from in_pieces((content,)) if is_utf8 else (content,)
            return
        packing = Packing()
        yield from in_pieces(no_more_than_written(unpacked((content,), packing), packing))
        if packing.is_damaged or packing.is_cut_off:
            if problems is None:
                raise LocationError(f"{self.key} is damaged.")
            problems.remark("This packed file is damaged; its beginning was read.", path=self.key)

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


class BlockSource:
    """Paths for DuckDB, and which file each row came from."""

    def __init__(self, files: Sequence[SystemFile]) -> None:
        self.files = list(files)
        self.paths: list[str] = []
        self._line_counts: list[int] = []
        self._exits = ExitStack()

    def __enter__(self) -> Self:
        n_files, size_bytes = len(self.files), sum(file.text_bytes for file in self.files)
        is_tiny = n_files > MANY_FILES and size_bytes < TINY_BYTES * n_files
        paths = [] if is_tiny else [file.path() for file in self.files]
        if is_tiny or None in paths:
            self.paths = [self._spool()]
        else:
            self.paths = [path for path in paths if path is not None]
        return self

    def __exit__(self, *error: object) -> None:
        self._exits.close()

    def file_starts(self, path_index: NDArray[np.uint16]) -> list[int] | None:
        """Return where each file's rows start, and the end of the last; ``None`` for odd lines.

        ``path_index`` is (n,), an index into ``paths`` for each row in the order of the lines.
        """
        if self._line_counts:
            starts = [0, *accumulate(self._line_counts)]
        else:
            wanted = np.arange(len(self.files) + 1, dtype=path_index.dtype)
            starts = np.searchsorted(path_index, wanted).tolist()
        return starts if starts[-1] == len(path_index) else None

    def _spool(self) -> str:
        folder = self._exits.enter_context(scratch_folder())
        spool = self._exits.enter_context((folder / "spool.json").open("wb"))
        keys = [file.key for file in self.files]
        contents = self.files[0].location.read_many(keys)
        for file, packed in zip(self.files, contents, strict=True):
            if isinstance(packed, LocationError):
                raise packed
            n_lines = 0
            for piece in file.pieces(packed):
                n_lines += sum(1 for line in piece.split(b"\n") if line.strip())
                spool.write(piece if piece.endswith(b"\n") else piece + b"\n")
            self._line_counts.append(n_lines)
        spool.flush()
        return str(spool.name)
