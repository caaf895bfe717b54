"""The report of a job that still writes: made again when something new has come, until it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from reportgen.errors import AmbiguousJobError, LocationError, PlaceError
from reportgen.intake import discover
from reportgen.pipeline.make import make_report
from reportgen.pipeline.options import Options, Watcher
from reportgen.pipeline.remote import make_remote_report
from reportgen.scratch import scratch_folder
from reportgen.storage import Location, ObjectInfo, is_remote, open_location

Listing = Mapping[str, tuple[int, str]]
"""Key of each file to its size and version."""

_SHARED_BYTES = 4_096
"""A file whose last bytes are still there has grown; otherwise it was written anew."""
_SHORTEST_LOOK_S = 1.0
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
    with _copy_of(options.report.path) as copy:
        while True:
            found = copy.refresh()
            is_finished = False
            if found != seen:
                seen, news_at = found, time.monotonic()
                is_finished = _make(options, copy, watcher, count)
            if is_finished:
                return True
            if time.monotonic() - news_at > options.idle_s:
                return False
            _wait(options.every_s if n_made else min(options.every_s, _FIRST_LOOK_S), copy, seen)


def _make(
    options: WatchOptions, copy: _Copy, watcher: Watcher, on_made: Callable[[str], None]
) -> bool:
    """Make the report of what is there; return whether the job has ended by now."""
    try:
        is_finished = discover(str(copy.path)).info.is_finished
        made = replace(options.report, path=str(copy.path), source=options.report.path)
        if options.upload_to is None:
            on_made(str(make_report(made, watcher).path))
        else:
            on_made(make_remote_report(made, options.upload_to, watcher)[0])
    except (AmbiguousJobError, PlaceError):
        raise
    except LocationError:
        return False  # nothing to read yet
    return is_finished


def _wait(every_s: float, copy: _Copy, seen: Listing) -> None:
    """Wait for the next report; a job that has ended is not waited for."""
    until = time.monotonic() + every_s
    while (left_s := until - time.monotonic()) > 0:
        time.sleep(min(left_s, _SHORTEST_LOOK_S))
        if copy.is_local and copy.has_ended() and copy.refresh() != seen:
            return


class _Copy:
    """The job as it was at the last look: a copy, for which only what is new is read."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self.is_local = not is_remote(url)
        self.path = folder / _name_of(str(Path(url).absolute()) if self.is_local else url)
        self._fetched: dict[str, tuple[int, str]] = {}

    def refresh(self) -> Listing:
        """Return the files that are there now, after fetching what is new."""
        try:
            location = open_location(self._url)
            listed = {
                info.key: (info.size_bytes, _state_of(location, info) or info.version)
                for info in location.list()
                if not info.problem and ".." not in info.key.split("/")
            }
        except PlaceError:
            raise
        except LocationError:
            return {}
        self._fetch(location, listed)
        return listed

    def has_ended(self) -> bool:
        """Return whether a local job has its end marker."""
        rooms = ("system", "framework", "profiler-output/system", "profiler-output/framework")
        return any((Path(self._url) / room / "training_job_end.ts").exists() for room in rooms)

    def _fetch(self, location: Location, listed: Listing) -> None:
        gone = {_identity(self._fetched[key]): key for key in self._fetched.keys() - listed.keys()}
        news = [key for key, state in listed.items() if self._fetched.get(key) != state]
        for key in news:
            before = gone.get(_identity(listed[key]))
            if self.is_local and before and key not in self._fetched:
                self._fetched[key] = self._fetched[before]
                (self.path / before).replace(self._place(key))
        for key in gone.values():
            (self.path / key).unlink(missing_ok=True)
            del self._fetched[key]
        whole = [key for key in news if not self._has_appended(location, key, listed[key])]
        for key, content in zip(whole, location.read_many(whole), strict=True):
            if isinstance(content, LocationError):
                continue  # gone since it was listed; the next look says more
            self._place(key).write_bytes(content)
            self._fetched[key] = listed[key]

    def _has_appended(self, location: Location, key: str, state: tuple[int, str]) -> bool:
        """Append to a file of the copy what its original has grown by, if it has only grown."""
        held = self._fetched.get(key, (0, ""))
        if not self.is_local or not held[0] < state[0] or _identity(held) != _identity(state):
            return False
        shared_bytes = min(held[0], _SHARED_BYTES)
        begin = held[0] - shared_bytes
        with suppress(LocationError), (self.path / key).open("r+b") as file:
            content = location.read_range(key, begin, state[0] - begin)
            file.seek(begin)
            if file.read(shared_bytes) == content[:shared_bytes]:
                file.write(content[shared_bytes:])
                self._fetched[key] = (begin + len(content), state[1])
                return True
        return False

    def _place(self, key: str) -> Path:
        path = self.path / key
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def _state_of(location: Location, info: ObjectInfo) -> str:
    """Return inode and time of a local file; of objects, which have versions, nothing."""
    path = None if info.version else location.local_path(info.key)
    if path is None:
        return ""
    try:
        found = Path(path).stat()
    except OSError:
        return ""
    return f"{found.st_ino}:{found.st_mtime_ns}"


def _identity(state: tuple[int, str]) -> str:
    """Return the part of a state that stays when a local file grows or gets another name."""
    return state[1].partition(":")[0]


def _name_of(url: str) -> str:
    """Return the job's name, which its folder has to have in the copy as well."""
    parts = [part for part in url.split("/") if part]
    return "/".join(parts[-2:]) if parts[-1] == "profiler-output" else parts[-1]


@contextmanager
def _copy_of(url: str) -> Iterator[_Copy]:
    with scratch_folder() as folder:
        yield _Copy(url, folder)
