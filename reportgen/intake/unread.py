"""Inputs that belong to a job but that this version does not read: named, not guessed at."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from reportgen.errors import LocationError, PlaceError
from reportgen.formats import Tally
from reportgen.profile import Quality
from reportgen.storage import Location, ObjectInfo

_BY_KEY: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?:.*/)?python_stats(?:\.json|\.html)?"), "Python profiles of unknown times"),
    (re.compile(r".*\.(?:nsys-rep|qdrep|sqlite)"), "Nsight Systems exports"),
    (re.compile(r"(?:.*/)?[^/]*_merged_timeline\.json"), "merged timelines"),
    (re.compile(r".*\.zip", re.IGNORECASE), "zip archives"),
)
_BY_CONTENT: tuple[tuple[bytes, str], ...] = (
    (b"SQLite format 3", "Nsight Systems exports"),
    (b"PK\x03\x04", "zip archives"),
)

OUTPUT = re.compile(r"(?:.*/)?profiler-report(?:/.*|\.html|\.ipynb)")
"""What this program writes; never its input (DESIGN §8)."""

_MAX_SNIFFED = 20
_SNIFFED_BYTES = 65_536


def format_of_key(key: str) -> str | None:
    """Return the name of a known format that is not read yet, told from the key."""
    return next((name for pattern, name in _BY_KEY if pattern.fullmatch(key)), None)


_PICKLE = re.compile(r".*\.(?:pickle|pkl)", re.IGNORECASE)


def refuse_pickle(path: str) -> None:
    """Refuse a pickle by its name: opening one runs what is in it.

    Raises:
        LocationError: the path is a file that ends like a pickle.
    """
    if _PICKLE.fullmatch(path) and not Path(path).is_dir():
        raise _refusal(path, f"{path!r} is a pickle, probably a memory snapshot.")


def refuse_pickles(path: str, objects: Sequence[ObjectInfo]) -> None:
    """Refuse a place that holds pickles and nothing that can be read.

    Raises:
        LocationError: there are pickles among its files.
    """
    n_pickles = sum(bool(_PICKLE.fullmatch(info.key)) for info in objects)
    if n_pickles:
        are = "1 file is a pickle" if n_pickles == 1 else f"{n_pickles:,} files are pickles"
        raise _refusal(path, f"No profiler files under {path!r}: {are}, probably memory snapshots.")


def _refusal(path: str, what: str) -> LocationError:
    return LocationError(
        f"{what} Pickles can run code when they are opened, so none was.",
        hint="Pass the profiler's trace (.json or .json.gz) instead.",
        path=path,
    )


def note_pickles(objects: Sequence[ObjectInfo], tally: Tally) -> None:
    """Count pickles beside kernel traces: memory snapshots, which are never opened."""
    for info in objects:
        if _PICKLE.fullmatch(info.key):
            tally.add(Quality.FILES_SKIPPED, info.key, what=_SAY_PICKLE)


_SAY_PICKLE = (
    "{n} [file is a pickle|files are pickles], probably [a memory snapshot|memory snapshots], and "
    "[was|were] not opened: pickles can run code"
)


def name_unread(location: Location, objects: Sequence[ObjectInfo]) -> str | None:
    """Return the format that most files of a place have, if it is one we know but do not read.

    A few files are opened when their names say nothing.

    Raises:
        PlaceError: they may not be opened, which explains better why there is no job.
    """
    names = Counter(name for info in objects if (name := format_of_key(info.key)))
    if not names:
        unnamed = [info for info in objects if info.key.endswith((".json", ".json.gz", ".db"))]
        for info in unnamed[:_MAX_SNIFFED]:
            if name := _format_of_content(location, info):
                names[name] += 1
    return names.most_common(1)[0][0] if names else None


def _format_of_content(location: Location, info: ObjectInfo) -> str | None:
    if info.problem:
        return None
    try:
        head = _head(location, info.key)
    except PlaceError:
        raise
    except (LocationError, zlib.error):
        return None
    return next((name for mark, name in _BY_CONTENT if mark in head), None)


def _head(location: Location, key: str) -> bytes:
    head = location.read_head(key, _SNIFFED_BYTES)
    if head.startswith(b"\x1f\x8b"):
        return zlib.decompressobj(31).decompress(head, _SNIFFED_BYTES)
    return head
