"""How a job was recorded, and its profiler configured: tables, and why something may be absent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from reportgen.profiler_config import ProfiledWindow, Profiling, ProfilingKind
from reportgen.recorded_job import RecordedNode, Recording
from reportgen.report import Report
from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.text import format_bytes, format_count, format_duration, join_names, plural
from reportgen.units import NS_PER_S, iso_utc
from reportgen.views.values import format_iso

_NOTHING = "–"
NO_STEPS_HINT = (
    "No step was seen. Steps come from PyTorch's optimizers and data loaders, from Lightning, "
    "Hugging Face and Keras, or from reportgen.step() in the script."
)
MARK_STEPS = (
    "No step was seen, so most checks had nothing to look at. Write the training loop as "
    "for batch in reportgen.steps(loader): and record the job again."
)
TRACE_HINT = "To record them, take a trace of some steps: reportgen record --trace 20:25."
_SOURCES = {
    "loader": "the data loader's requests",
    "optimizer": "PyTorch's optimizers",
    "trainer": "the trainer's callbacks",
    "explicit": "reportgen.step() or reportgen.steps() in the script",
}


MONITORED_HINT = "To record it, run the job with: reportgen record -- python train.py"


def recording_table(recording: Recording) -> Exhibit:
    """Return how each node was recorded."""
    nodes = recording.nodes
    return exhibit(
        "recording",
        ExhibitKind.TABLE,
        title="How it was recorded",
        caption=_caption(recording),
        columns=[
            (name, "", [written(node) for node in nodes])
            for name, written in (_MONITORED if recording.monitored_by else _RECORDED).items()
        ],
    )


def _caption(recording: Recording) -> str:
    if recording.monitored_by:
        return f"{recording.monitored_by} sampled the job; it records no training steps."
    if not recording.step_sources:
        return NO_STEPS_HINT
    frameworks = [f"{name} {version}" for name, version in recording.frameworks.items()]
    within = f", with {join_names(frameworks)}" if frameworks else ""
    sources = [_SOURCES.get(source, source) for source in recording.step_sources]
    return f"Steps come from {join_names(sources)}{within}."


def _interval(node: RecordedNode) -> str:
    return _NOTHING if node.interval_s is None else format_duration(node.interval_s)


def _cores(node: RecordedNode) -> str:
    if node.n_cores is None:
        return _NOTHING
    quota = "" if node.quota_cores is None else f", as much as {node.quota_cores:g} at a time"
    return f"{format_count(node.n_cores)}{quota}"


def _memory(node: RecordedNode) -> str:
    return "none" if node.memory_limit_bytes is None else format_bytes(node.memory_limit_bytes)


def _gpus(node: RecordedNode) -> str:
    counts = Counter(gpu.name for gpu in node.gpus if gpu.is_used is not False)
    return join_names([f"{n} × {name}" for name, n in sorted(counts.items())]) or "none"


def _cost(node: RecordedNode) -> str:
    if node.core_pct is None or node.memory_bytes is None:
        return _NOTHING
    return f"{node.core_pct:.2f} % of a core, {format_bytes(node.memory_bytes)}"


_MONITORED: Mapping[str, Callable[[RecordedNode], str]] = {
    "node": lambda node: node.node,
    "sampled_every": _interval,
    "gpus": _gpus,
}
_RECORDED: Mapping[str, Callable[[RecordedNode], str]] = {
    "node": lambda node: node.node,
    "sampled_every": _interval,
    "cores_allowed": _cores,
    "memory_limit": _memory,
    "gpus_of_the_job": _gpus,
    "cost_of_the_recorder": _cost,
}


_NOT_CONFIGURED = "not configured"
_LAST_S = 4_102_444_800
"""2100: later starts are no times."""


def profiling_table(profiling: Profiling) -> Exhibit:
    """Return the configured recording, a row for each kind of data."""
    rows = [("system metrics", _sampling(profiling), "")]
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


def _sampling(profiling: Profiling) -> str:
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
