"""The files under a path, each looked at once: which format it is of, or why it is of none."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TypeVar

from reportgen.errors import LocationError
from reportgen.formats import FORMATS, Claim, FileRole, Format, claim, printable, role_of
from reportgen.formats.kineto.detection import HEAD_BYTES, head_text
from reportgen.formats.nsight.detection import NSIGHT_REPORTS
from reportgen.intake.unsupported import OUTPUT, is_pickle, unsupported_name
from reportgen.storage import Location, ObjectInfo

MAX_DEPTH = 4
"""Folders between the given path and ``system/`` or ``framework/``."""

MAX_LOOKED_INTO = 4_096
"""Files opened to see what they are: a job of 4,096 GPUs has as many traces."""

_N_THREADS = 32
"""Files looked into at once: a store answers many requests in the time of one."""

_NOTHING = -1
Claimed = tuple[ObjectInfo, Claim]
Item = TypeVar("Item")
Looked = TypeVar("Looked")


@dataclass(slots=True, kw_only=True)
class Listing:
    """The files under a path, sorted out.

    Of each object ``claim_index`` is the place in ``kinds`` of what its key says, -1 where that is
    nothing: there are as many kinds as formats, jobs and nodes, not as files. ``timelines``, which
    have a separate clock, ``traces`` and ``reports`` (of Nsight Systems) are recognized by their
    content; ``monitored`` are files of other monitoring programs, which count where there is
    nothing else; ``unsupported`` names the known format that this version does not read;
    ``pickles`` are never opened; ``not_looked_into`` are too many.
    """

    location: Location
    objects: Sequence[ObjectInfo]
    kinds: Sequence[Claim] = ()
    claim_index: Sequence[int] = ()
    timelines: list[Claimed] = field(default_factory=list)
    traces: list[ObjectInfo] = field(default_factory=list)
    reports: list[ObjectInfo] = field(default_factory=list)
    monitored: list[Claimed] = field(default_factory=list)
    unsupported: dict[str, str] = field(default_factory=dict)
    pickles: list[ObjectInfo] = field(default_factory=list)
    not_looked_into: Sequence[ObjectInfo] = ()

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

    def to_timelines(self, keys: Collection[str], is_wanted: Callable[[Claim], bool]) -> None:
        """Count files of wanted claims, all but ``keys``, among those with a separate clock."""
        moved = [item for item in self.claimed(is_wanted) if item[0].key not in keys]
        gone = {info.key for info, _ in moved}
        if gone:
            self.timelines += moved
            indexed = self._indexed()
            left = (_NOTHING if info.key in gone else index for info, index in indexed)
            self.claim_index = array("i", left)

    def _indexed(self) -> Iterator[tuple[ObjectInfo, int]]:
        return zip(self.objects, self.claim_index, strict=True)


def classify(
    location: Location, objects: Sequence[ObjectInfo], *, is_chosen: bool = False
) -> Listing:
    """Find out what the files of a place are: by their keys, then by their content.

    ``is_chosen``: the user named the only file, whose name need not look like anything.
    """
    if not is_chosen and any(OUTPUT.fullmatch(info.key) for info in objects):
        objects = [info for info in objects if not OUTPUT.fullmatch(info.key)]
    listing = Listing(location=location, objects=objects)
    claims: dict[Claim, int] = {}
    claim_index = array("i")
    waiting: list[tuple[ObjectInfo, list[Format]]] = []
    for info in objects:
        index = _NOTHING
        found = None if info.problem else claim(info.key)
        if found is not None and role_of(found) is FileRole.KERNELS:
            _of_kernels(listing, found.format_id).append(info)
        elif found is not None and role_of(found) is FileRole.MONITORING:
            listing.monitored.append((info, found))
        elif found is not None and not is_chosen and found.job_prefix.count("/") <= MAX_DEPTH:
            alike = Claim(format_id=found.format_id, job_prefix=found.job_prefix, node=found.node)
            index = claims.setdefault(alike, len(claims))
        elif is_pickle(info.key):
            listing.pickles.append(info)
        elif candidates := _candidates(info, is_chosen=is_chosen):
            waiting.append((info, candidates))
        has_no_node = found is None or not found.node
        if has_no_node and (name := unsupported_name(info.key)):
            listing.unsupported[info.key] = name
        claim_index.append(index)
    listing.kinds, listing.claim_index = tuple(claims), claim_index
    _look_into(waiting[:MAX_LOOKED_INTO], listing)
    listing.not_looked_into = [info for info, _ in waiting[MAX_LOOKED_INTO:]]
    listing.timelines.sort(key=lambda item: item[0].key)
    listing.traces.sort(key=lambda info: info.key)
    return listing


def _candidates(info: ObjectInfo, *, is_chosen: bool) -> list[Format]:
    """Return the formats that a file may be of, as its content has to show."""
    if info.problem or not info.size_bytes:
        return []
    return [
        item
        for item in FORMATS
        if item.claim_named is not None
        and (is_chosen or (item.may_be is not None and item.may_be.fullmatch(info.key)))
    ]


def _look_into(waiting: Sequence[tuple[ObjectInfo, list[Format]]], listing: Listing) -> None:

    def recognized(item: tuple[ObjectInfo, list[Format]]) -> Format | None:
        info, candidates = item
        try:
            head = head_text(listing.location.read_range(info.key, 0, HEAD_BYTES))
        except LocationError:
            return None
        return next((candidate for candidate in candidates if candidate.looks_like(head)), None)

    for (info, _), found in zip(waiting, of_each(recognized, waiting), strict=True):
        if found is None or found.claim_named is None:
            continue
        if found.role is FileRole.KERNELS:
            _of_kernels(listing, found.id).append(info)
        elif found.role is FileRole.MONITORING:
            told = found.claim_named(stem_of(info.key) or "node")
            listing.monitored.append((info, told))
        else:
            listing.timelines.append((info, found.claim_named(stem_of(info.key) or "timeline")))


def _of_kernels(listing: Listing, format_id: str) -> list[ObjectInfo]:
    return listing.reports if format_id == NSIGHT_REPORTS.id else listing.traces


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
