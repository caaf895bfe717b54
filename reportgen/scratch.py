"""Temporary folders, removed with the run; those of a killed run are removed by the next one."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX, _UNLOCKED = "reportgen-scratch-", ".reportgen-new"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a new folder in TMPDIR; remove it at the end, and those of runs that were killed."""
    place = Path(tempfile.gettempdir())
    for path in filter(is_left, place.glob(f"{_PREFIX}*")):
        shutil.rmtree(path, ignore_errors=True)
    with new_folder(place, _PREFIX) as folder:
        yield folder


@contextmanager
def new_folder(place: Path, prefix: str, suffix: str = "") -> Iterator[Path]:
    """Make a folder that is in use, and remove it at the end.

    It gets its name when it is locked, so that nobody takes it for a leftover; a kill of whatever
    kind ends the lock. Both names are known before they are there: an interrupt may come between.
    """
    mark = os.urandom(8).hex()
    unlocked, folder = place / f".{mark}{_UNLOCKED}", place / f"{prefix}{mark}{suffix}"
    try:
        unlocked.mkdir(mode=0o700)
        with _opened(unlocked) as handle:
            if handle is not None:
                _lock(handle)
            unlocked.rename(folder)
            yield folder
    finally:
        for path in (unlocked, folder):
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)


def is_left(path: Path) -> bool:
    """Return whether a path is a folder that no run uses; pipes and links only look like one."""
    if path.is_symlink() or not path.is_dir():
        return False
    with _opened(path) as handle:
        return handle is None or _lock(handle)


def _lock(handle: int) -> bool:
    """Lock an open folder and return whether it was free; ``True`` where locks are unknown."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
