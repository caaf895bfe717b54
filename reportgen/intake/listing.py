"""What lies under a path, looked at once: the files of one job, by what they are."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TypeVar

from reportgen.errors import LocationError, PlaceError
from reportgen.formats import FORMATS, Claim, FileRole, Format, claim, format_of, printable, role_of
from reportgen.formats.kineto.detection import HEAD_BYTES, KERNEL_TRACES, head_text
from reportgen.formats.nsight.detection import NSIGHT_REPORTS
from reportgen.formats.tensorboard_events import TENSORBOARD_EVENTS
from reportgen.intake.no_job import MAX_DEPTH, PICKLE, no_job, pickles_refused, several
from reportgen.profile import NodeId
from reportgen.profile.job import FileRef
from reportgen.storage import Location, ObjectInfo, at_home, open_location

MAX_LOOKED_INTO = 4_096
"""Files opened to see what they are: a job of 4,096 GPUs has as many traces."""

_N_THREADS = 32
"""Files looked into at once: a store answers many requests in the time of one."""

_OUTPUT = re.compile(r"(?:.*/)?profiler-report(?:/.*|\.html|\.ipynb)")
"""Output of this program; never its input."""

_APART = frozenset({FileRole.KERNELS, FileRole.MONITORING})
OF_NODES = frozenset({FileRole.SAMPLES, FileRole.EVENTS, FileRole.PYTHON})
"""The roles of files that make up a node."""

_OUTPUT_FOLDER = "profiler-output"

_NOTHING = -1
Claimed = tuple[FileRef, Claim]
Item = TypeVar("Item")
Looked = TypeVar("Looked")
_Waiting = tuple[ObjectInfo, Sequence[Format]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The files of one job, by what they are.

    Attributes:
        path: what the user passed.
        location: the place, with all of its ``objects``.
        name: of the file, run or folder; made of it where the user gives none.
        prefix: the path before ``system/`` and ``framework/``.
        roles: of the files that their keys give to the job.
        nodes: the files of each node.
        settings: configurations of the profiler, in the job's folder and around it.
        timelines: those on a clock of their own.
        traces, reports: kernel traces of PyTorch, exports of Nsight Systems.
        monitored: files of one monitoring program, where there is nothing else.
        n_other_monitors: files of monitoring programs that are left out.
        unread: files in the job's folders that nothing reads.
        not_looked_into: files too many to be opened.
    """

    path: str
    location: Location
    objects: Sequence[ObjectInfo]
    name: str
    prefix: str
    roles: AbstractSet[FileRole]
    nodes: Mapping[str, Sequence[FileRef]]
    settings: Sequence[Claimed]
    timelines: Sequence[Claimed]
    traces: Sequence[FileRef]
    reports: Sequence[FileRef]
    monitored: Sequence[Claimed]
    n_other_monitors: int
    unread: Sequence[ObjectInfo]
    not_looked_into: Sequence[ObjectInfo]


@dataclass(slots=True, kw_only=True)
class _Listing:
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
                yield file_ref(info, self.kinds[index].format_id), self.kinds[index]

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

    def of_format(self, format_id: str) -> list[FileRef]:
        """Return the files of a format that belong to no node."""
        return [file for file, found in self.apart if found.format_id == format_id]

    def _indexed(self) -> Iterator[tuple[ObjectInfo, int]]:
        return zip(self.objects, self.claim_index, strict=True)


def look(path: str) -> Found:
    """Find out which job lies under a path, of unclaimed files by their first bytes.

    Raises:
        LocationError: no such folder, nothing in it that belongs to a job, or only what this
            version does not read; the message says which.
        AmbiguousJobError: several jobs lie there.
    """
    if PICKLE.fullmatch(path) and not Path(path).is_dir():
        raise pickles_refused(path, f"{path!r} is a pickle, probably a memory snapshot.")
    listing = _opened(path)
    _sort_out(listing)
    has_nodes = any(found.node for found in listing.claims)
    if not (listing.apart or has_nodes):
        raise no_job(
            path,
            listing.location,
            listing.objects,
            is_file=listing.chosen is not None,
            denied=listing.denied,
        )
    monitored = listing.apart_as(FileRole.MONITORING)
    if not has_nodes and len(monitored) == len(listing.apart):
        kept = _of_one_monitor(path, monitored)
        n_others = len(monitored) - len(kept)
        return _found(
            listing,
            "",
            name=_run_name(listing.location, kept),
            monitored=kept,
            n_other_monitors=n_others,
        )
    prefix = _only_prefix(path, listing.claims) if has_nodes else ""
    chosen = listing.chosen
    name = stem_of(chosen.key) or "job" if chosen else _job_name(listing.location, prefix)
    beside = [claim for _, claim in monitored if claim.format_id != TENSORBOARD_EVENTS.id]
    return _found(listing, prefix, name=name, monitored=(), n_other_monitors=len(beside))


def _found(
    listing: _Listing,
    prefix: str,
    *,
    name: str,
    monitored: Sequence[Claimed],
    n_other_monitors: int,
) -> Found:
    """Return what was found of the job with a prefix."""
    nodes = _nodes(listing, prefix)
    known = {file.key for file, _ in listing.apart}
    folders = (f"{prefix}system/", f"{prefix}framework/")

    def is_settings(found: Claim) -> bool:
        return role_of(found) is FileRole.SETTINGS and prefix.startswith(found.job_prefix)

    return Found(
        path=listing.path,
        location=listing.location,
        objects=listing.objects,
        name=name,
        prefix=prefix,
        roles={role_of(found) for found in listing.claims if found.job_prefix == prefix},
        nodes=nodes,
        settings=list(listing.claimed(is_settings)),
        timelines=listing.apart_as(FileRole.EVENTS),
        traces=listing.of_format(KERNEL_TRACES.id),
        reports=listing.of_format(NSIGHT_REPORTS.id),
        monitored=monitored,
        n_other_monitors=n_other_monitors,
        unread=[
            info
            for info in listing.unclaimed()
            if info.key.startswith(folders) and info.key not in known
        ],
        not_looked_into=listing.not_looked_into,
    )


def _opened(path: str) -> _Listing:
    try:
        location = open_location(path)
    except LocationError as err:
        if not err.details.get("is_file"):
            raise
        file = at_home(path.removeprefix("file://"))
        chosen = ObjectInfo(key=file.name, size_bytes=file.stat().st_size)
        place = open_location(str(file.parent))
        return _Listing(path=path, location=place, objects=[chosen], chosen=chosen)
    objects = location.list()
    folder, _, key = location.root.rpartition("/")
    if "://" in location.root and not objects and key and not folder.endswith("/"):
        beside = open_location(folder)
        found = [info for info in beside.list() if info.key == key]
        if found:
            return _Listing(path=path, location=beside, objects=found, chosen=found[0])
    if any(_OUTPUT.fullmatch(info.key) for info in objects):
        objects = [info for info in objects if not _OUTPUT.fullmatch(info.key)]
    return _Listing(path=path, location=location, objects=objects)


def _sort_out(listing: _Listing) -> None:
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
            listing.apart.append((file_ref(info, found.format_id), found))
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


def _only_prefix(path: str, claims: Iterable[Claim]) -> str:
    prefixes = sorted({found.job_prefix for found in claims if found.node})
    if len(prefixes) == 1:
        return prefixes[0]
    what = f"{len(prefixes)} jobs lie under {path!r}: {{listed}}."
    hint = "Pass the folder of one of them, or report each: reportgen index FOLDER --make"
    raise several(what, path, prefixes, hint=hint)


def _of_one_monitor(path: str, found: Sequence[Claimed]) -> list[Claimed]:
    """Return the files of one program, the first in ``FORMATS``, which are of one run."""
    order = [item.id for item in FORMATS]
    best = min((claim.format_id for _, claim in found), key=order.index)
    kept = [item for item in found if item[1].format_id == best]
    prefixes = sorted({claim.job_prefix for _, claim in kept})
    if len(prefixes) > 1:
        what = f"{len(prefixes)} monitored runs lie under {path!r}: {{listed}}."
        hint = f"Pass one of them, or report all: reportgen index {path} --make"
        raise several(what, path, prefixes, hint=hint)
    return kept


def _job_name(location: Location, prefix: str) -> str:
    folder = PurePosixPath(location.root) / prefix
    if folder.name == _OUTPUT_FOLDER:
        folder = folder.parent
    return printable(folder.name) or "job"


def _run_name(location: Location, found: Sequence[Claimed]) -> str:
    """Return the name of a run or of a single table, else that of its folder."""
    claim = found[0][1]
    is_table = len(found) == 1 and format_of(claim.format_id).claim_named is not None
    named = claim.node if is_table else stem_of(claim.job_prefix)
    return named or printable(PurePosixPath(location.root).name) or "job"


def _nodes(listing: _Listing, prefix: str) -> Mapping[str, list[FileRef]]:
    """Return the files of each node of the job with a prefix."""
    placed = _placed(listing, prefix)
    by_node: Mapping[str, list[FileRef]] = defaultdict(list)
    of_nodes = listing.claimed(
        lambda found: found.job_prefix == prefix and bool(found.node) and role_of(found) in OF_NODES
    )
    for file, found in of_nodes:
        times = placed.get(file.key)
        if times is None:
            by_node[found.node].append(file)
        else:
            by_node[times.node].append(replace(file, told_by=times.job_prefix))
    return by_node


def _placed(listing: _Listing, prefix: str) -> Mapping[str, Claim]:
    def needs_times(found: Claim) -> bool:
        return found.job_prefix == prefix and bool(format_of(found.format_id).clock_note)

    def is_times(found: Claim) -> bool:
        return found.job_prefix == prefix and role_of(found) is FileRole.TIMES

    placed = _placed_files([*listing.claimed(is_times), *listing.claimed(needs_times)])
    listing.set_apart(placed, needs_times)
    return placed


def _placed_files(claimed: Sequence[Claimed]) -> dict[str, Claim]:
    """Return, by the key of each TensorFlow trace, the metadata that says when it began.

    Both lie in the folder of the step. With several of each, those belong together where the
    node's id holds the host's name.
    """
    by_step: Mapping[str, list[Claimed]] = defaultdict(list)
    for info, found in claimed:
        if role_of(found) is FileRole.TIMES:
            by_step[info.key.rpartition("/")[0]].append((info, found))
    placed: dict[str, Claim] = {}
    for info, found in claimed if by_step else ():
        if not format_of(found.format_id).clock_note:
            continue
        step = info.key.partition("plugins/profile/")[0].rstrip("/")
        beside = by_step.get(step, [])
        fitting = [item for item in beside if found.node in item[1].node] or beside
        if len(fitting) == 1:
            placed[info.key] = replace(fitting[0][1], job_prefix=fitting[0][0].key)
    return placed


def _candidates(info: ObjectInfo, *, is_chosen: bool) -> list[Format]:
    """Return the formats that a file may be of, as its content has to show."""
    if info.problem or not info.size_bytes or PICKLE.fullmatch(info.key):
        return []
    return [
        item
        for item in FORMATS
        if item.claim_named is not None
        and (is_chosen or (item.may_be is not None and item.may_be.fullmatch(info.key)))
    ]


def _look_into(waiting: Sequence[_Waiting], listing: _Listing) -> None:
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
                listing.apart.append((file_ref(info, named.format_id), named))
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


def file_ref(info: ObjectInfo, format_id: str) -> FileRef:
    """Return a file of a part."""
    return FileRef(
        key=info.key, size_bytes=info.size_bytes, format_id=format_id, version=info.version
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
