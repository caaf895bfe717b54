"""Temporary folders, removed with the run; those of a killed run are removed by the next one."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

_PREFIX = "reportgen-scratch-"
_LONGEST_WAIT_S, _PAUSE_S = 1.0, 0.01
"""For another run to make its folder, which takes milliseconds."""


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a new folder in TMPDIR; remove it at the end, and those of runs that were killed."""
    with ExitStack() as exits:
        place = Path(tempfile.gettempdir())
        with alone_in(place):
            for path in place.glob(f"{_PREFIX}*"):
                if is_left(path):
                    shutil.rmtree(path, ignore_errors=True)
            folder = exits.enter_context(new_folder(place, _PREFIX))
        yield folder


@contextmanager
def new_folder(place: Path, prefix: str, suffix: str = "") -> Iterator[Path]:
    """Make a folder that is in use, and remove it at the end.

    Its name is known before it is there: an interrupt may come between the two.
    """
    folder = place / f"{prefix}{os.urandom(8).hex()}{suffix}"
    try:
        folder.mkdir(mode=0o700)
        with in_use(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def alone_in(output: Path) -> Iterator[None]:
    """Wait until no other run makes or removes staging folders here, and keep others from it.

    Without that, a folder that another run has made and not yet locked looks like a leftover. Who
    holds the lock for longer is no run of ours (``flock DIR make-profiler-report``): it goes on.
    """
    ends_at = time.monotonic() + _LONGEST_WAIT_S
    with _opened(output) as handle:
        while handle is not None and not _lock(handle) and time.monotonic() < ends_at:
            time.sleep(_PAUSE_S)
        yield


@contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Keep a folder from being taken for a leftover; a kill ends that, whatever kind of kill."""
    with _opened(folder) as handle:
        if handle is not None:
            _lock(handle)
        yield


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
