"""Open the place of one part, read a file of it block by block, and note what changed since."""

from __future__ import annotations

from collections.abc import Iterator

from reportgen.errors import LocationError, PlaceError
from reportgen.formats import Diagnostics
from reportgen.profile import PartRef, Quality
from reportgen.storage import Location, open_location, read_blocks

SAY_CHANGED = "This file changed after it was listed; its newer content was read."


def open_part(ref: PartRef) -> Location:
    """Open the place of a part's files; errors as ``open_location``."""
    return open_location(ref.root, listed={file.key: file for file in ref.files})


def remark_changes(location: Location, problems: Diagnostics) -> None:
    """Note each file that was read in another version than the listed one."""
    for key in location.changed():
        problems.remark(SAY_CHANGED, path=key)


_NEAR_BYTES, _FAR_BYTES = 1 << 19, 4 << 20
"""Blocks of files of this machine stay in a core's cache; each of other files is a request."""


def read_file_blocks(
    location: Location, key: str, size_bytes: int, problems: Diagnostics
) -> Iterator[bytes]:
    """Yield a file in blocks; one that cannot be read any further ends there, with a note."""
    block_bytes = _FAR_BYTES if location.local_path(key) is None else _NEAR_BYTES
    try:
        yield from read_blocks(location, key, size_bytes, block_bytes=block_bytes)
    except PlaceError:
        raise
    except LocationError as err:
        what = "{n} [file|files] cannot be read to the end"
        problems.add(Quality.FILES_SKIPPED, key, what=what)
        problems.remark(err.message, path=key)
