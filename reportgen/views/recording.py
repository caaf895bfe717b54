"""How ``reportgen record`` recorded the job: a table of nodes, and where its steps come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from reportgen.recorded_job import RecordedNode, Recording
from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.text import format_bytes, format_count, format_duration, join_names

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
