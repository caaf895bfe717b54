"""What a place that holds files can do, and which module serves which scheme."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from reportgen.errors import LocationError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectInfo:
    """One file of a place.

    Attributes:
        key: path below the place's root, with forward slashes on every system.
        size_bytes: its size when it was listed.
        problem: why it cannot be read (``"a link"``); empty for a plain file.
    """

    key: str
    size_bytes: int
    problem: str = ""


class Location(Protocol):
    """A folder or bucket prefix, opened for reading."""

    @property
    def root(self) -> str:
        """Return the absolute path or URL that keys are relative to."""
        ...

    def list(self) -> Sequence[ObjectInfo]:
        """Return every file below the root, sorted by key."""
        ...

    def read_bytes(self, key: str) -> bytes:
        """Return a file's content; raise ``LocationError`` when it cannot be read."""
        ...

    def local_path(self, key: str) -> Path | None:
        """Return where a file lies on this machine, or ``None`` when it does not."""
        ...


def open_location(path: str) -> Location:
    """Open a place by the scheme of its path; without a scheme it is a local folder.

    Args:
        path: ``job/``, ``/data/job``, ``file:///data/job``.

    Raises:
        LocationError: no such folder, not a folder, or a scheme that cannot be read.
    """
    from reportgen.storage.local import LocalLocation

    match = _SCHEME.match(path)
    if match is None:
        return LocalLocation(path)
    scheme = match[1].lower()
    if scheme == "file":
        return LocalLocation(path[match.end() :])
    raise LocationError(
        f"This version cannot read {scheme}:// paths such as {_without_query(path)}.",
        hint=_remedy(scheme),
        path=_without_query(path),
    )


def _without_query(url: str) -> str:
    """Drop what may hold a signature or credentials."""
    bare = re.split(r"[?#]", url, maxsplit=1)[0]
    return re.sub(r"://[^/@]*@", "://", bare)


def _remedy(scheme: str) -> str:
    if scheme == "s3":
        return "Copy the job first (aws s3 cp --recursive) and pass the local folder."
    return "Copy the job to this machine and pass the local folder."
