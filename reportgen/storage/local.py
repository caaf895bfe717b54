"""Folders of this machine."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from reportgen.errors import LocationError
from reportgen.plain_files import oddity, open_plain
from reportgen.storage.location import ObjectInfo

MAX_DEPTH = 16
"""Folders below this depth are not listed. The deepest AWS layout has 11."""
_NAME = re.compile(r"[A-Za-z0-9][\w-]{0,62}")
_REMEDY = (
    "Check the path. Pass the folder of a job or recording, a kernel trace or a log of a monitor."
)
_JOB_NAME = f"{_REMEDY} If it is a job of SageMaker: make-profiler-report sagemaker:REGION/{{}}"


class LocalLocation:
    """A folder. Links are listed with a problem and never followed, so a walk always ends."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open a folder.

        Raises:
            LocationError: it does not exist, is no folder, or may not be listed.
        """
        self._root = _existing_folder(at_home(path), str(path))
        self._prefix = os.path.join(self._root, "")  # noqa: PTH118  # text: files may be many

    @property
    def root(self) -> str:
        """Return the folder's absolute path."""
        return str(self._root)

    def list(self) -> Sequence[ObjectInfo]:
        """Return every file below the folder, sorted by key.

        Hidden folders are not looked into. Links, sockets, pipes and devices come with a
        ``problem``; so do folders that may not be listed.
        """
        return tuple(_walk(self._root, prefix="", depth=0))

    def read_bytes(self, key: str) -> bytes:
        """Return a file's content; raise ``LocationError`` when it cannot be read."""
        try:
            with os.fdopen(open_plain(self.local_path(key)), "rb", buffering=0) as file:
                return file.read()
        except OSError as err:
            raise self._unreadable(key, err) from err

    def read_range(self, key: str, start: int, n_bytes: int) -> bytes:
        """Return a part of a file, shorter at its end."""
        try:
            with os.fdopen(open_plain(self.local_path(key)), "rb") as file:
                file.seek(start)
                return file.read(n_bytes)
        except OSError as err:
            raise self._unreadable(key, err) from err

    def read_many(self, keys: Sequence[str]) -> Iterator[bytes | LocationError]:
        """Yield the content of files in the order of the keys, or why one cannot be read."""
        for key in keys:
            try:
                yield self.read_bytes(key)
            except LocationError as err:
                yield err

    def changed(self) -> Sequence[str]:
        """Return nothing: files have no versions."""
        return ()

    def local_path(self, key: str) -> str:
        """Return the file's path."""
        return self._prefix + key

    def _unreadable(self, key: str, err: OSError) -> LocationError:
        return LocationError(
            f"Cannot read {key} under {self._root}: {_reason(err)}.",
            hint="Check the file's permissions.",
            path=key,
        )


def at_home(path: str | os.PathLike[str]) -> Path:
    """Return a path with ``~`` expanded; of a user that does not exist it is a name like others."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def _existing_folder(path: Path, given: str) -> Path:
    try:
        mode = path.stat().st_mode
    except OSError as err:
        raise LocationError(
            f"Cannot open {given!r}: {_reason(err)}.",
            hint=_JOB_NAME.format(given) if _NAME.fullmatch(given) else _REMEDY,
            path=given,
        ) from err
    if not stat.S_ISDIR(mode):
        raise LocationError(
            f"{given!r} is {oddity(mode) or 'a file'}, not the folder of a job.",
            hint=_REMEDY,
            path=given,
            is_file=stat.S_ISREG(mode),
        )
    return path.resolve()


def _walk(folder: Path, *, prefix: str, depth: int) -> Iterator[ObjectInfo]:
    """Yield the files below a folder in the order of their keys."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=_place_among_keys)
    except OSError as err:
        yield ObjectInfo(key=f"{prefix}.", size_bytes=0, problem=_reason(err))
        return
    for entry in found:
        key = prefix + entry.name
        if entry.is_dir(follow_symlinks=False):
            if depth < MAX_DEPTH and not entry.name.startswith("."):
                yield from _walk(Path(entry.path), prefix=f"{key}/", depth=depth + 1)
        else:
            yield _describe(entry, key)


def _place_among_keys(entry: os.DirEntry[str]) -> str:
    """Return a text by which entries of a folder are sorted as the keys below them are."""
    return f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name


def _describe(entry: os.DirEntry[str], key: str) -> ObjectInfo:
    try:
        info = entry.stat(follow_symlinks=False)
    except OSError as err:
        return ObjectInfo(key=key, size_bytes=0, problem=_reason(err))
    problem = oddity(info.st_mode)
    return ObjectInfo(key=key, size_bytes=0 if problem else info.st_size, problem=problem)


def _reason(err: OSError) -> str:
    return (err.strerror or type(err).__name__).lower()
