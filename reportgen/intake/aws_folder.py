"""Find and read a folder of SageMaker's rule results, at whatever level it was given."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from reportgen.errors import FormatError, LocationError
from reportgen.formats.diagnostics import printable
from reportgen.formats.sagemaker.rule_results import (
    AWS_RULES,
    FOLDERS,
    read_aws_result,
    rule_name_of,
)
from reportgen.intake.listing import Listing
from reportgen.intake.one_job import no_job, several
from reportgen.profile import Quality, SourceNote
from reportgen.results import AwsResult, RuleId
from reportgen.storage import Location, ObjectInfo
from reportgen.units import NS_PER_S, iso_utc

_MAX_BYTES = 256 * 1024 * 1024
"""A result is a few MB at most; a larger file is no result."""

_ABOVE_JOB = re.compile(r"profiler-reports?|profiler-output|ProfilerReport(-\d+)?|rule-output")
_TAG = re.compile(r"ProfilerReport-(\d{10})(?!\d)")
"""SageMaker tags a report with the Unix second in which its rule started."""
_LEVELS = re.compile(rf"(|(.*/)?({'|'.join(FOLDERS)})/)")
_OURS = "report.json"
"""A folder with this file is a report of ours, not a result folder of SageMaker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsFolder:
    """A folder of results: what could be read, by rule, and notes on what could not.

    ``name`` is the first folder above that is not SageMaker's own; ``source`` as the user gave it.
    """

    name: str
    source: str
    results: Mapping[RuleId, AwsResult]
    notes: tuple[SourceNote, ...]


def read_aws_folder(listing: Listing, *, name: str | None = None) -> AwsFolder:
    """Read the rule results that SageMaker wrote, where there is no job.

    Args:
        listing: of the folder of JSONs, ``profiler-output``, ``ProfilerReport-<digits>``,
            ``rule-output``, or the job's folder.
        name: the job's name, if not that of its folder.

    Raises:
        AmbiguousJobError: several folders of results lie under the path.
        LocationError: no file is named after SageMaker's rules; it says what is there instead.
        FormatError: no result under the path could be read.
    """
    path, location = listing.path, listing.location
    objects = () if listing.is_file else (*listing.objects, *listing.outputs)
    ours = {_folder(info.key) for info in objects if info.key.endswith(_OURS)}
    named = [info for info in objects if _is_result(info) and _folder(info.key) not in ours]
    if not named:
        raise no_job(listing)
    folder = _only_folder(path, named)
    results: dict[RuleId, AwsResult] = {}
    notes: list[SourceNote] = []
    found = {rule_name_of(info.key): info for info in named if _folder(info.key) == folder}
    for rule_id in AWS_RULES:
        if rule_id not in found:
            notes.append(SourceNote(text=f"{rule_id}.json is missing: that rule is left out."))
            continue
        read = _read(location, found[rule_id])
        if isinstance(read, AwsResult):
            results[rule_id] = read
        else:
            notes.append(read)
    if not results:
        broken = next(note for note in notes if note.path)
        raise FormatError(f"{broken.text} No other result lies under {path!r}.", path=path)
    return AwsFolder(
        name=name or _job_name(location, folder),
        source=path,
        results=results,
        notes=(_read_note(results, str(PurePosixPath(location.root) / folder)), *notes),
    )


def _is_result(info: ObjectInfo) -> bool:
    if not info.key.endswith(".json"):
        return False
    return rule_name_of(info.key) in AWS_RULES and bool(_LEVELS.fullmatch(_folder(info.key)))


def _folder(key: str) -> str:
    return key[: key.rfind("/") + 1]


def _only_folder(path: str, named: Sequence[ObjectInfo]) -> str:
    folders = sorted({_folder(info.key) for info in named})
    if len(folders) == 1:
        return folders[0]
    what = f"{len(folders)} folders of results lie under {path!r}: {{listed}}."
    raise several(what, path, folders, hint="Pass one of them.")


def _read(location: Location, info: ObjectInfo) -> AwsResult | SourceNote:
    text = f"{info.key} cannot be read ({info.problem})."
    if info.size_bytes > _MAX_BYTES:
        text = f"{info.key} is too large for a rule result."
    if info.problem or info.size_bytes > _MAX_BYTES:
        return SourceNote(text=text, path=info.key, counts={Quality.FILES_SKIPPED: 1})
    try:
        return read_aws_result(location.read_bytes(info.key), path=info.key)
    except (FormatError, LocationError) as err:
        return SourceNote(text=err.message, path=info.key, counts={Quality.FILES_SKIPPED: 1})


def _read_note(results: Mapping[RuleId, AwsResult], folder: str) -> SourceNote:
    started = ""
    if tag := _TAG.search(folder):
        started = f" SageMaker started its rule at {iso_utc(int(tag[1]) * NS_PER_S)}."
    return SourceNote(
        text=(
            "Made from the rule results that SageMaker wrote, without the raw data: its numbers "
            "are shown as they are, their known mistakes are named beside them."
            f"{started}"
        ),
        counts={Quality.FILES_READ: len(results)},
    )


def _job_name(location: Location, folder: str) -> str:
    place = PurePosixPath(location.root) / folder
    for candidate in (place, *place.parents):
        if candidate.name and not _ABOVE_JOB.fullmatch(candidate.name):
            return printable(candidate.name)
    return "job"
