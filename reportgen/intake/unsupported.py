"""Inputs that belong to a job but that this version does not read: named, not guessed at."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from reportgen.errors import LocationError, PlaceError
from reportgen.formats import Diagnostics
from reportgen.formats.kineto.detection import head_text
from reportgen.profile import Quality
from reportgen.storage import Location, ObjectInfo

NSIGHT_RECORDINGS = "Nsight Systems recordings"
"""Only ``nsys`` itself reads these; its exports of them are read."""

OTHER_DATABASES = "SQLite databases of other programs"
ZIP_ARCHIVES = "zip archives"

_BY_KEY: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?:.*/)?python_stats(?:\.json|\.html)?"), "Python profiles of unknown times"),
    (re.compile(r".*\.(?:nsys-rep|qdrep|qdstrm)"), NSIGHT_RECORDINGS),
    (re.compile(r"(?:.*/)?[^/]*_merged_timeline\.json"), "merged timelines"),
    (re.compile(r".*\.zip", re.IGNORECASE), ZIP_ARCHIVES),
)
_BY_CONTENT: tuple[tuple[bytes, str], ...] = (
    (b"SQLite format 3", OTHER_DATABASES),
    (b"PK\x03\x04", ZIP_ARCHIVES),
)

OUTPUT = re.compile(r"(?:.*/)?profiler-report(?:/.*|\.html|\.ipynb)")
"""Output of this program; never its input."""

_UNNAMED = (".json", ".json.gz", ".db", ".sqlite", ".sqlite3")
_MAX_SNIFFED = 20
_SNIFFED_BYTES = 65_536


def unsupported_name(key: str) -> str | None:
    """Return the name of a known format that is not read yet, recognized by a key."""
    return next((name for pattern, name in _BY_KEY if pattern.fullmatch(key)), None)


_PICKLE = re.compile(r".*\.(?:pickle|pkl)", re.IGNORECASE)


def is_pickle(key: str) -> bool:
    """Return whether a file ends like a pickle, which is never opened."""
    return bool(_PICKLE.fullmatch(key))


def refuse_pickle(path: str) -> None:
    """Refuse a pickle by its name: opening one runs what is in it.

    Raises:
        LocationError: the path is a file that ends like a pickle.
    """
    if is_pickle(path) and not Path(path).is_dir():
        raise _refusal(path, f"{path!r} is a pickle, probably a memory snapshot.")


def refuse_pickles(path: str, n_pickles: int) -> None:
    """Refuse a place that holds pickles and nothing that can be read.

    Raises:
        LocationError: there are pickles among its files.
    """
    if n_pickles:
        are = "1 file is a pickle" if n_pickles == 1 else f"{n_pickles:,} files are pickles"
        raise _refusal(path, f"No profiler files under {path!r}: {are}, probably memory snapshots.")


def _refusal(path: str, what: str) -> LocationError:
    return LocationError(
        f"{what} Pickles can run code when they are opened, so none was.",
        hint="Pass the profiler's trace (.json or .json.gz), or record one: "
        "reportgen record --trace 20:25 --report -- python train.py",
        path=path,
    )


def note_pickles(pickles: Sequence[ObjectInfo], problems: Diagnostics) -> None:
    """Count pickles beside kernel traces: memory snapshots."""
    for info in pickles:
        problems.add(Quality.FILES_SKIPPED, info.key, what=_SAY_PICKLE)


_SAY_PICKLE = (
    "{n} [file is a pickle|files are pickles], probably [a memory snapshot|memory snapshots], and "
    "[was|were] not opened: pickles can run code"
)


def name_unsupported(
    location: Location, objects: Sequence[ObjectInfo], named: Mapping[str, str]
) -> str | None:
    """Return the format that most files of a place have, if it is one we know but do not read.

    A few files are opened when their names (``named``: key → format) say nothing.

    Raises:
        PlaceError: they may not be opened, which explains better why there is no job.
    """
    names = Counter(named.values())
    if not names:
        unnamed = [info for info in objects if info.key.endswith(_UNNAMED)]
        for info in unnamed[:_MAX_SNIFFED]:
            if name := _format_of_content(location, info):
                names[name] += 1
    return names.most_common(1)[0][0] if names else None


def _format_of_content(location: Location, info: ObjectInfo) -> str | None:
    if info.problem:
        return None
    try:
        head = head_text(location.read_range(info.key, 0, _SNIFFED_BYTES))
    except PlaceError:
        raise
    except LocationError:
        return None
    return next((name for mark, name in _BY_CONTENT if mark in head), None)
