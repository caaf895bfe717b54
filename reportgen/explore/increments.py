"""New data of a job that is still being written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reportgen.formats import FileRole, claim, role_of
from reportgen.profile import JobProfile, PartRef
from reportgen.profile.job import FileRef

_Seen = NDArray[np.uint64]


class Increments:
    """Remembers which files were read, and a hash of each row that was returned (8 bytes)."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, str], tuple[int, str]] = {}
        self._reading: dict[tuple[str, str], tuple[int, str]] = {}
        self._open: dict[str, set[str]] = {}
        self._rows: dict[str, _Seen] = {}

    def parts(self, job: JobProfile) -> Iterator[PartRef]:
        """Yield the parts of a job with the files that are new or have grown.

        With a timeline come those in which an event began that none has ended yet.
        """
        for part in job.parts:
            fresh = {file.key for file in part.files if self._is_fresh(part, file)}
            if any(map(_is_timeline, fresh)):
                fresh |= self._open.get(part.root, set())
            if fresh:
                yield replace(part, files=tuple(file for file in part.files if file.key in fresh))

    def left_open(self, part: PartRef, keys: Iterable[str]) -> None:
        """Remember which timelines of a part, of those just read, hold a begin without its end."""
        known = self._open.setdefault(part.root, set())
        known.difference_update(file.key for file in part.files)
        known.update(keys)

    def unseen(self, frame: pd.DataFrame, kind: str) -> pd.DataFrame:
        """Return the rows of a frame that were not returned before, and remember them."""
        hashes: _Seen = pd.util.hash_pandas_object(frame, index=False).to_numpy()
        known = self._rows.get(kind, np.empty(0, dtype=np.uint64))
        is_new = ~np.isin(hashes, known)
        self._rows[kind] = np.concatenate([known, hashes[is_new]])
        return frame[is_new].reset_index(drop=True)

    def done(self) -> None:
        """Count the files of this look as read."""
        self._read |= self._reading
        self._reading = {}

    def _is_fresh(self, part: PartRef, file: FileRef) -> bool:
        key, state = (part.root, file.key), (file.size_bytes, file.version)
        if self._read.get(key) == state:
            return False
        self._reading[key] = state
        return True


def _is_timeline(key: str) -> bool:
    claimed = claim(key)
    return claimed is not None and role_of(claimed) is FileRole.EVENTS
