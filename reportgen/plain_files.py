"""Which files are read that others may have put in their place: plain ones, and not too large.

A path that the user names may be a link. An entry of a folder may not: a link in a saved report
would copy a private file into the next one. Nobody waits for a pipe or reads a device.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from reportgen.errors import LocationError

LINK = "a link"
MOST_BYTES = 32_000_000
"""No file of a saved report may be larger: as Python objects its JSON takes up to 0.8 GB."""

_KINDS = (
    (stat.S_ISLNK, LINK),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)


def oddity(mode: int) -> str:
    """Return the kind of a file that is not plain, empty for a plain one; ``mode`` as in ``stat``.

    Example:
        >>> oddity(stat.S_IFIFO), oddity(stat.S_IFREG)
        ('a pipe', '')
    """
    if stat.S_ISREG(mode):
        return ""
    return next((kind for is_kind, kind in _KINDS if is_kind(mode)), "a device")


def refuse_oddity(path: Path, *, hint: str) -> None:
    """Refuse a pipe, a socket or a device in the place of a saved report, or of folders of them.

    Raises:
        LocationError: it is one, or a link to one.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # who opens it says so
        return
    if not stat.S_ISDIR(mode) and (kind := oddity(mode)):
        raise LocationError(
            f"{str(path)!r} is {kind}, not a saved report.", hint=hint, path=str(path)
        )


def open_plain(path: str | os.PathLike[str]) -> int:
    """Return a descriptor that reads a plain file, or the one that a link leads to.

    Raises:
        OSError: there is no file, or another kind; ``strerror`` says which.
    """
    descriptor = os.open(path, _FLAGS)  # a pipe is not waited for
    if kind := oddity(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, f"it is {kind}, not a plain file", os.fspath(path))
    return descriptor


def read_named(path: str | os.PathLike[str], *, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of a file that the user named, which may be a link to a plain one.

    Raises:
        OSError: it is no plain file, has more than ``most_bytes``, or cannot be read;
            ``strerror`` says which.
    """
    if kind := oddity(os.stat(path).st_mode):  # noqa: PTH116  # a socket cannot even be opened
        raise OSError(errno.EINVAL, f"it is {kind}, not a plain file", os.fspath(path))
    with os.fdopen(open_plain(path), "rb") as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        said = f"it has more than {most_bytes / 1e6:.0f} MB"
        raise OSError(errno.EFBIG, said, os.fspath(path))
    return content


def read_entry(path: Path) -> bytes:
    """Return the content of an entry of a folder; errors as ``read_named``, and for a link."""
    if path.is_symlink():
        raise OSError(errno.ELOOP, f"it is {LINK}, not a plain file", str(path))
    return read_named(path)
