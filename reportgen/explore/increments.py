"""New data of a job that is still being written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reportgen.formats import FileRole, claim, role_of
from reportgen.profile import JobProfile, PartRef
from reportgen.profile.job import FileRef

if TYPE_CHECKING:
    import pandas as pd

_Seen = NDArray[np.uint64]


class Increments:
    """Remembers which files were read, and a hash of each row that was returned (8 bytes)."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, str], tuple[int, str]] = {}
        self._reading: dict[tuple[str, str], tuple[int, str]] = {}
        self._rows: dict[str, _Seen] = {}

    def parts(self, job: JobProfile) -> Iterator[PartRef]:
        """Yield the parts of a job with the files that are new or have grown.

        With a timeline comes the one that its writer closed before: an event may begin there.
        """
        for part in job.parts:
            fresh = {file.key for file in part.files if self._is_fresh(part, file)}
            if fresh:
                wanted = fresh | _timelines_before(fresh, part.files)
                files = tuple(file for file in part.files if file.key in wanted)
                yield replace(part, files=files)

    def unseen(self, frame: pd.DataFrame, kind: str) -> pd.DataFrame:
        """Return the rows of a frame that were not returned before, and remember them."""
        import pandas as pd

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


def _timelines_before(fresh: set[str], files: Sequence[FileRef]) -> set[str]:
    """Return the keys of the timelines that were closed just before fresh ones of their writer."""
    closed: dict[tuple[str, str], list[tuple[bool, int, str]]] = defaultdict(list)
    for file in files:
        told = claim(file.key)
        if told and role_of(told) is FileRole.EVENTS:
            is_open = told.stamp == 0
            closed[told.worker, told.source].append((is_open, told.stamp, file.key))
    return {
        before
        for written in closed.values()
        for (*_, before), (*_, key) in pairwise(sorted(written))
        if key in fresh
    }
