"""The configuration of a job's profiler, read from a file beside its data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reportgen.errors import ConfigError, LocationError
from reportgen.formats import Diagnostics, printable
from reportgen.formats.sagemaker.profiler_config import MAX_BYTES, parse_profiler_config
from reportgen.intake.found import Found
from reportgen.plain_files import read_named
from reportgen.profile import JobProfile, Quality, SourceNote
from reportgen.profile.job import FileRef
from reportgen.profiler_config import Profiling
from reportgen.storage import Location

_SAY_NONE = "{n} [file is|files are] no profiler configuration that can be read"
_SAY_FARTHER = "A profiler configuration nearer to the data was used instead of this one."
_SAY_GIVEN = "The profiler configuration that was passed was used instead of the job's own."


def read_settings(job: Found, problems: Diagnostics) -> Profiling | None:
    """Return the settings from the nearest configuration of a job, ``None`` without one."""
    nearest: Profiling | None = None
    for found, _ in sorted(job.settings, key=lambda item: -len(item[1].job_prefix)):
        asked = _read(job.listing.location, found)
        if asked is None:
            problems.add(Quality.FILES_SKIPPED, found.key, what=_SAY_NONE)
        elif nearest is not None:
            problems.remark(_SAY_FARTHER, path=found.key)
        nearest = nearest or asked
    return nearest


def _read(location: Location, found: FileRef) -> Profiling | None:
    if found.size_bytes > MAX_BYTES:
        return None
    try:
        return parse_profiler_config(location.read_bytes(found.key))
    except LocationError:
        return None


def settings_of(path: Path) -> Profiling:
    """Return the settings from a configuration that the user passed.

    Raises:
        ConfigError: the file cannot be read, or is no profiler configuration.
    """
    hint = "Pass profilerconfig.json, or the JSON of DescribeTrainingJob.ProfilerConfig."
    name = printable(str(path))
    try:
        content = read_named(path, most_bytes=MAX_BYTES)
    except OSError as err:
        reason = err.strerror or type(err).__name__
        raise ConfigError(f"{name} cannot be read ({reason}).", hint=hint) from err
    asked = parse_profiler_config(content)
    if asked is None:
        raise ConfigError(f"{name} is no profiler configuration.", hint=hint)
    return asked


def with_settings(job: JobProfile, asked: Profiling) -> JobProfile:
    """Return a job with what a configuration asked for, instead of what its own did."""
    notes = (SourceNote(text=_SAY_GIVEN),) if job.profiling is not None else ()
    return replace(job, notes=(*job.notes, *notes), profiling=asked)
