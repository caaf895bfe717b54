"""Python profiles of one stage, merged: each function with its calls and times added up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.profile import NO_CALLS, PythonFunction, PythonProfile, PythonTable
from reportgen.rules.python.names import stage_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSum:
    """One function over some profiles; ``calls`` is ``None`` where the profiler samples."""

    function: PythonFunction
    calls: int | None
    own_s: float
    cumulative_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSum:
    """Some profiles merged.

    Attributes:
        profiler: ``cprofile`` or ``pyinstrument``, never both.
        stage: which part of the job they cover.
        first_us: when the first began, µs UTC.
        n_profiles: how many they are.
        covered_us: their lengths added up, µs.
        own_s: own times of all functions added up: the time that was profiled.
        functions: each function once, sorted by where it is defined.
    """

    profiler: str
    stage: str
    first_us: int
    n_profiles: int
    covered_us: int
    own_s: float
    functions: tuple[FunctionSum, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSummary:
    """One profile: its own times added up, and the function that took most of them."""

    profile: PythonProfile
    own_s: float
    longest: PythonFunction | None
    longest_s: float


def summaries_of(table: PythonTable) -> tuple[ProfileSummary, ...]:
    """Return each profile of a node in short."""
    n_profiles = len(table.profiles)
    own_s = np.bincount(table.profile, table.own_s, minlength=n_profiles).tolist()
    order = np.lexsort((table.own_s, table.profile))
    last = np.searchsorted(table.profile[order], np.arange(n_profiles), side="right") - 1
    found = []
    for place, profile in enumerate(table.profiles):
        row = int(order[last[place]]) if last[place] >= 0 else -1
        is_there = row >= 0 and table.profile[row] == place
        found.append(
            ProfileSummary(
                profile=profile,
                own_s=own_s[place],
                longest=table.functions[table.function[row]] if is_there else None,
                longest_s=float(table.own_s[row]) if is_there else 0.0,
            )
        )
    return tuple(found)


def sums_by_stage(table: PythonTable) -> tuple[ProfileSum, ...]:
    """Return a node's profiles merged by profiler and stage."""
    groups: dict[tuple[str, str], list[int]] = {}
    for place, profile in enumerate(table.profiles):
        key = (profile.profiler, stage_of(profile.interval))
        groups.setdefault(key, []).append(place)
    return tuple(
        sum_of(table, np.array(places), stage=stage) for (_, stage), places in groups.items()
    )


def sum_of(table: PythonTable, places: NDArray[np.int64], *, stage: str) -> ProfileSum:
    """Return some profiles of one profiler merged.

    Args:
        table: the node's profiles.
        places: (k,) places in ``table.profiles``, one at least.
        stage: what they are called together.
    """
    profiles = [table.profiles[place] for place in places.tolist()]
    rows = np.isin(table.profile, places)
    codes, inverse = np.unique(table.function[rows], return_inverse=True)
    own_s = np.bincount(inverse, table.own_s[rows], minlength=codes.size)
    cumulative_s = np.bincount(inverse, table.cumulative_s[rows], minlength=codes.size)
    calls = np.zeros(codes.size, dtype=np.int64)
    np.add.at(calls, inverse, table.calls[rows])
    counts = bool((table.calls[rows] != NO_CALLS).all())
    functions = [
        FunctionSum(
            function=table.functions[code],
            calls=count if counts else None,
            own_s=own,
            cumulative_s=cumulative,
        )
        for code, count, own, cumulative in zip(
            codes.tolist(), calls.tolist(), own_s.tolist(), cumulative_s.tolist(), strict=True
        )
    ]
    return ProfileSum(
        profiler=profiles[0].profiler,
        stage=stage,
        first_us=min(profile.interval.start.time_us for profile in profiles),
        n_profiles=len(profiles),
        covered_us=sum(
            max(profile.interval.end.time_us - profile.interval.start.time_us, 0)
            for profile in profiles
        ),
        own_s=float(own_s.sum()),
        functions=tuple(sorted(functions, key=lambda item: item.function)),
    )


def join_sums(sums: Iterable[ProfileSum], *, stage: str | None = None) -> tuple[ProfileSum, ...]:
    """Return sums of several nodes merged by profiler and stage, in order of their time.

    ``stage`` renames all of them first, so that only profilers stay apart.
    """
    groups: dict[tuple[str, str], list[ProfileSum]] = {}
    for item in sums:
        groups.setdefault((item.profiler, stage or item.stage), []).append(item)
    joined = [_joined(stage, items) for (_, stage), items in groups.items()]
    return tuple(sorted(joined, key=lambda item: (item.first_us, item.profiler, item.stage)))


def _joined(stage: str, items: list[ProfileSum]) -> ProfileSum:
    merged: dict[PythonFunction, FunctionSum] = {}
    for item in items:
        for one in item.functions:
            seen = merged.get(one.function)
            merged[one.function] = one if seen is None else _added(seen, one)
    return ProfileSum(
        profiler=items[0].profiler,
        stage=stage,
        first_us=min(item.first_us for item in items),
        n_profiles=sum(item.n_profiles for item in items),
        covered_us=sum(item.covered_us for item in items),
        own_s=sum(item.own_s for item in items),
        functions=tuple(merged[function] for function in sorted(merged)),
    )


def _added(left: FunctionSum, right: FunctionSum) -> FunctionSum:
    has_calls = left.calls is not None and right.calls is not None
    return FunctionSum(
        function=left.function,
        calls=(left.calls or 0) + (right.calls or 0) if has_calls else None,
        own_s=left.own_s + right.own_s,
        cumulative_s=left.cumulative_s + right.cumulative_s,
    )
