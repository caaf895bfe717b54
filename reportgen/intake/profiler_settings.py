"""What was profiled, in sentences: from the configuration of a job's profiler."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from reportgen.errors import ConfigError, LocationError
from reportgen.formats import Claim, FormatId, Tally, printable
from reportgen.formats.profiler_config import (
    MAX_BYTES,
    ProfiledWindow,
    ProfilerConfig,
    parse_profiler_config,
)
from reportgen.profile import JobProfile, Quality, SourceNote
from reportgen.storage import Location, ObjectInfo
from reportgen.units import NS_PER_S, iso_utc, say_count, say_duration

_LAST_S = 4_102_444_800
"""2100: later starts are no times. Source: ours."""


def note_settings(
    location: Location, claimed: Iterable[tuple[ObjectInfo, Claim]], prefix: str, tally: Tally
) -> None:
    """Tell what the configuration in a job's folder asked for.

    Args:
        location: where the job lies.
        claimed: its files.
        prefix: what comes before ``system/`` and ``framework/``; a configuration counts there and
            in the folders around it.
        tally: told it.
    """
    for found, told in sorted(claimed, key=lambda item: item[0].key):
        if told.format_id is not FormatId.PROFILER_CONFIG or not prefix.startswith(told.job_prefix):
            continue
        config = _read(location, found)
        if config is None:
            what = "{n} [file is|files are] no profiler configuration that can be read"
            tally.add(Quality.FILES_SKIPPED, found.key, what=what)
            continue
        for text in sentences(config):
            tally.remark(text, path=found.key)


def _read(location: Location, found: ObjectInfo) -> ProfilerConfig | None:
    if found.size_bytes > MAX_BYTES:
        return None
    try:
        return parse_profiler_config(location.read_bytes(found.key))
    except LocationError:
        return None


def with_settings(job: JobProfile, path: Path) -> JobProfile:
    """Return a job with notes on what a configuration asked for.

    Raises:
        ConfigError: the file cannot be read, or is no profiler configuration.
    """
    hint = "Pass profilerconfig.json, or the JSON of DescribeTrainingJob.ProfilerConfig."
    name = printable(str(path))
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as err:
        reason = err.strerror or type(err).__name__
        raise ConfigError(f"{name} cannot be read ({reason}).", hint=hint) from err
    config = parse_profiler_config(content)
    if config is None:
        raise ConfigError(f"{name} is no profiler configuration.", hint=hint)
    notes = [SourceNote(text=text, path=printable(path.name)) for text in sentences(config)]
    return replace(job, notes=(*job.notes, *notes))


def sentences(config: ProfilerConfig) -> Iterator[str]:
    """Yield what was profiled, a sentence each."""
    if config.is_disabled:
        yield "What was profiled: profiling was switched off."
    if config.interval_ms is not None:
        yield f"What was profiled: system metrics every {config.interval_ms:,} ms."
    if config.output:
        yield f"What was profiled was written to {config.output}."
    for window in config.windows:
        yield f"{window.kind}: {_extent(window)}{_more(window)}."
    for kind in config.unreadable:
        yield f"{kind} was asked for, but its configuration cannot be read."
    if not config.windows and not config.unreadable and not config.is_disabled:
        yield "What was profiled: no framework profiling was asked for."


def _extent(window: ProfiledWindow) -> str:
    """Return the steps or the time that a window covers."""
    if window.start_step is not None or window.n_steps is not None:
        first = "of any number" if window.start_step is None else f"from step {window.start_step:,}"
        count = "steps" if window.n_steps is None else _steps(window.n_steps)
        return f"{count} {first}"
    if window.start_s is not None or window.duration_s is not None:
        lasts = "" if window.duration_s is None else f"{say_duration(window.duration_s)} "
        begins = "the start of the job" if window.start_s is None else _instant(window.start_s)
        return f"{lasts}from {begins}"
    return "its window is not said (the profiler's default)"


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{say_count(count)} steps"


def _instant(time_s: float) -> str:
    if not 0 < time_s < _LAST_S:
        return f"{time_s:g} s since 1970"
    return iso_utc(round(time_s * NS_PER_S))


def _more(window: ProfiledWindow) -> str:
    parts = (
        f"profiler {window.profiler}" if window.profiler else "",
        f"timer {window.timer}" if window.timer else "",
        f"metrics {window.metrics}" if window.metrics else "",
    )
    told = ", ".join(part for part in parts if part)
    return f" ({told})" if told else ""
