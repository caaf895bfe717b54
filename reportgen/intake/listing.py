"""The files under a path, sorted out by their keys and, where these say nothing, by content."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.errors import LocationError, PlaceError
from reportgen.formats import Claim, FileRole, Format, candidates, claim, claim_by_content, role_of
from reportgen.formats.kineto.detection import HEAD_BYTES
from reportgen.storage import Location, ObjectInfo, at_home, of_each, open_location

MAX_LOOKED_INTO = 4_096
"""Files opened to see what they are: a job of 4,096 GPUs has as many traces."""

MAX_DEPTH = 4
"""Folders between the given path and ``system/`` or ``framework/``."""

PICKLE = re.compile(r".*\.(?:pickle|pkl)", re.IGNORECASE)
"""Files that are never opened."""

NOTHING = -1
"""The place of a file whose key says nothing."""


_OUTPUT = re.compile(r"(?:.*/)?profiler-report(?:/.*|\.html|\.ipynb)")
"""Output of this program."""

_APART = frozenset({FileRole.KERNELS, FileRole.MONITORING})

ClaimedObject = tuple[ObjectInfo, Claim]
_Waiting = tuple[ObjectInfo, Sequence[Format]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The files under a path, sorted out.

    Attributes:
        path: what the user passed.
        location: the place, with its ``objects``.
        outputs: what this program made; never its input.
        is_file: the user named a single file, the only object.
        kinds: what keys say, each claim once: there are as many as formats, jobs and nodes.
        kind_index: of each object the place in ``kinds`` of what its key says, or ``NOTHING``.
        apart: files that belong to no node by their keys: kernel traces, what other programs
            monitored, and timelines on a separate clock.
        not_looked_into: files too many to be opened.
        denied: why files may not be opened.
    """

    path: str
    location: Location
    objects: Sequence[ObjectInfo]
    outputs: Sequence[ObjectInfo]
    is_file: bool
    kinds: Sequence[Claim]
    kind_index: Sequence[int]
    apart: Sequence[ClaimedObject]
    not_looked_into: Sequence[ObjectInfo]
    denied: PlaceError | None

    @property
    def has_job(self) -> bool:
        """Return whether some of the files are of a job."""
        return bool(self.apart) or any(kind.node for kind in self.kinds)


def list_files(path: str) -> Listing:
    """List the files under a path, and find out what each is.

    Raises:
        LocationError: no such folder.
    """
    location, listed, is_file = _opened(path)
    outputs = () if is_file else tuple(info for info in listed if _OUTPUT.fullmatch(info.key))
    objects = [info for info in listed if not _OUTPUT.fullmatch(info.key)] if outputs else listed
    kinds: dict[Claim, int] = {}
    kind_index = array("i")
    apart: list[ClaimedObject] = []
    waiting: list[_Waiting] = []
    for info in objects:
        index = NOTHING
        found = None if info.problem else claim(info.key)
        if found is not None and role_of(found) in _APART:
            apart.append((info, found))
        elif found and not is_file and found.job_prefix.count("/") <= MAX_DEPTH:
            alike = Claim(format_id=found.format_id, job_prefix=found.job_prefix, node=found.node)
            index = kinds.setdefault(alike, len(kinds))
        elif _may_be_opened(info) and (formats := candidates(info.key, is_chosen=is_file)):
            waiting.append((info, formats))
        kind_index.append(index)
    by_content, denied = _look_into(waiting[:MAX_LOOKED_INTO], location)
    return Listing(
        path=path,
        location=location,
        objects=objects,
        outputs=outputs,
        is_file=is_file,
        kinds=tuple(kinds),
        kind_index=kind_index,
        apart=sorted([*apart, *by_content], key=lambda item: item[0].key),
        not_looked_into=[info for info, _ in waiting[MAX_LOOKED_INTO:]],
        denied=denied,
    )


def _opened(path: str) -> tuple[Location, Sequence[ObjectInfo], bool]:
    """Return a place, its objects, and whether the path names a single file."""
    try:
        location = open_location(path)
    except LocationError as err:
        if not err.details.get("is_file"):
            raise
        file = at_home(path.removeprefix("file://"))
        chosen = ObjectInfo(key=file.name, size_bytes=file.stat().st_size)
        return open_location(str(file.parent)), [chosen], True
    objects = location.list()
    folder, _, key = location.root.rpartition("/")
    if "://" in location.root and not objects and key and not folder.endswith("/"):
        beside = open_location(folder)
        found = [info for info in beside.list() if info.key == key]
        if found:
            return beside, found, True
    return location, objects, False


def _may_be_opened(info: ObjectInfo) -> bool:
    return bool(info.size_bytes) and not info.problem and not PICKLE.fullmatch(info.key)


def _look_into(
    waiting: Sequence[_Waiting], location: Location
) -> tuple[list[ClaimedObject], PlaceError | None]:
    """Return the files whose first bytes show of which format they are, and why some are closed."""

    def look(item: _Waiting) -> Claim | LocationError | None:
        info, formats = item
        try:
            head = location.read_range(info.key, 0, HEAD_BYTES)
        except LocationError as err:
            return err
        return claim_by_content(info.key, head, formats)

    looked = of_each(look, waiting)
    found = [
        (info, claim)
        for (info, _), claim in zip(waiting, looked, strict=True)
        if isinstance(claim, Claim)
    ]
    return found, next((one for one in looked if isinstance(one, PlaceError)), None)
