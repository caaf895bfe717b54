"""Python profiles of a job: which there are, and their functions, merged and ranked."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reportgen.errors import LocationError
from reportgen.formats.python_profile.names import profile_key
from reportgen.formats.python_profile.reading import read_profiles
from reportgen.storage import open_location
from reportgen.text import format_pct

_COLUMNS = ("file", "line", "function", "calls", "primitive_calls", "own_s", "cumulative_s")
_FIELDS = {name: attrgetter(name) for name in ("framework", "profiler", "node")} | {
    f"{side}_{name}": attrgetter(f"interval.{side}.{name}")
    for side in ("start", "end")
    for name in ("mode", "step", "phase", "time_us")
}
"""The columns of a table of profiles, but for the path."""


class PythonProfiles:
    """The Python profiles under a job's path; read when they are asked for.

    Attributes:
        table: one row per profile, by node and time: ``framework``, ``profiler`` (``cprofile`` or
            ``pyinstrument``), ``node``, and of its start and end ``mode`` (``prestepzero``,
            ``train``, ``posthookclose``), ``step``, ``phase``, ``time_us`` (UTC); ``path``.
    """

    def __init__(self, path: str) -> None:
        """List them; a path of one file, such as a trace, has none.

        Raises:
            LocationError: no such folder or bucket.
        """
        is_file = Path(path).is_file()
        self._location = open_location(str(Path(path).parent if is_file else path))
        named = [(info.key, profile_key(info.key)) for info in self._location.list()]
        rows = [
            (*(get(key) for get in _FIELDS.values()), path)
            for path, key in named
            if not is_file and key is not None and not key.is_page
        ]
        table = pd.DataFrame(rows, columns=[*_FIELDS, "path"])
        in_order = ["node", "start_time_us", "end_time_us", "path"]
        self.table = table.sort_values(in_order, ignore_index=True)

    def covering(self, rows: pd.DataFrame, *, origin_us: int) -> pd.DataFrame:
        """Return the rows of cProfile dumps that overlap any of some intervals, as slow batches.

        Rows have ``start_time_us`` and ``end_time_us``, counted from ``Job.origin_us``.
        """
        dumps = self.table[self.table["profiler"] == "cprofile"]
        start_us, end_us = (
            rows[name].to_numpy() + origin_us for name in ("start_time_us", "end_time_us")
        )
        edges = zip(dumps["start_time_us"], dumps["end_time_us"], strict=True)
        meets = [((start_us <= last) & (end_us >= first)).any() for first, last in edges]
        return dumps[np.array(meets, dtype=bool)]

    def functions(
        self, profiles: pd.DataFrame | None = None
    ) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return the functions of some profiles, merged, most cumulative time first.

        Args:
            profiles: rows of ``table``; all cProfile dumps by default. cProfile counts calls and
                pyinstrument samples: merge one kind only.

        Returns:
            One row per function: ``file``, ``line``, ``function``, ``calls``,
            ``primitive_calls``, ``own_s``, ``cumulative_s`` summed over the profiles; and what
            could not be read, a sentence each.
        """
        chosen = self.table[self.table["profiler"] == "cprofile"] if profiles is None else profiles
        rows: list[Any] = []
        problems: list[str] = []
        paths: list[str] = []
        contents: list[tuple[str, bytes]] = []
        for path, profiler in zip(chosen["path"], chosen["profiler"], strict=True):
            try:
                contents.append((profiler, self._location.read_bytes(path)))
                paths.append(path)
            except LocationError as err:
                problems.append(err.message)
        for path, read in zip(paths, read_profiles(contents), strict=True):
            if read.problem:
                problems.append(f"{path}: {read.problem}.")
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


def describe_own_time(functions: pd.DataFrame, *, n: int = 3) -> str:
    """Return the sentence that names the ``n`` functions with most own time.

    ``functions`` (from ``PythonProfiles.functions``) is empty where no profile covers the time.
    """
    whole_s = float(functions["own_s"].sum()) if len(functions) else 0.0
    if whole_s <= 0:
        return "There is no Python profile for this window."
    top = functions.sort_values("own_s", ascending=False, kind="stable").head(n)
    named = ", ".join(
        f"{row.function} ({format_pct(100 * row.own_s / whole_s)})" for row in top.itertuples()
    )
    return (
        f"The functions with the most self time in the Python profiles of this window are {named}."
    )
