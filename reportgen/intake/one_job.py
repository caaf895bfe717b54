"""Which one job lies among the files of a listing; or the error that says best why none does."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from reportgen.errors import AmbiguousJobError, LocationError
from reportgen.formats import (
    FORMATS,
    Claim,
    FileRole,
    claim,
    format_of,
    printable,
    role_of,
    stem_of,
)
from reportgen.formats.tensorboard_events import TENSORBOARD_EVENTS
from reportgen.formats.wandb import WANDB_RUNS
from reportgen.intake.listing import MAX_DEPTH, PICKLE, ClaimedObject, Listing
from reportgen.plain_files import LINK
from reportgen.storage import Location, ObjectInfo
from reportgen.text import list_names, plural

_RECORDING = re.compile(r".*\.(?:nsys-rep|qdrep|qdstrm)")
"""Recordings of Nsight Systems: only ``nsys`` itself reads these; its exports of them are read."""

_OUTPUT_FOLDER = "profiler-output"

_REMEDY = (
    "Pass the folder that holds profiler-output/, or its system/ and framework/, or kernel traces."
)

_TABLES = (
    "Tables are read with a header (no noheader) that has times and a metric of GPUs: "
    "nvidia-smi --query-gpu=timestamp,index,utilization.gpu --format=csv -l 1, or "
    "nvidia-smi dmon -o DT"
)


_APART = "Each is of one machine, or of one start of the run, and is one job here."
"""Host names would tell the machines apart, but they are private and never read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneJob:
    """The job that was chosen.

    Attributes:
        name: of the file, run or folder.
        prefix: the path before ``system/`` and ``framework/``.
        monitored: files of one monitoring program, where there is nothing else.
        n_other_monitors: files of monitoring programs that are left out.
    """

    name: str
    prefix: str = ""
    monitored: Sequence[ClaimedObject] = ()
    n_other_monitors: int


def one_job(listing: Listing) -> OneJob:
    """Return the one job under a path.

    Raises:
        LocationError: nothing in it belongs to a job, or only what this version does not read; the
            message says which.
        AmbiguousJobError: several jobs lie there.
    """
    if not listing.has_job:
        raise no_job(listing)
    has_nodes = any(kind.node for kind in listing.kinds)
    monitored = [item for item in listing.apart if role_of(item[1]) is FileRole.MONITORING]
    if not has_nodes and len(monitored) == len(listing.apart):
        kept = _of_one_monitor(listing.path, monitored)
        return OneJob(
            name=_run_name(listing.location, kept),
            monitored=kept,
            n_other_monitors=len(monitored) - len(kept),
        )
    prefix = _only_prefix(listing.path, listing.kinds) if has_nodes else ""
    return OneJob(
        name=_job_name(listing, prefix),
        prefix=prefix,
        n_other_monitors=sum(kind.format_id != TENSORBOARD_EVENTS.id for _, kind in monitored),
    )


def _only_prefix(path: str, kinds: Iterable[Claim]) -> str:
    prefixes = sorted({kind.job_prefix for kind in kinds if kind.node})
    if len(prefixes) == 1:
        return prefixes[0]
    what = f"{len(prefixes)} jobs lie under {path!r}: {{listed}}."
    hint = "Pass the folder of one of them, or report each: reportgen index FOLDER --make"
    raise several(what, path, prefixes, hint=hint)


def _of_one_monitor(path: str, found: Sequence[ClaimedObject]) -> list[ClaimedObject]:
    """Return the files of one program, the first in ``FORMATS``, which are of one run."""
    order = [item.id for item in FORMATS]
    best = min((kind.format_id for _, kind in found), key=order.index)
    kept = [item for item in found if item[1].format_id == best]
    prefixes = sorted({kind.job_prefix for _, kind in kept})
    if len(prefixes) > 1:
        what = f"{len(prefixes)} monitored runs lie under {path!r}: {{listed}}."
        if best == WANDB_RUNS.id and len({kind.node for _, kind in kept}) == 1:
            what = f"{len(prefixes)} files of one W&B run lie under {path!r}: {{listed}}. {_APART}"
        hint = f"Pass one of them, or report all: reportgen index {path} --make"
        raise several(what, path, prefixes, hint=hint)
    return kept


def _job_name(listing: Listing, prefix: str) -> str:
    if listing.is_file:
        return stem_of(listing.objects[0].key) or "job"
    folder = PurePosixPath(listing.location.root) / prefix
    if folder.name == _OUTPUT_FOLDER:
        folder = folder.parent
    return printable(folder.name) or "job"


def _run_name(location: Location, found: Sequence[ClaimedObject]) -> str:
    """Return the name of a run or of a single table, else that of its folder."""
    kind = found[0][1]
    is_table = len(found) == 1 and format_of(kind.format_id).claim_named is not None
    named = kind.node if is_table else stem_of(kind.job_prefix)
    return named or printable(PurePosixPath(location.root).name) or "job"


def several(what: str, path: str, folders: Sequence[str], *, hint: str) -> AmbiguousJobError:
    """Return the error of a path with several jobs; ``{listed}`` of ``what`` are the first ten."""
    listed = list_names([printable(folder) or "." for folder in folders], most=10)
    message = what.replace("{listed}", listed)
    return AmbiguousJobError(message, hint=hint, path=path, jobs=tuple(folders))


def no_job(listing: Listing) -> LocationError:
    """Return the error that says best why there is no job."""
    path, objects = listing.path, listing.objects
    if not objects:
        return LocationError(f"The folder {path!r} is empty.", hint=_REMEDY, path=path)
    if pickles := [info.key for info in objects if PICKLE.fullmatch(info.key)]:
        return _pickles(pickles, listing)
    if recordings := [info.key for info in objects if _RECORDING.fullmatch(info.key)]:
        return _recording(min(recordings), path)
    if listing.denied is not None:
        return listing.denied
    hint = _REMEDY
    names = [info.key.lower() for info in objects]
    if any(name.endswith(".csv") for name in names):
        hint = _TABLES
    elif any(name.endswith(".zip") for name in names):
        hint = "Unpack the zip archive and pass its folder."
    if listing.is_file:
        what = f"{path!r} is a file, not the folder of a job and not a kernel trace."
        return LocationError(what, hint=hint, path=path, is_file=True)
    seen = plural(len(objects), "file")
    what = f"No profiler files under {path!r} ({seen} seen, none claimed)"
    links = [info.key for info in objects if info.problem == LINK]
    if links:
        what = f"{what}, but {printable(links[0])} there is a link, and links are not followed"
        hint = "Pass the folder that it points to."
    elif parent := _parent_of_job_folder(listing.location, objects):
        hint = f"Pass {parent!r}, which holds the whole job."
    return LocationError(f"{what}.", hint=hint, path=path)


def _pickles(keys: Sequence[str], listing: Listing) -> LocationError:
    """Return the error that names pickles, and says why none was opened."""
    are = plural(len(keys), "file is a pickle", "files are pickles")
    what = f"No profiler files under {listing.path!r}: {are}, probably memory snapshots."
    if listing.is_file:
        what = f"{listing.path!r} is a pickle, probably a memory snapshot."
    return LocationError(
        f"{what} Pickles can run code when they are opened, so none was.",
        hint="Pass the profiler's trace (.json or .json.gz), or record one: "
        "reportgen record --trace 20:25 --report -- python train.py",
        path=listing.path,
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
