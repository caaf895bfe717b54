"""Staging folders: made beside what they will replace, and removed when their run is over."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = ".profiler-report-"
_SUFFIX = ".tmp"
_LONGEST_WAIT_S, _PAUSE_S = 1.0, 0.01
"""For another run to make its staging folder, which takes milliseconds."""

ASIDE = "old"
"""The folder in a staging folder that holds the old results while the new ones take their place."""


def make_staging_folder(output: Path) -> Path:
    """Make a staging folder; raise ``OSError`` where that is not possible."""
    return Path(tempfile.mkdtemp(prefix=_PREFIX, suffix=_SUFFIX, dir=output))


def clean_up(output: Path, results: str) -> None:
    """Remove the staging folders of runs that were killed.

    When a run was killed after it had moved the ``results`` aside and before the new ones were
    there, they are put back, for their page is still there.
    """
    leftovers = [path for path in sorted(output.glob(f"{_PREFIX}*{_SUFFIX}")) if _is_left(path)]
    for leftover in leftovers:
        aside = leftover / ASIDE
        if aside.is_dir() and not (output / results).exists():
            aside.rename(output / results)
    for leftover in leftovers:
        shutil.rmtree(leftover, ignore_errors=True)


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


def _is_left(path: Path) -> bool:
    """Return whether a path is a folder that no run uses; pipes and links only look like one."""
    if path.is_symlink() or not path.is_dir():
        return False
    with _opened(path) as handle:
        return handle is None or _lock(handle)


def _lock(handle: int) -> bool:
    """Lock an open folder and return whether nobody else had; ``True`` where locks are unknown."""
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
