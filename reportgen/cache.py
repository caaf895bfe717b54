"""A folder of what can be computed again: private, bounded, and believed only when it verifies.

An entry is one file whose name holds its key and the hash of its content. It is written under a
temporary name and renamed, so that any number of runs, killed ones too, may share the folder.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from reportgen.errors import ConfigError

MOST_BYTES = 8 << 30
"""About fifty days of a large node as columns, or some thousand ranks as summaries."""
_FOLDER = "reportgen-cache"
_KEY_DIGITS = 32
_UNFINISHED = ".unfinished"
_LONGEST_WRITE_S = 86_400.0
"""A temporary file this old was left by a run that was killed."""

_YOUNG_NS = 2 * 10**9


def user_cache_folder() -> Path:
    """Return the folder for caches of the user who runs this."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    return Path(named) if os.path.isabs(named) else Path.home() / ".cache"  # noqa: PTH117  # text


class Cache:
    """Entries by key. Whatever goes wrong with one is as if it were not there."""

    def __init__(self, parent: Path, *, most_bytes: int = MOST_BYTES) -> None:
        """Open the cache in a folder; both are made if need be.

        Raises:
            ConfigError: it cannot be made, or others may write there.
        """
        self.folder = parent / _FOLDER
        self._most_bytes = most_bytes
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self.folder.lstat()
        except OSError as err:
            raise ConfigError(
                f"The cache {self.folder} cannot be made: {(err.strerror or '').lower()}.",
                hint="Choose another folder with --cache, or --cache off.",
            ) from err
        is_ours = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
        if not stat.S_ISDIR(found.st_mode) or not is_ours or found.st_mode & 0o022:
            raise ConfigError(
                f"The cache {self.folder} could be changed by others, so it is not used.",
                hint="Choose another folder with --cache, or --cache off.",
            )

    def get(self, key: str) -> bytes | None:
        """Return the content of an entry, ``None`` without one that verifies."""
        found = self._entry(key)
        return None if found is None else found[1]

    def path(self, key: str) -> Path | None:
        """Return the file of an entry that verifies; another run may remove it at any moment."""
        found = self._entry(key)
        return None if found is None else found[0]

    def _entry(self, key: str) -> tuple[Path, bytes] | None:
        for path in self.folder.glob(f"{_named(key)}-*"):
            try:
                content = _content(path)
                if path.name == f"{_named(key)}-{_hash(content)}":
                    os.utime(path)  # it was used now
                    return path, content
                path.unlink()
            except OSError:
                continue
        return None

    def put(self, key: str, content: bytes) -> None:
        """Keep content; entries that were not used for the longest time make room."""
        with suppress(OSError):
            with NamedTemporaryFile(dir=self.folder, suffix=_UNFINISHED, delete=False) as file:
                file.write(content)
            Path(file.name).replace(self.folder / f"{_named(key)}-{_hash(content)}")
            self._make_room()

    def _make_room(self) -> None:
        now_s, entries = time.time(), list[tuple[float, int, Path]]()
        for path in self.folder.iterdir():
            with suppress(OSError):
                found = path.lstat()
                is_left = path.suffix == _UNFINISHED and now_s - found.st_mtime > _LONGEST_WRITE_S
                entries.append((-1.0 if is_left else found.st_mtime, found.st_size, path))
        held_bytes = sum(size_bytes for _, size_bytes, _ in entries)
        for used_s, size_bytes, path in sorted(entries):
            if used_s >= 0 and held_bytes <= self._most_bytes:
                return
            with suppress(OSError):
                path.unlink()
            held_bytes -= size_bytes


def _content(path: Path) -> bytes:
    """Return the bytes of an entry; raise ``OSError`` where others could have written it."""
    found = path.lstat()
    is_ours = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    if not stat.S_ISREG(found.st_mode) or not is_ours or found.st_mode & 0o077:
        raise PermissionError(f"{path} is not a file that only its owner may read and write")
    return path.read_bytes()


def state_of(path: str, size_bytes: int) -> tuple[int, ...] | None:
    """Return the marks of a file's state, which change with its content.

    ``None`` when its size is not ``size_bytes`` any more, or when it changed so lately that it may
    change again within one tick of its file system's clock.
    """
    try:
        found = os.stat(path)  # noqa: PTH116  # files may be many
    except OSError:
        return None
    if found.st_size != size_bytes or found.st_mtime_ns > time.time_ns() - _YOUNG_NS:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, size_bytes


def _named(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:_KEY_DIGITS]


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
