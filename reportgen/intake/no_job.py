"""Why there is no job under a path, or more than one: the errors that say it best."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

from reportgen.errors import AmbiguousJobError, LocationError, PlaceError
from reportgen.formats import claim, printable
from reportgen.plain_files import LINK
from reportgen.storage import Location, ObjectInfo

MAX_DEPTH = 4
"""Folders between the given path and ``system/`` or ``framework/``."""

PICKLE = re.compile(r".*\.(?:pickle|pkl)", re.IGNORECASE)

_RECORDING = re.compile(r".*\.(?:nsys-rep|qdrep|qdstrm)")
"""Recordings of Nsight Systems: only ``nsys`` itself reads these; its exports of them are read."""

_REMEDY = (
    "Pass the folder that holds profiler-output/, or its system/ and framework/, or kernel traces."
)

_TABLES = (
    "Of tables those with a header are read (no noheader) that has times and a metric of GPUs: "
    "nvidia-smi --query-gpu=timestamp,index,utilization.gpu --format=csv -l 1"
)


def several(what: str, path: str, folders: Sequence[str], *, hint: str) -> AmbiguousJobError:
    """Return the error of a path with several jobs; ``{listed}`` of ``what`` are the first ten."""
    listed = ", ".join(printable(folder) or "." for folder in folders[:10])
    listed += f" and {len(folders) - 10} more" if len(folders) > 10 else ""
    message = what.replace("{listed}", listed)
    return AmbiguousJobError(message, hint=hint, path=path, jobs=tuple(folders))


def no_job(
    path: str,
    location: Location,
    objects: Sequence[ObjectInfo],
    *,
    is_file: bool,
    denied: PlaceError | None,
) -> LocationError:
    """Return the error that says best why there is no job.

    Args:
        path: what the user passed; ``is_file``: it is a file.
        location: the place, with all of its ``objects``.
        denied: why files may not be opened.
    """
    if not objects:
        return LocationError(f"The folder {path!r} is empty.", hint=_REMEDY, path=path)
    n_pickles = sum(bool(PICKLE.fullmatch(info.key)) for info in objects)
    if n_pickles:
        are = "1 file is a pickle" if n_pickles == 1 else f"{n_pickles:,} files are pickles"
        return pickles_refused(
            path, f"No profiler files under {path!r}: {are}, probably memory snapshots."
        )
    if recordings := [info.key for info in objects if _RECORDING.fullmatch(info.key)]:
        return _recording(min(recordings), path)
    if denied is not None:
        return denied
    hint = _REMEDY
    names = [info.key.lower() for info in objects]
    if any(name.endswith(".csv") for name in names):
        hint = _TABLES
    elif any(name.endswith(".zip") for name in names):
        hint = "Unpack the zip archive and pass its folder."
    if is_file:
        what = f"{path!r} is a file, not the folder of a job and not a kernel trace."
        return LocationError(what, hint=hint, path=path, is_file=True)
    seen = "1 file" if len(objects) == 1 else f"{len(objects):,} files"
    what = f"No profiler files under {path!r} ({seen} seen, none claimed)"
    links = [info.key for info in objects if info.problem == LINK]
    if links:
        what = f"{what}, but {printable(links[0])} there is a link, and links are not followed"
        hint = "Pass the folder that it points to."
    elif parent := _parent_of_job_folder(location, objects):
        hint = f"Pass {parent!r}, which holds the whole job."
    return LocationError(f"{what}.", hint=hint, path=path)


def pickles_refused(path: str, what: str) -> LocationError:
    """Return the error that names pickles, and says why none was opened."""
    return LocationError(
        f"{what} Pickles can run code when they are opened, so none was.",
        hint="Pass the profiler's trace (.json or .json.gz), or record one: "
        "reportgen record --trace 20:25 --report -- python train.py",
        path=path,
    )


def _recording(key: str, path: str) -> LocationError:
    """Return the error that names the command which exports a recording of Nsight Systems."""
    recording = PurePosixPath(printable(PurePosixPath(key).name))
    export, given = (
        shlex.quote(str(file)) for file in (recording.with_suffix(".sqlite"), recording)
    )
    return LocationError(
        f"{path!r} is, or holds, a recording of Nsight Systems; only nsys itself can read it.",
        hint="Export it, then pass the result: "
        f"nsys export --type=sqlite --output={export} {given}",
        path=path,
    )


def _parent_of_job_folder(location: Location, objects: Sequence[ObjectInfo]) -> str | None:
    """Return the folder to pass when the given one lies inside ``system/`` or ``framework/``."""
    folder = PurePosixPath(location.root)
    for inner in (folder, *folder.parents[:MAX_DEPTH]):
        if inner.name in {"system", "framework"}:
            below = folder.relative_to(inner.parent)
            if any(claim(f"{below}/{info.key}") for info in objects):
                return printable(str(inner.parent)).replace("s3:/", "s3://")
    return None
