"""The common interface of all places that hold files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from reportgen.errors import LocationError


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectInfo:
    """One file of a place, by its path below the place's root, with forward slashes.

    ``version`` (ETag) and ``size_bytes`` are those when it was listed; ``problem`` says why it
    cannot be read (``"a link"``), empty for a plain file.
    """

    key: str
    size_bytes: int
    version: str = ""
    problem: str = ""


class Listed(Protocol):
    """The facts on a file from its listing: ``ObjectInfo``, or a part's reference."""

    @property
    def size_bytes(self) -> int:
        """Return its size when it was listed."""

    @property
    def version(self) -> str:
        """Return its version (ETag) when it was listed; empty where the place has none."""


class Location(Protocol):
    """A folder or bucket prefix, opened for reading."""

    @property
    def root(self) -> str:
        """Return the absolute path or URL that keys are relative to."""

    def list(self) -> Sequence[ObjectInfo]:
        """Return every file below the root, sorted by key."""

    def read_bytes(self, key: str) -> bytes:
        """Return a file's content; raise ``LocationError`` when it cannot be read."""

    def read_range(self, key: str, start: int, n_bytes: int) -> bytes:
        """Return a part of a file that begins before its end; errors as ``read_bytes``."""

    def read_many(self, keys: Sequence[str]) -> Iterator[bytes | LocationError]:
        """Yield the content of files in the order of the keys, or why one cannot be read.

        Raises ``PlaceError`` when nothing more can be read.
        """

    def changed(self) -> Sequence[str]:
        """Return the keys whose content was another than what was listed."""

    def local_path(self, key: str) -> str | None:
        """Return where a file lies on this machine, or ``None`` when it does not."""


def read_blocks(
    location: Location, key: str, size_bytes: int, *, block_bytes: int = 4 << 20
) -> Iterator[bytes]:
    """Yield a file in blocks, so that it need not fit into memory; errors as ``read_bytes``.

    Bytes that were added since it was listed with ``size_bytes`` are not read.
    """
    for start in range(0, size_bytes, block_bytes):
        yield location.read_range(key, start, min(block_bytes, size_bytes - start))
