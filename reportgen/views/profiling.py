"""The configuration of a job's profiler: a table, and why something may be absent."""

from __future__ import annotations

from reportgen.profiler_config import ProfiledWindow, Profiling, ProfilingKind
from reportgen.report import Report
from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.text import format_duration, plural
from reportgen.units import NS_PER_S, iso_utc
from reportgen.views.values import format_iso

_NOT_CONFIGURED = "not configured"
_LAST_S = 4_102_444_800
"""2100: later starts are no times."""


def profiling_table(profiling: Profiling) -> Exhibit:
    """Return the configured recording, a row for each kind of data."""
    rows = [("system metrics", _interval(profiling), "")]
    for kind in ProfilingKind:
        window = profiling.window(kind)
        if kind in profiling.unreadable:
            rows.append((kind.value, "configured, but that cannot be read", ""))
        elif window is None or profiling.is_disabled:
            rows.append((kind.value, _NOT_CONFIGURED, ""))
        else:
            rows.append((kind.value, format_window(window), _details(window)))
    if profiling.rules:
        rows.append(("checks by SageMaker", ", ".join(profiling.rules), ""))
    names, extents, details = zip(*rows, strict=True)
    is_off = "Profiling was switched off. " if profiling.is_disabled else ""
    return exhibit(
        "profiling",
        ExhibitKind.TABLE,
        title="Configured profiling",
        caption=f"{is_off}As configured for the profiler, whether it was found or not.",
        columns=[("what", "", names), ("asked_for", "", extents), ("details", "", details)],
    )


def was_asked_for(kind: ProfilingKind | None, report: Report) -> bool:
    """Return whether the profiler was asked to record something, as far as that is known."""
    asked = report.profiling
    if asked is None or kind is None or asked.is_disabled:
        return False
    return asked.window(kind) is not None or kind in asked.unreadable


def why_not_recorded(kind: ProfilingKind | None, report: Report) -> str:
    """Return whether a kind of profiling was configured, ``None`` for any kind."""
    asked = report.profiling
    if asked is None:
        return ""
    if asked.is_disabled:
        return "Not configured: profiling was switched off."
    if kind is None:
        none = "Not configured: the profiler was asked for no framework profiling."
        return "" if asked.windows or asked.unreadable else none
    if kind in asked.unreadable:
        return ""
    window = asked.window(kind)
    if window is None:
        return f"Not configured: the profiler was not asked for it ({kind.value})."
    return f"It was configured ({format_window(window)}), but nothing of it was found."


def format_window(window: ProfiledWindow) -> str:
    """Write the steps or the time that a window covers: ``3 steps from step 5``."""
    if window.start_step is not None or window.n_steps is not None:
        first = "of any number" if window.start_step is None else f"from step {window.start_step:,}"
        count = "steps" if window.n_steps is None else plural(window.n_steps, "step")
        return f"{count} {first}"
    if window.start_s is not None or window.duration_s is not None:
        lasts = "" if window.duration_s is None else f"{format_duration(window.duration_s)} "
        begins = "the start of the job" if window.start_s is None else _instant(window.start_s)
        return f"{lasts}from {begins}"
    return "the profiler's default window"


def _interval(profiling: Profiling) -> str:
    if profiling.is_disabled:
        return _NOT_CONFIGURED
    interval_ms = profiling.interval_ms
    return (
        "the profiler's default"
        if interval_ms is None
        else f"every {format_duration(interval_ms / 1e3)}"
    )


def _instant(time_s: float) -> str:
    if not 0 < time_s < _LAST_S:
        return f"{time_s:g} s since 1970"
    return format_iso(iso_utc(round(time_s * NS_PER_S)))


def _details(window: ProfiledWindow) -> str:
    named = (("", window.profiler), ("timer ", window.timer), ("metrics ", window.metrics))
    return ", ".join(f"{name}{value}" for name, value in named if value)
