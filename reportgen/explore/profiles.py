"""Python profiles of a job: which there are, their functions, merged and ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reportgen.errors import LocationError
from reportgen.formats.python_profile.names import profile_key
from reportgen.formats.python_profile.reading import read_profiles
from reportgen.profile import ProfileInterval
from reportgen.storage import open_location
from reportgen.text import format_pct

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("file", "line", "function", "calls", "primitive_calls", "own_s", "cumulative_s")
_FIELDS = {name: attrgetter(name) for name in ("framework", "profiler", "node")} | {
    f"{side}_{name}": attrgetter(f"interval.{side}.{name}")
    for side in ("start", "end")
    for name in ("mode", "step", "phase", "time_us")
}
"""The columns of a table of profiles, but for the path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedProfile:
    """One profile of one node."""

    path: str
    framework: str
    profiler: str
    node: str
    interval: ProfileInterval


class PythonProfiles:
    """The Python profiles under a job's path; read when they are asked for."""

    def __init__(self, path: str) -> None:
        """List them; a path of one file, such as a trace, has none.

        Raises:
            LocationError: no such folder or bucket.
        """
        is_file = Path(path).is_file()
        self._location = open_location(str(Path(path).parent if is_file else path))
        listed = () if is_file else self._location.list()
        named = [(info.key, profile_key(info.key)) for info in listed]
        found = [
            SelectedProfile(
                path=path,
                framework=key.framework,
                profiler=key.profiler,
                node=key.node,
                interval=key.interval,
            )
            for path, key in named
            if key is not None and not key.is_page
        ]
        order = attrgetter("node", "interval.start.time_us", "interval.end.time_us", "path")
        self.all = tuple(sorted(found, key=order))

    def table(self) -> pd.DataFrame:
        """Return one row per profile: who, which node, from when to when (µs UTC)."""
        import pandas as pd

        rows = [(*(get(item) for get in _FIELDS.values()), item.path) for item in self.all]
        return pd.DataFrame(rows, columns=[*_FIELDS, "path"])

    def select(
        self,
        *,
        node: str | None = None,
        profiler: str | None = None,
        steps: tuple[int, int] | None = None,
        times_us: tuple[int, int] | None = None,
        start_mode: str | None = None,
        end_mode: str | None = None,
        start_phase: str | None = None,
        end_phase: str | None = None,
    ) -> tuple[SelectedProfile, ...]:
        """Return the profiles that fit.

        Args:
            node: the node's id as in the path (``27-algo-1``).
            profiler: ``cprofile`` or ``pyinstrument``.
            steps: profiles that begin at or after the first and end at or before the last step.
            times_us: profiles that lie in this range, µs UTC.
            start_mode, end_mode: such as ``prestepzero``, ``train``, ``posthookclose``.
            start_phase, end_phase: such as ``stepstart``, ``forwardpassend``.
        """
        exact = {
            "node": node,
            "profiler": profiler,
            "start_mode": start_mode,
            "end_mode": end_mode,
            "start_phase": start_phase,
            "end_phase": end_phase,
        }
        return tuple(
            item
            for item in self.all
            if all(value is None or _FIELDS[name](item) == value for name, value in exact.items())
            and _in_steps(item.interval, steps)
            and _in_times(item.interval, times_us)
        )

    def covering(self, rows: pd.DataFrame, *, origin_us: int) -> tuple[SelectedProfile, ...]:
        """Return the cProfile dumps that overlap any of some intervals, such as slow batches.

        Rows have ``start_time_us`` and ``end_time_us``, counted from ``Job.origin_us``.
        """
        start_us, end_us = (
            rows[name].to_numpy() + origin_us for name in ("start_time_us", "end_time_us")
        )

        def overlaps(item: SelectedProfile) -> bool:
            first_us, last_us = item.interval.start.time_us, item.interval.end.time_us
            return bool(np.any((start_us <= last_us) & (end_us >= first_us)))

        return tuple(filter(overlaps, self.select(profiler="cprofile")))

    def functions(
        self, profiles: Sequence[SelectedProfile] | None = None
    ) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return the functions of some profiles, merged, most cumulative time first.

        Args:
            profiles: from ``select``; all cProfile dumps by default. cProfile counts calls and
                pyinstrument samples: merge one kind only.

        Returns:
            One row per function: ``file``, ``line``, ``function``, ``calls``,
            ``primitive_calls``, ``own_s``, ``cumulative_s`` summed over the profiles; and what
            could not be read, a sentence each.
        """
        import pandas as pd

        chosen = self.select(profiler="cprofile") if profiles is None else tuple(profiles)
        rows: list[Any] = []
        problems: list[str] = []
        readable: list[tuple[SelectedProfile, bytes]] = []
        for item in chosen:
            try:
                readable.append((item, self._location.read_bytes(item.path)))
            except LocationError as err:
                problems.append(err.message)
        contents = [(item.profiler, content) for item, content in readable]
        for (item, _), read in zip(readable, read_profiles(contents), strict=True):
            if read.problem:
                problems.append(f"{item.path}: {read.problem}.")
            rows.extend(map(attrgetter(*_COLUMNS), read.functions))
        frame = pd.DataFrame(rows, columns=list(_COLUMNS))
        groups = frame.groupby(["file", "line", "function"], as_index=False, sort=True)
        merged = groups[list(_COLUMNS[3:])].sum(min_count=1)
        merged = merged.sort_values(
            ["cumulative_s", "file", "line", "function"],
            ascending=[False, True, True, True],
            ignore_index=True,
        )
        return merged, tuple(problems)


def top_functions(
    functions: pd.DataFrame, *, by: str = "cumulative_s", n: int = 10
) -> pd.DataFrame:
    """Return the first ``n`` functions by ``cumulative_s``, ``own_s`` or ``calls``."""
    return functions.sort_values(by, ascending=False, kind="stable", ignore_index=True).head(n)


def describe_own_time(functions: pd.DataFrame, *, n: int = 3) -> str:
    """Return the sentence that names the ``n`` functions with most own time.

    ``functions`` (from ``PythonProfiles.functions``) is empty where no profile covers the time.
    """
    whole_s = float(functions["own_s"].sum()) if len(functions) else 0.0
    if whole_s <= 0:
        return "There is no Python profile for this window."
    named = ", ".join(
        f"{row.function} ({format_pct(100 * row.own_s / whole_s)})"
        for row in top_functions(functions, by="own_s", n=n).itertuples()
    )
    return (
        f"The functions with the most self time in the Python profiles of this window are {named}."
    )


def _in_steps(interval: ProfileInterval, steps: tuple[int, int] | None) -> bool:
    if steps is None:
        return True
    first, last = interval.start.step, interval.end.step
    return first is not None and last is not None and steps[0] <= first and last <= steps[1]


def _in_times(interval: ProfileInterval, times_us: tuple[int, int] | None) -> bool:
    if times_us is None:
        return True
    return times_us[0] <= interval.start.time_us and interval.end.time_us <= times_us[1]
