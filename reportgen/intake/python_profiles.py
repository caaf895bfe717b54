"""A node's Python profiles: their files to one table, and what was odd about them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import tee
from typing import TYPE_CHECKING

import numpy as np

from reportgen.errors import LocationError
from reportgen.formats import Diagnostics, FileRole, format_of, printable
from reportgen.formats.format import worker_of
from reportgen.formats.python_profile.names import ProfileKey, profile_key
from reportgen.profile import (
    NO_CALLS,
    PartRef,
    ProfileInterval,
    PythonFunction,
    PythonProfile,
    PythonTable,
    Quality,
    TimeRange,
)
from reportgen.profile.job import FileRef
from reportgen.profile.python import empty_python
from reportgen.storage import Location
from reportgen.units import NS_PER_US

if TYPE_CHECKING:
    from reportgen.formats.python_profile.reading import FunctionTimes

MOST_PROFILES = 1_000
"""Read of one node, the first ones; the default configuration takes three."""
MOST_GIVEN_UP = 3
"""After so many that took too much time or memory the others are not tried."""

_LONGEST_TEXT = 400
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")

_SAY_PROBLEM = "{n} [Python profile|Python profiles] cannot be read: %s"
_SAY_MANY = (
    f"{{n}} [Python profile was|Python profiles were] left out: only the first {MOST_PROFILES:,} "
    "of a node are read"
)
_SAY_GIVEN_UP = (
    "{n} [Python profile was|Python profiles were] not tried: others of the node had taken too "
    "much time or memory"
)


def read_python(ref: PartRef, location: Location, problems: Diagnostics) -> PythonTable:
    """Read the Python profiles of a node; with a range, those that overlap it, whole."""
    files = [file for file in ref.files if format_of(file.format_id).role is FileRole.PYTHON]
    if not files:
        return empty_python()
    named = [(file, key) for file in files if (key := profile_key(file.key)) is not None]
    named.sort(key=lambda item: (item[1].interval.start.time_us, item[0].key))
    kept = [item for item in named if _overlaps(item[1].interval, ref.kept)]
    problems.add(Quality.FILES_SKIPPED, "", len(kept[MOST_PROFILES:]), what=_SAY_MANY)
    rows = _Rows()
    for key, functions in _read(location, kept[:MOST_PROFILES], problems):
        _, worker = worker_of(key.node)
        profile = PythonProfile(
            worker=printable(worker), profiler=key.profiler, interval=key.interval
        )
        rows.add(profile, functions)
    what = f"{{n}} [Python profile|Python profiles] of {printable(ref.node)} [was|were] read"
    problems.add(Quality.FILES_READ, "", len(rows.profiles), what=what)
    return rows.table()


def _overlaps(interval: ProfileInterval, kept: TimeRange | None) -> bool:
    edges_ns = (moment.time_us * NS_PER_US for moment in (interval.start, interval.end))
    return kept is None or bool(kept.meets(*edges_ns))


_Named = tuple[FileRef, ProfileKey]


def _read(
    location: Location, files: Sequence[_Named], problems: Diagnostics
) -> Iterator[tuple[ProfileKey, Sequence[FunctionTimes]]]:
    from reportgen.formats.python_profile.reading import OUT_OF_LIMITS, read_profiles

    fetched, to_read = tee(_fetched(location, files, problems))
    contents = ((key.profiler, content) for _, (_, key), content in to_read)
    n_given_up = 0
    for (index, (file, key), _), read in zip(fetched, read_profiles(contents), strict=False):
        if not read.problem:
            yield key, read.functions
            continue
        problems.add(Quality.FILES_SKIPPED, file.key, what=_SAY_PROBLEM % read.problem)
        n_given_up += read.problem == OUT_OF_LIMITS
        if n_given_up == MOST_GIVEN_UP:
            rest = len(files) - index - 1
            problems.add(Quality.FILES_SKIPPED, "", rest, what=_SAY_GIVEN_UP)
            return


def _fetched(
    location: Location, files: Sequence[_Named], problems: Diagnostics
) -> Iterator[tuple[int, _Named, bytes]]:
    from reportgen.formats.python_profile.reading import MOST_BYTES, TOO_LARGE

    places = [index for index, (file, _) in enumerate(files) if file.size_bytes <= MOST_BYTES]
    for file, _ in files:
        if file.size_bytes > MOST_BYTES:
            problems.add(Quality.FILES_SKIPPED, file.key, what=_SAY_PROBLEM % TOO_LARGE)
    contents = location.read_many([files[index][0].key for index in places])
    for index, content in zip(places, contents, strict=True):
        if isinstance(content, LocationError):
            what = _SAY_PROBLEM % content.message
            problems.add(Quality.FILES_SKIPPED, files[index][0].key, what=what)
            continue
        yield index, files[index], content


def _function(times: FunctionTimes) -> PythonFunction:
    """Return a function; addresses in names differ from process to process and are left out."""
    return PythonFunction(
        file=printable(times.file, most=_LONGEST_TEXT),
        line=times.line,
        name=printable(_ADDRESS.sub("", times.function), most=_LONGEST_TEXT),
    )


@dataclass(slots=True)
class _Rows:
    profiles: list[PythonProfile] = field(default_factory=list)
    known: dict[tuple[str, int, str], int] = field(default_factory=dict)
    functions: dict[PythonFunction, int] = field(default_factory=dict)
    profile: list[int] = field(default_factory=list)
    function: list[int] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    own_s: list[float] = field(default_factory=list)
    cumulative_s: list[float] = field(default_factory=list)

    def add(self, profile: PythonProfile, functions: Sequence[FunctionTimes]) -> None:
        """Append a profile."""
        place = len(self.profiles)
        self.profiles.append(profile)
        for times in functions:
            key = (times.file, times.line, times.function)
            code = self.known.get(key)
            if code is None:
                code = self.functions.setdefault(_function(times), len(self.functions))
                self.known[key] = code
            self.profile.append(place)
            self.function.append(code)
            self.calls.append(NO_CALLS if times.calls is None else times.calls)
            self.own_s.append(max(times.own_s, 0.0))
            self.cumulative_s.append(max(times.cumulative_s, 0.0))

    def table(self) -> PythonTable:
        """Return the appended profiles."""
        return PythonTable(
            profiles=tuple(self.profiles),
            functions=tuple(self.functions),
            profile=np.array(self.profile, dtype=np.int32),
            function=np.array(self.function, dtype=np.int32),
            calls=np.array(self.calls, dtype=np.int64),
            own_s=np.array(self.own_s, dtype=np.float64),
            cumulative_s=np.array(self.cumulative_s, dtype=np.float64),
        )
