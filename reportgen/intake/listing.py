"""What lies under a path, looked at once: of which formats files are, or why there is no job."""

from __future__ import annotations

import re
import shlex
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TypeVar

from reportgen.errors import AmbiguousJobError, LocationError, PlaceError
from reportgen.formats import FORMATS, Claim, FileRole, Format, claim, format_of, printable, role_of
from reportgen.formats.kineto.detection import HEAD_BYTES, head_text
from reportgen.plain_files import LINK
from reportgen.profile import NodeId
from reportgen.profile.job import FileRef
from reportgen.storage import Location, ObjectInfo, at_home, open_location

MAX_DEPTH = 4
"""Folders between the given path and ``system/`` or ``framework/``."""

MAX_LOOKED_INTO = 4_096
"""Files opened to see what they are: a job of 4,096 GPUs has as many traces."""

_N_THREADS = 32
"""Files looked into at once: a store answers many requests in the time of one."""

_OUTPUT = re.compile(r"(?:.*/)?profiler-report(?:/.*|\.html|\.ipynb)")
"""Output of this program; never its input."""

_PICKLE = re.compile(r".*\.(?:pickle|pkl)", re.IGNORECASE)

_RECORDING = re.compile(r".*\.(?:nsys-rep|qdrep|qdstrm)")
"""Recordings of Nsight Systems: only ``nsys`` itself reads these; its exports of them are read."""

_APART = frozenset({FileRole.KERNELS, FileRole.MONITORING})

_REMEDY = (
    "Pass the folder that holds profiler-output/, or its system/ and framework/, or kernel traces."
)

_NOTHING = -1
Claimed = tuple[ObjectInfo, Claim]
Item = TypeVar("Item")
Looked = TypeVar("Looked")
_Waiting = tuple[ObjectInfo, Sequence[Format]]


@dataclass(slots=True, kw_only=True)
class Listing:
    """The files under a path, sorted out.

    Of each object ``claim_index`` is the place in ``kinds`` of what its key says, -1 where that is
    nothing: there are as many kinds as formats, jobs and nodes, not as files. ``apart`` are files
    that belong to no node by their keys: kernel traces, what other programs monitored, and
    timelines on a separate clock. ``not_looked_into`` are too many; ``denied`` is why files may not
    be opened. ``chosen`` is the only file, where the user named one.
    """

    path: str
    location: Location
    objects: Sequence[ObjectInfo]
    chosen: ObjectInfo | None = None
    kinds: Sequence[Claim] = ()
    claim_index: Sequence[int] = ()
    apart: list[Claimed] = field(default_factory=list)
    not_looked_into: Sequence[ObjectInfo] = ()
    denied: PlaceError | None = None

    @property
    def claims(self) -> Sequence[Claim]:
        """Return the jobs, nodes and formats that the keys name, each claim once."""
        return [self.kinds[index] for index in sorted({*self.claim_index} - {_NOTHING})]

    def claimed(self, is_wanted: Callable[[Claim], bool]) -> Iterator[Claimed]:
        """Yield the files that belong to a job because of their keys, those of wanted claims."""
        wanted = {index for index, found in enumerate(self.kinds) if is_wanted(found)}
        for info, index in self._indexed() if wanted else ():
            if index in wanted:
                yield info, self.kinds[index]

    def unclaimed(self) -> Iterator[ObjectInfo]:
        """Yield the files whose keys say nothing."""
        for info, index in self._indexed() if _NOTHING in self.claim_index else ():
            if index == _NOTHING:
                yield info

    def set_apart(self, keys: Collection[str], is_wanted: Callable[[Claim], bool]) -> None:
        """Count files of wanted claims, all but ``keys``, among those that belong to no node."""
        moved = [item for item in self.claimed(is_wanted) if item[0].key not in keys]
        gone = {info.key for info, _ in moved}
        if gone:
            self.apart += moved
            indexed = self._indexed()
            left = (_NOTHING if info.key in gone else index for info, index in indexed)
            self.claim_index = array("i", left)

    def apart_as(self, role: FileRole) -> list[Claimed]:
        """Return the files of a role that belong to no node."""
        return [item for item in self.apart if role_of(item[1]) is role]

    def of_format(self, format_id: str) -> list[ObjectInfo]:
        """Return the files of a format that belong to no node."""
        return [info for info, found in self.apart if found.format_id == format_id]

    def _indexed(self) -> Iterator[tuple[ObjectInfo, int]]:
        return zip(self.objects, self.claim_index, strict=True)


def look(path: str) -> Listing:
    """Find out what lies under a path, of unclaimed files by their first bytes.

    Raises:
        LocationError: no such folder, nothing in it that belongs to a job, or only what this
            version does not read; the message says which.
    """
    if _PICKLE.fullmatch(path) and not Path(path).is_dir():
        raise _refusal(path, f"{path!r} is a pickle, probably a memory snapshot.")
    listing = _opened(path)
    sort_out(listing)
    if not (listing.apart or any(found.node for found in listing.claims)):
        raise _no_job(listing)
    return listing


def _opened(path: str) -> Listing:
    try:
        location = open_location(path)
    except LocationError as err:
        if not err.details.get("is_file"):
            raise
        file = at_home(path.removeprefix("file://"))
        chosen = ObjectInfo(key=file.name, size_bytes=file.stat().st_size)
        place = open_location(str(file.parent))
        return Listing(path=path, location=place, objects=[chosen], chosen=chosen)
    objects = location.list()
    folder, _, key = location.root.rpartition("/")
    if "://" in location.root and not objects and key and not folder.endswith("/"):
        beside = open_location(folder)
        found = [info for info in beside.list() if info.key == key]
        if found:
            return Listing(path=path, location=beside, objects=found, chosen=found[0])
    if any(_OUTPUT.fullmatch(info.key) for info in objects):
        objects = [info for info in objects if not _OUTPUT.fullmatch(info.key)]
    return Listing(path=path, location=location, objects=objects)


def sort_out(listing: Listing) -> None:
    """Sort files by their keys, then by their content.

    The name of a file that the user chose need not look like anything.
    """
    claims: dict[Claim, int] = {}
    claim_index = array("i")
    waiting: list[_Waiting] = []
    for info in listing.objects:
        index = _NOTHING
        found = None if info.problem else claim(info.key)
        if found is not None and role_of(found) in _APART:
            listing.apart.append((info, found))
        elif found and listing.chosen is None and found.job_prefix.count("/") <= MAX_DEPTH:
            alike = Claim(format_id=found.format_id, job_prefix=found.job_prefix, node=found.node)
            index = claims.setdefault(alike, len(claims))
        elif candidates := _candidates(info, is_chosen=listing.chosen is not None):
            waiting.append((info, candidates))
        claim_index.append(index)
    listing.kinds, listing.claim_index = tuple(claims), claim_index
    _look_into(waiting[:MAX_LOOKED_INTO], listing)
    listing.not_looked_into = [info for info, _ in waiting[MAX_LOOKED_INTO:]]
    listing.apart.sort(key=lambda item: item[0].key)


def _candidates(info: ObjectInfo, *, is_chosen: bool) -> list[Format]:
    """Return the formats that a file may be of, as its content has to show."""
    if info.problem or not info.size_bytes or _PICKLE.fullmatch(info.key):
        return []
    return [
        item
        for item in FORMATS
        if item.claim_named is not None
        and (is_chosen or (item.may_be is not None and item.may_be.fullmatch(info.key)))
    ]


def _look_into(waiting: Sequence[_Waiting], listing: Listing) -> None:
    """Find out by their first bytes of which formats files are."""

    def first_bytes(item: _Waiting) -> bytes | LocationError:
        try:
            return head_text(listing.location.read_range(item[0].key, 0, HEAD_BYTES))
        except LocationError as err:
            return err

    for (info, candidates), head in zip(waiting, of_each(first_bytes, waiting), strict=True):
        if isinstance(head, bytes):
            found = next((item for item in candidates if item.looks_like(head)), None)
            if found is not None and found.claim_named is not None:
                named = found.claim_named(stem_of(info.key) or "timeline")
                listing.apart.append((info, named))
        elif isinstance(head, PlaceError):
            listing.denied = listing.denied or head


def of_each(look: Callable[[Item], Looked], items: Sequence[Item]) -> list[Looked]:
    """Return the result of a look into each file; many at once, as a store answers slowly."""
    if len(items) < 2:
        return [look(item) for item in items]
    with ThreadPoolExecutor(min(_N_THREADS, len(items))) as pool:
        return list(pool.map(look, items))


def stem_of(key: str) -> str:
    """Return a file's name without its folder and its endings."""
    name = PurePosixPath(key).name
    return printable(
        re.sub(
            r"(\.pt)?(\.trace)?(\.json|\.sqlite3?|\.wandb|\.csv|\.parquet)?(\.gz)?(\.tmp)?$",
            "",
            name,
        )
    )


def file_ref(info: ObjectInfo, format_id: str, *, told_by: str = "") -> FileRef:
    """Return a file of a part."""
    return FileRef(
        key=info.key,
        size_bytes=info.size_bytes,
        format_id=format_id,
        version=info.version,
        told_by=told_by,
    )


def claim_of(file: FileRef, node: NodeId) -> Claim | None:
    """Return the claim of a part's file: from its key, its content or its metadata."""
    claim_named = format_of(file.format_id).claim_named
    if claim_named is None:
        return claim(file.key)
    times = claim(file.told_by) if file.told_by else None
    if times is None:
        return claim_named(node)
    return replace(
        claim_named(times.node), worker=times.worker, stamp=times.stamp, start_us=times.start_us
    )


def several(what: str, path: str, folders: Sequence[str], *, hint: str) -> AmbiguousJobError:
    """Return the error of a path with several jobs; ``{listed}`` of ``what`` are the first ten."""
    listed = ", ".join(printable(folder) or "." for folder in folders[:10])
    listed += f" and {len(folders) - 10} more" if len(folders) > 10 else ""
    message = what.replace("{listed}", listed)
    return AmbiguousJobError(message, hint=hint, path=path, jobs=tuple(folders))


def _no_job(listing: Listing) -> LocationError:
    """Return the error that says best why there is no job."""
    path, objects = listing.path, listing.objects
    if not objects:
        return LocationError(f"The folder {path!r} is empty.", hint=_REMEDY, path=path)
    n_pickles = sum(bool(_PICKLE.fullmatch(info.key)) for info in objects)
    if n_pickles:
        are = "1 file is a pickle" if n_pickles == 1 else f"{n_pickles:,} files are pickles"
        return _refusal(
            path, f"No profiler files under {path!r}: {are}, probably memory snapshots."
        )
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
    if listing.chosen is not None:
        what = f"{path!r} is a file, not the folder of a job and not a kernel trace."
        return LocationError(what, hint=hint, path=path, is_file=True)
    seen = "1 file" if len(objects) == 1 else f"{len(objects):,} files"
    what = f"No profiler files under {path!r} ({seen} seen, none claimed)"
    links = [info.key for info in objects if info.problem == LINK]
    if links:
        what = f"{what}, but {printable(links[0])} there is a link, and links are not followed"
        hint = "Pass the folder that it points to."
    elif parent := _parent_of_job_folder(listing.location, objects):
        hint = f"Pass {parent!r}, which holds the whole job."
    return LocationError(f"{what}.", hint=hint, path=path)


_TABLES = (
    "Of tables those with a header are read (no noheader) that has times and a metric of GPUs: "
    "nvidia-smi --query-gpu=timestamp,index,utilization.gpu --format=csv -l 1"
)


def _refusal(path: str, what: str) -> LocationError:
    return LocationError(
        f"{what} Pickles can run code when they are opened, so none was.",
        hint="Pass the profiler's trace (.json or .json.gz), or record one: "
        "reportgen record --trace 20:25 --report -- python train.py",
        path=path,
    )


def _recording(key: str, path: str) -> LocationError:
    """Return the error that names the command which exports a recording of Nsight Systems."""
    recording = PurePosixPath(printable(PurePosixPath(key).name))
    export, given = (shlex.quote(str(it)) for it in (recording.with_suffix(".sqlite"), recording))
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
