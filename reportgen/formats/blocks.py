"""Read a file of a part block by block, as far as that goes."""

from __future__ import annotations

from collections.abc import Iterator

from reportgen.errors import LocationError, PlaceError
from reportgen.formats.diagnostics import Diagnostics
from reportgen.profile import Quality
from reportgen.storage import Location, read_blocks

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
        problems.add(Quality.FILES_SKIPPED, key, what="{n} [file|files] cannot be read to the end")
        problems.remark(err.message, path=key)
