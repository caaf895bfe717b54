"""The report of a job that still writes: made again when something new has come, until it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from reportgen.errors import AmbiguousJobError, LocationError, PlaceError
from reportgen.intake import discover
from reportgen.pipeline.make import make_report
from reportgen.pipeline.options import Options, Watcher
from reportgen.pipeline.remote import make_remote_report
from reportgen.scratch import scratch_folder
from reportgen.storage import Location, is_remote, open_location

Listing = Mapping[str, tuple[int, str]]
"""Key of each file to its size and version."""

_FIRST_LOOK_S = 5.0
"""A job that has not written anything yet is looked at more often: its user waits for the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """Options of ``reportgen watch``.

    Attributes:
        report: the report that is made each time.
        upload_to: the bucket that gets it; ``None`` for a folder of this machine.
        every_s: the time between two reports.
        idle_s: how long nothing new may come before the watch ends.
    """

    report: Options
    upload_to: str | None = None
    every_s: float = 60.0
    idle_s: float = 1800.0


def watch(options: WatchOptions, watcher: Watcher, *, on_made: Callable[[str], None]) -> bool:
    """Make the report again and again; return whether the job has ended, not just paused.

    A place that does not exist yet, or holds no job yet, is waited for.

    Args:
        options: what to make and how often.
        watcher: hears how far each report is.
        on_made: hears the address of each report.

    Raises:
        ReportgenError: the report cannot be made.
    """
    seen: Listing = {}
    n_made = 0

    def count(address: str) -> None:
        nonlocal n_made
        n_made += 1
        on_made(address)

    news_at = time.monotonic()
    with scratch_folder() as folder:
        job = _Job(options.report.path, folder)
        while True:
            found = job.refresh()
            is_finished = False
            if found != seen:
                seen, news_at = found, time.monotonic()
                is_finished = _make(options, job, watcher, count)
            if is_finished:
                return True
            if time.monotonic() - news_at > options.idle_s:
                return False
            time.sleep(options.every_s if n_made else min(options.every_s, _FIRST_LOOK_S))


def _make(
    options: WatchOptions, job: _Job, watcher: Watcher, on_made: Callable[[str], None]
) -> bool:
    """Make the report of what is there; return whether the job has ended by now."""
    try:
        is_finished = discover(job.path).info.is_finished
        made = replace(options.report, path=job.path, source=options.report.path)
        if options.upload_to is None:
            on_made(str(make_report(made, watcher).path))
        else:
            on_made(make_remote_report(made, options.upload_to, watcher)[0])
    except (AmbiguousJobError, PlaceError):
        raise
    except LocationError:
        return False  # nothing to read yet
    return is_finished


class _Job:
    """The job at the last look; of one in a bucket a copy, for which only news are fetched."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self.is_local = not is_remote(url)
        self._copy = folder / _name_of(url)
        self.path = url if self.is_local else str(self._copy)
        self._fetched: dict[str, tuple[int, str]] = {}

    def refresh(self) -> Listing:
        """Return the files that are there now, after fetching what is new."""
        try:
            location = open_location(self._url)
            listed = {
                info.key: (info.size_bytes, info.version or _changed(location, info.key))
                for info in location.list()
                if not info.problem and ".." not in info.key.split("/")
            }
        except PlaceError:
            raise
        except LocationError:
            return {}
        if not self.is_local:
            self._fetch(location, listed)
        return listed

    def _fetch(self, location: Location, listed: Listing) -> None:
        for key in self._fetched.keys() - listed.keys():
            (self._copy / key).unlink()
            del self._fetched[key]
        news = [key for key, state in listed.items() if self._fetched.get(key) != state]
        for key, content in zip(news, location.read_many(news), strict=True):
            if isinstance(content, LocationError):
                continue  # gone since it was listed; the next look says more
            (self._copy / key).parent.mkdir(parents=True, exist_ok=True)
            (self._copy / key).write_bytes(content)
            self._fetched[key] = listed[key]


def _changed(location: Location, key: str) -> str:
    """Return when a local file was changed, nothing for one that is gone."""
    path = location.local_path(key)
    try:
        return str(Path(path).stat().st_mtime_ns) if path is not None else ""
    except OSError:
        return ""


def _name_of(url: str) -> str:
    """Return the job's name, which its folder has to have in the copy as well."""
    parts = [part for part in url.split("/") if part]
    return "/".join(parts[-2:]) if parts[-1] == "profiler-output" else parts[-1]
