"""Why a path holds no job, said so that the next try finds one."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

from reportgen.errors import AmbiguousJobError, LocationError
from reportgen.formats import claim, printable
from reportgen.intake.listing import MAX_DEPTH, Listing
from reportgen.intake.unsupported import (
    NSIGHT_RECORDINGS,
    OTHER_DATABASES,
    ZIP_ARCHIVES,
    name_unsupported,
    refuse_pickles,
)
from reportgen.plain_files import LINK
from reportgen.storage import Location, ObjectInfo

_REMEDY = (
    "Pass the folder that holds profiler-output/, or its system/ and framework/, or kernel traces."
)

_ZIP = "Unpack it and pass the folder."


def several(what: str, path: str, folders: Sequence[str], *, hint: str) -> AmbiguousJobError:
    """Return the error of a path with several jobs; ``{listed}`` of ``what`` are the first ten."""
    listed = ", ".join(printable(folder) or "." for folder in folders[:10])
    listed += f" and {len(folders) - 10} more" if len(folders) > 10 else ""
    message = what.replace("{listed}", listed)
    return AmbiguousJobError(message, hint=hint, path=path, jobs=tuple(folders))


def not_a_job(path: str, listing: Listing) -> LocationError:
    """Return the error that names the kind of a single file, if it is known."""
    unsupported = name_unsupported(listing.location, listing.objects, listing.unsupported)
    if unsupported is None:
        return LocationError(
            f"{path!r} is a file, not the folder of a job and not a kernel trace.",
            hint=_REMEDY,
            path=path,
            is_file=True,
        )
    why, hint = _why_not(unsupported, listing)
    return LocationError(f"{path!r} is a single file ({unsupported}); {why}.", hint=hint, path=path)


def _why_not(unsupported: str, listing: Listing) -> tuple[str, str]:
    if unsupported == OTHER_DATABASES:
        return "of databases only exports of Nsight Systems are read", _REMEDY
    if unsupported != NSIGHT_RECORDINGS:
        hint = _ZIP if unsupported == ZIP_ARCHIVES else _REMEDY
        return f"this version cannot read {unsupported} yet", hint
    keys = sorted(key for key, name in listing.unsupported.items() if name == unsupported)
    recording = printable(PurePosixPath(keys[0]).name)
    export = shlex.quote(str(PurePosixPath(recording).with_suffix(".sqlite")))
    command = f"nsys export --type=sqlite --output={export} {shlex.quote(recording)}"
    return "only nsys itself can read them", f"Export it, then pass the result: {command}"


def no_job(path: str, listing: Listing) -> LocationError:
    """Return the error that says best why there is no job under a path."""
    location, objects = listing.location, listing.objects
    if not objects:
        return LocationError(f"The folder {path!r} is empty.", hint=_REMEDY, path=path)
    refuse_pickles(path, len(listing.pickles))
    unsupported = name_unsupported(location, objects, listing.unsupported)
    if unsupported is not None:
        why, hint = _why_not(unsupported, listing)
        return LocationError(
            f"Found {unsupported} under {path!r}, and no system metrics or framework events; "
            f"{why}.",
            hint=hint,
            path=path,
        )
    parent = _parent_of_job_folder(location, objects)
    seen = "1 file" if len(objects) == 1 else f"{len(objects):,} files"
    links = [info.key for info in objects if info.problem == LINK]
    if links:
        return LocationError(
            f"No profiler files under {path!r} ({seen} seen, none claimed), but "
            f"{printable(links[0])} there is a link, and links are not followed.",
            hint="Pass the folder that it points to.",
            path=path,
        )
    return LocationError(
        f"No profiler files under {path!r} ({seen} seen, none claimed).",
        hint=_REMEDY if parent is None else f"Pass {parent!r}, which holds the whole job.",
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
