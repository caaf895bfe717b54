"""The path of a Python profile: it says who wrote it, on which node, from when to when."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reportgen.formats.diagnostics import printable
from reportgen.formats.format import Claim, FileRole, Format, worker_of
from reportgen.profile.python import ProfileInterval, ProfileMoment

BEFORE_STEPS = -1
"""The step of a profile taken before the first one."""

_LAST_US = 9 * 10**15
"""2255: later times cannot be written as nanoseconds."""

_PATH = re.compile(
    r"(?P<job>(?:.*/)?)framework/(?P<framework>[^/]+)/(?P<profiler>c_?profile|pyinstrument)/"
    r"(?:(?P<node>[^/]+)/)?(?P<interval>[^/]+)/python_stats(?P<end>\.json|\.html|)",
    flags=re.IGNORECASE,
)
_MOMENT = re.compile(
    r"(?P<mode>.+)-(?P<step>-?\d{1,18}|\*)-(?P<phase>[^-]+)-(?P<time>\d{1,18}(?:\.\d+)?)"
)
_OLD = re.compile(
    r"(?P<start>\d{1,18})(?:\.\d+)?_(?P<end>\d{1,18})(?:\.\d+)?_(?P<node>.+)_(?P<step>-?\d{1,18})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileKey:
    """Facts from a profile's path. ``profiler`` is ``cprofile`` or ``pyinstrument``."""

    job_prefix: str
    framework: str
    profiler: str
    node: str
    interval: ProfileInterval
    is_page: bool = False
    """Whether it is pyinstrument's own page, which holds nothing more to read."""


def profile_key(key: str) -> ProfileKey | None:
    """Return the facts in a key, or ``None`` when it is no Python profile.

    Modes and node names may hold ``-`` and ``_``, so halves are read from the right.
    Source: docs/formats.md, Python profiles.

    Example:
        >>> key = "framework/pytorch/cprofile/27-algo-1/"
        >>> key += "prestepzero-*-start-15946626.0_train-0-stepstart-15946627/python_stats"
        >>> profile_key(key).interval.end.step
        0
    """
    match = _PATH.fullmatch(key)
    if match is None:
        return None
    profiler = match["profiler"].lower().replace("_", "")
    named = _interval(match["interval"]) if match["node"] else None
    node = match["node"] or ""
    if named is None:
        old = _OLD.fullmatch(match["interval"])
        if old is None:
            return None
        node, named = old["node"], _old_interval(old)
    if max(named.start.time_us, named.end.time_us) > _LAST_US:
        return None
    return ProfileKey(
        job_prefix=match["job"],
        framework=match["framework"],
        profiler=profiler,
        node=node,
        interval=named,
        is_page=match["end"].lower() == ".html",
    )


def _interval(text: str) -> ProfileInterval | None:
    """Cut ``START_END`` at an underscore where both halves are moments."""
    for place in [match.start() for match in re.finditer("_", text)]:
        start, end = (_MOMENT.fullmatch(half) for half in (text[:place], text[place + 1 :]))
        if start and end:
            return ProfileInterval(start=_moment(start), end=_moment(end))
    return None


def _moment(match: re.Match[str]) -> ProfileMoment:
    return ProfileMoment(
        mode=printable(match["mode"]),
        step=None if match["step"] == "*" else int(match["step"]),
        phase=printable(match["phase"]),
        time_us=int(match["time"].partition(".")[0]),
    )


def _old_interval(match: re.Match[str]) -> ProfileInterval:
    """Return the interval of the layout of 2020, which names one step and no phases."""
    step = int(match["step"])
    mode = "prestepzero" if step == BEFORE_STEPS else "global"
    number = None if step == BEFORE_STEPS else step
    start, end = (
        ProfileMoment(mode=mode, step=number, phase=phase, time_us=int(match[name]))
        for phase, name in (("stepstart", "start"), ("stepend", "end"))
    )
    return ProfileInterval(start=start, end=end)


def _profile(key: str) -> Claim | None:
    found = profile_key(key)
    if found is None or found.is_page:
        return None
    node, worker = worker_of(found.node)
    return Claim(
        format_id=PYTHON_PROFILES.id, job_prefix=found.job_prefix, node=node, worker=worker
    )


def _page(key: str) -> Claim | None:
    found = profile_key(key)
    if found is None or not found.is_page:
        return None
    return Claim(format_id=PYTHON_PAGES.id, job_prefix=found.job_prefix)


PYTHON_PROFILES = Format(id="python_profile", role=FileRole.PYTHON, claims=_profile)
PYTHON_PAGES = Format(id="python_page", role=FileRole.NOTHING, claims=_page)
